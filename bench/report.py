#!/usr/bin/env python3
"""Runs the benchmark programs and JAX's in turn and prints the table: see bench/run.

report.py FOLDER [GROUP...] [--jax PYTHON] [--quick] [--json FILE]
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
JAX_THREADS = {"arrays": 1, "mlp": 2, "chain": 2, "call": 2, "loops": 2, "samples": 2, "simulation": 2}  # of the groups that it has


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("groups", nargs="*")
    parser.add_argument("--jax", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json")
    return parser.parse_intermixed_args()


def rows_of(command):
    """The rows that a program writes, or none if it fails."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run([*map(str, command), "--json", out.name], stdout=sys.stderr)
        if done.returncode != 0:
            print(f"{command[0]} failed", file=sys.stderr)
            return None
        return json.load(open(out.name))


def merged(runs):
    """Medians over several runs of the same program."""
    keyed = {}
    for rows in runs:
        for row in rows:
            key = tuple(row.get(k) for k in ("group", "case", "threads", "baseline"))
            keyed.setdefault(key, []).append(row)
    result = []
    for same in keyed.values():
        row = dict(same[0])
        for field in ("ours_ms", "baseline_ms", "ms"):
            values = [r[field] for r in same if r.get(field) is not None]
            if values:
                row[field] = statistics.median(values)
        result.append(row)
    return result


def with_ratio(row):
    ours, base = row["ours_ms"], row["baseline_ms"]
    return row | {"ratio": base / ours if ours and base else None}


def run_group(group, options):
    """A group's rows: ours against its baselines, and ours against JAX."""
    if group == "compile_time":
        return rows_of([sys.executable, HERE / "compile_time.py", *(["--quick"] if options.quick else [])])
    program = options.folder / f"bench_{group}"
    quick = ["--quick"] if options.quick else []
    jax = options.jax and group in JAX_THREADS
    ours, theirs = [], []
    for _ in range(1 if options.quick or not jax else 3):  # in turn, so that both see the same machine
        if program.exists():
            rows = rows_of([program, *quick])
            if rows is None:
                return None
            ours.append(rows)
        if jax:
            rows = rows_of([options.jax, HERE / "jax_baselines.py", group, "--threads", JAX_THREADS[group], *quick])
            theirs.append(rows or [])
    result = merged(ours)
    for other in merged(theirs):
        same = [r for r in result if all(r[k] == other[k] for k in ("group", "case", "threads")) and r["ours_ms"]]
        result.append(
            {k: other[k] for k in ("group", "case", "threads")}
            | {"ours_ms": same[0]["ours_ms"] if same else None, "baseline": "jax", "baseline_ms": other["ms"]}
            | ({"unit": other["unit"]} if "unit" in other else {})
        )
    # A figure that JAX's row repeats needs no row of its own.
    paired = {(r["group"], r["case"], r["threads"]) for r in result if r["baseline"]}
    return [with_ratio(r) for r in result if r["baseline"] or (r["group"], r["case"], r["threads"]) not in paired]


def text_of(ms):
    if ms is None:
        return "-"
    return f"{ms * 1e6:.2f} ns" if ms < 1e-3 else f"{ms * 1e3:.2f} us" if ms < 1 else f"{ms:.3f} ms" if ms < 1e4 else f"{ms / 1e3:.2f} s"


def table(rows):
    lines = [["group", "case", "threads", "ours", "baseline", "", "ratio", "ULP", "baseline ULP"]]
    for r in rows:
        ours, base = text_of(r["ours_ms"]), text_of(r["baseline_ms"])
        if r.get("unit") == "MiB":
            ours, base = (("-" if x is None else f"{x:.3g} MiB" if x < 10 else f"{x:.0f} MiB") for x in (r["ours_ms"], r["baseline_ms"]))
        ratio = "-" if r["ratio"] is None else f"{r['ratio']:.2f}"
        errors = [f"{r[k]:.2f}" if k in r else "" for k in ("ulp", "baseline_ulp")]
        lines.append([r["group"], r["case"], str(r["threads"]), ours, r["baseline"], base, ratio, *errors])
    if not any("ulp" in r for r in rows):
        lines = [line[:7] for line in lines]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    right = {2, 3, 5, 6, 7, 8}
    for line in lines:
        print("  ".join(c.rjust(w) if k in right else c.ljust(w) for k, (c, w) in enumerate(zip(line, widths))).rstrip())


def main():
    options = arguments()
    built = sorted(p.name.removeprefix("bench_") for p in options.folder.glob("bench_*") if os.access(p, os.X_OK) and p.is_file())
    known = sorted({*built, *(JAX_THREADS if options.jax else []), "compile_time"})
    for group in options.groups:
        if group not in known:
            sys.exit(f"there is no group {group}; there are: {' '.join(known)}")
    rows, failed = [], False
    for group in options.groups or known:
        got = run_group(group, options)
        failed |= got is None
        rows += got or []
    table(rows)
    if options.json:
        path = pathlib.Path(options.json)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")
        print(f"rows written to {path}")
    sys.exit(failed)


main()
