"""PyTorch as a second oracle: calls that hypothesis makes up, of every operation that both libraries have.

What comes out (type, shape, values), its gradients, and whether the call is refused must be the same on the CPU.
torch_calls.py makes the calls, torch_oracle.py compares. SPIROGRAD_TEST_CALLS sets the number of calls of each name.
"""

from __future__ import annotations

import os

import pytest

torch = pytest.importorskip("torch")
hypothesis = pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import spirograd as sg  # noqa: E402
from torch_calls import CALLS, LOOSE, SKIPPED, Draw, made  # noqa: E402
from torch_oracle import OURS, STRICTER, WIDER, compare  # noqa: E402

EXAMPLES = int(os.environ.get("SPIROGRAD_TEST_CALLS", "25"))


def names() -> set[str]:
    core = sg._core
    return {*core._methods, *core._functions, *core._tensor_functions}


def in_torch(name: str) -> bool:
    return any(hasattr(owner, name) for owner in (torch, torch.Tensor, torch.nn.functional))


def test_every_name_of_torch_is_called_or_has_a_reason() -> None:
    missing = {n for n in names() if in_torch(n) and n not in CALLS and n not in SKIPPED}
    assert missing == set(), "names without a maker of calls in tests/oracle/torch_calls.py, and without a reason there"
    assert set(SKIPPED) <= names() and not set(SKIPPED) & set(CALLS), "SKIPPED names what is called, or not there"
    assert all(reason for table in (SKIPPED, WIDER, STRICTER) for reason in table.values())
    assert all(issubclass(e, Exception) for e in OURS)


@pytest.mark.parametrize("name", CALLS)
def test_does_what_torch_does(name: str) -> None:
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(source=st.binary(min_size=128, max_size=128))
    def check(source: bytes) -> None:
        call = made(Draw(source), name)
        assert (found := compare(call, LOOSE[name])) == "", f"{call}: {found}"

    check()
