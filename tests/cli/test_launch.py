"""`python -m spirograd launch`: processes are started, told who they are, watched and ended together."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import time
from multiprocessing import connection
from pathlib import Path

import pytest

from spirograd import cli
from spirograd.cli import launch

PROGRAM = """
import os, signal, sys, time
rank = int(os.environ["RANK"])
print("I am", rank, "of", os.environ["WORLD_SIZE"], os.environ["LOCAL_RANK"], os.environ["LOCAL_WORLD_SIZE"],
      os.environ.get("SPIROGRAD_DEVICE"), *sys.argv[1:])

def waits():
    while True:
        time.sleep(0.05)

what = sys.argv[1] if len(sys.argv) > 1 else ""
if what == "wait":
    waits()
if what and rank == 0:
    waits()
time.sleep(0.5 if what else 0)  # the other is waiting by then
if what == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if what == "raise":
    raise ValueError("a mistake")
if what == "leave":
    sys.exit(7)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    pytest.importorskip("mpi4py", reason="needs an MPI: pip install spirograd[mpi]")
    try:
        launch.mpiexec_of(None)
    except launch.UserError as error:
        pytest.skip(str(error))
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def started(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "spirograd", "launch", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def output_of(*words: str) -> tuple[int, str]:
    with started(*words) as process:
        out, _ = process.communicate(timeout=180)
    return process.returncode, out


@pytest.mark.needs("fork")
def test_whoever_says_nothing_is_in_nobodys_way() -> None:
    """Clients that are silent, or have another key, before the one that is waited for."""
    with launch.Control(1, [], remote=False) as control:
        host, _, port = control.variables["SPIROGRAD_LAUNCH"].rpartition(":")
        assert host == "127.0.0.1"
        silent = [socket.create_connection((host, int(port))) for _ in range(20)]
        with pytest.raises((multiprocessing.AuthenticationError, OSError, EOFError)):
            connection.Client((host, int(port)), "AF_INET", authkey=b"another key")
        key = control.variables["SPIROGRAD_LAUNCH_KEY"].encode()
        with connection.Client((host, int(port)), "AF_INET", authkey=key) as line:
            line.send(0)
            line.send(("done", {"code": 0}))
            assert control._messages.get(timeout=5) == (0, "done", {"code": 0})
        for one in silent:
            one.close()


def test_other_machines_are_heard_on_their_network_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert launch.address_for(["127.0.0.1"]) == "127.0.0.1" and launch.address_for(["no.such.machine.invalid"]) == ""
    with launch.Control(1, ["127.0.0.1"], remote=True) as control:
        assert control._listener.address[0] == "127.0.0.1"
        assert control.variables["SPIROGRAD_LAUNCH"].startswith("127.0.0.1:")
    lists = {"a": ["a"], "a,b2": ["b2"], "n[01-03,07]": ["n07"], "n[1-3]": ["n3"], "a,n[5]": ["n5"], "": []}
    for listed, last in lists.items():
        monkeypatch.setenv("SLURM_JOB_NODELIST", listed)
        assert launch.peers() == last


def test_each_process_knows_its_number_and_marks_its_output(program: Path) -> None:
    status, out = output_of("-n", "2", "--device", "gpu", str(program), "", "--flag")
    assert status == 0, out
    assert sorted(out.splitlines()) == ["[0] I am 0 of 2 0 2 gpu:0  --flag", "[1] I am 1 of 2 1 2 gpu:1  --flag"]


def test_a_module_is_found_from_the_present_folder(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(program.parent)
    status, out = output_of("-n", "1", "-m", "program")
    assert status == 0 and "[0] I am 0 of 1" in out, out


@pytest.mark.parametrize(
    ("what", "status", "said"),
    [
        ("kill", 137, "was killed by SIGKILL"),
        ("raise", 1, "ended with status 1"),
        ("leave", 7, "ended with status 7"),
    ],
)
def test_one_that_fails_is_named_and_the_others_end(program: Path, what: str, status: int, said: str) -> None:
    got, out = output_of("-n", "2", str(program), what)
    assert got == status, out
    assert re.search(rf"launch: rank 1 of 2 \(.*, process \d+\) {said}", out), out
    assert "  | I am 1 of 2" in out
    assert re.search(rf"launch: rank 0 was at {re.escape(str(program))}:\d+, in waits", out), out
    if what == "raise":
        assert "  | ValueError: a mistake" in out and "supervised.py" not in out
    assert not left_over(program)


def left_over(program: Path) -> list[str]:
    """Processes of the program that still run."""
    time.sleep(0.2)
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if str(program) in words:
            found.append(" ".join(words))
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_all(program: Path, number: signal.Signals) -> None:
    with started("-n", "2", str(program), "wait") as process:
        assert process.stdout
        for _ in range(2):
            process.stdout.readline()
        process.send_signal(number)
        process.communicate(timeout=180)
    assert process.returncode == (130 if number == signal.SIGINT else 143)
    assert not left_over(program)


def test_a_model_of_characters_is_trained_by_two(program: Path, tmp_path: Path) -> None:
    words = ("-m", "spirograd.examples.gpt", "--distributed", "--small", "--device", "cpu", "--sample", "0")
    status, out = output_of("-n", "2", *words, "--steps", "4", "--checkpoints", str(tmp_path / "gpt"))
    assert status == 1 and "[0] floor 2.90: MISSED" in out, out  # after four steps
    assert [p.name for p in (tmp_path / "gpt").iterdir()] == ["step-0000000004.npz"]


def test_a_text_is_learned_by_two_and_then_by_one(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, folder = tmp_path / "text.txt", str(tmp_path / "run")
    text.write_text("to be or not to be, that is the question. " * 50)
    sizes = ("--context", "8", "--layers", "1", "--heads", "1", "--width", "8", "--batch", "4", "--device", "cpu")
    words = ("train", "text", "--data", str(text), *sizes, "--every", "10", "--out", folder)
    status, out = output_of("-n", "2", "-m", "spirograd", *words, "--distributed", "--steps", "10")
    assert status == 0 and "in 2 processes, step 0 of 10" in out, out
    assert "[0] step 10: loss" in out and "[1] step" not in out, out
    assert cli.main([*words, "--steps", "20", "--resume"]) == 0
    said = capsys.readouterr().out
    assert "step 10 of 20" in said and "step 20: loss" in said, said


def test_places_name_the_collective() -> None:
    collectives = Path(launch.__file__).parents[1] / "distributed" / "collectives.py"
    stack = f"""Thread 0x01 (most recent call first):
  File "/usr/lib/python3/threading.py", line 1 in wait
Current thread 0x02 (most recent call first):
  File "{collectives}", line 5 in _array
  File "{collectives}", line 9 in all_reduce
  File "/home/me/train.py", line 12 in step
"""
    assert launch.place_of(stack) == "in all_reduce at /home/me/train.py:12, in step"
    assert launch.place_of("") == "not in the program's Python"


def fake(folder: Path, said: str) -> str:
    path = folder / "mpiexec"
    path.write_text(f"#!/bin/sh\necho '{said}'\n")
    path.chmod(0o755)
    return str(path)


def test_what_cannot_be_started_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "x.py"
    script.write_text("")
    for words, said in (
        ((str(script),), "the number of processes is missing; give -n N"),
        (("-n", "2", "no such file"), "there is no file no such file"),
        (("--hosts", "a:x", str(script)), "'x' is not a number of processes"),
        (("-n", "2", "--mpiexec", "no-such-mpiexec", str(script)), "there is no such program"),
    ):
        assert cli.main(["launch", *words]) == 2
        assert said in capsys.readouterr().err


def test_a_job_of_slurm_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_JOB_NUM_NODES", "SLURM_NTASKS"):
        monkeypatch.delenv(name, raising=False)
    assert launch.allocation() == (1, 0)
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    assert launch.allocation() == (2, 0)
    monkeypatch.setenv("SLURM_NTASKS", "4")
    assert launch.allocation() == (2, 4)


@pytest.mark.needs("scripts")
def test_open_mpi_does_not_start_programs_of_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starter = fake(tmp_path, "mpiexec (OpenRTE) 4.1.4")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("OMPI_ALLOW_RUN_AS_ROOT", raising=False)
    with pytest.raises(launch.UserError, match="does not start programs of root; use another user, set OMPI_ALLOW"):
        launch.kind_of(starter)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert launch.kind_of(starter) == "openmpi"
    assert launch.kind_of(fake(tmp_path, "HYDRA build details")) == "mpich"
    words = launch.arguments_of("openmpi", "mpirun", 4, [("a", 2), ("b", 2)], {"KEY": "1"})
    assert words[:5] == ["mpirun", "-n", "4", "--host", "a:2,b:2"] and words[5:7] == ["-x", "KEY"]
    assert launch.arguments_of("mpich", "mpiexec", 4, [("a", 2)], {})[3:] == ["-hosts", "a:2"]
