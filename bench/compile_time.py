#!/usr/bin/env python3
"""What compiling costs: compile_time.py [CASE...] [--quick] [--json FILE] [--timeout SECONDS] [--compiler g++] [--keep FOLDER]

Elapsed and user seconds and the compiler's peak memory for the umbrella alone, for generated programs of 100 and 1,000
operations and their gradients, and for the main job. Rows are those of bench/run; a limit from the project's own goals
is the baseline. The memory rows have "unit": "MiB", in the fields named ms.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOO_LONG = "the compiler was stopped after"

SHORT_SCAN, LONG_SCAN = "scan of 10 steps forward and backward, -O3", "scan of 1000000 steps forward and backward, -O3"
EMPTY = "#include <cotangent/cotangent.hpp>\nint main() {}\n"
FRONT = "#include <cotangent/transforms/custom.hpp>\nint main() {}\n"


def chain_program(nodes):
    """A function of `nodes` operations, four in a round, and its gradient with respect to both arguments, compiled and called."""
    return f"""#include <cstdio>
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto h, auto w) {{
  for (int k = 0; k < {nodes // 4}; ++k) {{
    h = h * w;
    h = h + 0.1;
    h = ct::sin(h);
    h = h * h;
  }}
  return ct::sum(h);
}};
constexpr auto g = ct::value_and_grad(f, ct::wrt<0, 1>);
int main() {{
  const auto h = ct::full<float, 1024>(0.5f), w = ct::full<float, 1024>(0.25f);
  const auto [value, gradient] = ct::jit(g)(h, w);
  std::printf("%g %g\\n", double(float(value)), double(std::get<1>(gradient)(0)));
}}
"""


def scan_program(steps):
    """A scan of `steps` steps, and its gradient: the body is compiled once, whatever the number."""
    return f"""#include <cstdio>
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto w, auto h) {{
  const auto step = [&](auto h, auto) {{ return std::tuple(ct::tanh(ct::matmul(w, h) + 0.1), ct::none); }};
  return ct::sum(std::get<0>(ct::scan(step, h, ct::none, ct::length<{steps}>)));
}};
int main() {{
  const auto w = ct::eye<float, 16>();
  const auto h = ct::full<float, 16>(0.5f);
  std::printf("%g\\n", double(ct::jit(ct::grad(f))(w, h)(0, 0)));
}}
"""


def cases():
    """name, source, optimization, limits in seconds and MiB (None: no limit is set)."""
    yield "standard library alone (<vector>, <string>), -O0", "#include <vector>\n#include <string>\nint main() {}\n", "-O0", None, None
    yield "core to transforms, -O0", FRONT, "-O0", 1.0, None
    yield "umbrella, -O0", EMPTY, "-O0", 2.5, None
    yield "100 nodes forward and backward, -O3", chain_program(100), "-O3", None, None
    yield "1000 nodes forward and backward, -O3", chain_program(1000), "-O3", 10.0, 1536
    yield SHORT_SCAN, scan_program(10), "-O3", None, None
    yield LONG_SCAN, scan_program(1000000), "-O3", None, None
    yield "main job, -O3", (ROOT / "examples/fashion_mnist.cpp").read_text(), "-O3", 30.0, None


def measure(command, repetitions, timeout):
    """Median elapsed and user seconds, the peak MiB of the largest process, and the compiler's output if it fails."""
    # A process of its own: ru_maxrss of waited-for children is that of the largest one, here cc1plus.
    probe = (
        "import resource, subprocess, sys, time; start = time.perf_counter(); code = subprocess.call(sys.argv[1:]); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(time.perf_counter() - start, used.ru_utime, used.ru_maxrss); sys.exit(code)"
    )
    elapsed, user, peaks = [], [], []
    for _ in range(repetitions):
        with subprocess.Popen(
            [sys.executable, "-c", probe, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # the compiler has children
                process.communicate()
                return None, None, None, f"{TOO_LONG} {timeout:g} s"
        if process.returncode != 0:
            return None, None, None, err
        e, u, kib = map(float, out.split())
        elapsed.append(e), user.append(u), peaks.append(kib / 1024)
    return statistics.median(elapsed), statistics.median(user), max(peaks), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help="only cases whose name contains one of these")
    parser.add_argument("--quick", action="store_true", help="compile each program once")
    parser.add_argument("--json")
    parser.add_argument("--timeout", type=float, default=300, help="seconds that a compilation may take (default 300)")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--keep", help="a folder for the generated programs")
    options = parser.parse_args()

    rows, failed = [], False
    folder = pathlib.Path(options.keep or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    for k, (name, source, level, second_limit, mib_limit) in enumerate(cases()):
        if options.cases and not any(c in name for c in options.cases):
            continue
        path = folder / f"program{k}.cpp"
        path.write_text(source)
        include = [f"-I{ROOT}/include", f"-I{ROOT}/examples", "-isystem", "/usr/include/eigen3"]
        command = [options.compiler, "-std=c++20", level, "-march=native", *include, "-c", str(path), "-o", str(path.with_suffix(".o"))]
        seconds, user, mib, error = measure(command, 1 if options.quick else 3, options.timeout)
        base = second_limit * 1e3 if second_limit else None
        common = {"group": "compile_time", "threads": 1, "baseline": "limit" if second_limit else ""}
        if seconds is None:
            failed |= not error.startswith(TOO_LONG)
            print(f"compile_time: {name}: {error[:3000]}", file=sys.stderr)
            rows.append(common | {"case": name, "ours_ms": None, "baseline_ms": base, "ratio": None})
            continue
        size = path.with_suffix(".o").stat().st_size / 2**20
        print(f"{name:46} {seconds:7.2f} s ({user:.2f} s of user time) {mib:7.0f} MiB, object {size:.2f} MiB", file=sys.stderr)
        for case, ms in (name, seconds * 1e3), (f"{name}, user time", user * 1e3):
            rows.append(common | {"case": case, "ours_ms": ms, "baseline_ms": base, "ratio": base and base / ms})
        short = [r["ours_ms"] for r in rows if r["case"] == SHORT_SCAN]
        if name == LONG_SCAN and short:
            rows.append(common | {"case": name, "ours_ms": seconds * 1e3, "baseline": "10 steps", "baseline_ms": short[0],
                                  "ratio": short[0] / (seconds * 1e3)})
        common["baseline"] = "limit" if mib_limit else ""
        rows.append(common | {"case": f"{name}, peak memory", "ours_ms": mib, "baseline_ms": mib_limit,
                              "ratio": mib_limit and mib_limit / mib, "unit": "MiB"})
    if not options.keep:
        shutil.rmtree(folder)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=0))
    sys.exit(failed)


main()
