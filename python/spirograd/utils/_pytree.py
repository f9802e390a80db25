"""Nests of containers as flat lists of leaves. Libraries register containers of their own."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

__all__ = ["SUPPORTED_NODES", "Context", "LeafSpec", "MappingKey", "NodeDef", "PyTree", "SequenceKey", "TreeSpec"]
__all__ += ["_dict_flatten", "_dict_flatten_with_keys", "_dict_unflatten", "_get_node_type", "_register_pytree_node"]
__all__ += ["register_pytree_node", "tree_all", "tree_any", "tree_flatten", "tree_iter", "tree_leaves", "tree_map"]
__all__ += ["tree_map_", "tree_map_only", "tree_structure", "tree_unflatten"]

Context = Any
PyTree = Any
Flatten = Callable[[Any], tuple[Iterable[Any], Context]]
Unflatten = Callable[[Iterable[Any], Context], Any]
IsLeaf = Callable[[Any], bool] | None


class NodeDef(NamedTuple):
    """How containers of one type are flattened and rebuilt."""

    type: Any
    flatten_fn: Flatten
    unflatten_fn: Unflatten


class MappingKey(NamedTuple):
    """An entry of a dict."""

    key: Any


class SequenceKey(NamedTuple):
    """An entry of a list or tuple."""

    idx: int


SUPPORTED_NODES: dict[Any, NodeDef] = {}


def register_pytree_node(cls: Any, flatten_fn: Flatten, unflatten_fn: Unflatten, **options: Any) -> None:
    """Registers objects of exactly this type as containers.

    Args:
        flatten_fn: object -> (its parts, what else it needs).
        unflatten_fn: the reverse.
        options: names for files and paths to leaves, accepted.
    """
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)


_register_pytree_node = register_pytree_node


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[MappingKey, Any]], Context]:
    return [(MappingKey(k), v) for k, v in d.items()], list(d)


register_pytree_node(dict, _dict_flatten, _dict_unflatten)
register_pytree_node(OrderedDict, _dict_flatten, lambda values, keys: OrderedDict(zip(keys, values, strict=True)))
register_pytree_node(
    defaultdict,
    lambda d: (list(d.values()), (d.default_factory, list(d))),
    lambda values, context: defaultdict(context[0], zip(context[1], values, strict=True)),
)
register_pytree_node(list, lambda x: (x, None), lambda values, _: list(values))
register_pytree_node(tuple, lambda x: (x, None), lambda values, _: tuple(values))
register_pytree_node(deque, lambda x: (x, x.maxlen), lambda values, most: deque(values, most))
register_pytree_node(namedtuple, lambda x: (x, type(x)), lambda values, kind: kind(*values))


class TreeSpec:
    """The structure of a nest, without its leaves.

    Attributes:
        type: of the container; None for a leaf.
        context: what else it needs.
        children_specs: of its parts.
        num_leaves: how many leaves there are.
    """

    def __init__(self, type: Any, context: Context, children_specs: list[TreeSpec]) -> None:
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_leaves: int = sum(child.num_leaves for child in children_specs) if type else 1

    def is_leaf(self) -> bool:
        """Whether it is one leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The nest with these leaves.

        Raises:
            ValueError: their number is another.
        """
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(f"tree_unflatten: {len(given)} leaves for a nest of {self.num_leaves}")
        return self._made(iter(given))

    def _made(self, leaves: Any) -> Any:
        if self.type is None:
            return next(leaves)
        parts = [child._made(leaves) for child in self.children_specs]
        return SUPPORTED_NODES[self.type].unflatten_fn(parts, self.context)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves))

    def _parts(self) -> tuple[Any, Context, list[TreeSpec]]:
        return self.type, self.context, self.children_specs

    def __repr__(self) -> str:
        name = getattr(self.type, "__name__", None)
        return f"TreeSpec({name}, {self.context}, {self.children_specs})" if self.type else "*"


def LeafSpec() -> TreeSpec:
    """A single leaf."""
    return TreeSpec(None, None, [])


def _get_node_type(x: Any) -> Any:
    """What containers like that are registered as."""
    kind = type(x)
    if kind not in SUPPORTED_NODES and isinstance(x, tuple) and hasattr(x, "_fields"):
        return namedtuple
    return kind


def _flatten_into(x: Any, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    node = _get_node_type(x)
    if node not in SUPPORTED_NODES or (is_leaf is not None and is_leaf(x)):
        leaves.append(x)
        return LeafSpec()
    parts, context = SUPPORTED_NODES[node].flatten_fn(x)
    return TreeSpec(node, context, [_flatten_into(part, leaves, is_leaf) for part in parts])


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves in order, and what tree_unflatten() needs; is_leaf(x) says which containers are leaves."""
    leaves: list[Any] = []
    return leaves, _flatten_into(tree, leaves, is_leaf)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The nest with other leaves."""
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterable[Any]:
    """The leaves, one by one."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """The nest without its leaves."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """The nest of func(leaf), with the leaves of `rests` as further arguments."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    return spec.unflatten([func(*both) for both in zip(leaves, *others, strict=True)])


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Calls func(leaf) for each; the nest itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """tree_map where leaves are of a type, or where a function says so."""
    wanted = kind if callable(kind) and not isinstance(kind, type) else lambda x: isinstance(x, kind)
    return tree_map(lambda x: func(x) if wanted(x) else x, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether pred(leaf) holds for all."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether pred(leaf) holds for one."""
    return any(map(pred, tree_leaves(tree, is_leaf)))
