#!/usr/bin/env python3
"""What compiling costs: compile_time.py [CASE...] [--quick] [--json FILE] [--compiler g++] [--keep FOLDER]

Seconds and the compiler's peak memory for the umbrella alone, for generated programs of 100 and 1,000 nodes (forward and
backward), and for the main job. Rows are those of bench/run; a limit from the project's own goals is the baseline. The
memory rows have "unit": "MiB", in the fields named ms.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

EMPTY = "#include <cotangent/cotangent.hpp>\nint main() {}\n"
FRONT = "".join(f"#include <cotangent/{h}.hpp>\n" for h in ["transforms/transforms"]) + "int main() {}\n"

# Nine nodes in a round, with constants that keep rounds apart, so that nothing is shared or simplified away.
ROUND = """  h = ct::tanh(h * w + {a}f);
  h = h + ct::sin(h * {b}f) / (ct::exp(h) + {a}f);
"""


def chain_program(nodes):
    """A function of about `nodes` nodes and its gradient, compiled and called."""
    rounds = "".join(ROUND.format(a=1.0 + k / 1024, b=0.5 + k / 2048) for k in range(nodes // 9))
    return f"""#include <cstdio>
#include <cotangent/cotangent.hpp>
namespace ct = cotangent;
constexpr auto f = [](auto h, auto w) {{
{rounds}  return ct::sum(h);
}};
int main() {{
  const auto h = ct::full<float, 1024>(0.5f), w = ct::full<float, 1024>(0.25f);
  const auto [value, gradient] = ct::jit(ct::value_and_grad(f))(h, w);
  std::printf("%g %g\\n", double(float(value)), double(gradient(0)));
}}
"""


def cases():
    """name, source, optimization, limits in seconds and MiB (None: no limit is set)."""
    yield "standard library alone (<vector>, <string>), -O0", "#include <vector>\n#include <string>\nint main() {}\n", "-O0", None, None
    if (ROOT / "include/cotangent/transforms/transforms.hpp").exists():
        yield "core to transforms, -O0", FRONT, "-O0", 1.0, None
    yield "umbrella, -O0", EMPTY, "-O0", 2.5, None
    yield "umbrella, -O3", EMPTY, "-O3", None, None
    yield "100 nodes forward and backward, -O0", chain_program(100), "-O0", None, None
    yield "100 nodes forward and backward, -O3", chain_program(100), "-O3", None, None
    yield "1000 nodes forward and backward, -O3", chain_program(1000), "-O3", 10.0, 1536
    main_job = ROOT / "examples/fashion_mnist.cpp"
    if main_job.exists():
        yield "main job, -O3", main_job.read_text(), "-O3", 30.0, None


def measure(command, repetitions):
    """Median seconds and peak MiB of the compilation's largest process, or the compiler's output if it fails."""
    # A process of its own: ru_maxrss of waited-for children is that of the largest one, here cc1plus.
    probe = (
        "import resource, subprocess, sys, time; start = time.perf_counter(); code = subprocess.call(sys.argv[1:]); "
        "print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)"
    )
    seconds, peaks = [], []
    for _ in range(repetitions):
        done = subprocess.run([sys.executable, "-c", probe, *command], capture_output=True, text=True)
        if done.returncode != 0:
            return None, None, done.stderr
        s, kib = done.stdout.split()
        seconds.append(float(s))
        peaks.append(int(kib) / 1024)
    return statistics.median(seconds), max(peaks), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help="only cases whose name contains one of these")
    parser.add_argument("--quick", action="store_true", help="compile each program once")
    parser.add_argument("--json")
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
        seconds, mib, error = measure(command, 1 if options.quick else 3)
        if seconds is None:
            failed = True
            print(f"compile_time: {name} does not compile:\n{error[:3000]}", file=sys.stderr)
            continue
        size = path.with_suffix(".o").stat().st_size / 2**20
        print(f"{name:46} {seconds:7.2f} s {mib:7.0f} MiB, object {size:.2f} MiB", file=sys.stderr)
        common = {"group": "compile_time", "threads": 1, "baseline": "limit" if second_limit else ""}
        base = second_limit * 1e3 if second_limit else None
        rows.append(common | {"case": name, "ours_ms": seconds * 1e3, "baseline_ms": base, "ratio": base and base / (seconds * 1e3)})
        common["baseline"] = "limit" if mib_limit else ""
        rows.append(common | {"case": f"{name}, peak memory", "ours_ms": mib, "baseline_ms": mib_limit,
                              "ratio": mib_limit and mib_limit / mib, "unit": "MiB"})
    if not options.keep:
        shutil.rmtree(folder)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=0))
    sys.exit(failed)


main()
