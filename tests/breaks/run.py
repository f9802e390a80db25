"""Breaks the product on purpose and demands that the tests notice: the lane `breaks` of tools/test.sh.

For each row of docs/reliability.md: applies its patch to a copy of the tree (build/breaks/tree), builds what it
touches, and runs the row's tests there. They pass without it; with it, one of them must fail by what it asserts, or
crash: a patch that no longer applies, a build or an import that fails, tests that are skipped or hang prove nothing.

Each result is kept in build/breaks/results.json as soon as it is there: `--rest` goes on where a run was ended, with
the rows that it has not proven. The tree itself is never changed, and the copy is made anew by each run.

    python tests/breaks/run.py [--only ROW...] [--rest]

Needs what tools/setup.sh makes, and a GPU for rows of GPUs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from patches import ROOT, Row, apply, changes, rows

WORK = ROOT / "build" / "breaks"
TREE, BUILD, BUILT, RESULTS = WORK / "tree", WORK / "build", WORK / "built", WORK / "results.json"
PACKAGE = TREE / "python" / "spirograd"
TESTS = "spirograd_tests"
CORE = "_core" + sysconfig.get_config_var("EXT_SUFFIX")
INSTALLED = Path(sysconfig.get_paths()["platlib"]) / "spirograd" / CORE
LIMIT, BUILD_LIMIT = 300, 3600  # seconds that the tests of a row, and a build, may take
CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
# It works but for what is broken: if this fails, no failure of a test says anything.
SMOKE = "import spirograd as sg; assert sg.ones(2).add(1).tolist() == [2, 2]; print(sg.__file__)"


class Unproven(Exception):
    """Why the tests of a row prove nothing."""


def command(*words: str | Path, cwd: Path = TREE, limit: int = LIMIT) -> subprocess.CompletedProcess[str]:
    """Runs a command with the tools of this interpreter and the package of the copy."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(PACKAGE.parent)}
    arguments = [str(w) for w in words]
    with subprocess.Popen(
        arguments,
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, errors = process.communicate(timeout=limit)
        except BaseException as e:  # an end of this program, too
            os.killpg(process.pid, signal.SIGKILL)  # and what it started
            if isinstance(e, subprocess.TimeoutExpired):
                raise Unproven(f"{' '.join(arguments)} took more than {limit} s") from e
            raise
    return subprocess.CompletedProcess(arguments, process.returncode, out, errors)


def copy_tree() -> None:
    """Makes the copy as the tree is. What has not changed keeps its time, so that builds go on from the last one."""
    listed = command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).stdout
    names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    there = {str(p.relative_to(TREE)) for p in TREE.rglob("*") if p.is_file() and ".deps" not in p.parts}
    for name in there - names:
        (TREE / name).unlink()
    for name in names:
        new, old = ROOT / name, TREE / name
        if not old.exists() or old.read_bytes() != new.read_bytes():
            old.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(new, old)
            old.chmod(new.stat().st_mode)
    if not (TREE / ".deps").exists() and (ROOT / ".deps").is_dir():
        (TREE / ".deps").symlink_to(ROOT / ".deps")


def put_core(core: Path) -> None:
    """Puts a compiled module into the copy; a process that has the one before loaded keeps it."""
    shutil.copyfile(core, WORK / CORE)
    (WORK / CORE).replace(PACKAGE / CORE)


def build(target: str) -> None:
    """Builds a target of the copy."""
    if not (BUILD / "build.ninja").exists():
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DSPIROGRAD_TESTS=ON", f"-DPython_EXECUTABLE={sys.executable}"]
        made = command("cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", *options, limit=BUILD_LIMIT)
        if made.returncode:
            raise Unproven(f"CMake failed:\n{made.stdout[-2000:]}{made.stderr[-2000:]}")
    made = command("cmake", "--build", BUILD, "--target", target, limit=BUILD_LIMIT)
    if made.returncode:
        raise Unproven(f"the build failed:\n{made.stdout[-3000:]}")


