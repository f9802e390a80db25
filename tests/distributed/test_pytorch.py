"""Programs written for torch.distributed."""

from __future__ import annotations

from distributed.processes import run


def test_a_program_of_several_processes_for_pytorch_runs_as_it_is() -> None:
    done = run(2, "program_pytorch.py")
    assert done.returncode == 0 and done.stdout.count("all right") == 2, done.stdout
