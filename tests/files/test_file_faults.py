"""Full disks, folders that cannot be written, killed processes: the old file stays, or a new one is whole."""

from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import spirograd as sg
from spirograd.utils import checkpoints

BIG = 300_000  # bytes that a full disk does not have


def checkpoint(path: Path, values: sg.Tensor) -> None:
    """As the others: under this name."""
    made = checkpoints.save(path.parent / "run", 1, keep=1, extra=values)
    made.replace(path)


# Each writes `values` to a path.
WRITERS: dict[str, Callable[[Path, sg.Tensor], Any]] = {
    "save": lambda path, values: sg.save({"x": values}, path),
    "savez": lambda path, values: sg.savez(path, x=values),
    "safetensors": lambda path, values: sg.save_safetensors({"x": values}, path),
    "checkpoint": checkpoint,
    "tokenizer": lambda path, values: sg.text.WordTokenizer([str(i) for i in range(len(values))]).save(path),
}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 128 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    if not shutil.which("mount"):
        pytest.skip("the system mounts no file systems in a folder")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounts need rights that this user does not have")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_keeps_the_old_file(name: str, small_disk: Path) -> None:
    if name == "safetensors":
        pytest.importorskip("safetensors")
    path = small_disk / "file"
    WRITERS[name](path, sg.ones(100))
    before = path.read_bytes()
    with pytest.raises(OSError, match="No space left") as raised:
        WRITERS[name](path, sg.zeros(BIG // 4))
    assert raised.value.errno == errno.ENOSPC and path.read_bytes() == before
    assert [p.name for p in small_disk.rglob("*") if p.is_file()] == ["file"], "nothing half written takes room"
    WRITERS[name](path, sg.zeros(50))
    assert path.read_bytes() != before, "and it goes on once there is room"


LIMITED = """
import os, resource, sys
import spirograd as sg
sys.path.insert(0, {tests!r})
from test_file_faults import WRITERS, BIG
from pathlib import Path
path = Path({path!r})
write = WRITERS[{name!r}]
write(path, sg.ones(100))
before = path.read_bytes()
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    write(path, sg.zeros(BIG // 4))
except OSError as error:
    print(type(error).__name__, os.strerror(error.errno), path.read_bytes() == before, len(os.listdir(path.parent)))
"""


@pytest.mark.needs("limits")
@pytest.mark.parametrize("name", ["save", "tokenizer"])
def test_a_file_that_may_not_grow_keeps_the_old_one(name: str, run_python: Callable[..., str], tmp_path: Path) -> None:
    """As a full disk, where none can be mounted."""
    (tmp_path / "in").mkdir()
    code = LIMITED.format(tests=str(Path(__file__).parent), path=str(tmp_path / "in" / "file"), name=name)
    assert run_python(code) == "OSError File too large True 1\n"


READ_ONLY = """
import os, sys
import spirograd as sg
sys.path.insert(0, {tests!r})
from test_file_faults import WRITERS
from pathlib import Path
path = Path({path!r})
before = path.read_bytes()
if os.getuid() == 0:
    os.setuid(65534)
for name, write in WRITERS.items():
    try:
        write(path, sg.ones(100))
    except PermissionError:
        print(name, path.read_bytes() == before)
"""


@pytest.mark.needs("rights")
def test_a_folder_that_cannot_be_written_keeps_the_old_file(run_python: Callable[..., str]) -> None:
    pytest.importorskip("safetensors")
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are not for other users
        path = Path(folder) / "file"
        sg.save(1, path)
        path.parent.chmod(0o555)
        try:
            out = run_python(READ_ONLY.format(tests=str(Path(__file__).parent), path=str(path)))
        finally:
            path.parent.chmod(0o755)
    assert out.split() == [word for name in WRITERS for word in (name, "True")]


@pytest.mark.needs("rights")
@pytest.mark.parametrize("name", WRITERS)
def test_who_may_read_a_file_stays_so(name: str, tmp_path: Path) -> None:
    if name == "safetensors":
        pytest.importorskip("safetensors")
    path, before = tmp_path / "in" / "file", os.umask(0o027)
    path.parent.mkdir()
    try:
        WRITERS[name](path, sg.ones(3))
        assert path.stat().st_mode & 0o7777 == 0o640, "new files follow the mask"
        if name == "checkpoint":  # is a new file each time
            return
        for mode in (0o600, 0o444, 0o664):
            path.chmod(mode)
            WRITERS[name](path, sg.ones(4))
            assert path.stat().st_mode & 0o7777 == mode and len(os.listdir(path.parent)) == 1
    finally:
        os.umask(before)


@pytest.mark.needs("devices")
def test_a_device_that_is_full_says_so() -> None:
    with pytest.raises(OSError, match="No space left"):
        sg.save(sg.ones(100), "/dev/full")


KILLED = """
import os, signal, sys
import spirograd as sg
from pathlib import Path
path, kills = Path({path!r}), {kills}
path.parent.mkdir()
def save(k, last):  # killed before this line of Python, of all that a save runs
    passed = 0
    def trace(frame, event, argument):
        nonlocal passed
        passed += event == "line"
        if passed == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace
    sys.settrace(trace)
    try:
        sg.save({{"k": k, "x": sg.full((50_000,), float(k))}}, path)
    finally:
        sys.settrace(None)
    return passed
save(0, -1)
lines = save(0, -1)  # nothing is imported now
old = new = 0
for k in range(1, kills + 1):
    child = os.fork()
    if child == 0:
        save(k, 1 + (lines - 1) * (k - 1) // (kills - 1))
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), k
    found = sg.load(path)
    assert found["k"] in (old, k) and found["x"].tolist() == [float(found["k"])] * 50_000, found
    new += found["k"] == k
    old = found["k"]
print(new, len(os.listdir(path.parent)) - 1)
"""


@pytest.mark.needs("fork")
def test_two_hundred_kills_while_saving_leave_a_whole_file(run_python: Callable[..., str], tmp_path: Path) -> None:
    """Each at another line, from the first to the last one."""
    new, halves = map(int, run_python(KILLED.format(path=str(tmp_path / "in" / "x.npz"), kills=200)).split())
    assert new > 0 and halves > 20 and new + halves <= 200, "before, in the middle of and after the file"


def test_a_checkpoint_removes_what_a_killed_process_left(tmp_path: Path) -> None:
    (tmp_path / ".step-0000000001.npz.12345678.part").write_bytes(b"half")
    checkpoints.save(tmp_path, 2, extra=1)
    assert os.listdir(tmp_path) == ["step-0000000002.npz"]


# --- files that change while they are read


def test_a_file_that_is_cut_while_it_is_read_is_refused_or_whole(tmp_path: Path) -> None:
    path, whole = tmp_path / "x.npz", sg.arange(500_000)
    sg.save(whole, path)
    data, going = path.read_bytes(), threading.Event()

    def disturb() -> None:
        while not going.is_set():
            os.truncate(path, 1000)
            path.write_bytes(data)

    thread = threading.Thread(target=disturb)
    thread.start()
    read = refused = 0
    try:
        for _ in range(60):
            try:
                assert sg.load(path).equal(whole)
                read += 1
            except sg.FileFormatError:
                refused += 1
    finally:
        going.set()
        thread.join()
    assert refused > 0 and read + refused == 60


class Shrinking(io.BytesIO):
    """Tells of more than it gives."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(size)[: -1 if self.tell() > 100 else None]


@pytest.mark.parametrize("write", [lambda f: sg.save(sg.ones(99), f), lambda f: sg.savez(f, x=sg.ones(99))])
def test_short_reads_are_no_values(write: Callable[[Any], None]) -> None:
    f = io.BytesIO()
    write(f)
    with pytest.raises(sg.FileFormatError):
        sg.load(Shrinking(f.getvalue()))


# --- what is in the way


def test_long_names_and_names_with_zeros_are_only_names(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    names = {"x" * 1_000_000: sg.ones(1), "../../up": sg.zeros(1), "/etc/passwd": sg.ones(1), "a\0b": sg.zeros(1)}
    sg.save_safetensors(names, tmp_path / "x.safetensors")
    assert sg.load(tmp_path / "x.safetensors").keys() == names.keys() and os.listdir(tmp_path) == ["x.safetensors"]
    sg.save(names, tmp_path / "y.npz")
    assert sg.load(tmp_path / "y.npz").keys() == names.keys()


def test_data_sets_take_no_file_that_was_not_asked_for(tmp_path: Path) -> None:
    import tarfile

    from spirograd.datasets import download

    folder = tmp_path / "set"
    folder.mkdir()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as packed:
        for name, kind in (("../../evil", tarfile.REGTYPE), ("/tmp/evil", tarfile.REGTYPE), ("a", tarfile.SYMTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/passwd"
            packed.addfile(entry)
    (folder / "all.tar.gz").write_bytes(out.getvalue())
    with pytest.raises(sg.FileFormatError):
        download.read("set", [download.File("a")], download.Download("all.tar.gz", ()), tmp_path, False)
    assert os.listdir(tmp_path) == ["set"] and os.listdir(folder) == ["all.tar.gz"]


HOSTILE = ["libvulkan.so.1", "libvulkan.so", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "_core.so"]


def test_no_library_comes_from_the_current_folder(tmp_path: Path) -> None:
    """Files that are no libraries: whoever loaded one would fail, or say something else than in an empty folder."""
    code = """
import sys
sys.path.remove("")
import spirograd as sg
print(sg.ones(2).sum().item(), sg.Device.list(), sg._core._gpu_reason())
"""
    path = os.pathsep.join(p for p in sys.path if p)
    said = []
    for name in ("empty", "hostile"):
        folder = tmp_path / name
        folder.mkdir()
        for library in HOSTILE if name == "hostile" else []:
            (folder / library).write_bytes(b"not a library")
        result = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "SPIROGRAD_VULKAN_LIB": ""},
        )
        assert result.returncode == 0 and result.stdout.startswith("2.0 "), result.stderr
        said.append(result.stdout)
    assert said[0] == said[1]


def test_the_module_names_no_folder_of_libraries() -> None:
    if os.name == "nt" or not shutil.which("readelf"):
        pytest.skip("readelf is not installed, or reads no modules of the system")
    text = subprocess.run(["readelf", "-d", sg._core.__file__], capture_output=True, text=True, check=True).stdout
    assert "NEEDED" in text
    paths = [line for line in text.splitlines() if "RPATH" in line or "RUNPATH" in line]
    assert all("[$ORIGIN" in line for line in paths), paths


@pytest.mark.needs("rights")
def test_variables_of_the_caller_do_not_steer_a_process_with_more_rights(tmp_path: Path) -> None:
    """A copy of this Python that runs for another group: it does not ask for SPIROGRAD_DEVICE."""
    if os.getuid() != 0:
        pytest.skip("only root can make such a program")
    if Path(sg.__file__).parent != Path(sg._core.__file__).parent:
        pytest.skip("an editable installation is found in its own environment only")
    program = tmp_path / "python"
    shutil.copy(os.path.realpath(sys.executable), program)
    path = os.pathsep.join(p for p in sys.path if p)
    code = "import os, spirograd as sg\nprint(os.getegid() != os.getgid(), sg.zeros(1).device)"
    told = {**os.environ, "PYTHONPATH": path, "PYTHONHOME": sys.base_prefix, "SPIROGRAD_DEVICE": "tpu"}

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run([program, "-c", code], env=told, capture_output=True, text=True)

    assert "'tpu' names no device" in run().stderr
    os.chown(program, 0, 65534)
    program.chmod(0o2755)
    assert run().stdout == "True cpu\n"
