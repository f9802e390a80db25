"""python/spirograd/_core.pyi, the source of the core's signatures and docstrings, and what the build makes of it."""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import spirograd as sg
from spirograd import _core

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = Path(sg.__file__).with_name("_core.pyi")
# Members that every class has, and those of the operators, which have no signature.
OF_ALL = set(dir(object)) | {"__annotations__", "__dict__", "__weakref__", "__module__", "_pybind11_conduit_v1_"}


@functools.cache
def signatures() -> Any:
    """cpp/cmake/signatures.py"""
    spec = importlib.util.spec_from_file_location("signatures", ROOT / "cpp/cmake/signatures.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names(body: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


TREE = ast.parse(INSTALLED.read_text(encoding="utf-8"))
CLASSES = [node for node in TREE.body if isinstance(node, ast.ClassDef) and hasattr(_core, node.name)]
FOR_TYPES = {"_T", "_Number", "_Rows", "_ValuesAndIndices", "_dtype"}  # names that the stub alone has
OF_VULKAN = {"_count_vulkan_calls", "_vulkan_calls", "_set_faults", "_fault_report"}  # not in each build


def test_the_stub_has_the_names_of_the_core() -> None:
    stub = names(TREE.body)
    assert {name for name in dir(_core) if not name.startswith("__")} - stub - {"_overrun"} == set()
    assert stub - FOR_TYPES - OF_VULKAN - set(dir(_core)) == set()


@pytest.mark.parametrize("node", CLASSES, ids=lambda node: node.name)
def test_the_stub_has_the_members_of_a_class(node: ast.ClassDef) -> None:
    kind = getattr(_core, node.name)
    assert {name for name in vars(kind) if not name.startswith("__")} - names(node.body) - OF_ALL == set()
    assert names(node.body) - set(dir(kind)) == set()


@pytest.mark.parametrize("node", CLASSES, ids=lambda node: node.name)
def test_a_class_has_the_docstrings_of_the_stub(node: ast.ClassDef) -> None:
    kind = getattr(_core, node.name)
    told = [(kind, ast.get_docstring(node))]
    for member, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(member, ast.FunctionDef):
            told.append((inspect.getattr_static(kind, member.name, None), ast.get_docstring(member)))
        elif isinstance(member, ast.AnnAssign) and isinstance(after, ast.Expr):
            told.append((getattr(kind, ast.unparse(member.target)), ast.literal_eval(after.value)))
    for thing, doc in told:
        said = inspect.getdoc(thing.__get__(None, kind) if isinstance(thing, staticmethod) else thing) or ""
        assert doc is None or said.endswith(doc), f"{thing}: {said}"


def test_the_installed_stub_has_each_docstring() -> None:
    silent = []
    for owner, body in ((sg, TREE.body), (sg.Tensor, next(c for c in CLASSES if c.name == "Tensor").body)):
        for node in body:
            if not isinstance(node, ast.FunctionDef) or not inspect.isroutine(getattr(owner, node.name, None)):
                continue
            if node.name in {**_core._methods, **_core._functions, **_core._tensor_functions}:
                said = inspect.getdoc(getattr(owner, node.name))
                silent += [node.name] if ast.get_docstring(node) != said else []
    assert not silent


def test_functions_have_the_parameters_of_the_stub() -> None:
    functions = {node.name: node for node in TREE.body if isinstance(node, ast.FunctionDef)}
    for name in {**_core._functions, **_core._tensor_functions}:
        a = functions[name].args if name in functions else None
        if a is None:  # another name
            continue
        real = inspect.signature(getattr(_core, name)).parameters.values()
        stars = [a.vararg] if a.vararg else []
        assert [p.name for p in real] == [p.arg for p in (*a.args, *stars, *a.kwonlyargs)], name
        defaults = [repr(p.default) for p in real if p.default is not p.empty]
        assert defaults == [repr(ast.literal_eval(d)) for d in (*a.defaults, *a.kw_defaults) if d], name


# ---- what the build makes of it --------------------------------------------------------------------------------------
SOURCE = """
class Tensor:
    '''An array.'''
    @property
    def shrink(self) -> bool:
        '''Whether it is small.'''
    def scale(self, factor: float, *, twice: bool = False) -> Tensor: ...
    times = scale
    def scale_(self, factor: float, *, twice: bool = False) -> Tensor: ...
def scale(input: Tensor, factor: float, *, twice: bool = False) -> Tensor:
    '''The input by a factor.

    Args:
        input: a tensor.
        factor: a number.
        twice: whether twice.

    Raises:
        ValueError: the factor is 0.

    Example:
        >>> sg.scale(x, 2.0)
    '''
times = scale
def shrink(input: Tensor, by: int, factor: float = 1) -> None:
    '''Smaller.

    Args:
        by: how much.

    Args, Raises: as in scale.
    '''
"""
SHRINK = """Smaller.

Args:
    input: a tensor.
    by: how much.
    factor: a number.

Raises:
    ValueError: the factor is 0."""
SCALE_IN_PLACE = """scale in place: its result is written into this tensor.

The input by a factor.

Args:
    factor: a number.
    twice: whether twice.

Returns:
    The tensor itself.

Raises:
    Error: the tensor is a leaf that requires grad; write under no_grad().
    TypeError: the result would be of a higher kind than the tensor: bool, integer, floating.
    ValueError: the result has another shape, or elements of the tensor share memory; or the factor is 0."""


def test_texts_are_completed_by_those_of_others() -> None:
    stub = signatures().Stub(SOURCE)
    entries = {entry.name: entry for entry in stub.entries()}
    assert entries["shrink"].doc == SHRINK and entries["scale_"].doc == SCALE_IN_PLACE
    assert entries["times"].doc.startswith("The same as scale. The input by a factor.\n\nArgs:")
    assert {name: entry.scope for name, entry in entries.items()} == {
        "scale": "both", "scale_": "method", "shrink": "function", "times": "both",
    }  # fmt: skip
    written = [n for n in ast.walk(ast.parse(stub.whole())) if isinstance(n, ast.FunctionDef)]
    docs = {(n.name, bool(n.decorator_list)): ast.get_docstring(n) for n in written}
    assert docs == {
        ("scale", False): entries["scale"].doc,
        ("scale_", False): SCALE_IN_PLACE,
        ("shrink", False): SHRINK,
        ("shrink", True): "Whether it is small.",
    }
    assert stub.members()["Tensor.shrink"] == ("", "Whether it is small.")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "def scale(self, factor: float",
            "def scale(self, factor: int",
            "7: scale: the function and the method differ",
        ),
        ("by: int", "by", "25: shrink: a type is missing"),
        ("def shrink(input", "def times_(input", "25: times_ has no docstring"),
        ("as in scale", "as in scales", "1: 'scales' is neither a function nor a method"),
        ("    times = scale\n", "", "1: times is not another name of scale wherever that is"),
        ("def shrink(input", "def scale(input", "25: scale is defined twice"),
        ("factor: float = 1)", "**factor: float)", "25: shrink: rows take no '**'"),
        ("by: int", "by: int =", "25: expected default value expression"),
    ],
)
def test_a_wrong_stub_stops_the_build(old: str, new: str, message: str, tmp_path: Path) -> None:
    source = SOURCE.replace(old, new, 1)
    if "no docstring" in message:
        source = source[: source.index("'''Smaller")] + "...\n"
    (tmp_path / "_core.pyi").write_text(source)
    with pytest.raises(SystemExit) as end:
        signatures().main(str(tmp_path / "_core.pyi"), str(tmp_path))
    assert f"_core.pyi:{message}" in str(end.value)


