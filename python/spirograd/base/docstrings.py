"""Docstrings that share their parts, so that each concept is described in one place."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])

_HEADER = re.compile(r"^(Args|Attributes|Returns|Raises|Example):$", re.MULTILINE)
_ORDER = ("", "Args", "Attributes", "Returns", "Raises", "Example")
_TAKEN = ("", "Returns", "Raises")  # taken as a whole; examples are never taken


def described_by(*sources: Any, **words: str) -> Callable[[T], T]:
    """Completes the docstring of a function or class by those of others.

    Whatever the docstring leaves out comes from the first source that has it: the description of each argument, by its
    name, the text before the sections, what is returned, and the errors. Arguments follow the order of the signature.

    Args:
        sources: functions, classes, or texts in the form of docstrings.
        words: replacements of `{name}` in the sources, for families whose members differ in a word.

    Returns:
        A decorator, which changes only `__doc__`.
    """

    def decorate(thing: T) -> T:
        if sys.flags.optimize > 1:  # python -OO
            return thing
        own = vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__
        texts = [own or "", *(source if isinstance(source, str) else source.__doc__ or "" for source in sources)]
        for name, word in words.items():
            texts[1:] = [text.replace(f"{{{name}}}", word) for text in texts[1:]]
        parts = [_sections(text) for text in texts]
        whole = parts[0].copy()
        for name in _TAKEN:
            if not isinstance(thing, type) or name != "Returns":  # a class returns an object of itself
                whole[name] = next((part[name] for part in parts if part.get(name)), "")
        whole["Args"] = _arguments(thing, [_entries(part.get("Args", "")) for part in parts])
        thing.__doc__ = "\n\n".join(
            f"{name}:\n{whole[name]}" if name else whole[name] for name in _ORDER if whole.get(name)
        )
        return thing

    return decorate


@functools.cache  # texts are shared by many
def _sections(text: str) -> dict[str, str]:
    """The sections by their names; the text before the first one by the name ""."""
    first, *rest = _HEADER.split(_dedented(text))
    return {"": first.strip(), **{name: part.strip("\n") for name, part in zip(rest[::2], rest[1::2], strict=True)}}


def _dedented(text: str) -> str:
    """inspect.cleandoc(text), faster for a docstring whose quotes end on a line of their own."""
    end = text[text.rfind("\n") :]
    return text.replace(end, "\n").strip("\n") if end.isspace() else inspect.cleandoc(text)


def _entries(section: str) -> dict[str, str]:
    """The lines of each argument of a section, by its name, or by several names with commas between."""
    entries = re.split(r"\n(?=    \S)", section)
    return {entry.partition(":")[0].strip(): entry for entry in entries if entry}


def _arguments(thing: Callable[..., Any], sources: list[dict[str, str]]) -> str:
    """The descriptions of the arguments, in the order of the signature."""
    found: dict[str, str] = {}
    for name in argument_names(thing):
        for entries in sources:
            names = next((names for names in entries if name in names.split(", ")), None)
            if names is not None:
                found.setdefault(names, entries[names])
                break
    return "\n".join(found.values())


def argument_names(thing: Callable[..., Any]) -> Sequence[str]:
    """The names of the arguments; inspect.signature() alone would take half of the time of importing layers."""
    if signature := getattr(thing, "__signature__", None):
        return list(signature.parameters)
    function: Any = inspect.unwrap(thing.__init__ if isinstance(thing, type) else thing)  # type: ignore[misc]
    code = getattr(function, "__code__", None)
    if code is None:
        return list(inspect.signature(thing).parameters)
    names, count = code.co_varnames, code.co_argcount
    named = count + code.co_kwonlyargcount
    rest = bool(code.co_flags & inspect.CO_VARARGS)
    more = named + rest + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    # In the code, *args comes after the arguments that only have names.
    in_order = (*names[:count], *names[named : named + rest], *names[count:named], *names[named + rest : more])
    return in_order[isinstance(thing, type) :]
