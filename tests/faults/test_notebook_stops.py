"""Stop in a notebook: the next cell does not pay for what the one before had recorded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

manager = pytest.importorskip("jupyter_client.manager", reason="a kernel needs jupyter_client and ipykernel")
pytest.importorskip("ipykernel")


@pytest.fixture
def kernel() -> Iterator[tuple[Any, Any]]:
    """A running kernel that has imported spirograd, and a client of it."""
    running, client = manager.start_new_kernel(kernel_name="python3")
    try:
        client.execute_interactive("import spirograd as sg\nx = sg.rand(1000, 1000)\nsg.synchronize()", timeout=60)
        yield running, client
    finally:
        client.stop_channels()
        running.shutdown_kernel(now=True)


def run(client: Any, code: str, timeout: float) -> dict[str, Any]:
    """What the kernel answers to a cell."""
    content: dict[str, Any] = client.execute_interactive(code, timeout=timeout, output_hook=lambda _: None)["content"]
    return content


def test_the_next_cell_answers_at_once(kernel: tuple[Any, Any]) -> None:
    running, client = kernel
    stopped = client.execute("for i in range(100_000):\n    x = (x @ x).tanh()")
    time.sleep(1.5)
    running.interrupt_kernel()
    while (reply := client.get_shell_msg(timeout=10))["parent_header"]["msg_id"] != stopped:
        pass
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    start = time.perf_counter()
    assert run(client, "assert (sg.ones(3) * 2).sum().item() == 6", timeout=3)["status"] == "ok"
    assert time.perf_counter() - start < 1
