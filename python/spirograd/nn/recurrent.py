"""Recurrent layers over sequences, and their cells for one step at a time.

Sequences of several lengths are either padded, and the loss masks the padding, or packed
(nn.utils.rnn.PackedSequence).
"""

from __future__ import annotations

import math
from typing import Any

from .._core import Tensor, cat, empty, pad, stack, zeros
from ..base.types import DeviceLike, DTypeLike
from . import init
from ._arguments import described
from ._recurrence import Gru, Kind, Lstm, Rnn, run
from ._sizes import check_counts
from .functional import dropout, linear
from .module import Module
from .parameter import Parameter
from .utils.rnn import PackedSequence, packed, padded

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


def _nonlinearity(op: str, name: str) -> Rnn:
    if name not in ("tanh", "relu"):
        raise ValueError(f"{op}: nonlinearity '{name}' is unknown; use tanh or relu")
    return Rnn(name)


class _Weights(Module):
    """The parameters, which start uniform in +-1 / sqrt(hidden_size).

    Args:
        input_size: number of features of the input.
        hidden_size: number of features of the state.
        bias: whether to add trained biases.
        nonlinearity: "tanh" or "relu".

    Raises:
        ValueError: an argument or a shape does not fit.
    """

    def __init__(self, kind: Kind, input_size: int, hidden_size: int, bias: bool) -> None:
        super().__init__()
        check_counts(self, input_size=input_size, hidden_size=hidden_size)
        if input_size < 1 or hidden_size < 1:
            raise ValueError(
                f"{type(self).__name__}: input_size {input_size}, hidden_size {hidden_size}; both must be positive"
            )
        self._kind, self.input_size, self.hidden_size, self.bias = kind, input_size, hidden_size, bias

    def _add(
        self, suffix: str, inputs: int, proj_size: int, device: DeviceLike | None, dtype: DTypeLike | None
    ) -> None:
        rows, hidden = self._kind.gates * self.hidden_size, self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, inputs), "weight_hh": (rows, proj_size or hidden)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if proj_size:
            shapes["weight_hr"] = (proj_size, hidden)
        for name, shape in shapes.items():
            setattr(self, name + suffix, Parameter(empty(shape, device=device, dtype=dtype)))

    def reset_parameters(self) -> None:
        """Draws new initial values."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _of(self, suffix: str) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """The two weights, the bias of the products of the inputs, and that of the recurrent products."""
        weights = getattr(self, "weight_ih" + suffix), getattr(self, "weight_hh" + suffix)
        if not self.bias:
            return *weights, None, None
        of_inputs, of_states = getattr(self, "bias_ih" + suffix), getattr(self, "bias_hh" + suffix)
        return (
            (*weights, of_inputs, of_states) if isinstance(self._kind, Gru) else (*weights, of_inputs + of_states, None)
        )

    def _check(self, input: Tensor, dims: str) -> None:
        if input.shape[-1] != self.input_size:
            raise ValueError(
                f"{type(self).__name__}: input has shape {list(input.shape)}, its last size must be "
                f"{self.input_size}; {dims}"
            )


class RNNBase(_Weights):
    """The base of RNN, LSTM and GRU.

    Args:
        num_layers: number of layers; each reads the outputs of the one below.
        batch_first: whether input and output are [batch, time, features], not [time, batch, features]. States
            are not affected.
        dropout: probability of dropping an element between two layers, in training.
        bidirectional: whether a second set of layers runs backwards in time; the outputs of both are concatenated.
    """

    _shown = "{input_size} {hidden_size} proj_size? num_layers? bias? batch_first? dropout? bidirectional?"

    def __init__(
        self,
        kind: Kind,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        bias: bool,
        batch_first: bool,
        dropout: float,
        bidirectional: bool,
        device: DeviceLike | None,
        dtype: DTypeLike | None,
        proj_size: int = 0,
    ) -> None:
        super().__init__(kind, input_size, hidden_size, bias)
        name = type(self).__name__
        if num_layers < 1:
            raise ValueError(f"{name}: num_layers is {num_layers}; use 1 or more")
        if not 0 <= dropout <= 1:
            raise ValueError(f"{name}: dropout is {dropout}; use a probability between 0 and 1")
        if not 0 <= proj_size < hidden_size:
            raise ValueError(f"{name}: proj_size is {proj_size}, hidden_size {hidden_size}; use a smaller proj_size")
        self.num_layers, self.batch_first, self.dropout = num_layers, batch_first, dropout
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._suffixes = [
            [f"_l{layer}{direction}" for direction in ("", "_reverse")[: 1 + bidirectional]]
            for layer in range(num_layers)
        ]
        for layer, suffixes in enumerate(self._suffixes):
            for suffix in suffixes:
                inputs = (proj_size or hidden_size) * (1 + bidirectional) if layer else input_size
                self._add(suffix, inputs, proj_size, device, dtype)
        self.reset_parameters()

    def flatten_parameters(self) -> None:
        """Does nothing; exists for compatibility with PyTorch."""

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        names = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if self.bias else [])]
        names += ["weight_hr"] if self.proj_size else []
        return [[getattr(self, name + s) for name in names] for suffixes in self._suffixes for s in suffixes]

    def _initial(self, name: str, state: Tensor | None, batch: int, batched: bool, like: Tensor) -> tuple[Tensor, ...]:
        count = self.num_layers * (1 + self.bidirectional)
        size = self.proj_size or self.hidden_size if name == "h_0" else self.hidden_size
        shape = (count, batch, size)
        if state is None:
            return (zeros(shape[1:], dtype=like.dtype, device=like.device),) * count
        expected = shape if batched else (count, size)
        if tuple(state.shape) != expected:
            raise ValueError(
                f"{type(self).__name__}: {name} has shape {list(state.shape)}, it must be {list(expected)}: "
                "layers and directions first, also with batch_first"
            )
        return tuple((state if batched else state.unsqueeze(1)).unbind(0))

    def _run_projected(
        self, suffix: str, products: Tensor, recurrent: Tensor, states: tuple[Tensor, ...], reverse: bool
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """run() with a projected h: the steps use the product of both weights; all outputs are projected at once."""
        weight, (h, *others) = getattr(self, "weight_hr" + suffix), states
        begin = linear(h, recurrent).unsqueeze(0)
        products = cat([products[:-1], products[-1:] + begin]) if reverse else cat([products[:1] + begin, products[1:]])
        states = (zeros((len(h), self.hidden_size), dtype=h.dtype, device=h.device), *others)
        y, (_, *after) = run(self._kind, products, recurrent @ weight, None, states, reverse)
        y = linear(y, weight)
        return y, (y[0 if reverse else -1], *after)

    def _run_packed(self, input: PackedSequence, states: tuple[Tensor | None, ...]) -> Any:
        """Calls _run() once for each length of the sequences, which are sorted by it."""
        order, back, lengths = input.sorted_indices, input.unsorted_indices, input.lengths()
        x = padded(input.data, lengths)
        now = [s if s is None or order is None else s.index_select(1, order) for s in states]
        outputs, ends = [], []
        for length in sorted(set(lengths), reverse=True):
            start, count = lengths.index(length), lengths.count(length)
            part = x[:length, start : start + count]
            first = tuple(None if s is None else s[:, start : start + count].contiguous() for s in now)
            y, last = self._run(part.transpose(0, 1) if self.batch_first else part, first)
            y = y.transpose(0, 1) if self.batch_first else y
            outputs.append(pad(y, (0, 0, 0, 0, 0, lengths[0] - length)))
            ends.append(last)
        states_after = tuple(cat(list(s), 1) for s in zip(*ends, strict=True))
        if back is not None:
            states_after = tuple(s.index_select(1, back) for s in states_after)
        return input._replace(data=packed(cat(outputs, 1), lengths)), states_after

    def _run(self, input: Any, states: tuple[Tensor | None, ...]) -> tuple[Any, tuple[Tensor, ...]]:
        """The outputs of the last layer and the last states of all layers, in the shapes that the user gets."""
        if isinstance(input, PackedSequence):
            return self._run_packed(input, states)  # type: ignore[no-any-return]
        name = type(self).__name__
        if input.ndim not in (2, 3):
            raise ValueError(
                f"{name}: input has shape {list(input.shape)}; use [time, features], or with a batch "
                f"{'[batch, time, features]' if self.batch_first else '[time, batch, features]'}"
            )
        self._check(input, "input_size of the layer")
        batched, time = input.ndim == 3, 1 if input.ndim == 3 and self.batch_first else 0
        if input.shape[time] == 0:
            raise ValueError(f"{name}: input has shape {list(input.shape)}, no time steps; give at least one")
        x = input if batched else input.unsqueeze(1)
        batch = x.shape[1 - time]
        first = [self._initial(f"{'hc'[i]}_0", state, batch, batched, input) for i, state in enumerate(states)]
        last: list[tuple[Tensor, ...]] = []
        for layer, suffixes in enumerate(self._suffixes):
            if layer and self.dropout:
                x = dropout(x, self.dropout, self.training)
            outputs = []
            for reverse, suffix in enumerate(suffixes):
                weight, recurrent, bias, recurrent_bias = self._of(suffix)
                products = linear(x, weight, bias)
                if layer == 0 and time == 1:
                    products = products.transpose(0, 1)
                now = tuple(state[len(last)] for state in first)
                if self.proj_size:
                    h, after = self._run_projected(suffix, products, recurrent, now, bool(reverse))
                else:
                    h, after = run(self._kind, products, recurrent, recurrent_bias, now, bool(reverse))
                outputs.append(h)
                last.append(after)
            x = outputs[0] if len(outputs) == 1 else cat(outputs, 2)
        ends = tuple(stack(list(s)) if batched else cat(list(s)) for s in zip(*last, strict=True))
        if not batched:
            return x.squeeze(1), ends
        return x.transpose(0, 1) if time else x, ends


@described(RNNBase, _Weights)
class RNN(RNNBase):
    """Computes h = tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh) step by step, in one or several layers.

    Example:
        >>> output, h = sg.nn.RNN(3, 4)(sg.ones(5, 2, 3))
        >>> output.shape, h.shape
        ((5, 2, 4), (1, 2, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        kind = _nonlinearity("RNN", nonlinearity)
        super().__init__(
            kind, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype
        )
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        output, (h,) = self._run(input, (hx,))
        return output, h


@described(RNNBase, _Weights)
class LSTM(RNNBase):
    """Applies layers of long short-term memory (Hochreiter and Schmidhuber, 1997).

    c = f * c + i * g and h = o * tanh(c), where i, f and o are sigmoids and g is the tanh of their parts, in the order
    i, f, g, o, of x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh. Sequences of several lengths are packed, or
    padded; then mask the padding in the loss.

    Args:
        proj_size: number of features of h and of the output, which the product with weight_hr reduces from hidden_size;
            0 for no such product.

    Example:
        >>> output, (h, c) = sg.nn.LSTM(3, 4, num_layers=2)(sg.ones(5, 2, 3))
        >>> output.shape, h.shape, c.shape
        ((5, 2, 4), (2, 2, 4), (2, 2, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            Lstm(),
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device,
            dtype,
            proj_size,
        )

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        output, (h, c) = self._run(input, (None, None) if hx is None else tuple(hx))
        return output, (h, c)


@described(RNNBase, _Weights)
class GRU(RNNBase):
    """Applies layers of gated recurrent units (Cho et al., 2014), whose reset gate follows the product, as in cuDNN.

    h = (1 - z) * n + z * h, where r and z are sigmoids and n is the tanh of their parts, in the order r, z, n, of
    x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh; in n, r multiplies the product of h.

    Example:
        >>> output, h = sg.nn.GRU(3, 4, bidirectional=True)(sg.ones(5, 2, 3))
        >>> output.shape, h.shape
        ((5, 2, 8), (2, 2, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            Gru(), input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype
        )

    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        output, (h,) = self._run(input, (hx,))
        return output, h


@described(_Weights)
class RNNCellBase(_Weights):
    """The base of the cells, which do one step of one layer.

    Args:
        kind: the kind of cell.
    """

    _shown = "{input_size} {hidden_size} bias?"

    def __init__(
        self,
        kind: Kind,
        input_size: int,
        hidden_size: int,
        bias: bool,
        device: DeviceLike | None,
        dtype: DTypeLike | None,
    ) -> None:
        super().__init__(kind, input_size, hidden_size, bias)
        self._add("", input_size, 0, device, dtype)
        self.reset_parameters()

    def _step(self, input: Tensor, states: tuple[Tensor | None, ...]) -> tuple[Tensor, ...]:
        if input.ndim not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: input has shape {list(input.shape)}; use [features] or [batch, features]"
            )
        self._check(input, "input_size of the cell")
        shape = (*input.shape[:-1], self.hidden_size)
        now = []
        for state in states:
            if state is not None and tuple(state.shape) != shape:
                raise ValueError(
                    f"{type(self).__name__}: a state has shape {list(state.shape)}, it must be {list(shape)}"
                )
            now.append(zeros(shape, dtype=input.dtype, device=input.device) if state is None else state)
        weight, recurrent, bias, recurrent_bias = self._of("")
        after, _ = self._kind.step(linear(input, weight, bias), linear(now[0], recurrent, recurrent_bias), tuple(now))
        return after


@described(_Weights)
class RNNCell(RNNCellBase):
    """Does one step of RNN: [batch, input_size], or without batch, and [batch, hidden_size] -> [batch, hidden_size].

    Example:
        >>> sg.nn.RNNCell(3, 4)(sg.ones(2, 3)).shape
        (2, 4)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(_nonlinearity("RNNCell", nonlinearity), input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(input, (hx,))[0]


@described(_Weights)
class LSTMCell(RNNCellBase):
    """Does one step of LSTM: [batch, input_size], or without batch, and two states -> two of [batch, hidden_size].

    Example:
        >>> h, c = sg.nn.LSTMCell(3, 4)(sg.ones(2, 3))
        >>> h.shape, c.shape
        ((2, 4), (2, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(Lstm(), input_size, hidden_size, bias, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        h, c = self._step(input, (None, None) if hx is None else tuple(hx))
        return h, c


@described(_Weights)
class GRUCell(RNNCellBase):
    """Does one step of GRU: [batch, input_size], or without batch, and [batch, hidden_size] -> [batch, hidden_size].

    Example:
        >>> sg.nn.GRUCell(3, 4)(sg.ones(2, 3)).shape
        (2, 4)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(Gru(), input_size, hidden_size, bias, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(input, (hx,))[0]
