#!/usr/bin/env python3
"""Tests of compilation itself: compile_check.py MODE PATH... -- COMPILER ARG...

accept   each file compiles
lean     the same, and the rules of primitives, which only the compiler needs, are not in the object file
alone    each header under each PATH compiles alone (CUDA's need nvcc and Thrust's Thrust: the tests on devices include them)
reject   each file does not compile, and the output matches every regular expression of its leading
         `// expect: REGEX` lines; `// expect-gcc:` and `// expect-clang:` lines count for that compiler only
cuda     each CUDA file compiles for sm_90 without warnings; one that begins with `// spills: none` for sm_80 as well, and ptxas
         spills nothing

Prints the output of what failed and the line `N passed, N failed`.
"""

import concurrent.futures
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SPILL = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
# Clang cuts long strings in template arguments, so trace/report.hpp gives it a message in several lines.
SPLIT = re.compile(r'"\}, (?:cotangent::)?text<\d+>\{"')
REGISTERS = re.compile(r"Used (\d+) registers")


def jobs(gib):
    """As many compilers as there are cores and as fit into memory at so many GiB each."""
    kib = next(int(line.split()[1]) for line in open("/proc/meminfo") if line.startswith("MemAvailable"))
    return max(1, min(len(os.sched_getaffinity(0)), kib // (gib << 20)))


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.returncode, done.stdout


def accept(compiler, path):
    code, output = run([*compiler, "-fsyntax-only", path])
    return "" if code == 0 else f"does not compile:\n{output}"


def lean(compiler, path):
    with tempfile.NamedTemporaryFile(suffix=".o") as out:
        # Without warnings: the tests proper have them, but for those of GCC 12 about uninitialized variables that are not.
        code, output = run([*compiler, "-w", "-O1", "-c", path, "-o", out.name])
        if code != 0:
            return f"does not compile:\n{output}"
        _, symbols = run(["nm", "-C", out.name])
    tables = [line for line in symbols.splitlines() if "cotangent::primitive_of<" in line]
    return "has the rules of primitives in it:\n" + "\n".join(tables) if tables else ""


def alone(compiler, header):
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.write(f'#include "{header}"\n')
        source.flush()
        return accept(compiler, source.name)


def expectations(path, family):
    found = []
    for line in open(path):
        match = re.match(r"//\s*expect(?:-(gcc|clang))?:\s*(.*\S)", line)
        if not match:
            break
        if match[1] in (None, family):
            found.append(match[2])
    return found


@functools.cache
def family_of(compiler):
    _, version = run([compiler, "--version"])
    return "clang" if "clang" in version else "gcc"


def diagnosing(compiler):
    """The compiler whose words are looked at."""
    # Without -Werror: a warning must not pass for the error that is asked for.
    options = [o for o in compiler if o != "-Werror"]
    # Without quoted source: the words must be the compiler's, not the test's.
    return options + ["-fmessage-length=0", "-fno-caret-diagnostics" if family_of(compiler[0]) == "clang" else "-fno-diagnostics-show-caret"]


def precompiled(compiler, header, folder):
    """Options that give the compiler a header that all files include, compiled once; none if that fails, as each file will tell."""
    clang = family_of(compiler[0]) == "clang"
    source = pathlib.Path(folder) / "all.hpp"
    source.write_text(f'#include "{header}"\n')
    out = source.with_suffix(".hpp.pch" if clang else ".hpp.gch")
    code, _ = run([*compiler, "-x", "c++-header", str(source), "-o", str(out)])
    return [] if code != 0 else ["-include-pch", str(out)] if clang else ["-include", str(source)]


def reject(compiler, path):
    family = family_of(compiler[0])
    expected = expectations(path, family)
    if not expected:
        return "has no `// expect:` line at its top"
    code, output = run([*compiler, "-fsyntax-only", path])
    if code == 0:
        return "compiles, but should not"
    output = SPLIT.sub(" ", output)
    missing = [e for e in expected if not re.search(e, output)]
    if missing:
        return "\n".join(f"the output does not match: {e}" for e in missing) + f"\n{output}"
    return ""


def cuda(nvcc, path):
    spills_count = pathlib.Path(path).read_text().startswith("// spills: none\n")
    with tempfile.NamedTemporaryFile(suffix=".o") as out:
        machines = [80, 90] if spills_count else [90]
        options = [f"-gencode=arch=compute_{m},code=sm_{m}" for m in machines]
        options += ["-O3" if spills_count else "-O1", "-Werror", "all-warnings", "-Xptxas", "-v"]
        # As the other builds (meson.build): GCC 12 warns of uninitialized variables that are not.
        options += ["-Xcompiler", "-Wall,-Wextra,-Wno-maybe-uninitialized,-Wno-uninitialized"]
        code, output = run([*nvcc, *options, "-c", path, "-o", out.name])
    if code != 0:
        return f"does not compile:\n{output}"
    kernels = SPILL.findall(output)
    if not kernels:
        return f"has no kernel that ptxas reports on:\n{output}"
    spilled = sum(stores != "0" or loads != "0" for stores, loads in kernels)
    if spills_count and spilled:
        return f"spills registers:\n{output}"
    print(f"{path}: {len(kernels)} kernels, at most {max(map(int, REGISTERS.findall(output)))} registers, {spilled or 'none'} of them with spills")
    return ""


def main():
    if "--" not in sys.argv or len(sys.argv) < 5:
        sys.exit(__doc__)
    split = sys.argv.index("--")
    mode, paths, compiler = sys.argv[1], sys.argv[2:split], sys.argv[split + 1 :]
    check = {"accept": accept, "lean": lean, "alone": alone, "reject": reject, "cuda": cuda}[mode]
    if mode == "alone":
        paths = [str(h) for p in paths for h in sorted(pathlib.Path(p).rglob("*.hpp")) if not {"cuda", "thrust"} & set(h.parts)]
    failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(jobs(11 if check is cuda else 2)) as pool:
        if mode == "reject":
            compiler = diagnosing(compiler)
            compiler += precompiled(compiler, pathlib.Path(paths[0]).resolve().parent / "trace.hpp", folder)
        for path, complaint in zip(paths, pool.map(lambda p: check(compiler, p), paths)):
            if complaint:
                failed += 1
                print(f"FAILED {path}: {complaint}")
    print(f"{len(paths) - failed} passed, {failed} failed")
    sys.exit(failed > 0 or not paths)


main()
