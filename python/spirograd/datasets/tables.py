"""Tables in files: CSV, Parquet and Arrow, read by pyarrow."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._core import FileFormatError
from ..base.keywords import naming_keywords
from ..serialization._arrays import reason

__all__ = ["Table", "read_table", "table"]

FORMATS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".feather": "feather", ".arrow": "feather"}


class Table(NamedTuple):
    """Rows to learn from: `inputs[i]` belongs to `targets[i]`."""

    inputs: npt.NDArray[np.float32]  # [n, columns]
    targets: npt.NDArray[Any]  # [n], int64 of classes or float32
    columns: list[str]  # of inputs
    classes: list[Any]  # what the numbers of targets mean; empty where targets are numbers


@naming_keywords
def read_table(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> dict[str, npt.NDArray[Any]]:
    """The columns of a table.

    Args:
        path: a file that ends in .csv, .tsv, .parquet, .feather or .arrow; or a folder of Parquet files.
        columns: those to read; None: all.

    Returns:
        An array [n] for each column, with numbers (gaps are NaN), booleans, dates (datetime64) or texts (object).

    Raises:
        ImportError: pyarrow is not installed.
        FileFormatError: the file is not what its ending says.
        ValueError: the ending is unknown, or a column is not there.
    """
    try:
        from pyarrow import csv, feather, parquet
    except ImportError:
        raise ImportError("read_table: pyarrow is not installed; pip install spirograd[data]", name="pyarrow") from None
    text = os.fspath(path)
    form = "parquet" if os.path.isdir(text) else FORMATS.get(os.path.splitext(text)[1].lower())
    if form is None:
        raise ValueError(f"read_table: {text} ends in none of {', '.join(FORMATS)}; rename it")
    wanted = None if columns is None else list(columns)
    try:
        if form in ("csv", "tsv"):
            parse = csv.ParseOptions(delimiter="\t" if form == "tsv" else ",")
            found = csv.read_csv(text, parse_options=parse)
            found = found if wanted is None else found.select(wanted)
        else:
            found = (parquet if form == "parquet" else feather).read_table(text, columns=wanted)
        if missing := [name for name in wanted or () if name not in found.column_names]:
            raise KeyError(missing[0])
        return {name: found.column(name).to_numpy() for name in found.column_names}
    except FileNotFoundError:
        raise
    except KeyError as error:
        raise ValueError(f"read_table: {text} has no column {error}; use {', '.join(found.column_names)}") from None
    except Exception as error:  # of pyarrow, and what a made-up file leads NumPy to
        raise FileFormatError(f"read_table: {text} is no {form} that pyarrow reads ({reason(error)})") from None


@naming_keywords
def table(path: str | os.PathLike[str], target: str, columns: Sequence[str] | None = None) -> Table:
    """Inputs and targets of a table: `sg.fit(net, data.inputs, data.targets)`.

    Args:
        path: as in read_table.
        target: the column to predict. Texts, booleans and integers are classes, numbered in sorted order; other numbers
            stay numbers.
        columns: the inputs, which must be numbers or booleans; None: all that are, but the target.

    Returns:
        A Table.

    Raises:
        ImportError, FileFormatError: as in read_table.
        ValueError: a column is not there or has texts, or there is no input.
    """
    found = read_table(path, None if columns is None else [*columns, target])
    if target not in found:
        raise ValueError(f"table: {os.fspath(path)} has no column {target!r}; use {', '.join(found)}")
    names = [name for name in found if name != target and (columns is not None or found[name].dtype.kind in "biuf")]
    if texts := [name for name in names if found[name].dtype.kind not in "biuf"]:
        raise ValueError(f"table: the column {texts[0]!r} has no numbers; leave it out, or encode it with read_table")
    if not names:
        raise ValueError(f"table: {os.fspath(path)} has no column of numbers beside {target!r}; encode with read_table")
    inputs = np.stack([found[name].astype(np.float32) for name in names], axis=1)
    if found[target].dtype.kind == "f":
        return Table(inputs, found[target].astype(np.float32), names, [])
    values = found[target] if found[target].dtype.kind in "biu" else found[target].astype(str)
    classes, targets = np.unique(values, return_inverse=True)
    return Table(inputs, targets.astype(np.int64), names, classes.tolist())
