"""torch.ao.quantization: the places of a model where it would be quantised; spirograd.models.quantized has int8."""

from typing import Any, NoReturn

from .....nn import Identity

__all__ = ["DeQuantStub", "QuantStub", "quantize_dynamic"]


class QuantStub(Identity):
    """Where values would become whole numbers; they stay as they are, as in PyTorch before convert()."""


class DeQuantStub(Identity):
    """Where they would become fractions again."""


def quantize_dynamic(model: Any, *args: Any, **options: Any) -> NoReturn:
    """Raises NotImplementedError: products of whole numbers are not there."""
    raise NotImplementedError(
        f"quantize_dynamic: {type(model).__name__} cannot compute with int8; spirograd.models.quantize(model) "
        "keeps the weights of Linear in 8 or 4 bits and computes in fractions"
    )
