"""Threads for tests: what goes wrong in one fails the test."""

from __future__ import annotations

import sys
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


def runs_meanwhile(call: Callable[[], object]) -> bool:
    """Whether this thread runs Python while another one is in the call. Threads keep the GIL until they give it up
    themselves here, so a call that keeps it is over when this thread sees it begin, however busy the machine is."""
    interval = sys.getswitchinterval()
    inside, over = threading.Event(), []

    def work() -> None:
        inside.set()
        call()
        over.append(True)

    thread = threading.Thread(target=work, daemon=True)
    sys.setswitchinterval(1000)
    try:
        thread.start()
        inside.wait()
        return not over
    finally:
        thread.join(120)
        sys.setswitchinterval(interval)
