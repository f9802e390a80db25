"""The check of commit messages finds what contributing.md rules out."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_commits.py"
spec = importlib.util.spec_from_file_location("check_commits", TOOL)
assert spec and spec.loader
check_commits = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_commits)


def test_a_good_message_passes() -> None:
    assert check_commits.faults("Keep weights of a lost device\n\nThey were gone after a recovery.\n") == []


@pytest.mark.parametrize(
    "message",
    [
        "Keep weights",
        "Keep weights\nThey were gone.",
        "Keep weights.\n\nThey were gone.",
        "memory: keep weights\n\nThey were gone.",
        "Kept weights " + "and moments " * 6 + "\n\nThey were gone.",
        "Added a cache\n\nIt was slow.",
        "Keeping weights\n\nThey were gone.",
    ],
)
def test_others_do_not(message: str) -> None:
    assert check_commits.faults(message)
