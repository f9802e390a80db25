"""The tensors of a module: parameters, also those without a shape yet, and buffers."""

from __future__ import annotations

from typing import Any

from .._complex import ComplexTensor
from .._core import Tensor, empty
from ..base.grad_mode import no_grad

__all__ = ["Buffer", "Parameter", "UninitializedParameter"]


class Parameter(Tensor):
    """A tensor that a module lists among its parameters.

    The parts of a complex parameter are parameters: `weight.real` and `weight.imag`.

    Args:
        data: a tensor, whose memory is shared, or values; by default an empty tensor.
        requires_grad: whether backward() computes its gradient.

    Example:
        >>> sg.nn.Parameter(sg.zeros(2)).requires_grad
        True
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if isinstance(data, ComplexTensor):
            return ComplexTensor(cls(data.real, requires_grad), cls(data.imag, requires_grad))
        return Tensor.__new__(cls, [] if data is None else data, requires_grad=requires_grad)

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        pass


def _refusing(name: str) -> Any:
    def refuse(self: Any, *args: Any) -> Any:
        """Raises ValueError: the parameter has no shape yet."""
        raise ValueError(f"{name}: the parameter of a lazy layer has no shape yet; call the module with an input first")

    return refuse


class UninitializedParameter(Parameter):
    """A parameter without a shape yet. It has a device and a type, and becomes an ordinary parameter later.

    Args:
        requires_grad: whether backward() computes its gradient.
        device: the device of the parameter.
        dtype: the element type of the parameter.

    Raises:
        ValueError: its shape or its number of elements is asked for.
    """

    shape = property(_refusing("shape"))
    dim, numel, nelement, __len__ = map(_refusing, ("dim", "numel", "nelement", "__len__"))

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        return Tensor.__new__(cls, empty(0, device=device, dtype=dtype), requires_grad=requires_grad)

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        pass

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return UninitializedParameter, (self.requires_grad, self.device, self.dtype)

    def become(self, value: Tensor) -> None:
        """Becomes an ordinary parameter with this value."""
        with no_grad():
            self.data = value.detach()
        self.__class__ = Parameter  # type: ignore[assignment]


class Buffer(Tensor):
    """A tensor that becomes a buffer of the module whose attribute it is, as with register_buffer().

    Args:
        data: a tensor, whose memory is shared, or values; by default an empty tensor.
        persistent: whether state_dict() includes it.

    Example:
        >>> layer = sg.nn.Identity()
        >>> layer.count = sg.nn.Buffer(sg.zeros(1))
        >>> list(layer.state_dict())
        ['count']
    """

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        buffer = Tensor.__new__(cls, [] if data is None else data, requires_grad=False)
        buffer.persistent = persistent
        return buffer

    def __init__(self, data: Any = None, *, persistent: bool = True) -> None:
        pass
