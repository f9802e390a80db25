"""Writes the page of operations: `python tools/ops_page.py > docs/ops.md`, in the root of the source tree.

What there is comes from the tables of the core; types, gradients and parts from calling each operation as the table of
reference results (tests/reference/table.py) does.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from spirograd import _core, linalg

HEAD = """\
# Operations

Every operation of `spirograd` and of its tensors, made by `python tools/ops_page.py > docs/ops.md`; a test
compares the two. `help(sg.softmax)` says more about each.

- *Also* names other spellings; `_` stands for the form in place.
- *Shapes*: `[...]` stands for any dimensions. Empty: the text of `help()` says it.
- *Types* of the inputs, and of the result where that is another: `float` are float16, bfloat16, float32 and float64;
  `int` int8, uint8, int16, int32 and int64; `all` adds bool. Halves are computed in float32.
- *Devices*: all run on the CPU and on GPUs. What runs in LAPACK copies a GPU tensor to the CPU and back, with a
  `FallbackWarning`. A type that a GPU has no arithmetic for raises `LimitError`.
- *Gradient*: of `any` order, or `-` where there is none.
- *Runs as*: `fused` becomes part of the kernels around it; `view` is no kernel, but other strides on the same memory;
  `kernel` is one or more of its own. Other words are rows of the table that it is made of; those that fuse do so here.
- *Source*: the file with the formula.
"""

TITLES = {
    "pointwise": "Element by element",
    "reductions": "Reductions",
    "scans": "Scans",
    "products": "Products",
    "linalg": "Linear algebra",
    "ops": "Of neural networks",
    "movement": "Shapes, joining, splitting",
    "indexing": "Indexing",
    "selection": "Selection",
    "sorting": "Sorting and searching",
    "create": "Creation",
    "random": "Random numbers",
    "convert": "Types, devices, copies",
}
RUNS = {
    "pointwise": "fused",
    "reduce": "kernel, fused with its inputs",
    "contraction": "kernel, fused with what follows",
    "indexed": "fused",
    "kernel": "kernel",
    "view": "view",
    "effect": "kernel",
    "memory": "memory",
}
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = ("int8", "uint8", "int16", "int32", "int64")
SOURCES = ("cpp/math/*.hpp", "cpp/ops/*.cpp", "cpp/bind/*.cpp")
# Names of PyTorch that programs may expect and that are not here, with the reason.
MISSING: dict[str, str] = {}


class Entry(NamedTuple):
    """A row of the page."""

    name: str
    shapes: str
    types: str
    gradient: str
    runs: str
    source: str
    also: list[str]


class _Probe(NamedTuple):
    """What calls of an operation showed: the result's type for each type of inputs, and names of recorded rows."""

    types: dict[str, str]
    gradient: bool
    made_of: list[str]


def _types(results: dict[str, str]) -> str:
    everywhere = set(results.values())
    groups: dict[str, list[str]] = {}
    for word, members in (("float", FLOATS), ("int", INTS), ("bool", ("bool",))):
        has = [m for m in members if m in results]
        shared = len(everywhere) == 1 or (len(has) > 1 and len({results[m] for m in has}) == 1)
        kinds = {m: results[m] if shared or results[m] != m else "" for m in has}
        for kind in sorted(set(kinds.values())):
            names = [m for m in has if kinds[m] == kind]
            whole = names == [m for m in members if hasattr(_core, m)]
            groups.setdefault(kind, []).extend([word] if whole else names)
    texts = []
    for kind, names in groups.items():
        text = "all" if names == ["float", "int", "bool"] else ", ".join(names)
        texts.append(text if kind in ("", *names) else f"{text} -> {kind}")
    return "; ".join(texts)


def _shapes(doc: str, source: str, inputs: int) -> str:
    """What the text says, or the rule of the file."""
    found = re.search(r"\[[^\]\n]*\](?:[ ,@]+\[[^\]\n]*\])* -> \[[^\]\n]*\](?:, \[[^\]\n]*\])*", doc)
    if found:
        return f"`{found[0]}`"
    if source.startswith("cpp/math/") or source in ("cpp/ops/pointwise.cpp", "cpp/ops/arithmetic.cpp"):
        return "`[...]`" if inputs < 2 else "broadcast"
    folds = ("cpp/ops/reduce.cpp", "cpp/ops/statistics.cpp", "cpp/ops/median.cpp", "cpp/bind/reductions.cpp")
    return "`[..., n] -> [...]`" if source in folds else ""


class _Sources:
    """The files in which names are made."""

    def __init__(self) -> None:
        self.texts = {p.as_posix(): p.read_text() for pattern in SOURCES for p in sorted(Path().glob(pattern))}

    def first(self, pattern: str, within: str) -> str:
        found = re.compile(pattern, re.MULTILINE)
        return next((path for path, text in self.texts.items() if path.startswith(within) and found.search(text)), "")

    def formula(self, name: str) -> str:
        """A formula for one element, else a function, else a row, else the binding."""
        return (
            self.first(rf'\bname = "{name}"', "cpp/math/")
            or self.first(rf"^(?:Tensor|TensorPair|std::[\w:<>, ]+) {name}(_of|_between)?\([^;{{]*\) \{{", "cpp/ops/")
            or self.first(rf'\.name = "{name}"', "cpp/ops/")
            or self.binding(name)
        )

    def binding(self, name: str) -> str:
        return self.first(rf'\{{"{name}", ', "cpp/bind/")


def _reference() -> Any:
    """The table of reference results."""
    sys.path.insert(0, "tests")
    try:
        return importlib.import_module("reference.table")
    finally:
        sys.path.pop(0)


