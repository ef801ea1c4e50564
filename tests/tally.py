#!/usr/bin/env python3
"""Sums up Meson test logs: tally.py LABEL=testlog.json... prints what failed and `N passed, N failed`.

A Catch2 executable counts by test cases, a compile_check.py run by files, anything else as one. A label whose log is
missing (its build failed) counts as one failure.
"""

import json
import re
import sys

CATCH_OK = re.compile(r"All tests passed \(.* in (\d+) test cases?\)")
CATCH_MIXED = re.compile(r"test cases:\s*(\d+)\s*\|(?:\s*(\d+) passed\s*\|)?\s*(\d+) failed")
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)


def count(test):
    text = test.get("stdout") or ""
    good = test["result"] in ("OK", "EXPECTEDFAIL")
    if m := CATCH_OK.search(text):
        passed, failed = int(m[1]), 0
    elif m := CATCH_MIXED.search(text):
        passed, failed = int(m[2] or 0), int(m[3])
    elif m := COUNTS.search(text):
        passed, failed = int(m[1]), int(m[2])
    else:
        passed, failed = (1, 0) if good else (0, 1)
    if not good and failed == 0:  # a crash or a sanitizer's report after the summary
        failed = 1
    return passed, failed


def main():
    total_passed = total_failed = 0
    for argument in sys.argv[1:]:
        label, path = argument.split("=", 1)
        try:
            tests = [json.loads(line) for line in open(path)]
        except OSError:
            print(f"{label}: did not build or did not run")
            total_failed += 1
            continue
        passed = failed = 0
        for test in tests:
            if test["result"] == "SKIP":
                continue
            p, f = count(test)
            passed, failed = passed + p, failed + f
            if f:
                print(f"---- {label}: {test['name']} ({test['result']})")
                print((test.get("stdout") or "")[-6000:])
                print((test.get("stderr") or "")[-6000:])
        print(f"{label}: {passed} passed, {failed} failed")
        total_passed, total_failed = total_passed + passed, total_failed + failed
    print(f"{total_passed} passed, {total_failed} failed")
    sys.exit(total_failed > 0 or total_passed == 0)


main()