ROW = """constexpr uint16_t types{number}[] = {{{takes}, 0}};
constexpr size_t row{number} = checked("{name}", {{types{number}, int(std::size(types{number})) - 1, {gives}}});
"""
FITTING = [
    ("scale", "kTensor, kFloat | kInt | kBool, kBool", "kTensor"),
    ("times", "kAnything, kAnything, kAnything", "0"),
    ("shrink", "kTensor, kInt, kFloat | kInt | kBool", "kNone"),
]
DIFFERING = [
    ("scale", "kTensor, kFloat | kInt | kBool", "kTensor", "names more or fewer arguments"),
    ("scale", "kTensor, kInt, kBool", "kTensor", "offers a type that the function does not take"),
    ("shrink", "kTensor, kInt, kFloat | kInt | kBool", "kTensor", "gives another type"),
    ("shrinks", "kTensor", "kTensor", "has no such name"),
]


@pytest.mark.skipif(not shutil.which("g++"), reason="there is no compiler")
def test_a_row_that_differs_does_not_compile(tmp_path: Path) -> None:
    (tmp_path / "_core.pyi").write_text(SOURCE)
    signatures().main(str(tmp_path / "_core.pyi"), str(tmp_path))

    def compiled(rows: list[tuple[str, ...]]) -> subprocess.CompletedProcess[str]:
        texts = [ROW.format(number=i, name=r[0], takes=r[1], gives=r[2]) for i, r in enumerate(rows)]
        head = '#include "bind/signature.hpp"\nusing namespace sg::bind;\n'
        (tmp_path / "rows.cpp").write_text(head + "".join(texts))
        command = ["g++", "-std=c++20", "-fsyntax-only", f"-I{tmp_path}", f"-I{ROOT / 'cpp'}", "rows.cpp"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    done = compiled(FITTING)
    assert done.returncode == 0, done.stderr
    done = compiled(DIFFERING)
    assert done.returncode != 0 and done.stderr.count("error: ") == len(DIFFERING), done.stderr
    assert all(message in done.stderr for *_, message in DIFFERING), done.stderr


# ---- in place --------------------------------------------------------------------------------------------------------
def test_methods_in_place_raise_what_they_say() -> None:
    names = [name for name in _core._methods if "in place: its result" in (getattr(sg.Tensor, name).__doc__ or "")]
    assert len(names) > 60
    for name in names:
        method = getattr(sg.ones(2, requires_grad=True), name)
        if list(inspect.signature(method).parameters) == ["self"] and name != "bitwise_not_":  # not of floats
            with pytest.raises(sg.Error, match="a leaf that requires grad cannot be written in place"):
                method()
            with pytest.raises(ValueError, match="share memory"):
                getattr(sg.ones(1).expand(2), name)()
    with pytest.raises(TypeError, match="the result is float32, the tensor int64"):
        sg.arange(3).exp_()
    with pytest.raises(ValueError, match=r"the result has shape \[3, 2\]"):
        sg.ones(2).add_(sg.ones(3, 2))
