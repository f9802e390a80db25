"""The kernels on disk: whoever wrote them and whatever became of them, results are right, and at worst there is a
warning."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

# Prints the kinds of warnings.
CODE = """
import warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import spirograd as sg
    x = sg.arange(12.0, device="gpu").reshape(3, 4)
    assert (x * 2 + 1).tolist() == [[1, 3, 5, 7], [9, 11, 13, 15], [17, 19, 21, 23]]
    assert (x @ x.T).sum(dim=1).tolist() == [114.0, 378.0, 642.0]
    print(*sorted({w.category.__name__ for w in seen}))
"""


@pytest.fixture
def run(run_python: Callable[..., str], tmp_path: Path) -> Callable[[], list[str]]:
    return lambda: run_python(CODE, SPIROGRAD_CACHE=str(tmp_path / "cache")).split()


def kernels(tmp_path: Path) -> dict[Path, int]:
    """The files of kernels and which they are: another one once it was written again."""
    files = [p for p in sorted((tmp_path / "cache").rglob("*")) if p.is_file()]
    return {p: p.stat().st_ino for p in files if b"pipelines/" not in p.read_bytes()[:99]}


def start(tmp_path: Path) -> subprocess.Popen[str]:
    path = os.pathsep.join(p for p in sys.path if p)
    variables = {**os.environ, "PYTHONPATH": path, "SPIROGRAD_CACHE": str(tmp_path / "cache")}
    return subprocess.Popen([sys.executable, "-c", CODE], env=variables, stdout=subprocess.PIPE, text=True)


def test_processes_that_write_at_once_do_not_disturb_each_other(run: Callable[[], list[str]], tmp_path: Path) -> None:
    processes = [start(tmp_path) for _ in range(3)]
    for p in processes:
        out, _ = p.communicate(timeout=300)
        assert p.returncode == 0 and out == "\n", out
    kept = kernels(tmp_path)
    assert len(kept) > 1 and all(p.suffix == ".bin" for p in kept)
    assert run() == [] and kernels(tmp_path) == kept, "the next one reads them"


def test_a_process_killed_while_it_writes_leaves_no_bad_kernel(run: Callable[[], list[str]], tmp_path: Path) -> None:
    chance = random.Random(0)
    for _ in range(3):
        process = start(tmp_path)
        begin = time.monotonic()
        while not kernels(tmp_path) and process.poll() is None and time.monotonic() - begin < 60:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.03))
        process.kill()
        process.communicate()
    assert run() == [], "no warning"


def test_kernels_under_the_names_of_others_are_not_used(run: Callable[[], list[str]], tmp_path: Path) -> None:
    """As those of another driver or version would be, or planted ones: each file says what it is for."""
    run()
    kept = kernels(tmp_path)
    contents = [p.read_bytes() for p in kept]
    for p, other in zip(kept, contents[1:] + contents[:1], strict=True):
        p.write_bytes(other)
    assert run() == ["CacheWarning"]
    assert [p.read_bytes() for p in kept] == contents, "and they were replaced"


@pytest.mark.needs("rights")
def test_a_folder_that_others_can_write_is_not_used(run: Callable[[], list[str]], tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    assert run() == ["CacheWarning"] and kernels(tmp_path) == {}


@pytest.mark.needs("rights")
def test_a_folder_of_somebody_else_is_not_used(run: Callable[[], list[str]], tmp_path: Path) -> None:
    run()
    try:
        os.chown(tmp_path / "cache", 65534, 65534)
    except PermissionError:
        pytest.skip("only root can give a folder away")
    assert run() == ["CacheWarning"]


def test_a_full_disk_keeps_no_kernels(run: Callable[[], list[str]], tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k,mode=0700", "none", tmp_path / "cache"]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounts need rights that this user does not have")
    try:
        assert run() == ["CacheWarning"]
    finally:
        subprocess.run(["umount", "-l", tmp_path / "cache"], check=True)


def test_the_oldest_kernels_go_when_there_are_too_many(run_python: Callable[..., str], tmp_path: Path) -> None:
    """Beyond the limit the files that were read or written longest ago go, and what half-written ones left."""
    folder = tmp_path / "cache"
    variables = {"SPIROGRAD_CACHE": str(folder), "SPIROGRAD_CACHE_LIMIT": "0"}
    assert run_python(CODE, **variables).split() == []
    size = max(10_000, sum(file.stat().st_size for file in folder.iterdir()) // 10)  # drivers' kernels differ
    for file in folder.iterdir():
        file.unlink()
    now = time.time()
    for i in range(40):
        name = f"{i:032x}.bin" + (".123.0.tmp" if i % 4 == 0 else "")
        (folder / name).write_bytes(bytes(size))
        os.utime(folder / name, (now - 1000 + i, now - 1000 + i))
    for other in ("mnist", "x.bin"):
        (folder / other).write_bytes(bytes(size))
        os.utime(folder / other, (1, 1))

    def is_old(file: Path) -> bool:
        return file.name[:24] == "0" * 24

    assert run_python(CODE, **variables).split() == [] and sum(map(is_old, folder.iterdir())) == 40
    for file in kernels(tmp_path):
        if not is_old(file) and len(file.name) == 36:
            file.unlink()
    assert run_python(CODE, **variables | {"SPIROGRAD_CACHE_LIMIT": str(32 * size)}).split() == []
    left = sorted(int(file.name[:32], 16) for file in folder.iterdir() if is_old(file))
    assert left == [*range(40 - len(left), 40)] and 14 <= len(left) <= 29, "room for a while"
    assert (folder / "mnist").exists() and (folder / "x.bin").exists()
    used = min(file.stat().st_mtime for file in folder.iterdir() if not is_old(file) and len(file.name) == 36)
    assert used > now - 900, "what was used is the newest"


def test_a_folder_that_cannot_be_made_is_a_warning(run_python: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert run_python(CODE, SPIROGRAD_CACHE=str(tmp_path / "file" / "in")).split() == ["CacheWarning"]
