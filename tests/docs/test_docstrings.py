"""help(): every public name says what it is, in a sentence at least, and its examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pickle
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest

import spirograd as sg
from spirograd.base.docstrings import argument_names, described_by

MODULES = ["spirograd"]
MODULES += [
    m.name for m in pkgutil.walk_packages(sg.__path__, "spirograd.") if "._" not in m.name and ".examples" not in m.name
]
TABLES = {"_methods": sg.Tensor, "_functions": sg, "_tensor_functions": sg}
CORE = [(table, name) for table in TABLES for name in getattr(sg._core, table)]


@pytest.mark.parametrize(("table", "name"), CORE)
def test_op_has_a_signature_and_a_sentence(table: str, name: str) -> None:
    f = getattr(TABLES[table], name)
    inspect.signature(f)
    first = f.__doc__.split("\n\n")[0]
    assert len(first.split()) >= 2 and first.endswith((".", ":", ")")), first
    if TABLES[table] is sg:
        assert f.__module__ == "spirograd"
    lines = f.__doc__.splitlines()
    for section in ("Args:", "Raises:", "Returns:", "Example:"):
        assert not any(section in line and line != section for line in lines), f"'{section}' is not on its own line"


def test_signatures_are_readable() -> None:
    assert str(inspect.signature(sg.sum)) == "(input, dim=None, keepdim=False, *, dtype=None)"


@pytest.mark.parametrize("table", TABLES)
def test_examples_of_the_core_run(table: str) -> None:
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    for name in getattr(sg._core, table):
        runner.run(parser.get_doctest(getattr(TABLES[table], name).__doc__, {"sg": sg}, name, None, None))
    assert runner.tries > 0 and runner.failures == 0


def public(owner: Any) -> Iterator[tuple[str, Any]]:
    for name in getattr(owner, "__all__", None) or dir(owner):
        if not name.startswith("_"):
            yield name, getattr(owner, name)


@pytest.mark.parametrize("module", MODULES)
def test_public_names_have_docstrings(module: str) -> None:
    found = importlib.import_module(module)
    assert inspect.getdoc(found), module
    silent = []
    for name, member in public(found):
        if not (inspect.isclass(member) or inspect.isroutine(member)):
            continue
        if not str(getattr(member, "__module__", "")).startswith("spirograd"):
            continue
        if not inspect.getdoc(member):
            silent.append(name)
        if inspect.isclass(member) and not issubclass(member, tuple):
            own = [(n, v) for n, v in vars(member).items() if not n.startswith("_")]
            silent += [f"{name}.{n}" for n, v in own if _documented(v) and not inspect.getdoc(getattr(member, n))]
    assert not silent, f"{module}: no docstring for {silent}"


ARGUMENTS = re.compile(r"^Args:\n((?:    .*\n|\n)*)", re.MULTILINE)
WITH_ARGUMENTS = ["nn", "nn.functional", "nn.init", "nn.parallel", "nn.utils", "nn.utils.parametrizations"]
WITH_ARGUMENTS += ["nn.utils.parametrize", "nn.utils.prune", "nn.utils.rnn"]
WITH_ARGUMENTS += ["distributions", "optim", "optim.lr_scheduler", "optim.swa_utils"]


@pytest.mark.parametrize("module", WITH_ARGUMENTS)
def test_each_argument_of_layers_and_optimisers_is_described(module: str) -> None:
    wrong = []
    for name, member in public(importlib.import_module(f"spirograd.{module}")):
        if not callable(member) or not member.__module__.startswith(f"spirograd.{module.split('.')[0]}."):
            continue
        if name in ("biject_to", "transform_to"):  # objects, whose class is described
            continue
        section = ARGUMENTS.search(f"{inspect.getdoc(member)}\n")
        entries = re.findall(r"^    (\w+(?:, \w+)*):", section[1] if section else "", re.MULTILINE)
        described = [name for entry in entries for name in entry.split(", ")]
        if described != [p for p in inspect.signature(member).parameters if p != "self"]:
            wrong.append(f"{name}{inspect.signature(member)} describes {described}")
    assert not wrong


SHARED = """Scales {what}.

Args:
    x: what is scaled.
    factor: the factor,
        a number.

Returns:
    A number.

Raises:
    ValueError: never.
"""


def test_a_docstring_takes_what_it_lacks_from_others() -> None:
    @described_by(SHARED, "\nArgs:\n    rest: other options.", what="a number")
    def scale(factor: float, x: float, rest: int = 0) -> float:
        """
        Args:
            x: the number.

        Example:
            >>> scale(2, 3)
        """
        return factor * x * (1 + rest)

    assert inspect.getdoc(scale) == (
        "Scales a number.\n\nArgs:\n    factor: the factor,\n        a number.\n    x: the number.\n"
        "    rest: other options.\n\nReturns:\n    A number.\n\nRaises:\n    ValueError: never.\n\n"
        "Example:\n    >>> scale(2, 3)"
    )


def test_a_class_takes_the_arguments_of_its_constructor_only() -> None:
    @described_by(SHARED, what="numbers")
    class Scale:
        """"""

        def __init__(self, factor: float) -> None:
            self.factor = factor

    assert inspect.getdoc(Scale) == (
        "Scales numbers.\n\nArgs:\n    factor: the factor,\n        a number.\n\nRaises:\n    ValueError: never."
    )


def test_a_member_of_a_family_has_a_name_a_signature_and_a_text_of_its_own() -> None:
    pool = sg.nn.functional.max_pool2d
    assert pool.__qualname__ == "max_pool2d" and pickle.loads(pickle.dumps(pool)) is pool
    assert list(inspect.signature(pool).parameters)[:2] == ["input", "kernel_size"]
    assert inspect.getsource(pool).startswith("def _max_pool(")
    for member in (pool, sg.nn.MaxPool2d):
        assert "[n, channels, height, width]" in member.__doc__ and "sg.ones(2, 3, 8, 8)" in member.__doc__


def test_no_word_of_a_family_is_left_to_be_replaced() -> None:
    for module in (sg.nn, sg.nn.functional):
        left = [name for name, member in public(module) if re.search(r"\{\w*\}", inspect.getdoc(member) or "")]
        assert not left


def test_names_of_arguments_are_those_of_the_signature() -> None:
    def mixed(a: int, *rest: int, b: int = 0, **options: int) -> None: ...

    things = [mixed, *(member for module in (sg.nn, sg.nn.functional, sg.optim) for _, member in public(module))]
    for thing in filter(callable, things):
        assert list(argument_names(thing)) == list(inspect.signature(thing).parameters), thing


def _documented(member: Any) -> bool:
    kinds = (property, staticmethod, classmethod)
    return isinstance(member, kinds) or inspect.isroutine(member) or inspect.isgetsetdescriptor(member)
