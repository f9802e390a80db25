"""The layout rules of the source tree: who may include or import whom, and what a file may contain.

Needs nothing but Python and pytest (alone: pytest --noconftest tests/test_layout.py). The tables are those of
docs/ARCHITECTURE.md.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CPP = ROOT / "cpp"
PYTHON = ROOT / "python" / "spirograd"

# layer -> what it may include besides itself and the standard library. A value with a '/' is one header or folder.
MAY_INCLUDE: dict[str, set[str]] = {
    "os": set(),
    "base": {"os"},
    "math": {"base"},
    "kernel": {"base", "math"},
    "plan": {"base", "kernel"},
    "graph": {"base", "kernel"},
    "ops": {"base", "math", "kernel", "graph"},
    "schedule": {"base", "kernel", "plan", "graph"},
    "device": {"os", "base", "math", "kernel", "plan"},
    "exchange": {"os", "base", "math", "kernel", "plan", "device/device.hpp"},
    "value": {"os", "base", "math"},
    "engine": {"base", "math", "kernel", "plan", "graph", "ops", "schedule", "device", "exchange", "value"},
    "include": {"base", "graph", "ops/list.hpp", "value", "device/device.hpp", "engine"},
    "bind": {"base", "graph", "ops/list.hpp", "ops/convolution.hpp", "ops/glsl.hpp", "value", "engine"}
    | {"plan/cost.hpp", "device/device.hpp", "device/gpu/pipeline/compiler.hpp", "device/gpu/driver/vulkan_calls.hpp"}
    | {"exchange/group.hpp", "exchange/mpi.hpp", "exchange/nccl/nccl.hpp"},
}
# Module or folder of python/spirograd -> what it may import besides itself, `_core` and `base`; `__init__` stands for
# `import spirograd`. Imports inside functions and for annotations count.
MAY_IMPORT: dict[str, set[str]] = {
    "_core": set(),
    "base": set(),
    "_complex": set(),
    "_pickle": set(),
    "_print": set(),
    "_stages": set(),
    "_ufuncs": set(),
    "_reading": set(),
    "accelerator": set(),
    "autograd": set(),
    "distributed": {"autograd"},
    "engine": set(),
    "metrics": set(),
    "profiler": set(),
    "progress": set(),
    "scalar": set(),
    "sparse": set(),
    "testing": set(),
    "tracer": set(),
    "fft": {"_complex"},
    "serialization": {"_pickle", "nn", "sparse"},
    "hub": {"serialization"},
    "library": {"autograd"},
    "text": {"serialization"},
    "utils": {"distributed", "serialization"},
    "datasets": {"progress", "serialization", "utils"},
    "_bits": {"ops"},
    "linalg": {"_complex", "autograd"},
    "masked": {"linalg"},
    "nested": set(),
    "quasirandom": set(),
    "transforms": {"utils"},
    "ops": {"autograd"},
    "graphs": {"ops"},
    "regions": {"ops"},
    "special": {"autograd"},
    "distributions": {"autograd", "linalg", "nn", "special"},
    "nn": {"_complex", "autograd", "distributed", "linalg", "scalar", "tracer"},
    "func": {"autograd", "nn", "utils"},
    "fx": {"nn"},
    "signal": {"_complex", "fft", "nn"},
    "_functions": {"_complex", "autograd", "distributions", "linalg", "nn"},
    "optim": {"distributed", "nn", "tracer"},
    "einops": {"nn"},
    "onnx": {"nn", "serialization"},
    "amp": {"optim"},
    "viz": {"_stages", "nn", "scalar"},
    "models": {"nn", "serialization"},
    "compiler": {"nn", "tracer"},
    "training": {"amp", "autograd", "compiler", "distributed", "metrics", "nn", "optim", "progress"}
    | {"scalar", "tracer", "utils", "viz"},
    "callbacks": {"training"},
    "generation": {"compiler", "models", "nn", "utils"},
    "__init__": set(),  # all above
    "torch": {
        "__init__",
        "_complex",
        "_functions",
        "accelerator",
        "amp",
        "autograd",
        "compiler",
        "distributed",
        "distributions",
        "func",
        "fx",
        "hub",
        "library",
        "linalg",
        "nn",
        "onnx",
    }
    | {"graphs", "optim", "profiler", "regions"}
    | {"serialization", "signal", "sparse", "special", "testing", "utils"},
    "examples": {"__init__", "datasets", "nn", "progress", "viz"},
    "cli": {
        "amp",
        "autograd",
        "compiler",
        "datasets",
        "distributed",
        "examples",
        "generation",
        "models",
        "nn",
        "optim",
        "profiler",
        "progress",
        "serialization",
        "text",
        "torch",
        "utils",
    },
    "__main__": {"cli"},
}
MAY_IMPORT["__init__"] = set(list(MAY_IMPORT)[: list(MAY_IMPORT).index("__init__")]) - {"_core", "base"}
# The rooms of device/gpu -> those that they may include besides themselves. `lower` makes text of plans: no Vulkan.
GPU_ROOMS: dict[str, set[str]] = {
    "driver": set(),
    "lower": set(),
    "queue": {"driver"},
    "memory": {"driver", "queue"},
    "pipeline": {"driver", "lower"},
    "record": {"driver", "lower", "queue", "memory", "pipeline"},
}
# Third-party headers (prefix) -> the only folders or files that may name them.
ONLY_IN = {
    "pybind11/": ["bind/"],
    "Python.h": ["bind/"],
    "vulkan/": ["device/gpu/"],
    "volk.h": ["device/gpu/"],
    "volk.c": ["device/gpu/"],
    "vk_mem_alloc.h": ["device/gpu/"],
    "glslang/": ["device/gpu/"],
    "cblas.h": ["device/cpu/"],
    "unistd.h": ["os/posix/"],
    "sys/": ["os/posix/"],
    "pthread.h": ["os/posix/"],
    "dlfcn.h": ["os/posix/"],
    "fcntl.h": ["os/posix/"],
    "sched.h": ["os/posix/"],
    "mach/": ["os/posix/"],
    "windows.h": ["os/windows/"],
    "cpuid.h": ["os/"],
    "immintrin.h": ["device/cpu/"],
}
# Where pybind11 may be: Python classes that keep something, the module, errors, and what rows pass as lists and dicts.
# Every function is a row (cpp/bind/methods.hpp).
PYBIND = ["autograd.cpp", "caster.hpp", "compile.cpp", "device.cpp", "errors.cpp", "glsl.cpp", "inspect.cpp"]
PYBIND += ["module.cpp", "optim.cpp", "profile.cpp", "random.cpp"]
LINE_LIMIT = 800
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
COMMENTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
STRINGS = re.compile(r'"((?:\\.|[^"\\\n])*)"')
VULKAN_NAME = re.compile(r"\b(?:vk[A-Z]\w*|Vk[A-Z]\w*|VK_[A-Z]\w*|vma[A-Z]\w*|Vma[A-Z]\w*)\b")

MODULES = sorted(PYTHON.rglob("*.py"))
SOURCES = sorted(p for p in CPP.rglob("*") if p.suffix in {".hpp", ".cpp", ".inl", ".def", ".h"})


def name(path: Path) -> str:
    return path.relative_to(CPP).as_posix()


def layer(path_in_cpp: str) -> str:
    return path_in_cpp.split("/")[0]


def includes(path: Path) -> list[tuple[str, str]]:
    return [(m[1], m[2]) for m in INCLUDE.finditer(path.read_text(encoding="utf-8"))]


def code(path: Path) -> str:
    """The text without comments and strings, line structure kept."""
    return COMMENTS.sub(lambda m: "\n" * m[0].count("\n"), path.read_text(encoding="utf-8"))


def test_every_folder_is_a_layer() -> None:
    folders = {p.name for p in CPP.iterdir() if p.is_dir()} - {"cmake"}
    assert folders <= set(MAY_INCLUDE), "a new folder in cpp/ needs a row in MAY_INCLUDE and in docs/ARCHITECTURE.md"
    assert SOURCES


def assert_layered(layers: dict[str, set[str]]) -> None:
    """Each can be built when those that it may use are there."""
    done: set[str] = set()
    while len(done) < len(layers):
        ready = {a for a, b in layers.items() if a not in done and b <= done}
        assert ready, f"the layers {set(layers) - done} use each other"
        done |= ready


def assert_no_cycle(graph: dict[str, list[str]]) -> None:
    """No file reaches itself."""
    state: dict[str, int] = {}

    def visit(node: str, trail: list[str]) -> None:
        if state.get(node) == 1:
            raise AssertionError("cycle: " + " -> ".join([*trail[trail.index(node) :], node]))
        if state.get(node) == 2:
            return
        state[node] = 1
        for target in graph.get(node, []):
            visit(target, [*trail, node])
        state[node] = 2

    sys.setrecursionlimit(max(sys.getrecursionlimit(), 2 * len(graph) + 1000))
    for node in graph:
        visit(node, [])


def test_matrix_has_no_cycle() -> None:
    assert_layered({a: {x.split("/")[0] for x in b} for a, b in MAY_INCLUDE.items()})


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_includes_follow_the_matrix(path: Path) -> None:
    mine = layer(name(path))
    for quote, target in includes(path):
        if quote == "<":
            continue
        assert (CPP / target).is_file(), f'#include "{target}": write it from cpp/, or with <> if it is not ours'
        theirs = layer(target)
        allowed = theirs == mine or theirs in MAY_INCLUDE[mine] or target in MAY_INCLUDE[mine]
        assert allowed, f"{mine} may include {sorted(MAY_INCLUDE[mine])}, not {target}"
        halves = {half for half in ("device/cpu/", "device/gpu/") if name(path).startswith(half)}
        for half in {"device/cpu/", "device/gpu/"} - halves:
            if halves:
                assert not target.startswith(half), "device/cpu and device/gpu know only device.hpp of each other"
        if mine not in {"device", "bind"}:
            assert not target.startswith(("device/cpu/", "device/gpu/")), "use device/device.hpp"


def test_every_folder_of_the_gpu_is_a_room() -> None:
    gpu = CPP / "device/gpu"
    assert {p.name for p in gpu.iterdir() if p.is_dir()} == set(GPU_ROOMS)
    assert [p.name for p in gpu.iterdir() if p.is_file()] == ["gpu_device.cpp"], "each file belongs to a room"


@pytest.mark.parametrize("path", [p for p in SOURCES if name(p).startswith("device/gpu/")], ids=name)
def test_rooms_of_the_gpu_include_those_below_them(path: Path) -> None:
    mine = name(path).split("/")[2]
    if mine not in GPU_ROOMS:
        return
    for _, target in includes(path):
        if target.startswith("device/gpu/"):
            theirs = target.split("/")[2]
            assert theirs in GPU_ROOMS[mine] | {mine}, f"{mine} may include {sorted(GPU_ROOMS[mine])}, not {target}"
    if mine == "lower":
        found = VULKAN_NAME.findall(code(path))
        assert not found, f"Vulkan names in lower/: {sorted(set(found))}"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_third_party_headers_stay_in_their_folder(path: Path) -> None:
    for _, target in includes(path):
        for prefix, places in ONLY_IN.items():
            if target.startswith(prefix):
                assert name(path).startswith(tuple(places)), f"{target} belongs to {places}"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_no_vulkan_outside_device_gpu(path: Path) -> None:
    if name(path).startswith("device/gpu/"):
        return
    found = VULKAN_NAME.findall(code(path))
    assert not found, f"Vulkan names outside device/gpu: {sorted(set(found))}"


@pytest.mark.parametrize("path", [p for p in SOURCES if p.suffix == ".hpp"], ids=name)
def test_header_form(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("//"), "a header opens with what it promises and who calls it"
    opening = re.match(r"(?://[^\n]*\n)*", text)[0]
    assert "#pragma once" in text or re.search(r"\binclude", opening, re.IGNORECASE), (
        "#pragma once, or the opening comment says that and why the header is included several times"
    )


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_file_opens_with_what_it_owns(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("//"), (
        "say in one to three lines what the file owns, and what it must not know"
    )


# docs/decisions/061-addresses-behind-one-seam.md: one shader names types of 64 bits, and all others use its words.
BITS_64 = re.compile(r"\b(?:u?int64_t|[iu]64vec[234]|\d+ul)\b")
SHADERS = sorted((ROOT / "shaders").iterdir())
TEXTS_OF_SHADERS = [p for p in SOURCES if name(p).startswith(("ops/", "device/gpu/"))]


@pytest.mark.parametrize("path", [p for p in SHADERS if p.name != "address.glsl"], ids=lambda p: p.name)
def test_shaders_leave_addresses_to_one(path: Path) -> None:
    found = BITS_64.findall(path.read_text(encoding="utf-8"))
    assert not found, f"use the words of shaders/address.glsl instead of {sorted(set(found))}"


@pytest.mark.parametrize("path", TEXTS_OF_SHADERS, ids=name)
def test_texts_of_shaders_leave_addresses_to_one(path: Path) -> None:
    strings = STRINGS.findall(path.read_text(encoding="utf-8"))
    found = [s for s in strings if BITS_64.search(s)]
    assert not found, f"use the words of shaders/address.glsl in {found}"


def test_no_cycle_between_files() -> None:
    assert_no_cycle({name(p): [t for q, t in includes(p) if q == '"'] for p in SOURCES})


# ---- Python ----------------------------------------------------------------------------------------------------------
def dotted(path: Path) -> str:
    """The module's name."""
    parts = path.relative_to(PYTHON.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


NAMES = {dotted(p) for p in MODULES} | {"spirograd._core"}


def imports(path: Path) -> set[str]:
    """The modules of the package that a file imports, wherever in it."""
    found: set[str] = set()
    folder = path.parent.relative_to(PYTHON.parent).parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = folder[: len(folder) + 1 - node.level] if node.level else ()
            module = ".".join([*above, *filter(None, [node.module])])
            parts = {f"{module}.{alias.name}" for alias in node.names}
            found |= parts if parts <= NAMES else {module, *parts}
    return found & NAMES - {dotted(path)}


def test_every_python_module_is_in_the_table() -> None:
    assert {room(n) for n in NAMES} == set(MAY_IMPORT), (
        "python/spirograd, MAY_IMPORT and docs/ARCHITECTURE.md have the same rooms"
    )


def test_python_table_has_no_cycle() -> None:
    below = {"_core": set(), "base": {"_core"}}
    assert_layered({a: below.get(a, {"_core", "base"}) | b for a, b in MAY_IMPORT.items()})


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_imports_follow_the_table(path: Path) -> None:
    mine = room(dotted(path))
    theirs = {room(target) for target in imports(path)} - {mine, "_core", "base"}
    assert theirs <= MAY_IMPORT[mine], f"{mine} may import {sorted(MAY_IMPORT[mine])}, not {theirs - MAY_IMPORT[mine]}"


def test_no_cycle_between_python_files() -> None:
    assert_no_cycle({dotted(p): sorted(imports(p)) for p in MODULES})


@pytest.mark.parametrize("table", [MAY_INCLUDE, MAY_IMPORT], ids=["include", "import"])
def test_the_page_has_the_same_table(table: dict[str, set[str]]) -> None:
    page = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    head = "| folder | may include |" if table is MAY_INCLUDE else "| module or folder | may import |"
    rows = page[page.index(head) :].split("\n\n")[0].splitlines()[2:]
    names = [[set(re.findall(r"`([^`]+)`", cell)) for cell in row.strip("|").split("|")] for row in rows]
    found = {a: may for some, may in names for a in some}
    above = list(found)[: list(found).index("__init__")] if "__init__" in found else []
    assert {a: may if a != "__init__" else set(above) - {"_core", "base"} for a, may in found.items()} == table
    assert sum(len(some) for some, _ in names) == len(table), "a folder has two rows"


# ---- spirograd.torch -------------------------------------------------------------------------------------------------
# What computes is in the package itself: spirograd.torch renames, accepts other arguments, and refuses.
# Functions there with arithmetic or several operations, and why it is no computation of results.
COMPUTES = {
    "absent.py: __init__": "a limit of an element type, a number",
    "arguments.py: _with_old_arguments": "a place in a list of arguments",
    "arguments.py: call": "a number of arguments",
    "arguments.py: factor_first": "a number of arguments",
    "changes.py: _ordered": "joins names",
    "changes.py: state_dict": "joins names",
    "finder.py: locate_file": "joins paths",
    "modules/_utils.py: _take_tensors": "sums of bytes",
    "modules/amp/__init__.py: __init__": "a default value, a number",
    "modules/cuda/__init__.py: elapsed_time": "seconds",
    "modules/optim/optimizer.py: _dispatch_sqrt": "the root of a number; that of a tensor is its method",
    "storage.py: size": "sizes and strides, numbers",
}
MAKERS = {"as_tensor", "asarray", "empty", "from_numpy", "full", "tensor", "zeros"}
ADAPTER = sorted((PYTHON / "torch").rglob("*.py"))
PLAIN_CALLS = {"dict", "frozenset", "hash", "id", "int", "len", "list", "max", "min", "range", "repr", "round", "set"}
PLAIN_CALLS |= {"sorted", "str", "tuple"}
PLAIN_PARTS = {"__name__", "co_argcount", "index", "itemsize", "lineno", "ndim", "start", "times"}
PLAIN_TYPES = re.compile(r"(int|float|str|bytes|list|tuple|dict|set|Sequence|builtins\.int)\b")
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)


