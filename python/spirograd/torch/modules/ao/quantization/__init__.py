"""torch.ao.quantization: the places of a model where it would be quantised; spirograd.models.quantized has int8."""

from .....nn import Identity

__all__ = ["DeQuantStub", "QuantStub"]


class QuantStub(Identity):
    """Where values would become whole numbers; they stay as they are, as in PyTorch before convert()."""


class DeQuantStub(Identity):
    """Where they would become fractions again."""
