"""Integers of a caller that are far too large, at every place where one can be given: an error or a right result."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import extreme_integers
import spirograd as sg
from spirograd.nn import functional as F

HERE = Path(__file__).parent


def test_every_integer_argument_is_tried() -> None:
    tried = set(re.findall(r"\.(\w+)\(", " ".join(call for call in extreme_integers.calls() if "N" in call)))
    core = sg._core
    tables = (core._methods, core._functions, core._tensor_functions)
    names = {name for table in tables for name, row in table.items() if re.search(r"(?<!tuple\[)\bint\b", row[0])}
    assert names - tried - {"__dlpack__"} == set(), "public names with an integer in their signature, tried nowhere"


@pytest.mark.needs("limits")
@pytest.mark.parametrize("device", ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_an_integer_that_is_too_large_is_an_error(device: str) -> None:
    command = [sys.executable, str(HERE / "extreme_integers.py"), device]
    limit = {**os.environ, "SPIROGRAD_MEMORY_LIMIT": str(1 << 30)}  # what is dropped is computed, too, if it fits
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=HERE, env=limit)
    last = "\n".join(result.stdout.splitlines()[-4:])
    assert result.returncode == 0, f"status {result.returncode} in\n{last}\n{result.stderr[-3000:]}"
    assert result.stdout.endswith("all done\n")


FAR = 2**62
OVERFLOWS: dict[str, Callable[[sg.Tensor], object]] = {  # of a matrix of 2 x 3
    "zeros": lambda x: sg.zeros(FAR, 3),
    "elements that are none when they are counted": lambda x: sg.zeros(2**32, 2**32),
    "expand": lambda x: x[:1, :1].expand(2**32, 2**32),
    "strides": lambda x: x.as_strided((3, 3), (FAR, FAR)),
    "an offset": lambda x: x.as_strided((2,), (2,), 2**63 - 1),
    "repeat": lambda x: x.repeat(FAR, 1),
    "tile": lambda x: x.tile(FAR, FAR),
    "pad": lambda x: F.pad(x, (2**63 - 1, 1)),
    "cat": lambda x: sg.cat([x[:1, :1].expand(1, 2**47)] * 4, 1),
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_sizes_strides_and_places_that_overflow_are_errors(name: str) -> None:
    with pytest.raises((ValueError, IndexError), match=r"2\^48 elements|does not fit into 64 bits|out of range|beyond"):
        OVERFLOWS[name](sg.ones(2, 3))


ALONG: dict[str, Callable[[sg.Tensor, int], object]] = {
    "sum": lambda x, d: x.sum(d),
    "amax": lambda x, d: x.amax(d),
    "argmin": lambda x, d: x.argmin(d),
    "std": lambda x, d: x.std(d),
    "median": lambda x, d: x.median(d),
    "softmax": lambda x, d: x.softmax(d),
    "logsumexp": lambda x, d: x.logsumexp(d),
    "cumsum": lambda x, d: x.cumsum(d),
    "sort": lambda x, d: x.sort(d),
    "flip": lambda x, d: x.flip(d),
    "unbind": lambda x, d: x.unbind(d),
    "squeeze": lambda x, d: x.squeeze(d),
    "size": lambda x, d: x.size(d),
    "unsqueeze": lambda x, d: x.unsqueeze(d if d < 0 else d + 1),
    "transpose": lambda x, d: x.transpose(0, d),
    "permute": lambda x, d: x.permute(0, d),
    "gather": lambda x, d: x.gather(d, sg.zeros(1, 1, dtype=sg.int64)),
    "select": lambda x, d: x.select(d, 0),
    "cat": lambda x, d: sg.cat([x, x], d),
    "split": lambda x, d: x.split(1, d),
    "roll": lambda x, d: x.roll(1, d),
}


@pytest.mark.parametrize("dim", [2, -4, 2**31, 2**32, FAR, -FAR])
@pytest.mark.parametrize("name", ALONG)
def test_a_dimension_out_of_range_is_an_error(name: str, dim: int) -> None:
    with pytest.raises(IndexError, match="out of range"):
        ALONG[name](sg.ones(2, 3), dim)


MOST, LEAST = 2**63 - 1, -(2**63)
RIGHT: dict[str, tuple[Callable[[sg.Tensor], sg.Tensor], Any]] = {  # of [[1, 2, 3], [4, 5, 6]]
    "tril of all": (lambda x: x.tril(MOST), [[1, 2, 3], [4, 5, 6]]),
    "tril of nothing": (lambda x: x.tril(LEAST), [[0, 0, 0], [0, 0, 0]]),
    "triu of all": (lambda x: x.triu(LEAST), [[1, 2, 3], [4, 5, 6]]),
    "triu of nothing": (lambda x: x.triu(MOST), [[0, 0, 0], [0, 0, 0]]),
    "tril_indices of nothing": (lambda x: sg.tril_indices(2, 3, LEAST), [[], []]),
    "triu_indices of all": (lambda x: sg.triu_indices(2, 2, LEAST), [[0, 0, 1, 1], [0, 1, 0, 1]]),
    "diagonal beside it": (lambda x: x.diagonal(MOST), []),
    "a long step": (lambda x: x[:, 1::MOST], [[2], [5]]),
    "windows a long step apart": (lambda x: x.unfold(1, 2, MOST), [[[1, 2]], [[4, 5]]]),
    "roll": (lambda x: x.roll(MOST, 1), [[3, 1, 2], [6, 4, 5]]),
    "rot90": (lambda x: x.rot90(MOST), [[4, 1], [5, 2], [6, 3]]),
    "diff": (lambda x: x.diff(MOST), [[], []]),
    "arange": (lambda x: sg.arange(MOST - 2, MOST), [MOST - 2, MOST - 1]),
    "arange down": (lambda x: sg.arange(LEAST + 5, LEAST, -3), [LEAST + 5, LEAST + 2]),
    "arange across": (lambda x: sg.arange(LEAST, MOST, 2**62), [LEAST, -(2**62), 0, 2**62]),
    "pool a long stride apart": (lambda x: F.avg_pool1d(x, 2, 2**40), [[1.5], [4.5]]),
}


@pytest.mark.parametrize("name", RIGHT)
def test_an_integer_that_is_large_and_means_something_is_taken(name: str) -> None:
    op, want = RIGHT[name]
    assert op(sg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).tolist() == want


def test_gradients_a_long_stride_apart(device: sg.Device) -> None:
    x = sg.ones(1, 1, 4, 3, device=device).requires_grad_()
    F.avg_pool2d(x, (1, 2), (1, 2**33)).sum().backward()
    assert x.grad.tolist() == [[[[0.5, 0.5, 0]] * 4]]
    x.grad = None
    F.conv2d(x, sg.ones(1, 1, 1, 2, device=device), stride=(3, 2**40)).sum().backward()
    assert x.grad.tolist() == [[[[1, 1, 0], [0, 0, 0], [0, 0, 0], [1, 1, 0]]]]
