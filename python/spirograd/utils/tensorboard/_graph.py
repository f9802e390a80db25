"""The graph of a model, from one call of it: its operations, in the modules that they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..._core import Tensor
from ...base.grad_mode import enable_grad

__all__ = ["Node", "graph_of"]


class Node(NamedTuple):
    """A node of the graph.

    Attributes:
        name: with the modules that it is in, as a path.
        op: what it is.
        inputs: the names of the nodes before it.
        shape: that of its result, or None if it is not known.
    """

    name: str
    op: str
    inputs: list[str]
    shape: tuple[int, ...] | None


def _tensors(x: Any) -> Iterator[Tensor]:
    if isinstance(x, Tensor):
        yield x
    elif isinstance(x, dict):
        for value in x.values():
            yield from _tensors(value)
    elif isinstance(x, (list, tuple)):
        for value in x:
            yield from _tensors(value)


def _leaf(x: Tensor) -> Any:
    """Where the gradient of a leaf is added up."""
    return (x * 1).grad_fn.next_functions[0][0]  # type: ignore[union-attr]


def _paths(model: Any) -> dict[Any, str]:
    """Each module as a path, such as Net/Linear[fc]."""
    kinds = {name: type(module).__name__ for name, module in model.named_modules()}
    found = {}
    for name, module in model.named_modules():
        parts = name.split(".") if name else []
        path = [kinds[""]]
        for i, part in enumerate(parts):
            path.append(f"{kinds.get('.'.join(parts[: i + 1]), 'list')}[{part}]")
        found[module] = "/".join(path)
    return found


class _Watch:
    """Which module each operation of a call belongs to, and the shapes of the results of modules."""

    def __init__(self, paths: dict[Any, str]) -> None:
        self.paths = paths
        self.at: dict[Any, str] = {}
        self.shapes: dict[Any, tuple[int, ...]] = {}

    def done(self, module: Any, args: Any, kwargs: Any, result: Any) -> None:
        """A hook: what has no place yet, from the result of a module back to its arguments, is in it."""
        before = {x.grad_fn for x in _tensors([args, kwargs])}
        ends = [x for x in _tensors(result) if x.grad_fn is not None]
        self.shapes.update({x.grad_fn: tuple(x.shape) for x in ends})
        todo = [x.grad_fn for x in ends]
        while todo:
            node = todo.pop()
            if node is None or node in before or node in self.at or node.name() == "AccumulateGrad":
                continue
            self.at[node] = self.paths[module]
            todo += [following for following, _ in node.next_functions]


def graph_of(model: Any, inputs: Any) -> list[Node]:
    """The graph of model(*inputs), which is called once, in evaluation mode.

    Args:
        model: a module.
        inputs: a tensor, or a tuple of arguments.
    """
    given = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)
    paths = _paths(model)
    watch, modes = _Watch(paths), {module: module.training for module in paths}
    model.eval()
    handles = [module.register_forward_hook(watch.done, with_kwargs=True) for module in paths]
    try:
        with enable_grad():
            args = [x.detach().requires_grad_() if _can_require(x) else x for x in given]
            result = model(*args)
            leaves = {_leaf(x): (f"input/{i}", x, "Input") for i, x in enumerate(args) if _can_require(x)}
            for module, path in paths.items():
                for name, p in module.named_parameters(recurse=False):
                    if p.requires_grad:
                        leaves[_leaf(p)] = (f"{path}/{name}", p, "Parameter")
    finally:
        for handle in handles:
            handle.remove()
        for module, mode in modes.items():
            module.training = mode
    return _nodes(list(_tensors(result)), watch, leaves, paths[model])


def _can_require(x: Any) -> bool:
    return isinstance(x, Tensor) and x.dtype.is_floating_point


def _nodes(results: Sequence[Tensor], watch: _Watch, leaves: dict[Any, Any], top: str) -> list[Node]:
    found: list[Node] = []
    names: dict[Any, str] = {}
    counts: dict[str, int] = {}

    def named(node: Any) -> str:
        if node not in names:
            if node in leaves:
                names[node], x, op = leaves[node]
                found.append(Node(names[node], op, [], tuple(x.shape)))
            else:
                op = node.name().removesuffix("Backward0")
                base = f"{watch.at.get(node, top)}/{op}"
                counts[base] = counts.get(base, 0) + 1
                names[node] = base if counts[base] == 1 else f"{base}_{counts[base] - 1}"
        return names[node]

    todo = [x.grad_fn for x in results if x.grad_fn is not None]
    seen: set[Any] = set()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        name = named(node)
        before = [following for following, _ in node.next_functions if following is not None]
        if node not in leaves:
            op = node.name().removesuffix("Backward0")
            found.append(Node(name, op, [named(x) for x in before], watch.shapes.get(node)))
        todo += before
    for i, x in enumerate(results):
        before_it = [named(x.grad_fn)] if x.grad_fn is not None else []
        found.append(Node(f"output/{i}", "Output", before_it, tuple(x.shape)))
    return found
