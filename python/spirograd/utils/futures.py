"""Results that come later, set by threads, under the names of torch.futures.

Example:
    >>> one = sg.utils.futures.Future()
    >>> after = one.then(lambda done: done.wait() + 1)
    >>> one.set_result(2)
    >>> after.wait()
    3
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]


T = TypeVar("T")


class Future(Generic[T]):
    """A result that comes later.

    Args:
        devices: accepted: a result of a GPU is a tensor like others.
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._inside: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def done(self) -> bool:
        """Whether there is a result, or an error."""
        return self._inside.done()

    def wait(self) -> Any:
        """The result, when it is there. Raises the error that was set."""
        return self._inside.result()

    def value(self) -> Any:
        """The result.

        Raises:
            RuntimeError: it is not there yet.
        """
        if not self.done():
            raise RuntimeError("value: there is no result yet; use wait()")
        return self.wait()

    def set_result(self, result: Any) -> None:
        """Sets the result. RuntimeError when there is one already."""
        self._set(lambda: self._inside.set_result(result))

    def set_exception(self, result: BaseException) -> None:
        """Sets an error. RuntimeError when there is a result already."""
        self._set(lambda: self._inside.set_exception(result))

    def _set(self, how: Callable[[], None]) -> None:
        try:
            how()
        except concurrent.futures.InvalidStateError:
            raise RuntimeError("set_result: there is a result already; make another Future") from None

    def add_done_callback(self, callback: Callable[[Future[Any]], Any]) -> None:
        """Calls callback(self) when the result is there."""
        self._inside.add_done_callback(lambda _: callback(self))

    def then(self, callback: Callable[[Future[Any]], Any]) -> Future[Any]:
        """A Future of what callback(self) returns."""
        after: Future[Any] = Future()

        def run(done: Future[Any]) -> None:
            try:
                after.set_result(callback(done))
            except Exception as error:
                after.set_exception(error)

        self.add_done_callback(run)
        return after


def wait_all(futures: Iterable[Future[Any]]) -> list[Any]:
    """The results of all. Raises the first error."""
    return [future.wait() for future in futures]


def collect_all(futures: Iterable[Future[Any]]) -> Future[Any]:
    """A Future of the list of futures, done when all of them are."""
    waiting, after = list(futures), Future[Any]()
    left = len(waiting)

    def one_less(_: Future[Any]) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            after.set_result(waiting)

    for future in waiting:
        future.add_done_callback(one_less)
    if not waiting:
        after.set_result(waiting)
    return after