@functools.cache
def operations() -> set[str]:
    """The functions of the core that give tensors, without those that make them of given values."""
    stubs = ast.parse((PYTHON / "_core.pyi").read_text(encoding="utf-8"))
    functions = [node for node in stubs.body if isinstance(node, ast.FunctionDef)]
    return {f.name for f in functions if f.returns and re.search("Tensor|Values", ast.unparse(f.returns))} - MAKERS


def is_plain(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression is plainly no tensor."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    if isinstance(node, ast.BinOp):
        return is_plain(node.left, names) or is_plain(node.right, names)
    if isinstance(node, ast.IfExp):
        return is_plain(node.body, names) or is_plain(node.orelse, names)
    if isinstance(node, ast.Subscript):
        return is_plain(node.value, names) or (isinstance(node.value, ast.Attribute) and node.value.attr == "shape")
    if isinstance(node, ast.Attribute):
        return node.attr in PLAIN_PARTS
    if isinstance(node, ast.Call):
        return (isinstance(node.func, ast.Name) and node.func.id in PLAIN_CALLS) or (
            isinstance(node.func, ast.Attribute)
            and (node.func.attr in ("numel", "join", "time") or ast.unparse(node.func.value) in ("math", "os.environ"))
        )
    kinds = (ast.JoinedStr, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)
    return isinstance(node, kinds) or (isinstance(node, ast.Name) and node.id in names)


def plain_names(function: ast.FunctionDef) -> set[str]:
    """Arguments with the types of numbers, texts and containers, counters, and what is made of these."""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    names = {a.arg for a in arguments if a.annotation and PLAIN_TYPES.match(ast.unparse(a.annotation))}
    names |= {a.arg for a in (function.args.vararg, function.args.kwarg) if a}
    for node in ast.walk(function):
        if isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Call):
            counts = {"enumerate": 1, "range": 1}.get(getattr(node.iter.func, "id", ""), 0)
            parts = node.target.elts[:1] if isinstance(node.target, ast.Tuple) else [node.target]
            names |= {part.id for part in parts if counts and isinstance(part, ast.Name)}
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and is_plain(node.value, names):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {t.id for t in targets if isinstance(t, ast.Name)}
    return names


