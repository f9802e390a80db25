"""sg.compile: arguments that share memory with tensors that a function uses from outside."""

from __future__ import annotations

import numpy as np
import pytest

import spirograd as sg


def test_an_argument_may_be_a_part_of_a_tensor_that_is_read_elsewhere(device: sg.Device) -> None:
    table = sg.arange(40.0, device=device).reshape(4, 10).realize()
    want = np.arange(40, dtype=np.float32).reshape(4, 10)

    @sg.compile
    def step(row: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
        doubled = row * 2
        table[3].add_(1)
        return doubled, table[3] * 1

    for k in (1, 1, 1, 1, 2, 3, 0, 1):
        doubled, last = step(table[k])
        np.testing.assert_array_equal(doubled.cpu().numpy(), want[k] * 2)
        want[3] += 1
        np.testing.assert_array_equal(last.cpu().numpy(), want[3])
        np.testing.assert_array_equal(table.cpu().numpy(), want)


@pytest.mark.parametrize("first", ["argument", "table"])
def test_a_tensor_that_is_written_and_used_as_an_argument_too_is_refused(first: str) -> None:
    """Inside, the argument is a tensor of its own, which would not see what is written to the other."""
    table = sg.zeros(4, 10)

    @sg.compile
    def step(row: sg.Tensor) -> sg.Tensor:
        written, used = (row, table) if first == "argument" else (table, row)
        seen = used * 2
        written.add_(1)
        return seen if row.numel() == 40 else used * 3

    for k in range(4):
        np.testing.assert_array_equal(step(table).numpy(), np.full((4, 10), 2 * k))  # read before the write
    with pytest.raises(sg.Error, match="also an argument"):
        step(table[1])
