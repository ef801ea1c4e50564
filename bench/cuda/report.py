#!/usr/bin/env python3
"""Joins the rows of both sides: report.py CSV OURS... -- JAX..."""

import csv
import json
import math
import sys


def read(paths):
    """The better time of each name, its row, and the device."""
    best, device = {}, ""
    for path in paths:
        for line in open(path):
            row = json.loads(line)
            device = row.get("device", device)
            if "name" in row and row["ms"] < best.get(row["name"], {"ms": math.inf})["ms"]:
                best[row["name"]] = row
    return best, device


def main():
    split = sys.argv.index("--")
    ours, device = read(sys.argv[2:split])
    theirs, _ = read(sys.argv[split + 1 :])
    copy = ours["copy"]["bytes"] / ours["copy"]["ms"] / 1e6
    print(f"{device}; a copy on the device moves {copy:.0f} GB/s\n")
    print(f"{'program':30} {'ours ms':>9} {'JAX ms':>9} {'JAX/ours':>9} {'GB/s':>7} {'of copy':>8} {'TFLOP/s':>8}")
    rows = []
    for name, row in ours.items():
        jax = theirs.get(name, {}).get("ms", math.nan)
        speed = row["bytes"] / row["ms"] / 1e6
        flops = row["flops"] / row["ms"] / 1e9
        rows.append([name, row["ms"], jax, jax / row["ms"], speed, speed / copy, flops])
        print(f"{name:30} {row['ms']:9.4f} {jax:9.4f} {jax / row['ms']:9.2f} {speed:7.0f} {speed / copy:8.2f} {flops:8.1f}")
    with open(sys.argv[1], "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["program", "ours_ms", "jax_ms", "ratio", "gb_per_s", "of_copy", "tflop_per_s"])
        writer.writerows(rows)


main()
