"""The notebooks run on each device, hold their outputs, and make the pictures of the pages.

`tools/notebooks.py`, in the lane `docs`, compares the outputs with those of a run.

`UPDATE_IMAGES=1` writes the pictures in docs/images anew.
"""

from __future__ import annotations

import base64
import os
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd.viz.style import PALE

nbclient = pytest.importorskip("nbclient", reason="notebooks need nbclient and ipykernel")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
notebooks = pytest.importorskip("notebooks")
pytest.importorskip("matplotlib", reason="pictures need matplotlib")

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def run(name: str, more: str = "", **environment: str) -> list[str]:
    """Runs a notebook, and `more` as a last cell of it; gives what each cell printed."""
    book = nbformat.read(DOCS / "notebooks" / f"{name}.ipynb", as_version=4)
    book.cells.append(nbformat.v4.new_code_cell(more))
    nbclient.NotebookClient(book, timeout=200, kernel_name="python3").execute(env={**os.environ, **environment})
    return ["".join(text_of(output) for output in cell.outputs) for cell in book.cells if cell.cell_type == "code"]


def text_of(output: Any) -> str:
    if output.output_type == "stream":
        return output.text if output.name == "stdout" else ""
    return " ".join(output.data) if "data" in output else ""


def test_pictures_are_compared_by_their_size() -> None:
    def png(width: int) -> str:
        return base64.b64encode(bytes(16) + struct.pack(">II", width, 50)).decode()

    def svg(width: int) -> str:
        return f'<svg width="{width}pt" height="50pt">'

    assert notebooks.same("image/png", png(104), png(100)) and not notebooks.same("image/png", png(106), png(100))
    assert notebooks.same("image/svg+xml", svg(120), svg(100)) and not notebooks.same(
        "image/svg+xml", svg(130), svg(100)
    )


def image(path: Path) -> np.ndarray[Any, Any]:
    """Red, green and blue from 0 to 1, [height, width, 3]; the committed picture follows where that was asked for."""
    from matplotlib.image import imread

    if os.environ.get("UPDATE_IMAGES") == "1":
        shutil.copy(path, DOCS / "images")
    return imread(path)[:, :, :3]


def share(pixels: np.ndarray[Any, Any], colour: str) -> float:
    """How much of a picture has this colour."""
    wanted = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return float((np.abs(pixels - wanted).max(axis=2) < 0.02).mean())


def same_size(pixels: np.ndarray[Any, Any], name: str) -> bool:
    """Whether a picture is about as large as the committed one: fonts and versions differ a little."""
    return bool(np.allclose(pixels.shape, image_of_the_pages(name).shape, rtol=0.1))


def image_of_the_pages(name: str) -> np.ndarray[Any, Any]:
    from matplotlib.image import imread

    return imread(DOCS / "images" / name)[:, :, :3]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebooks_hold_their_outputs(path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), "tools/notebooks.py --write"
    outputs = [output for cell in cells for output in cell.outputs]
    assert outputs and not any(output.output_type == "error" or output.get("name") == "stderr" for output in outputs)
    assert path.stat().st_size < 1_000_000


PNG, LARGER = (
    base64.b64encode(b"\x89PNG" + bytes(12) + struct.pack(">II", width, 50)).decode() for width in (100, 160)
)
SVG = '<svg width="%dpt" height="4pt">'


@pytest.mark.parametrize(
    ("ours", "stored", "same"),
    [
        ({"stream": "loss 0.5, 3.1 ms a step"}, {"stream": "loss 0.5, 12 ms a step"}, True),
        ({"stream": "loss 0.5, 3.1 ms a step"}, {"stream": "loss 0.6, 3.1 ms a step"}, False),
        ({"text/plain": "<Graph at 0x7f1>"}, {"text/plain": "<Graph at 0x7f2>"}, True),
        ({"text/plain": "1"}, {"stream": "1"}, False),
        ({"image/png": PNG}, {"image/png": PNG}, True),
        ({"image/png": PNG}, {"image/png": LARGER}, False),
        (
            {"image/svg+xml": '<svg width="90pt" height="4pt">'},
            {"image/svg+xml": '<svg width="50pt" height="4pt">'},
            False,
        ),
    ],
)
def test_outputs_are_compared(ours: dict[str, str], stored: dict[str, str], same: bool) -> None:
    cells = [nbformat.v4.new_code_cell("x", outputs=[as_output(texts)]) for texts in (ours, stored)]
    books = [nbformat.v4.new_notebook(cells=[cell]) for cell in cells]
    assert bool(notebooks.differences(*books)) != same


def as_output(texts: dict[str, str]) -> Any:
    if "stream" in texts:
        return nbformat.v4.new_output("stream", text=texts["stream"])
    return nbformat.v4.new_output("display_data", data=texts)


def test_demo(device: sg.Device, tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="the moons come with scikit-learn")
    path = tmp_path / "moons.png"
    printed = run("demo", f"figure.savefig({str(path)!r})", SPIROGRAD_DEVICE=str(device))
    training = next(text for text in printed if "step 99" in text)
    first, last = (next(line for line in training.splitlines() if line.startswith(f"step {s}")) for s in (" 0", "99"))
    assert "loss 0.895844 " in first and "100% right" in last and f"ms a step on {device}" in training
    assert float(last.split()[3]) == pytest.approx(0.010978, abs=2e-6 if device.kind == "cpu" else 1e-3)
    pixels = image(path)
    assert same_size(pixels, "moons.png")
    shares = [share(pixels, colour) for colour in PALE[:2]]
    assert min(shares) > 0.2 and sum(shares) > 0.5, f"the ground has the two colours in shares of {shares}"
    committed = image_of_the_pages("moons.png")
    assert np.allclose(shares, [share(committed, colour) for colour in PALE[:2]], atol=0.05)


def test_trace_graph(tmp_path: Path) -> None:
    if not shutil.which("dot"):
        pytest.importorskip(
            "pygraphviz", exc_type=ImportError, reason="neither Graphviz's program dot nor pygraphviz is here"
        )
    path = tmp_path / "graph.png"
    printed = run("trace_graph", f"open({str(path)!r}, 'wb').write(picture.pipe('png'))")
    assert sum("image/svg+xml" in text for text in printed) == 5
    pixels = image(path)
    assert same_size(pixels, "graph.png")
    dark, white = (pixels.max(axis=2) < 0.5).mean(), share(pixels, "#ffffff")
    assert 0.02 < dark < 0.3 and white > 0.6, f"a share of {dark:.3f} is ink, {white:.3f} is paper"


def test_gpu_without_one() -> None:
    printed = "".join(run("gpu", SPIROGRAD_VULKAN_LIB="nowhere"))
    assert "There is no GPU here" in printed and "no Vulkan loader" in printed
    assert "the same on the CPU: True" in printed and "fallbacks         0" in printed


@pytest.mark.gpu
def test_gpu_with_one() -> None:
    printed = "".join(run("gpu"))
    assert "working on" in printed and "#version 460" in printed
    assert "submissions: 1\n" in printed and "computed by the CPU: 0" in printed
    assert "the same on the CPU: True" in printed and "fallbacks         0" in printed
