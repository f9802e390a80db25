"""The bar: on a terminal one line that changes, never wider than it; what it counts; lines beside it."""

from __future__ import annotations

import io
import re

import pytest

from spirograd.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def frames(self) -> list[str]:
        """What stood on the line, one after the other."""
        return [frame.removesuffix("\n") for frame in self.getvalue().split("\r")[1:]]


@pytest.mark.parametrize("columns", [120, 80, 50, 30])
def test_a_line_is_cut_to_the_width(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("spirograd.progress.REDRAW_EVERY", 0.0)
    screen = Terminal()
    with Progress(200, "fit", screen) as bar:
        for i in range(200):
            bar.advance(note=f"epoch {i}/200, loss 0.3141, accuracy 0.9265, val_loss 0.3589, val_accuracy 0.9793")
    frames = screen.frames()
    assert len(frames) == 201 and screen.getvalue().count("\n") == 1
    assert all(frame.endswith("\033[K") and len(frame.removesuffix("\033[K")) < columns for frame in frames)
    assert all("epoch" in frame for frame in frames) == (columns > 20), "the loss is worth more than the bar"


def test_the_time_that_is_left_and_what_was_done_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spirograd.progress.REDRAW_EVERY", 0.0)
    bar = Progress(300, "steps", screen := Terminal(), done=200)
    bar._start -= 60.0
    bar.advance(10)
    assert screen.frames()[-1].startswith("steps: [##############......] 210/300, 0.167/s, 9:00 left")
    bar._start -= 3600.0
    bar.close()
    bar.close()
    assert re.search(r"210/300, 0.00273/s, 1:01:00\x1b\[K$", screen.frames()[-1])


def test_lines_stand_above_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", screen := Terminal())
    with Progress(2, "steps", screen) as bar:
        bar.advance()
        bar.print("step 1: loss 0.5")
        bar.advance()
    above, bar_again, _ = screen.getvalue().split("\n")
    assert above == "\r\033[Kstep 1: loss 0.5" and bar_again.startswith("\rsteps: [##########")


def test_without_a_terminal_it_is_a_line_at_the_end() -> None:
    with Progress(None, "fit", pipe := io.StringIO()) as bar:
        for _ in range(3):
            bar.advance(note="loss 1")
    assert re.fullmatch(r"fit: 3, \S+/s, [\d.]+ s, loss 1\n", pipe.getvalue())
