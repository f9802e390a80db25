"""The pages of the API, written anew before each build: docs/api/MODULE.rst with tables of the names of a module, and
docs/api/MODULE/NAME.rst for each function and class. Part of docs/conf.py.

An object with several names has one page, that of the first module of MODULES. The pages of names are orphans: the
menu beside each page lists modules alone, else it would be most of every page. It is the same for all orphans.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

MODULES = (
    "spirograd",
    "spirograd.nn",
    "spirograd.nn.functional",
    "spirograd.nn.init",
    "spirograd.nn.utils",
    "spirograd.nn.utils.rnn",
    "spirograd.nn.flex_attention",
    "spirograd.nn.grad",
    "spirograd.optim",
    "spirograd.optim.lr_scheduler",
    "spirograd.optim.swa_utils",
    "spirograd.autograd",
    "spirograd.autograd.functional",
    "spirograd.autograd.forward_ad",
    "spirograd.autograd.graph",
    "spirograd.func",
    "spirograd.amp",
    "spirograd.linalg",
    "spirograd.fft",
    "spirograd.signal",
    "spirograd.signal.windows",
    "spirograd.special",
    "spirograd.masked",
    "spirograd.nested",
    "spirograd.quasirandom",
    "spirograd.sparse",
    "spirograd.distributions",
    "spirograd.distributions.transforms",
    "spirograd.ops",
    "spirograd.library",
    "spirograd.regions",
    "spirograd.graphs",
    "spirograd.training",
    "spirograd.callbacks",
    "spirograd.metrics",
    "spirograd.models",
    "spirograd.generation",
    "spirograd.utils.data",
    "spirograd.datasets",
    "spirograd.transforms",
    "spirograd.transforms.functional",
    "spirograd.text",
    "spirograd.serialization",
    "spirograd.hub",
    "spirograd.onnx",
    "spirograd.fx",
    "spirograd.utils.checkpoints",
    "spirograd.utils.checkpoint",
    "spirograd.utils.sampling",
    "spirograd.utils.tensorboard",
    "spirograd.utils.benchmark",
    "spirograd.viz",
    "spirograd.profiler",
    "spirograd.accelerator",
    "spirograd.accelerator.memory",
    "spirograd.testing",
)
MANY = 40  # names in a table; more are grouped
# Classes whose objects functions return, and that have no public name; on the page of this module.
RETURNED = {
    "spirograd": ("spirograd._complex.ComplexTensor", "spirograd._complex.ComplexType"),
    "spirograd.nn": ("spirograd.nn.hooks.RemovableHandle", "spirograd.nn.summary.Summary"),
    "spirograd.models": ("spirograd.models.lstm.LSTMStates",),
    "spirograd.distributions": ("spirograd.distributions.constraints.Constraint",),
}


def found(full: str) -> Any:
    module, name = full.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)


def names_of(module: ModuleType) -> Iterator[str]:
    """The public functions and classes; of a module without `__all__` those that the package defines, and not the
    functions and classes that a single file imports."""
    for name in sorted(getattr(module, "__all__", None) or vars(module), key=str.lower):
        thing = getattr(module, name)
        if name.startswith("_") or not callable(thing) or not getattr(thing, "__doc__", None):
            continue
        home = getattr(thing, "__module__", None) or ""
        file = not hasattr(module, "__path__")
        if hasattr(module, "__all__") or (home == module.__name__ if file else home.split(".")[0] == "spirograd"):
            yield name


def title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n\n"


def table(heading: str, names: list[str]) -> str:
    """Names from the current module, or `~` and a full name."""
    rows = "".join(f"   {name}\n" for name in names)
    return f".. rubric:: {heading}\n\n.. autosummary::\n\n{rows}\n" if names else ""


def by_kind(heading: str, names: list[str]) -> dict[str, list[str]]:
    """Many names in groups, each with the first sentence of the file that defines them."""
    groups = dict[str, list[str]]()
    for full in names:
        home = getattr(found(full), "__module__", None) if len(names) > MANY else None
        doc = getattr(importlib.import_module(home), "__doc__", None) if home in sys.modules else None
        sentence = " ".join((doc or "").split("\n\n")[0].split()).partition(". ")[0].rstrip(".")
        groups.setdefault(sentence if home and home.count(".") > 1 and sentence else heading, []).append(full)
    return groups


def same_text(owner: type, module: ModuleType, name: str) -> bool:
    ours, theirs = getattr(owner, name, None), getattr(module, name, None)
    return callable(ours) and bool(ours.__doc__) and ours.__doc__ == getattr(theirs, "__doc__", None)


class Pages:
    """Writes files below a folder, and leaves alone those that are as they should be."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.written, self.owner = folder, set[Path](), dict[int, str]()
        self.lower = set[str]()  # paths as systems see them for which tensor and Tensor are one file

    def write(self, path: str, text: str) -> None:
        file = self.folder / path
        self.written.add(file)
        self.lower.add(path.lower())
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")

    def write_name(self, full: str, kind: str, up: str, *lines: str) -> None:
        """The page of one name, below that of its module or class; `lines` follow the directive."""
        path = f"{up}/{full.removeprefix(f'{up}.')}"
        if f"{path}.rst".lower() in self.lower:
            path += f"-{kind}"
        text = f":orphan:\n\n{title(full)}In :doc:`{up} </api/{up}>`\n\n.. auto{kind}:: {full}\n" + "".join(
            f"{x}\n" for x in lines
        )
        self.write(f"{path}.rst", text)

    def write_class(self, full: str, up: str) -> None:
        """With its members. A method that is a function as well, with the same text, leads to the page of that."""
        members = [n for n in vars(found(full)) if not n.startswith("_")]
        twins = [n for n in members if same_text(found(full), importlib.import_module(up), n)]
        lines = ["   :members:"]
        if twins:
            lines += [
                f"   :exclude-members: {', '.join(twins)}",
                "",
                table("As methods, too", [f"~{up}.{n}" for n in twins]),
            ]
        self.write_name(full, "class", up, *lines)

    def write_module(self, name: str) -> None:
        module = importlib.import_module(name)
        classes, functions = list[str](), list[str]()
        for short in names_of(module):
            thing = getattr(module, short)
            full = self.owner.setdefault(id(thing), f"{name}.{short}")
            (classes if inspect.isclass(thing) else functions).append(full)
            if full == f"{name}.{short}":
                if inspect.isclass(thing):
                    self.write_class(full, name)
                else:
                    self.write_name(full, "function", name)
        for full in RETURNED.get(name, ()):
            classes.append(full)
            self.write_name(full, "class", name, "   :members:")
        text = f"{title(name)}.. automodule:: {name}\n   :no-index:\n\n.. py:module:: {name}\n\n"
        for heading, names in (("Classes", classes), ("Functions", functions)):
            for kind, some in by_kind(heading, names).items():
                text += table(kind, [n.removeprefix(f"{name}.") if n.startswith(f"{name}.") else f"~{n}" for n in some])
        self.write(f"{name}.rst", text)


