"""Pruning, which keeps weights at zero. Before each call, a pruned tensor becomes `NAME_orig` times `NAME_mask`.

`NAME_orig` is the trained parameter and `NAME_mask` a buffer, as in torch.nn.utils.prune. Pruning again combines masks;
remove() makes the product a parameter again.

Example:
    >>> layer = sg.nn.utils.prune.l1_unstructured(sg.nn.Linear(4, 2), "weight", amount=0.5)
    >>> int((layer.weight == 0).sum())
    4
    >>> sorted(layer.state_dict())
    ['bias', 'weight_mask', 'weight_orig']
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..._core import Tensor, cat, ones_like, rand, zeros_like
from ...base.docstrings import described_by
from ...linalg import vector_norm
from ..module import Module
from ..parameter import Parameter

__all__ = ["BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer"]
__all__ += ["RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity"]
__all__ += ["is_pruned", "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove"]


_ARGUMENTS = """
Args:
    module: the module of the tensor.
    name: the name of the tensor.
    amount: the number, or the fraction, of entries or channels to prune.
    n: the order of the norm.
    dim: the dimension of the channels.
    mask: 1 for kept entries.
    importance_scores: the values that the mask is computed from, by default the tensor.
"""
_FUNCTION = f"""{_ARGUMENTS}
Returns:
    The module.
"""


def _check_amount(amount: Any) -> None:
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        raise TypeError(f"prune: amount is a {type(amount).__name__}; use a count or a fraction")
    if amount < 0 or (isinstance(amount, float) and amount > 1):
        raise ValueError(f"prune: amount is {amount}; use a count of 0 or more, or a fraction from 0.0 to 1.0")


def _count(amount: float, size: int) -> int:
    """The number of entries to prune out of `size`; a fraction is rounded."""
    if isinstance(amount, int) and amount > size:
        raise ValueError(f"prune: amount is {amount}, there are {size}; use fewer, or a fraction")
    return amount if isinstance(amount, int) else round(amount * size)


def _methods(module: Module) -> list[tuple[int, BasePruningMethod]]:
    hooks = module._hooks.forward_pre if module._hooks else {}
    return [(key, hook.function) for key, hook in hooks.items() if isinstance(hook.function, BasePruningMethod)]


class BasePruningMethod(ABC):
    """The base of pruning methods. Derive from it and write compute_mask().

    Attributes:
        PRUNING_TYPE: the part that a second pruning of the same tensor takes: "unstructured" the remaining entries,
            "structured" the remaining channels, "global" everything.
    """

    PRUNING_TYPE: str = "unstructured"
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Returns the mask of t, 1 for kept entries, given the present mask."""

    def apply_mask(self, module: Module) -> Tensor:
        """Returns the masked tensor."""
        original: Tensor = getattr(module, f"{self._tensor_name}_orig")
        mask: Tensor = getattr(module, f"{self._tensor_name}_mask")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prunes a tensor of a module by this method, in addition to previous methods.

        Args:
            module: the module of the tensor.
            name: the name of the tensor.
            args: arguments of the class.
            importance_scores: the values that the mask is computed from, by default the tensor.
            kwargs: arguments of the class, by name.

        Returns:
            The method, which multiplies before each forward().
        """
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        before = [(key, m) for key, m in _methods(module) if m._tensor_name == name]
        if before:
            assert module._hooks is not None
            (key, earlier), original = before[0], getattr(module, f"{name}_orig")
            mask = getattr(module, f"{name}_mask")
            module._hooks.forward_pre.pop(key)
            container = earlier if isinstance(earlier, PruningContainer) else PruningContainer(earlier)
            container.add_pruning_method(method)
            method = container
        else:
            original = getattr(module, name)
            mask = ones_like(original.detach())
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise ValueError(f"prune: importance_scores {scores.shape} for a tensor {original.shape}; use its shape")
        mask = method.compute_mask(scores.detach(), mask)
        if not before:
            delattr(module, name)
            module.register_parameter(f"{name}_orig", original)
            module.register_buffer(f"{name}_mask", mask)
        setattr(module, f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """Returns t with the pruned entries set to zero.

        Args:
            t: a tensor of any shape.
            default_mask: the present mask, by default ones.
            importance_scores: the values that the mask is computed from, by default t.
        """
        scores = t if importance_scores is None else importance_scores
        mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores.detach(), mask).to(t.dtype)

    def remove(self, module: Module) -> None:
        """Makes the pruned tensor a parameter of the module again."""
        name = self._tensor_name
        value = self.apply_mask(module).detach()
        original: Parameter = getattr(module, f"{name}_orig")
        for attribute in (name, f"{name}_orig", f"{name}_mask"):
            delattr(module, attribute)
        module._persistent = {n: kept for n, kept in module._persistent.items() if n != f"{name}_mask"}
        original.data = value
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Applies several pruning methods to the same tensor, one after the other.

    Args:
        args: pruning methods.
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Adds a method after the others.

        Raises:
            ValueError: the method prunes another tensor.
        """
        if self._pruning_methods and method._tensor_name != self._tensor_name:
            raise ValueError(f"prune: a method for {method._tensor_name} among methods for {self._tensor_name}")
        self._tensor_name = method._tensor_name
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Returns the present mask without the entries that the last method prunes."""
        last, mask = self._pruning_methods[-1], default_mask.clone()
        if last.PRUNING_TYPE == "global":
            return mask * last.compute_mask(t, mask)
        if last.PRUNING_TYPE == "unstructured":
            left = mask == 1
            mask[left] = last.compute_mask(t[left], mask[left])
            return mask
        if last.PRUNING_TYPE == "structured":
            dim = getattr(last, "dim", 0) % t.ndim
            others = [d for d in range(t.ndim) if d != dim]
            left = (mask.sum(others) if others else mask).nonzero().flatten()
            part = last.compute_mask(t.index_select(dim, left), mask.index_select(dim, left))
            return mask.index_copy(dim, left, part)
        raise ValueError(f"prune: PRUNING_TYPE is {last.PRUNING_TYPE!r}; use unstructured, structured or global")


class Identity(BasePruningMethod):
    """Prunes nothing, and gives the tensor a mask of ones."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Returns the present mask."""
        return default_mask


