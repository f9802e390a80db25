"""Points with many coordinates, as TensorBoard reads them: tables, a picture of all pictures, and a list of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._events import png

__all__ = ["write_points"]


def _table(labels: Sequence[Any], header: Sequence[str] | None) -> str:
    if not header:
        return "".join(f"{label}\n" for label in labels)
    return "".join("\t".join(map(str, row)) + "\n" for row in [header, *labels])


def _sprite(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Pictures [n, height, width, channels] side by side in a square."""
    n, height, width, channels = pixels.shape
    side = math.ceil(math.sqrt(n))
    grid = np.zeros((side * side, height, width, channels), np.uint8)
    grid[:n] = pixels
    return (
        grid.reshape(side, side, height, width, channels).swapaxes(1, 2).reshape(side * height, side * width, channels)
    )


def write_points(
    folder: Path,
    tag: str,
    step: int,
    points: np.ndarray[Any, Any],
    labels: Sequence[Any] | None,
    header: Sequence[str] | None,
    pixels: np.ndarray[Any, Any] | None,
) -> None:
    """Writes the files beside the events, and adds them to projector_config.pbtxt."""
    place = f"{step:05}/{tag.replace('/', '%2F')}"
    (folder / place).mkdir(parents=True, exist_ok=True)
    rows = "".join("\t".join(map(str, row)) + "\n" for row in points.tolist())
    (folder / place / "tensors.tsv").write_text(rows, newline="\n")
    lines = [f'tensor_name: "{tag}:{step:05}"', f'tensor_path: "{place}/tensors.tsv"']
    if labels is not None:
        (folder / place / "metadata.tsv").write_text(_table(labels, header), encoding="utf-8", newline="\n")
        lines.append(f'metadata_path: "{place}/metadata.tsv"')
    if pixels is not None:
        (folder / place / "sprite.png").write_bytes(png(_sprite(pixels)))
        size = f"single_image_dim: {pixels.shape[2]} single_image_dim: {pixels.shape[1]}"
        lines.append(f'sprite {{ image_path: "{place}/sprite.png" {size} }}')
    with (folder / "projector_config.pbtxt").open("a", encoding="utf-8", newline="\n") as file:
        file.write("embeddings {\n" + "".join(f"  {line}\n" for line in lines) + "}\n")
