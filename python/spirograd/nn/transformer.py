"""Transformer layers, which alternate attention and products, and stacks of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

from .._core import Tensor, full, triu
from ..base.types import DeviceLike, DTypeLike
from . import init
from ._arguments import described
from .attention import MultiheadAttention
from .containers import ModuleList
from .dropout import Dropout
from .functional import gelu, relu
from .linear import Linear
from .module import Module, TensorModule
from .normalization import LayerNorm

__all__ = ["Transformer", "TransformerBlock", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder"]
__all__ += ["TransformerEncoderLayer", "generate_square_subsequent_mask"]

Activation = Callable[[Tensor], Tensor]


def generate_square_subsequent_mask(
    sz: int, device: DeviceLike | None = None, dtype: DTypeLike | None = None
) -> Tensor:
    """Makes a causal mask to add to scores, [sz, sz]: -inf where the source comes after the target, else 0.

    Args:
        sz: the number of targets and sources.
        device: the device of the mask.
        dtype: its element type.

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
    """One or two attentions, then two products with an activation between; each part is added to its input.

    Args:
        d_model: number of features.
        nhead: number of heads of the attention.
        dim_feedforward: number of features between the two products.
        dropout: probability of dropping an element, in training.
        activation: "relu", "gelu" or a function.
        layer_norm_eps: eps of the norms.
        batch_first: whether tensors are [batch, time, features], not [time, batch, features].
        norm_first: whether to normalise the input of each part, not its result.
        bias: whether products and norms have a bias.

    Raises:
        ValueError: an argument or a shape does not fit.
    """

    _shown = ""
    _attentions: ClassVar[tuple[str, ...]]

    self_attn: MultiheadAttention
    multihead_attn: MultiheadAttention

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
        super().__init__()
        parts = range(1, len(self._attentions) + 2)
        for name in self._attentions:
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
        """x plus a part of the layer, normalised before or after."""
        norm, dropout = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        out: Tensor = x + dropout(part(norm(x))) if self.norm_first else norm(x + dropout(part(x)))
        return out

    def _products(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


@described(_Layer)
class TransformerEncoderLayer(_Layer):
    """Applies self-attention and two products, each added to its input.

    Example:
        >>> sg.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(sg.ones(2, 5, 8)).shape
        (2, 5, 8)
    """

    _attentions = ("self_attn",)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Computes the layer. The masks are those of MultiheadAttention.forward()."""

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


@described(_Layer)
class TransformerDecoderLayer(_Layer):
    """Applies self-attention, attention to a memory, and two products, each added to its input.

    Example:
        >>> layer = sg.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
        >>> layer(sg.ones(2, 5, 8), sg.ones(2, 7, 8)).shape
        (2, 5, 8)
    """

    _attentions = ("self_attn", "multihead_attn")

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
        """Computes the layer. The masks are those of MultiheadAttention.forward()."""

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
    """Applies copies of a layer one after the other.

    Args:
        num_layers: number of copies.
        norm: a module applied to the result of the last layer, or None.
        enable_nested_tensor: accepted for compatibility with PyTorch.
        mask_check: accepted for compatibility with PyTorch.
    """

    _shown = ""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm


@described(_Stack)
class TransformerEncoder(_Stack):
    """
    Args:
        encoder_layer: the layer, which is copied with its values.

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
        """Computes all layers; the arguments are those of a layer."""
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        return src if self.norm is None else self.norm(src)


@described(_Stack)
class TransformerDecoder(_Stack):
    """
    Args:
        decoder_layer: the layer, which is copied with its values.

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
        """Computes all layers; the arguments are those of a layer."""
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


@described(_Layer)
class Transformer(Module):
    """Applies an encoder, and a decoder that attends to the result of the encoder (Vaswani et al., 2017).

    Args:
        num_encoder_layers: number of layers of the encoder.
        num_decoder_layers: number of layers of the decoder.
        custom_encoder: a module that replaces the encoder.
        custom_decoder: a module that replaces the decoder.

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
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

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
        """Computes the result of the decoder. The masks are those of the layers of the encoder and of the decoder.

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
        """Calls nn.generate_square_subsequent_mask()."""
        return generate_square_subsequent_mask(sz, device, dtype)


@described(_Layer)
class TransformerBlock(TransformerEncoderLayer, TensorModule):
    """Applies a layer of GPT (Radford et al., 2019): causal self-attention and two products, each normalised first.

    The parameters have the names and shapes of TransformerEncoderLayer.

    Args:
        dim_feedforward: number of features between the two products, by default 4 * d_model.

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

    def forward(self, input: Tensor) -> Tensor:  # type: ignore[override]  # it takes no options
        """Computes the layer: [batch, time, d_model] -> the same shape."""
        return super().forward(input, is_causal=True)