class _Unstructured(BasePruningMethod):
    def __init__(self, amount: float) -> None:
        _check_amount(amount)
        self.amount = amount

    def _scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Returns the mask without the entries of the lowest scores."""
        count = _count(self.amount, t.numel())
        if count == 0:
            return default_mask.clone()
        lowest = self._scores(t).flatten().topk(count, largest=False).indices
        return default_mask.flatten().index_fill(0, lowest, 0).reshape(t.shape)


@described_by(_ARGUMENTS)
class RandomUnstructured(_Unstructured):
    """Prunes random entries."""

    def _scores(self, t: Tensor) -> Tensor:
        return rand(t.shape, device=t.device)


@described_by(_ARGUMENTS)
class L1Unstructured(_Unstructured):
    """Prunes the entries of the least magnitude."""

    def _scores(self, t: Tensor) -> Tensor:
        return t.abs()


class _Structured(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def _scores(self, t: Tensor, dim: int) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Returns the mask without the channels of the lowest scores."""
        if t.ndim < 2:
            raise ValueError(f"prune: a tensor {t.shape} has no channels; use an unstructured method")
        dim = self.dim % t.ndim
        size = t.shape[dim]
        kept = self._scores(t, dim).topk(size - _count(self.amount, size)).indices
        mask = zeros_like(t.new_empty(size)).index_fill(0, kept, 1)
        return default_mask * mask.to(default_mask.dtype).reshape(*(size if d == dim else 1 for d in range(t.ndim)))


@described_by(_ARGUMENTS)
class RandomStructured(_Structured):
    """Prunes random channels."""

    def _scores(self, t: Tensor, dim: int) -> Tensor:
        return rand(t.shape[dim], device=t.device)


@described_by(_ARGUMENTS)
class LnStructured(_Structured):
    """Prunes the channels of the least norm."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t: Tensor, dim: int) -> Tensor:
        return vector_norm(t.movedim(dim, 0).flatten(1), 2 if self.n == "fro" else self.n, 1)


@described_by(_ARGUMENTS)
class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Returns the product of both masks."""
        return default_mask * self.mask.to(default_mask.dtype)


@described_by(_FUNCTION)
def identity(module: Module, name: str) -> Module:
    """Gives a tensor of a module a mask of ones."""
    Identity.apply(module, name)
    return module


@described_by(_FUNCTION)
def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prunes random entries of a tensor."""
    RandomUnstructured.apply(module, name, amount)
    return module


@described_by(_FUNCTION)
def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """Prunes the entries of a tensor with the least magnitude, or with the lowest scores."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


@described_by(_FUNCTION)
def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prunes random channels of a tensor."""
    RandomStructured.apply(module, name, amount, dim)
    return module


@described_by(_FUNCTION)
def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prunes the channels of a tensor with the least norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: Mapping[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prunes several tensors as if they were one.

    Args:
        parameters: pairs of a module and the name of a tensor.
        pruning_method: an unstructured method.
        importance_scores: the values that the masks are computed from, by default the tensors.
        kwargs: arguments of the method, by name.

    Raises:
        TypeError: the method is not unstructured.

    Example:
        >>> net = sg.nn.Sequential(sg.nn.Linear(4, 4), sg.nn.Linear(4, 2))
        >>> weights = [(net[0], "weight"), (net[1], "weight")]
        >>> sg.nn.utils.prune.global_unstructured(weights, sg.nn.utils.prune.L1Unstructured, amount=0.25)
        >>> sum(int((module.weight == 0).sum()) for module, _ in weights)
        6
    """
    pairs = list(parameters)
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(f"prune: global_unstructured with a {method.PRUNING_TYPE} method; use an unstructured one")
    given = importance_scores or {}
    tensors = [getattr(module, f"{name}_orig", None) for module, name in pairs]
    values = [getattr(m, n) if t is None else t for (m, n), t in zip(pairs, tensors, strict=True)]
    scores = [given.get(pair, getattr(*pair)).detach().flatten() for pair in pairs]
    masks = [getattr(m, f"{n}_mask", ones_like(v.detach())).flatten() for (m, n), v in zip(pairs, values, strict=True)]
    method._tensor_name = "temp"
    container = PruningContainer()  # entries that are already pruned do not count
    container.add_pruning_method(method)
    final, at = container.compute_mask(cat(scores), cat(masks)), 0
    for (module, name), value in zip(pairs, values, strict=True):
        custom_from_mask(module, name, final[at : at + value.numel()].reshape(value.shape))
        at += value.numel()


@described_by(_FUNCTION)
def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prunes a tensor by a mask."""
    CustomFromMask.apply(module, name, mask)
    return module


@described_by(_FUNCTION)
def remove(module: Module, name: str) -> Module:
    """Makes a pruned tensor, with its zeros, a parameter again.

    Raises:
        ValueError: the tensor is not pruned.
    """
    for key, method in _methods(module):
        if method._tensor_name == name:
            method.remove(module)
            assert module._hooks is not None
            module._hooks.forward_pre.pop(key)
            return module
    raise ValueError(f"prune: '{name}' of {type(module).__name__} is not pruned")


def is_pruned(module: Module) -> bool:
    """Whether a tensor of the module, or of a module below it, is pruned.

    Args:
        module: the module.
    """
    return any(_methods(m) for m in module.modules())
