#!/usr/bin/env python3
"""Compiles and runs the programs in the documentation: docs/check.py [--update] [FILE...]

A program is a ```cpp block with `int main`. A ```text block under `<!-- output -->` is what the program before it prints;
under `<!-- output: NAME -->` it is the part of the page's last program's output that follows a line `#NAME`. --update
writes the real outputs; otherwise a difference is an error. CXX names the compiler. What docs/examples/NAME.md quotes must
be in examples/NAME.cpp.
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["README.md", "CONTRIBUTING.md", "docs/tutorial.md", "docs/for-jax-users.md", "docs/loops.md", "docs/linear-algebra.md", "docs/devices.md", "docs/performance.md", "docs/inside.md"]
PROGRAM = re.compile(r"^```cpp\n(.*?)^```$", re.S | re.M)
OUTPUT = re.compile(r"^(<!-- output(?:: (\w+))? -->\n```text\n)(.*?)(^```$)", re.S | re.M)
FLAGS = ["-std=c++20", "-O1", "-march=native", "-Wall", "-Wextra", "-I" + str(ROOT / "include"), "-isystem", "/usr/include/eigen3"]


def run(code, folder):
    source, program = folder / "program.cpp", folder / "program"
    source.write_text(code)
    subprocess.run([os.environ.get("CXX", "g++"), *FLAGS, source, "-o", program, "-ltbb"], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def checked(text, folder):
    """The page with the real outputs."""
    programs = [(m.start(), run(m.group(1), folder)) for m in PROGRAM.finditer(text) if "int main" in m.group(1)]

    def real(m):
        if m.group(2):
            part = re.search(rf"^#{m.group(2)}\n(.*?)(?=^#\w+$|\Z)", programs[-1][1], re.S | re.M)
            output = part.group(1)
        else:
            output = [out for at, out in programs if at < m.start()][-1]
        return m.group(1) + output.rstrip("\n") + "\n" + m.group(4)

    return OUTPUT.sub(real, text)


def misquotes(page):
    """The C++ blocks of a page on an example that are not in its program."""
    program = (ROOT / "examples" / page.with_suffix(".cpp").name).read_text()
    return [block for block in PROGRAM.findall(page.read_text()) if block not in program]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    same = True
    with tempfile.TemporaryDirectory() as folder:
        for page in options.files or [ROOT / p for p in PAGES] + sorted((ROOT / "docs/examples").glob("*.md")):
            if page.resolve().parent == ROOT / "docs/examples":
                for block in misquotes(page.resolve()):
                    print(f"{page}: this is not in the program:\n{block}", flush=True)
                    same = False
            old = page.read_text()
            new = checked(old, pathlib.Path(folder))
            print(f"{page}: {'as printed' if old == new else 'differs'}", flush=True)
            if old == new:
                continue
            same = False
            if options.update:
                page.write_text(new)
            else:
                sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "in the page", "real"))
    return 0 if same or options.update else 1


if __name__ == "__main__":
    sys.exit(main())