def computing(path: Path) -> dict[str, str]:
    """The functions and classes of a file that compute, and how."""
    tree, found, core = ast.parse(path.read_text(encoding="utf-8")), dict[str, str](), operations()
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("_core")
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(ast.unparse(b).split(".")[-1] == "Function" for b in node.bases):
            found[node.name] = "a Function"
        if not isinstance(node, ast.FunctionDef):
            continue
        names, called = plain_names(node), list[str]()
        for part in ast.walk(node):
            if isinstance(part, ast.BinOp) and isinstance(part.op, ARITHMETIC) and not is_plain(part, names):
                found[node.name] = ast.unparse(part)
            if isinstance(part, ast.AugAssign) and not (is_plain(part.target, names) or is_plain(part.value, names)):
                found.setdefault(node.name, ast.unparse(part))
            if isinstance(part, ast.Call):
                text = ast.unparse(part.func)
                name = text.removeprefix("_core.") if text.startswith("_core.") else text if text in imported else ""
                called += [name] if name in core else []
        if len(called) > 1:
            found.setdefault(node.name, f"calls {', '.join(called)}")
    return found


def test_what_computes_is_in_the_package_itself() -> None:
    files = {p.relative_to(PYTHON / "torch").as_posix(): computing(p) for p in ADAPTER}
    found = {f"{file}: {name}": how for file, made in files.items() for name, how in made.items()}
    new = {place: how for place, how in found.items() if place not in COMPUTES}
    assert not new, "move it into the room of its subject, and import it here; or say in COMPUTES why it stays"
    assert not COMPUTES.keys() - found.keys(), "COMPUTES lists what does not compute any more"


