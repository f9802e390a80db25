"""Threads for tests: what goes wrong in one fails the test."""

from __future__ import annotations

import threading
from collections.abc import Callable


def run_threads(work: Callable[[int], object], count: int) -> None:
    """Runs work(0), work(1), ... at once; raises the first error, and when one does not end."""
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "deadlock"
    if errors:
        raise errors[0]
