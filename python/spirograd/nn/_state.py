"""What load_state_dict() gives and raises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["LoadResult", "StateError"]


class LoadResult(NamedTuple):
    """The result of load_state_dict().

    Args:
        missing_keys: the names that the state lacks.
        unexpected_keys: the names that only the state has.
    """

    missing_keys: list[str]
    unexpected_keys: list[str]

    def check(self) -> None:
        """Raises StateError if there are missing or unexpected names."""
        if self.missing_keys or self.unexpected_keys:
            raise StateError(self, {})

    def __repr__(self) -> str:
        if not (self.missing_keys or self.unexpected_keys):
            return "<All keys matched successfully>"
        return f"LoadResult(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class StateError(ValueError):
    """What load_state_dict() cannot load.

    Args:
        names: the missing and the unexpected names, as far as they matter.
        shapes: of each tensor whose shape differs, that of the module's and that of the state's.
    """

    def __init__(self, names: LoadResult, shapes: Mapping[str, tuple[Sequence[int], Sequence[int]]]) -> None:
        self.names, self.shapes = names, shapes
        differ = [f"{name} has shape {list(own)}, the state {list(given)}" for name, (own, given) in shapes.items()]
        if any(names):
            differ.insert(0, f"missing {names.missing_keys}, unexpected {names.unexpected_keys}")
        super().__init__(f"load_state_dict: {'; '.join(differ)}; use the same model")

    def __reduce__(self) -> Any:
        return StateError, (self.names, self.shapes)