@pytest.mark.parametrize(
    ("body", "computes"),
    [
        ("def f(x, y):\n    return x * y", True),
        ("def f(x: Tensor, n: int):\n    return x - 1", True),
        ("def f(x):\n    x += 1", True),
        ("def f(x):\n    return exp(_core.log(x))", True),
        ("class F(autograd.Function): ...", True),
        ("def f(x, n: int):\n    return _core.roll(x, n - 1, x.ndim - 1)", False),
        ("def f(x, name: str):\n    return [name + 's', *range(len(x) - 1)]", False),
        ("def f(x):\n    return exp(_core.tensor(x))", False),
    ],
)
def test_computing_is_told_from_renaming(body: str, computes: bool, tmp_path: Path) -> None:
    (tmp_path / "file.py").write_text(f"from ..._core import exp\n{body}\n")
    assert bool(computing(tmp_path / "file.py")) == computes


# ---- files -----------------------------------------------------------------------------------------------------------
def test_no_file_is_too_long() -> None:
    files = [
        p
        for folder in ("cpp", "shaders", "python", "tests", "tools", "benchmarks")
        for p in (ROOT / folder).rglob("*")
        if p.suffix in {".hpp", ".cpp", ".inl", ".def", ".comp", ".glsl", ".py", ".sh", ".cmake"}
        and "__pycache__" not in p.parts
    ]
    long = {str(p.relative_to(ROOT)): n for p in files if (n := p.read_text(encoding="utf-8").count("\n")) > LINE_LIMIT}
    assert not long, f"over {LINE_LIMIT} lines; split by what changes together: {long}"


