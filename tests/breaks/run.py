"""Breaks the product on purpose and demands that the tests notice: the lane `breaks` of tools/test.sh.

For each row of docs/reliability.md: applies its patch to a copy of the tree (build/breaks/tree), builds what it
touches, and runs the row's tests there. They pass without it; with it, one of them must fail by what it asserts, or
crash: a patch that no longer applies, a build or an import that fails, tests that are skipped or hang prove nothing.

BREAKS="3 7 12" runs these rows alone. Needs what tools/setup.sh makes, and a GPU for rows of GPUs.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

from patches import ROOT, Row, apply, rows

WORK = ROOT / "build" / "breaks"
TREE, BUILD = WORK / "tree", WORK / "build"
PACKAGE = TREE / "python" / "spirograd"
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
        except subprocess.TimeoutExpired as e:
            os.killpg(process.pid, signal.SIGKILL)  # and what it started
            raise Unproven(f"{' '.join(arguments)} took more than {limit} s") from e
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


def cpp_tests(row: Row) -> list[str]:
    """The tests of the row in C++ that failed."""
    failed = []
    for name in (test.split("::", 1)[1] for test in row.tests if ".cpp::" in test):
        told = command(BUILD / "spirograd_tests", re.sub(r"([,\[\]\\])", r"\\\1", name) + "*")  # one for each type
        (WORK / f"{row.number:02}.cpp.log").write_text(told.stdout + told.stderr, encoding="utf-8")
        if re.search(r"^test cases: .*\b[1-9]\d* failed", told.stdout, re.MULTILINE):
            failed.append(name)
        elif told.returncode != 0:
            raise Unproven(f"'{name}' ended with {told.returncode}:\n{told.stdout[-2000:]}{told.stderr[-1000:]}")
    return failed


def broken(row: Row) -> list[str]:
    """Breaks the product, and says which tests of the row noticed it."""
    try:
        texts = apply(row.patch, TREE)
    except (OSError, ValueError) as e:
        raise Unproven(f"the patch does not apply: {e}") from e
    kept = {path: path.read_text(encoding="utf-8") for path in texts}
    try:
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
        if not all(path.is_relative_to(PACKAGE) for path in texts):
            if any(".cpp::" in test for test in row.tests):
                build("spirograd_tests")
            if any(".py::" in test for test in row.tests):
                build("_core")
                put_core(BUILD / CORE)
        return cpp_tests(row) + python_tests(row)
    finally:
        for path, text in kept.items():
            path.write_text(text, encoding="utf-8")
        put_core(INSTALLED)


def attempt(row: Row, tests: Callable[[Row], str]) -> tuple[bool, str]:
    """What the tests of a row say, or why they say nothing."""
    try:
        return True, tests(row)
    except Unproven as e:
        return False, f"PROVES NOTHING: {e}"


def unbroken(row: Row) -> str:
    """Nothing: the tests of the row must pass without a break."""
    if any(".cpp::" in test for test in row.tests):
        build("spirograd_tests")
    if failed := cpp_tests(row) + python_tests(row, skipped=True):
        raise Unproven(f"without a break, too, fails {failed[0]}")
    return ""


def noticed(row: Row) -> str:
    """Which test noticed the break of the row."""
    if failed := broken(row):
        return f"noticed by {failed[0]}"
    raise Unproven(f"not noticed by {', '.join(row.tests)}")


def main() -> int:
    wanted = {int(n) for n in os.environ.get("BREAKS", "").split()}
    chosen = [row for row in rows() if not wanted or row.number in wanted]
    if unknown := wanted - {row.number for row in chosen}:
        print(f"breaks: docs/reliability.md has no rows {sorted(unknown)} with tests")
        return 1
    TREE.mkdir(parents=True, exist_ok=True)
    copy_tree()
    put_core(INSTALLED)
    start, missed = time.monotonic(), 0
    before = {row.number: attempt(row, unbroken) for row in chosen}  # in one go: the build is that of all
    for row in chosen:
        begin = time.monotonic()
        good, said = before[row.number]
        if good:
            good, said = attempt(row, noticed)
        missed += not good
        print(f"row {row.number:2} {time.monotonic() - begin:4.0f} s  {said}", flush=True)
    print(f"{len(chosen) - missed} passed, {missed} failed in {time.monotonic() - start:.1f}s")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
