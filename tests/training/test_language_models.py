"""The language models of the examples learn in their small form, go on where they were cut, and say what is wrong."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import spirograd as sg
from spirograd import cli, datasets
from spirograd.examples import _session, gpt, lstm_lm

EACH = pytest.mark.parametrize("example", [gpt, lstm_lm], ids=["gpt", "lstm_lm"])
SMALL = ["--small", "--device", "cpu"]


def silent(example: Any) -> list[str]:
    """The small form; a GPT writes nothing."""
    return [*SMALL, "--sample", "0"] if example is gpt else SMALL


def held_back(text: str) -> str:
    found = re.search(r"held back ([0-9.]+)", text)
    assert found, text
    return found[1]


@EACH
def test_the_small_form_reaches_its_floor(example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert example.main(silent(example)) == 0
    assert "reached" in capsys.readouterr().out


@EACH
def test_too_few_steps_return_one(example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert example.main([*silent(example), "--steps", "2"]) == 1
    assert "MISSED" in capsys.readouterr().out


@EACH
def test_a_training_in_pieces_is_one_training(example: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = [*silent(example), "--steps", "9", "--seed", "3"]
    example.main(few)
    whole = held_back(capsys.readouterr().out)
    pieces = [*few, "--checkpoints", str(tmp_path), "--every", "4"]
    assert example.main([*pieces, "--seconds", "0"]) == 3
    assert "after 1 of 9 steps" in capsys.readouterr().out
    example.main(pieces)
    assert held_back(capsys.readouterr().out) == whole
    example.main(pieces)  # nothing is left to do
    assert held_back(capsys.readouterr().out) == whole
    example.main([*silent(example), "--steps", "9", "--seed", "4"])
    assert held_back(capsys.readouterr().out) != whole


@EACH
def test_what_cannot_run_returns_two(
    example: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unavailable(*_: object) -> str:
        raise datasets.DatasetUnavailableError("no network")

    monkeypatch.setattr(datasets, "tiny_shakespeare", unavailable)
    monkeypatch.setattr(datasets, "wikitext2", unavailable)
    short = tmp_path / "short.txt"
    short.write_text("a few words\n" * 3)
    for arguments, text in [
        ([], "no network"),
        (["--text", str(tmp_path / "missing.txt")], "missing.txt"),
        (["--text", str(short)], "the text"),
    ]:
        assert example.main(["--device", "cpu", *arguments]) == 2
        assert text in capsys.readouterr().err


@EACH
@pytest.mark.parametrize("command", ["generate", "chat"])
def test_the_command_line_writes_with_its_checkpoint(
    example: Any, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    example.main([*silent(example), "--steps", "3", "--checkpoints", str(tmp_path)])
    found = sg.utils.checkpoints.peek(tmp_path)
    assert found and found.extra["device"] == "cpu" and found.extra["seconds"] > 0
    capsys.readouterr()
    monkeypatch.setattr(sys, "stdin", io.StringIO("import\n"))
    words = [] if command == "chat" else ["--prompt", "import"]
    assert cli.main([command, str(tmp_path), "--device", "cpu", "--length", "5", "--temperature", "0", *words]) == 0
    out = capsys.readouterr().out
    assert len(out) > 5 and out.startswith("import") == (command == "generate")


def test_a_gpt_learns_a_text_by_heart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the quick brown fox. " * 100)
    assert gpt.main([*SMALL, "--text", str(text), "--steps", "60", "--sample", "40"]) == 0
    assert "the quick" in capsys.readouterr().out


def test_a_character_does_not_see_those_behind_it() -> None:
    model = gpt.gpt(5, gpt.SMALL).eval()
    a, b = sg.tensor([[0, 1, 2, 3]]), sg.tensor([[0, 1, 4, 4]])
    with sg.no_grad():
        assert (model(a)[:, :2] - model(b)[:, :2]).abs().max().item() < 1e-6
        assert (model(a)[:, 2] - model(b)[:, 2]).abs().max().item() > 1e-4


def test_states_are_carried_without_their_history() -> None:
    model, s = lstm_lm.WordModel(9, lstm_lm.SMALL), lstm_lm.SMALL
    carried = lstm_lm.Carried(s, sg.Device.cpu())
    text = lstm_lm.columns(sg.randint(0, 9, (100,)), s.batch)
    with sg.no_grad():
        whole = model(text[:16])[1]
        for i in range(2):
            carried.loss(model, text, i)
        assert all((a - b).abs().max().item() < 1e-6 for a, b in zip(whole, carried.states, strict=True))
    carried.loss(model, text, 2)
    assert not any(state.requires_grad for state in carried.states)


def test_the_learning_rate_rises_and_falls() -> None:
    rates = [_session.warm_cosine(i, 100, 10, 1.0, 0.1) for i in range(101)]
    assert rates[0] == 0.1 and rates[9] == rates[10] == 1.0 and rates[100] == pytest.approx(0.1)
    assert rates[10:] == sorted(rates[10:], reverse=True)


@pytest.mark.gpu
def test_a_gpt_on_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    losses = []
    for device in ("cpu", "gpu"):
        gpt.main(["--small", "--steps", "3", "--sample", "0", "--device", device])
        losses.append(float(held_back(capsys.readouterr().out)))
    assert losses[0] == pytest.approx(losses[1], abs=1e-3)