def test_every_function_of_the_module_is_a_row() -> None:
    bind = [p for p in SOURCES if layer(name(p)) == "bind"]
    found = {p.name for p in bind if "pybind11" in code(p) or "pybind11/" in "".join(t for _, t in includes(p))}
    assert found == set(PYBIND), "pybind11 is for classes that keep something: use rows, or correct PYBIND"
    functions = [f"{p.name}: {m[0]}" for p in bind for m in re.finditer(r"\b(?:m|module)\.def\(", code(p))]
    assert not functions, f"functions are rows, not {functions}"


def test_rows_are_made_from_the_types_of_functions() -> None:
    readers = {p.name for p in SOURCES if layer(name(p)) == "bind" and re.search(r"\bArguments \w+\(", code(p))}
    # bound() itself, the ops of the table, which share a body for each number of inputs, and to().
    assert readers == {"bound.cpp", "pointwise.cpp", "convert.cpp"}, "write bound<function> (cpp/bind/bound.hpp)"


def test_file_names() -> None:
    for path in SOURCES:
        assert re.fullmatch(r"[a-z][a-z0-9_]*\.(hpp|cpp|inl|def)", path.name), f"{name(path)}: use snake_case"
    shaders = [p for p in (ROOT / "shaders").iterdir() if p.is_file()]
    for path in shaders:
        assert re.fullmatch(r"[a-z][a-z0-9_]*\.(comp|glsl)", path.name), f"shaders/{path.name}: use snake_case"
    assert not [p for p in (ROOT / "shaders").rglob("*") if p.is_dir()], "shaders/ is flat: file name = op name"
