"""A plugin of pytest for the doctests of the package: the examples of a family are a text that its members fill in, and
run as theirs; test_docstrings.py looks for words that were not filled in."""

from __future__ import annotations

import re

import pytest

BLANK = re.compile(r"\{\w+\}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = [item for item in items if not is_of_family(item)]


def is_of_family(item: pytest.Item) -> bool:
    name = item.name.rpartition(".")[2]
    return name.startswith("_") and bool(BLANK.search(item.dtest.docstring))  # type: ignore[attr-defined]