def python_tests(row: Row, skipped: bool = False) -> list[str]:
    """The tests of the row in Python that failed by what they assert. `skipped`: those that are left out are fine."""
    names = [test.split("::") for test in row.tests if ".py::" in test]
    if not names:
        return []
    smoke = command(sys.executable, "-c", SMOKE, cwd=WORK)
    if smoke.returncode or not smoke.stdout.startswith(str(PACKAGE)):
        raise Unproven(f"the package itself fails:\n{smoke.stdout}{smoke.stderr[-2000:]}")
    paths = [f"{next((TREE / 'tests').glob(f'*/{file}'))}::{test}" for file, test in names]
    report = WORK / f"{row.number:02}.xml"
    report.unlink(missing_ok=True)
    # A parametrised test stops at its first failure; the tests of a row are few.
    quick = ["-q", "-x", "-p", "no:cacheprovider"]
    told = command(sys.executable, "-m", "pytest", *quick, f"--junitxml={report}", *paths)
    (WORK / f"{row.number:02}.log").write_text(told.stdout + told.stderr, encoding="utf-8")
    if -told.returncode in CRASHES:
        return [f"{', '.join(row.tests)}, with {signal.Signals(-told.returncode).name}"]
    if told.returncode not in (0, 1) or not report.exists():
        raise Unproven(f"pytest ended with {told.returncode}:\n{told.stdout[-2000:]}{told.stderr[-1000:]}")
    failed = []
    for case in ET.parse(report).iter("testcase"):
        for failure in case.iter("failure"):
            failed.append(f"{case.get('name')}: {(failure.get('message') or '').splitlines()[0][:120]}")
        for error in case.iter("error"):
            raise Unproven(f"{case.get('name')} was not run: {error.get('message')}")
    if not failed and not skipped and ET.parse(report).getroot().find(".//skipped") is not None:
        raise Unproven(f"tests were skipped: {told.stdout.splitlines()[-1]}")
    return failed


def cpp_tests(row: Row, program: Path) -> list[str]:
    """The tests of the row in C++ that failed."""
    failed = []
    for name in (test.split("::", 1)[1] for test in row.tests if ".cpp::" in test):
        told = command(program, re.sub(r"([,\[\]\\])", r"\\\1", name) + "*")  # one for each type
        (WORK / f"{row.number:02}.cpp.log").write_text(told.stdout + told.stderr, encoding="utf-8")
        if re.search(r"^test cases: .*\b[1-9]\d* failed", told.stdout, re.MULTILINE):
            failed.append(name)
        elif told.returncode != 0:
            raise Unproven(f"'{name}' ended with {told.returncode}:\n{told.stdout[-2000:]}{told.stderr[-1000:]}")
    return failed


def is_compiled(row: Row) -> bool:
    """Whether the break changes more than Python."""
    return any(not path.startswith("python/") for path in changes(row.patch.read_text(encoding="utf-8")))


def keep_build() -> None:
    """Builds everything without a break, and keeps it."""
    build(TESTS)
    build("_core")
    shutil.rmtree(BUILT, ignore_errors=True)
    shutil.copytree(BUILD, BUILT)


def put_build_back() -> None:
    """What a break has built is as before, with its times, so that no later build makes it again."""
    for old in BUILT.rglob("*"):
        new = BUILD / old.relative_to(BUILT)
        if old.is_file() and not old.name.startswith(".ninja") and new.stat().st_mtime_ns != old.stat().st_mtime_ns:
            shutil.copy2(old, new)


@contextmanager
def changed(row: Row) -> Iterator[None]:
    """The copy with the break of a row; afterwards as before, with its times."""
    try:
        texts = apply(row.patch, TREE)
    except (OSError, ValueError) as e:
        raise Unproven(f"the patch does not apply: {e}") from e
    kept = {path: (path.read_text(encoding="utf-8"), path.stat().st_mtime_ns) for path in texts}
    try:
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
        yield
    finally:
        if is_compiled(row):
            put_build_back()
        for path, (text, time_ns) in kept.items():
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(time_ns, time_ns))
        put_core(INSTALLED)


