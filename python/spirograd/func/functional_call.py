"""Modules called with parameters other than their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._core import Tensor, stack
from ..nn import BatchNorm1d, BatchNorm2d, BatchNorm3d, Module

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def _places(holder: Any, seen: set[int]) -> Iterator[tuple[Any, Any, Tensor]]:
    """The places of the tensors of a module: attributes, and entries of its lists and dicts."""
    if id(holder) in seen:
        return
    seen.add(id(holder))
    entries = vars(holder) if isinstance(holder, Module) else holder
    for key, value in list(entries.items() if isinstance(entries, dict) else enumerate(entries)):
        if isinstance(value, Tensor):
            yield entries, key, value
        elif isinstance(value, (Module, list, tuple, dict)):
            yield from _places(value, seen)


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls a module with these tensors in place of its parameters and buffers, and puts its own back.

    Args:
        module: the module.
        parameter_and_buffer_dicts: dotted names and tensors, or several such dicts.
        args: one argument, or a tuple of them.
        kwargs: by name.
        tie_weights: must be True: a tensor that stands in several places is replaced in all of them.
        strict: every name must be there.

    Raises:
        KeyError: the module has no tensor of a name, or with strict, one is missing.
        ValueError: a name is in two dicts, or tie_weights is False.

    Example:
        >>> net = sg.nn.Linear(2, 1, bias=False)
        >>> sg.func.functional_call(net, {"weight": sg.tensor([[1.0, 2.0]])}, sg.tensor([3.0, 4.0])).tolist()
        [11.0]
    """
    if not tie_weights:
        raise ValueError("functional_call: tie_weights=False is not there; copy the module and untie its weights")
    given: dict[str, Tensor] = {}
    for part in (
        [parameter_and_buffer_dicts] if isinstance(parameter_and_buffer_dicts, Mapping) else parameter_and_buffer_dicts
    ):
        if twice := sorted(given.keys() & part.keys()):
            raise ValueError(f"functional_call: {twice} are in two dicts; give each name once")
        given.update(part)
    own: dict[str, Tensor] = dict(module.named_parameters(remove_duplicate=False))
    own.update(module.named_buffers(remove_duplicate=False))
    if unknown := [name for name in given if name not in own]:
        raise KeyError(f"functional_call: {type(module).__name__} has no {unknown}; see its state_dict()")
    if strict and (missing := [name for name in own if name not in given]):
        raise KeyError(f"functional_call: {missing} are missing; give them, or leave out strict")
    others = {id(own[name]): value for name, value in given.items()}
    places = [place for place in _places(module, set()) if id(place[2]) in others]
    if fixed := [type(holder).__name__ for holder, _, _ in places if isinstance(holder, tuple)]:
        raise ValueError(f"functional_call: a parameter stands in a {fixed[0]}; keep it in a list")
    try:
        for holder, key, tensor in places:
            holder[key] = others[id(tensor)]
        return module(*(args if isinstance(args, tuple) else () if args is None else (args,)), **(kwargs or {}))
    finally:
        for holder, key, tensor in places:
            holder[key] = tensor


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of modules of one kind, each stacked along a new first dimension, for vmap().

    Args:
        models: the modules; their tensors have the same names and shapes.

    Returns:
        Two dicts by dotted name, of copies. The parameters require gradients where all of them do.

    Raises:
        ValueError: there are no modules, or they are of several kinds.

    Example:
        >>> nets = [sg.nn.Linear(2, 1) for _ in range(3)]
        >>> parameters, buffers = sg.func.stack_module_state(nets)
        >>> parameters["weight"].shape
        (3, 1, 2)
    """
    kinds = sorted({type(model).__name__ for model in models})
    if len(kinds) != 1:
        raise ValueError(f"stack_module_state: modules of kinds {kinds}; give several of one kind")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    stacked = {}
    for name in parameters[0]:
        own = [each[name] for each in parameters]
        stacked[name] = stack([p.detach() for p in own]).requires_grad_(all(p.requires_grad for p in own))
    return stacked, {name: stack([each[name] for each in buffers]) for name in buffers[0]}


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Batch norms of a module that keep no statistics any more: they use those of the batch, also in evaluation.

    Example:
        >>> net = sg.func.replace_all_batch_norm_modules_(sg.nn.Sequential(sg.nn.BatchNorm1d(2)))
        >>> net[0].running_mean is None
        True
    """
    for module in root.modules():
        if isinstance(module, (BatchNorm1d, BatchNorm2d, BatchNorm3d)):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
