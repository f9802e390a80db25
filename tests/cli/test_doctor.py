"""`doctor`, and programs of `run` that are no files."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

from spirograd import cli


def command(*words: str, status: int = 0, text: str | None = None, path: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in (path, *sys.path) if p)}
    result = subprocess.run(
        [sys.executable, "-m", "spirograd", *words],
        env=environment,
        input=text,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert result.returncode == status, result.stdout + result.stderr
    return result


def test_packages_are_listed_and_the_program_is_looked_at(tmp_path: Path) -> None:
    for name in ("transformers", "deepspeed", "flash_attn"):
        (tmp_path / "site" / name).mkdir(parents=True)
        (tmp_path / "site" / name / "__init__.py").write_text("raise OSError\n")
    program = tmp_path / "train.py"
    program.write_text("import torch, deepspeed, transformers\ntorch.nope()\n")
    lines = command("doctor", str(program), status=1, path=str(tmp_path / "site")).stdout.splitlines()
    assert lines[0].startswith("spirograd ")
    words = {line.split()[1]: line.split(None, 2) for line in lines if line.startswith("  ")}
    assert words["transformers"] == ["ok", "transformers", "works"]
    assert words["deepspeed"][0] == "NO" and "leave it out" in words["deepspeed"][2]
    assert words["flash_attn"][0] == "NO" and "counts as not installed" in words["flash_attn"][2]
    assert lines[-3:] == [
        f"{program}:1: deepspeed (its operations are compiled for PyTorch: leave it out)",
        f"{program}:2: torch.nope",
        "2 missing",
    ]


def test_code_on_the_command_line_and_from_standard_input() -> None:
    code = "import sys, torch\nprint(__name__, sys.argv, torch.ones(2).sum().item())\n"
    assert command("run", "-c", code, "-x", "1").stdout == "__main__ ['-c', '-x', '1'] 2.0\n"
    result = command("run", "-", "a", text=f"{code}torch.ones(2, 3) @ torch.ones(2)\n", status=1)
    assert result.stdout == "__main__ ['-', 'a'] 2.0\n"
    assert '"<stdin>", line 3' in result.stderr and "torch.ones(2, 3) @ torch.ones(2)" in result.stderr
    assert command("run", "-c", "raise SystemExit(3)", status=3).stdout == ""
    check = command("run", "--check", "-c", "import torch\ntorch.nope", status=1)
    assert check.stdout == "<string>:2: torch.nope\n1 missing\n"


def test_there_is_a_command_of_that_name() -> None:
    (script,) = entry_points(group="console_scripts", name="spirograd")
    assert script.load() is cli.main
