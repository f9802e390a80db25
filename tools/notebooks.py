"""The outputs of docs/notebooks: runs them and compares; with --write it stores outputs where they are others.

    tools/notebooks.py [--write] [NAME...]

Texts are compared but for times and addresses, and pictures by their kind and size. Of a cell with the tag `varies`,
whose text depends on the machine or on the package's own source, the kinds of outputs are compared. The lane `docs`
runs this with the software driver, with which the stored outputs were made.
"""

from __future__ import annotations

import argparse
import base64
import copy
import re
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat

NOTEBOOKS = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
TIME = re.compile(r" *\d+(?:\.\d+)? ?(?:ms|us|s)\b")
ADDRESS = re.compile(r"0x[0-9a-f]+")
# How far sizes may be apart: Matplotlib brings its fonts; Graphviz takes those of the system, and orders nodes anew.
APART = {"image/png": 0.05, "image/svg+xml": 0.25}


def executed(book: Any) -> Any:
    """A notebook with the outputs of a run: one of each stream in a row, and nothing of stderr."""
    book = copy.deepcopy(book)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        nbclient.NotebookClient(
            book, timeout=300, startup_timeout=300, kernel_name="python3", resources=resources, record_timing=False
        ).execute()
    for cell in code_cells(book):
        kept: list[Any] = []
        for output in cell.outputs:
            if output.output_type == "stream" and output.name == "stderr":
                continue
            if output.output_type == "stream" and kept and kept[-1].output_type == "stream":
                kept[-1].text += output.text
            else:
                kept.append(output)
        cell.outputs = kept
    book.metadata.language_info = {"name": "python"}
    return book


def code_cells(book: Any) -> list[Any]:
    return [cell for cell in book.cells if cell.cell_type == "code"]


def size(kind: str, data: str) -> tuple[float, ...]:
    """Width and height of a picture."""
    if kind == "image/png":
        return struct.unpack(">II", base64.b64decode(data)[16:24])
    return tuple(float(number) for number in re.findall(r'(?:width|height)="([\d.]+)', data)[:2])


def same(kind: str, ours: str, stored: str) -> bool:
    """Whether two outputs of one kind are the same."""
    if kind in APART:
        pairs = zip(size(kind, ours), size(kind, stored), strict=True)
        return all(abs(a - b) <= APART[kind] * b for a, b in pairs)
    masked = [ADDRESS.sub("0x", TIME.sub(" TIME", text)) for text in (ours, stored)]
    return masked[0] == masked[1]


def by_kind(output: Any) -> dict[str, str]:
    """The texts and pictures of an output."""
    if output.output_type == "stream":
        return {"stream": output.text}
    return dict(output.get("data", {output.output_type: ""}))


def differences(ours: Any, stored: Any) -> list[str]:
    """Where a run gives other outputs than a notebook holds."""
    found = []
    for i, (mine, kept) in enumerate(zip(code_cells(ours), code_cells(stored), strict=True), 1):
        new, old = [by_kind(o) for o in mine.outputs], [by_kind(o) for o in kept.outputs]
        kinds = [[sorted(o) for o in outputs] for outputs in (new, old)]
        if kinds[0] != kinds[1]:
            found.append(f"cell {i}: outputs of the kinds {kinds[0]}, stored {kinds[1]}")
        elif "varies" not in kept.metadata.get("tags", []):
            for a, b in zip(new, old, strict=True):
                found += [f"cell {i}: {k}:\n{a[k][:800]}\nstored:\n{b[k][:800]}" for k in a if not same(k, a[k], b[k])]
    return found


def main() -> int:
    """1 when an output is another."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    wrong = 0
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if options.names and path.stem not in options.names:
            continue
        stored = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        ours = executed(stored)
        found = differences(ours, stored)
        for line in found:
            print(f"{path.stem}: {line}")
        if found and options.write:
            nbformat.write(ours, path)  # type: ignore[no-untyped-call]
        wrong += bool(found)
    return int(wrong > 0 and not options.write)


if __name__ == "__main__":
    sys.exit(main())
