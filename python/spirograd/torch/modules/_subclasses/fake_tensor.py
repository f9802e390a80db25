"""torch._subclasses.fake_tensor: tensors without values, of which there are none here."""

from __future__ import annotations

__all__ = ["FakeTensor", "is_fake"]


class FakeTensor:
    """A tensor without values: no tensor is one."""


def is_fake(x: object) -> bool:
    """False."""
    return False
