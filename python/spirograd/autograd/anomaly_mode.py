"""Finding the line that first made a NaN."""

from __future__ import annotations

from typing import Any

from .._core import _is_anomaly_enabled, _set_anomaly_enabled


def is_anomaly_enabled() -> bool:
    """Whether this thread checks for NaNs."""
    return _is_anomaly_enabled()


class set_detect_anomaly:
    """Switches the check for NaNs on or off in this thread; as a context manager, until its end.

    Each operation, and each gradient, is computed and read at once, so this is slow.

    Args:
        mode: whether to check.
        check_nan: False turns the check off.

    Raises:
        Error: later, by the first operation whose result has a NaN that no input has, or by backward() for the
            first gradient that has one. The message names the operation and the line that called it.

    Example:
        >>> x = sg.tensor(0.0, requires_grad=True)
        >>> with sg.autograd.set_detect_anomaly(True):
        ...     (x.sqrt() * 0).backward()
        Traceback (most recent call last):
        spirograd.Error: backward: the gradient of SqrtBackward0 at ... by input 0 has a NaN; ...
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = _is_anomaly_enabled()
        _set_anomaly_enabled(mode and check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        _set_anomaly_enabled(self._before)


class detect_anomaly:
    """Inside a `with`: names the operation and the user's line that first made a NaN, forward or backward.

    Args:
        check_nan: False turns the check off.

    Raises:
        Error: see set_detect_anomaly.

    Example:
        >>> with sg.autograd.detect_anomaly():
        ...     y = sg.tensor([-1.0]).log()
        Traceback (most recent call last):
        spirograd.Error: log: the result at ... has a NaN, and no input has; look at the inputs of this line
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check = check_nan
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(_is_anomaly_enabled())
        _set_anomaly_enabled(self._check)

    def __exit__(self, *_: Any) -> None:
        _set_anomaly_enabled(self._before.pop())
