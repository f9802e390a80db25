"""Layers of attention and of products in turn, and stacks of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._core import Tensor, full, triu
from . import init
from .attention import MultiheadAttention
from .containers import ModuleList
from .dropout import Dropout
from .functional import gelu, relu
from .linear import Linear
from .module import Module, TensorModule
from .normalization import LayerNorm

if TYPE_CHECKING:
    from ..base.types import DeviceLike, DTypeLike

__all__ = [
    "Transformer",
    "TransformerBlock",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "generate_square_subsequent_mask",
]

Activation = Callable[[Tensor], Tensor]


def generate_square_subsequent_mask(
    sz: int, device: DeviceLike | None = None, dtype: DTypeLike | None = None
) -> Tensor:
    """[sz, sz], to be added: -inf where the source is behind the target, else 0.

    Example:
        >>> sg.nn.generate_square_subsequent_mask(2).tolist()
        [[0.0, -inf], [0.0, 0.0]]
    """
    return triu(full((sz, sz), float("-inf"), dtype=dtype, device=device), 1)


def _activation(op: str, activation: str | Activation) -> Activation:
    if callable(activation):
        return activation
    if activation not in ("relu", "gelu"):
        raise ValueError(f"{op}: activation '{activation}' is unknown; use relu, gelu or a function")
    return relu if activation == "relu" else gelu


class _Layer(Module):
    """Attentions, then two products with an activation between; each of these parts is added to its input."""

    _shown = ""

    self_attn: MultiheadAttention
    multihead_attn: MultiheadAttention

    def __init__(
        self,
        attentions: tuple[str, ...],
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float,
        activation: str | Activation,
        layer_norm_eps: float,
        batch_first: bool,
        norm_first: bool,
        bias: bool,
        device: DeviceLike | None,
        dtype: DTypeLike | None,
    ) -> None:
        super().__init__()
        parts = range(1, len(attentions) + 2)
        for name in attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout, bias=bias, batch_first=batch_first, device=device, dtype=dtype
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, device=device, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, device=device, dtype=dtype)
        self.norm_first = norm_first
        for i in parts:
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype))
        for i in parts:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(type(self).__name__, activation)

    def _added(self, number: int, x: Tensor, part: Activation) -> Tensor:
        """x with a part of the layer beside it, normalised before or after."""
        norm, dropout = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        out: Tensor = x + dropout(part(norm(x))) if self.norm_first else norm(x + dropout(part(x)))
        return out

    def _products(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and two products, each beside its input.

    Args:
        d_model: features.
        nhead: heads of the attention.
        dim_feedforward: features between the products.
        dropout: probability of a zero, in training.
        activation: "relu", "gelu" or a function.
        layer_norm_eps: eps of the norms.
        batch_first: [batch, time, features], not [time, batch, features].
        norm_first: normalise what goes into a part, not what comes out.
        bias: whether products and norms have one.
        device: where the parameters are.
        dtype: their type.

    Raises:
        ValueError: an argument or a shape does not fit.

    Example:
        >>> sg.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(sg.ones(2, 5, 8)).shape
        (2, 5, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            ("self_attn",),
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            device,
            dtype,
        )

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The masks are attn_mask and key_padding_mask of MultiheadAttention."""

        def attention(x: Tensor) -> Tensor:
            y: Tensor = self.self_attn(
                x,
                x,
                x,
                key_padding_mask=src_key_padding_mask,
                need_weights=False,
                attn_mask=src_mask,
                is_causal=is_causal,
            )[0]
            return y

        return self._added(2, self._added(1, src, attention), self._products)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to a memory, and two products, each beside its input.

    Args:
        d_model: features.
        nhead: heads of the attentions.
        dim_feedforward: features between the products.
        dropout: probability of a zero, in training.
        activation: "relu", "gelu" or a function.
        layer_norm_eps: eps of the norms.
        batch_first: [batch, time, features], not [time, batch, features].
        norm_first: normalise what goes into a part, not what comes out.
        bias: whether products and norms have one.
        device: where the parameters are.
        dtype: their type.

    Raises:
        ValueError: an argument or a shape does not fit.

    Example:
        >>> layer = sg.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
        >>> layer(sg.ones(2, 5, 8), sg.ones(2, 7, 8)).shape
        (2, 5, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            ("self_attn", "multihead_attn"),
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            device,
            dtype,
        )

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The masks are attn_mask and key_padding_mask of MultiheadAttention."""

        def own(x: Tensor) -> Tensor:
            y: Tensor = self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0]
            return y

        def other(x: Tensor) -> Tensor:
            y: Tensor = self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=memory_is_causal
            )[0]
            return y

        return self._added(3, self._added(2, self._added(1, tgt, own), other), self._products)


class _Stack(Module):
    _shown = ""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm


class TransformerEncoder(_Stack):
    """Copies of an encoder layer, one after the other.

    Args:
        encoder_layer: copied as often, with its values.
        num_layers: how often.
        norm: a module behind the last one, or None.
        enable_nested_tensor: accepted for PyTorch's sake.
        mask_check: accepted for PyTorch's sake.

    Example:
        >>> layer = sg.nn.TransformerEncoderLayer(8, 2, 16)
        >>> sg.nn.TransformerEncoder(layer, 2)(sg.ones(5, 2, 8)).shape
        (5, 2, 8)
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The arguments are those of the layer."""
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(_Stack):
    """Copies of a decoder layer, one after the other.

    Args:
        decoder_layer: copied as often, with its values.
        num_layers: how often.
        norm: a module behind the last one, or None.

    Example:
        >>> layer = sg.nn.TransformerDecoderLayer(8, 2, 16)
        >>> sg.nn.TransformerDecoder(layer, 2)(sg.ones(5, 2, 8), sg.ones(7, 2, 8)).shape
        (5, 2, 8)
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The arguments are those of the layer."""
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask,
                memory_mask,
                tgt_key_padding_mask,
                memory_key_padding_mask,
                bool(tgt_is_causal),
                memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder, and a decoder that looks at what it gives (Vaswani et al., 2017).

    Args:
        d_model: features.
        nhead: heads of the attentions.
        num_encoder_layers: layers of the encoder.
        num_decoder_layers: layers of the decoder.
        dim_feedforward: features between the products.
        dropout: probability of a zero, in training.
        activation: "relu", "gelu" or a function.
        custom_encoder: a module in place of the encoder.
        custom_decoder: a module in place of the decoder.
        layer_norm_eps: eps of the norms.
        batch_first: [batch, time, features], not [time, batch, features].
        norm_first: normalise what goes into a part, not what comes out.
        bias: whether products and norms have one.
        device: where the parameters are.
        dtype: their type.

    Raises:
        ValueError: an argument or a shape does not fit.

    Example:
        >>> model = sg.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
        >>> model(sg.ones(2, 7, 8), sg.ones(2, 5, 8)).shape
        (2, 5, 8)
    """

    _shown = ""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__()
        of_layers: Any = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device,
            dtype,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*of_layers), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*of_layers), num_decoder_layers, norm()
        )
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The masks are those of the encoder's and the decoder's layers.

        Raises:
            ValueError: src or tgt do not have d_model features.
        """
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise ValueError(
                f"Transformer: src has shape {list(src.shape)}, tgt {list(tgt.shape)}; give {self.d_model} features"
            )
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        out: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask,
            memory_mask,
            tgt_key_padding_mask,
            memory_key_padding_mask,
            tgt_is_causal,
            memory_is_causal,
        )
        return out

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: DeviceLike | None = None, dtype: DTypeLike | None = None
    ) -> Tensor:
        """See generate_square_subsequent_mask() of nn."""
        return generate_square_subsequent_mask(sz, device, dtype)


class TransformerBlock(TransformerEncoderLayer, TensorModule):
    """What GPTs are made of (Radford et al., 2019): causal self-attention and two products, normalised before each.

    The parameters are those of TransformerEncoderLayer, whose weights fit.

    Args:
        d_model: features.
        nhead: heads of the attention.
        dim_feedforward: features between the products; None: 4 * d_model.
        dropout: probability of a zero, in training.
        activation: "relu", "gelu" or a function.
        layer_norm_eps: eps of the norms.
        bias: whether products and norms have one.
        device: where the parameters are.
        dtype: their type.

    Raises:
        ValueError: an argument or a shape does not fit.

    Example:
        >>> sg.nn.TransformerBlock(8, 2)(sg.ones(2, 5, 8)).shape
        (2, 5, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int | None = None,
        dropout: float = 0.0,
        activation: str | Activation = "gelu",
        layer_norm_eps: float = 1e-5,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            d_model,
            nhead,
            4 * d_model if dim_feedforward is None else dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first=True,
            norm_first=True,
            bias=bias,
            device=device,
            dtype=dtype,
        )

    def forward(self, input: Tensor) -> Tensor:  # type: ignore[override]  # nothing is left to choose
        """[batch, time, d_model] -> the same."""
        return super().forward(input, is_causal=True)
