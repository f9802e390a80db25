"""Unknown keywords: functions and constructors of this package say which one was probably meant, as the core's do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["naming_keywords", "propose_keyword", "refuse_keyword"]


def naming_keywords(function: F) -> F:
    """Raises TypeError with the nearest keyword where a call has one that the function, constructor or class lacks."""
    if isinstance(function, type):
        function.__init__ = naming_keywords(function.__init__)  # type: ignore[misc]
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            propose_keyword(error, function, *args[:1])
            raise

    return call  # type: ignore[return-value]


def propose_keyword(error: TypeError, function: Callable[..., Any], *first: Any) -> None:
    """Raises the TypeError that proposes a keyword, if the error says that the function, which the caller has called
    with this first argument, lacks one. An error from inside of the function is another one."""
    inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
    if not inside and "unexpected keyword argument" in str(error):
        name = type(first[0]).__name__ if function.__name__ == "__init__" else function.__name__
        refuse_keyword(name, str(error).partition(" argument '")[2].partition("'")[0], function)


def refuse_keyword(op: str, keyword: str, function: Callable[..., Any]) -> NoReturn:
    """Raises the TypeError that proposes one of the function's keywords."""
    import difflib
    import inspect

    parameters = inspect.signature(function).parameters.values()
    known = [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name != "self"]
    near = difflib.get_close_matches(keyword, known, 1)
    remedy = f"did you mean {near[0]}?" if near else f"its keywords are {', '.join(known)}"
    raise TypeError(f"{op}: unknown keyword '{keyword}'; {remedy}") from None