def write(app: Any) -> None:
    pages = Pages(Path(app.srcdir) / "api")
    for module in MODULES:
        pages.write_module(module)
    for file in pages.folder.rglob("*.rst"):
        if file not in pages.written:
            file.unlink()


def prepare(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """No link "edit this page" on pages that are written here, and one menu for all orphans."""
    if pagename.startswith("api/"):
        context["page_source_suffix"] = ""
    if pagename.count("/") == 2 and "toctree" in context:
        menus, menu = vars(app).setdefault("orphans_menus", {}), context["toctree"]

        def toctree(**options: Any) -> str:
            key = str(options)
            if key not in menus:
                menus[key] = menu(**options)
            return menus[key]

        context["toctree"] = toctree


def source_of(domain: str, info: dict[str, str]) -> str | None:
    """Where an object of Python is defined, as `python/spirograd/FILE#Lnn`; None for what C++ defines."""
    thing: Any = importlib.import_module(info["module"]) if info["module"] else None
    for part in info["fullname"].split("."):
        thing = getattr(thing, part, None)
    thing = inspect.unwrap(thing.fget if isinstance(thing, property) and thing.fget else thing)
    try:
        file, line = inspect.getsourcefile(thing), inspect.getsourcelines(thing)[1]
    except (OSError, TypeError):
        return None
    _, inside, path = (file or "").replace("\\", "/").rpartition("/spirograd/")
    return f"python/spirograd/{path}#L{line}" if inside else None
