"""Transforms as objects: what all have, and those that are made of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.keywords import naming_keywords
from ._images import Images, generator, on_batch

__all__ = ["Compose", "Identity", "Lambda", "RandomApply", "RandomChoice", "RandomOrder", "Transform"]


class Transform:
    """Base of transforms. Write `transform(x)` for images [n, channels, height, width], arrays or tensors.

    It is called with [..., channels, height, width], with [height, width], which gets a channel, or with a picture of
    Pillow, which becomes an array. Each image of a batch draws its own random numbers.

    Example:
        >>> import numpy as np
        >>> class Half(sg.transforms.Transform):
        ...     def transform(self, x):
        ...         return x[..., ::2, ::2]
        >>> Half()(np.zeros((3, 8, 8))).shape
        (3, 4, 4)
    """

    def transform(self, x: Images) -> Images:
        """The images after it."""
        raise NotImplementedError(f"{type(self).__name__} has no transform()")

    def __call__(self, image: Any) -> Any:
        return on_batch(type(self).__name__, self.transform, image)

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in vars(self).items() if not k.startswith("_"))
        return f"{type(self).__name__}({shown})"


class Identity(Transform):
    """Changes nothing."""

    def __call__(self, image: Any) -> Any:
        return image


class Lambda(Transform):
    """A function as a transform; it gets what the transform gets.

    Example:
        >>> import numpy as np
        >>> sg.transforms.Lambda(lambda x: x * 2)(np.ones(2)).tolist()
        [2.0, 2.0]
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        self.lambd = lambd

    def __call__(self, image: Any) -> Any:
        return self.lambd(image)


@naming_keywords
class Compose(Transform):
    """Transforms one after the other.

    Example:
        >>> import numpy as np
        >>> ready = sg.transforms.Compose([
        ...     sg.transforms.Resize(32), sg.transforms.CenterCrop(28), sg.transforms.ToTensor(),
        ...     sg.transforms.Normalize([0.5] * 3, [0.25] * 3)])
        >>> ready(np.zeros((3, 48, 64), np.uint8)).shape
        (3, 28, 28)
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = list(transforms)

    def __call__(self, image: Any) -> Any:
        for transform in self.transforms:
            image = transform(image)
        return image


@naming_keywords
class RandomApply(Transform):
    """All of some transforms with a probability, or none; drawn once a call."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]], p: float = 0.5) -> None:
        self.transforms, self.p = list(transforms), probability("RandomApply", p)

    def __call__(self, image: Any) -> Any:
        return Compose(self.transforms)(image) if generator().uniform() < self.p else image


@naming_keywords
class RandomChoice(Transform):
    """One of some transforms; drawn once a call.

    Args:
        transforms: to choose from.
        p: how likely each is; None: all alike.
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]], p: Sequence[float] | None = None) -> None:
        self.transforms, self.p = list(transforms), p

    def __call__(self, image: Any) -> Any:
        shares = None if self.p is None else [share / sum(self.p) for share in self.p]
        return self.transforms[generator().choice(len(self.transforms), p=shares)](image)


@naming_keywords
class RandomOrder(Transform):
    """Some transforms in an order that is drawn once a call."""

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = list(transforms)

    def __call__(self, image: Any) -> Any:
        return Compose([self.transforms[i] for i in generator().permutation(len(self.transforms))])(image)


def probability(op: str, p: float) -> float:
    """p, if it is in [0, 1]."""
    if not 0 <= p <= 1:
        raise ValueError(f"{op}: p is {p}; use a number in [0, 1]")
    return p