@dataclass
class Result:
    """Of one row: whether its tests notice its break, by which words, and the seconds that it took."""

    row: int
    noticed: bool = False
    said: str = ""
    without: float = 0.0  # a break: its tests, which must pass
    building: float = 0.0
    tests: float = 0.0  # with the break

    @contextmanager
    def timed(self, field: str) -> Iterator[None]:
        """Notes the seconds of the block."""
        begin = time.monotonic()
        try:
            yield
        finally:
            setattr(self, field, time.monotonic() - begin)

    def line(self) -> str:
        seconds = f"{self.without:7.0f} {self.building:8.0f} {self.tests:5.0f}"
        return f"{self.row:3} {seconds}  {'noticed by ' if self.noticed else ''}{self.said}"


HEAD = "row without building tests  (seconds)"


def unbroken(row: Row, result: Result) -> None:
    """The tests of the row must pass without its break."""
    with result.timed("without"):
        failed = cpp_tests(row, BUILT / TESTS) + python_tests(row, skipped=True)
    if failed:
        raise Unproven(f"without a break, too, fails {failed[0]}")


def broken(row: Row, result: Result) -> None:
    """Breaks the product, and demands that a test of the row notices it."""
    with changed(row):
        if is_compiled(row):
            with result.timed("building"):
                if any(".cpp::" in test for test in row.tests):
                    build(TESTS)
                if any(".py::" in test for test in row.tests):
                    build("_core")
                    put_core(BUILD / CORE)
        with result.timed("tests"):
            failed = cpp_tests(row, BUILD / TESTS) + python_tests(row)
    if not failed:
        raise Unproven(f"not noticed by {', '.join(row.tests)}")
    result.noticed, result.said = True, failed[0]


def prove(row: Row) -> Result:
    """Whether the tests of the row notice its break, or why they prove nothing."""
    result = Result(row.number)
    try:
        unbroken(row, result)
        broken(row, result)
    except Unproven as e:
        result.said = f"PROVES NOTHING: {e}"
    return result


def kept_results() -> dict[int, Result]:
    """Those of the last run."""
    if not RESULTS.exists():
        return {}
    return {r["row"]: Result(**r) for r in json.loads(RESULTS.read_text(encoding="utf-8"))}


def keep(results: dict[int, Result]) -> None:
    """Writes them where --rest reads them."""
    text = json.dumps([asdict(r) for _, r in sorted(results.items())], indent=1)
    RESULTS.write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=int, nargs="+", metavar="ROW", help="these rows")
    parser.add_argument("--rest", action="store_true", help="rows that the last run has not proven")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # as after Ctrl-C, nothing stays that was started
    all_rows = {row.number: row for row in rows()}
    wanted = options.only or list(all_rows)
    if unknown := set(wanted) - set(all_rows):
        parser.error(f"docs/reliability.md has no rows {sorted(unknown)} with tests")
    TREE.mkdir(parents=True, exist_ok=True)
    copy_tree()
    put_core(INSTALLED)
    start = time.monotonic()
    results = kept_results() if options.only or options.rest else {}
    proven = {n for n, result in results.items() if options.rest and result.noticed}
    chosen = [all_rows[n] for n in wanted if n not in proven]
    if any(is_compiled(row) for row in chosen):
        keep_build()
    print(HEAD)
    for row in chosen:
        results[row.number] = prove(row)
        keep(results)
        print(results[row.number].line(), flush=True)
    shown = [results[n] for n in wanted]
    missed = [r for r in shown if not r.noticed]
    print("", HEAD, *(r.line() for r in shown), sep="\n")
    print(f"{len(shown) - len(missed)} passed, {len(missed)} failed in {time.monotonic() - start:.1f}s")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