def _probe(rows: Iterable[Any]) -> _Probe:
    types: dict[str, list[str]] = {}
    gradient = False
    parts: list[list[str]] = []  # of each row
    for row in rows:
        seen = False
        shapes = next((s for s in row.shapes if all(0 not in shape for shape in s)), row.shapes[0])
        for dtype in (d for d in ("float32", *FLOATS, *INTS, "bool") if hasattr(_core, d)):
            like = dtype if dtype == "bool" else "float32" if dtype in FLOATS else "int32"
            inputs = [_core.tensor(a, device="cpu").to(getattr(_core, dtype)) for a in row.inputs(shapes, like)]
            _core.synchronize()
            for x in inputs:
                x.requires_grad_(dtype in FLOATS)
            try:
                y = row.op(*inputs)
                graph = y.graph()
                y.detach().realize()
            except (TypeError, ValueError, RuntimeError):
                continue
            types.setdefault(dtype, []).append(str(y.dtype).rsplit(".", 1)[-1])
            gradient = gradient or y.requires_grad
            if not seen:
                seen = True
                parts.append(list(dict.fromkeys(re.findall(r"^%\d+ = (\w+)", graph, re.MULTILINE))))
                if ":" not in row.name:
                    parts += [parts[-1]] * 100  # the plain call speaks for all
    common = {dtype: max(dict.fromkeys(results), key=results.count) for dtype, results in types.items()}
    return _Probe(common, gradient, max(parts, key=lambda made: (parts.count(made), len(made)), default=[]))


def _runs(name: str, probe: _Probe, kinds: dict[str, str]) -> str:
    parts = [n for n in probe.made_of if n not in ("cast", "full")] or probe.made_of
    if not parts:
        return "view" if probe.gradient else "made by the host"
    words = " ".join(f"`{n}`" for n in parts if n != name)
    own = RUNS[kinds[name]] if name in parts and name in kinds else ""
    return "; ".join(w for w in (own, words) if w)


def _linalg() -> list[Entry]:
    made = []
    for name in linalg.__all__:
        f = getattr(linalg, name)
        if inspect.isclass(f):
            continue
        parts = name in ("norm", "vector_norm", "matrix_norm", "matrix_power", "multi_dot")
        runs, types = ("tensor operations", "float") if parts else ("LAPACK on the CPU", "float32, float64")
        shapes = _shapes(f.__doc__ or "", "", 0)
        place = f"python/{f.__module__.replace('.', '/')}.py"
        made.append(Entry(f"linalg.{name}", shapes, types, "any", runs, place, []))
    return made


def sections() -> dict[str, list[Entry]]:
    """Entries by the file that binds them, in the order of TITLES."""
    reference = _reference()
    rows: dict[str, list[Any]] = {}
    for row in reference.ROWS:
        rows.setdefault(row.name.split(":")[0], []).append(row)
    sources = _Sources()
    table = {op["name"]: op for op in _core._ops()}
    kinds = {name: op["kind"] for name, op in table.items()}
    public = {**_core._methods, **_core._functions, **_core._tensor_functions}
    entries: dict[str, Entry] = {}
    found: dict[str, list[Entry]] = {title: [] for title in TITLES}
    for name in sorted(rows.keys() & public.keys()):
        source = sources.formula(name)
        elementwise = name in table and source.startswith("cpp/math/")
        section = "pointwise" if elementwise else Path(sources.binding(name)).stem
        inputs = table[name]["arity"] if elementwise else len(rows[name][0].shapes[0])
        probe = _probe(rows[name])
        entries[name] = Entry(
            name,
            _shapes(public[name][2], source, inputs),
            _types(probe.types),
            "any" if probe.gradient else "-",
            _runs(name, probe, kinds),
            source,
            [],
        )
        found[section if section in TITLES else "reductions"].append(entries[name])
    for name, (_, _, doc) in public.items():
        same = re.match(r"The same as (\w+)\.", doc)
        target = same[1] if same else reference.NOT_OPS.get(name, name)
        if name in entries:
            continue
        if name.rstrip("_") in entries:
            entries[name.rstrip("_")].also.append("_")
        elif target.rstrip("_") in entries:
            entries[target.rstrip("_")].also.append(name)
    found["linalg"] += _linalg()
    return {section: listed for section, listed in found.items() if listed}


def page() -> str:
    """The text of docs/ops.md."""
    lines = [HEAD]
    named = set()
    for section, entries in sections().items():
        lines += [f"## {TITLES[section]}", "", "| name | also | shapes | types | gradient | runs as | source |"]
        lines.append("|---|---|---|---|---|---|---|")
        for e in entries:
            also = " ".join(f"`{a}`" for a in sorted(e.also))
            source = f"`{e.source}`" if e.source else ""
            lines.append(f"| `{e.name}` | {also} | {e.shapes} | {e.types} | {e.gradient} | {e.runs} | {source} |")
            named |= {e.name, *(e.name + "_" if a == "_" else a for a in e.also)}
        lines.append("")
    others: dict[str, list[str]] = {}
    for name, reason in _reference().NOT_OPS.items():
        if name not in named and not name.startswith("_"):
            others.setdefault(reason, []).append(f"`{name}`")
    lines += [
        "## Other names",
        "",
        "Creation, random numbers, conversions, facts: what they are, or which tests hold them.",
    ]
    lines += ["", "| names | what they are |", "|---|---|"]
    lines += [f"| {' '.join(sorted(names))} | {reason} |" for reason, names in others.items()]
    lines += ["", "## What is missing", ""]
    lines += [f"- `{name}`: {reason}" for name, reason in MISSING.items()] or [
        "Of the names that this version set out to have, none; `tests/api/test_names.py` lists them."
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
