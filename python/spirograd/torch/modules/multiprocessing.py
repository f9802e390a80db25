"""torch.multiprocessing: Python's own, and spawn()."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from typing import Any

from ..start import stand_in

__all__ = [
    *multiprocessing.__all__,
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
]


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Runs fn(i, *args) in nprocs processes.

    Raises:
        RuntimeError: one of them failed.
    """
    stand_in()
    context = multiprocessing.get_context(start_method)
    processes = [context.Process(target=fn, args=(i, *args), daemon=daemon) for i in range(nprocs)]  # type: ignore[attr-defined]
    for process in processes:
        process.start()
    if not join:
        return processes
    for process in processes:
        process.join()
    if failed := [i for i, process in enumerate(processes) if process.exitcode]:
        raise RuntimeError(
            f"spawn: process {failed[0]} ended with status {processes[failed[0]].exitcode}; see its output"
        )
    return None


def get_all_sharing_strategies() -> set[str]:
    """Tensors go through pickle."""
    return {"file_system"}


def get_sharing_strategy() -> str:
    """Tensors go through pickle."""
    return "file_system"


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted: tensors go through pickle."""
