"""Decoders as GGUF files, which llama.cpp and programs built on it run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import Tensor
from .decoder import Decoder
from .gpt2 import GPT2
from .llama import Llama
from .quantized import QuantizedLinear

__all__ = ["save_gguf"]

DTYPES = {
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "q8_0": "Q8_0",
    "q5_0": "Q5_0",
    "q5_1": "Q5_1",
    "q4_0": "Q4_0",
    "q4_1": "Q4_1",
}


def save_gguf(
    model: Decoder,
    path: str | os.PathLike[str],
    *,
    dtype: str = "float16",
    tokenizer: str | os.PathLike[str] | None = None,
    name: str | None = None,
) -> None:
    """Writes a GPT2 or a Llama as GGUF, with the names and orders of llama.cpp.

    Args:
        model: Llama with a bias is written as Qwen2.
        path: the file.
        dtype: of the matrices: "float32", "float16", "bfloat16", or blocks of 32 numbers with a scale: "q8_0", "q5_0",
            "q5_1", "q4_0", "q4_1". Rows that are no multiple of 32 are then float16, and vectors are always float32.
        tokenizer: a `tokenizer.json` of byte pairs, whose tokens and merges are written as well; None: none.
        name: shown by programs that read the file; by default that of the class.

    Raises:
        ImportError: the package gguf is not installed.
        TypeError: the model is of another kind, or its weights are already of few bits.
        ValueError: dtype is unknown, or tokenizer is not of byte pairs.

    Example:
        >>> import pathlib, tempfile
        >>> model = sg.models.GPT2(vocabulary=65, context=32, width=32, layers=1, heads=2)
        >>> sg.models.save_gguf(model, pathlib.Path(tempfile.mkdtemp()) / "tiny.gguf", dtype="q8_0")
    """
    try:
        import gguf
    except ImportError:
        raise ImportError(
            "save_gguf: the package gguf is not installed; pip install spirograd[gguf]", name="gguf"
        ) from None
    if dtype not in DTYPES:
        raise ValueError(f"save_gguf: dtype is {dtype!r}; use {', '.join(DTYPES)}")
    if not isinstance(model, (GPT2, Llama)):
        raise TypeError(f"save_gguf: {type(model).__name__} has no form in GGUF here; give a GPT2 or a Llama")
    if any(isinstance(m, QuantizedLinear) for m in model.modules()):
        raise TypeError(f"save_gguf: weights of {type(model).__name__} are of few bits; write them before quantize()")
    if isinstance(model, GPT2):
        arch, blocks, prefix = gguf.MODEL_ARCH.GPT2, len(model.h), "transformer."
    else:
        layer: Any = model.layers[0]
        biased = layer.self_attn.q_proj.bias is not None
        arch, blocks, prefix = gguf.MODEL_ARCH.QWEN2 if biased else gguf.MODEL_ARCH.LLAMA, len(model.layers), "model."
    writer = gguf.GGUFWriter(None, gguf.MODEL_ARCH_NAMES[arch])
    writer.add_name(name or type(model).__name__)
    writer.add_block_count(blocks)
    writer.add_file_type(gguf.LlamaFileType[f"MOSTLY_{DTYPES[dtype]}" if dtype != "float32" else "ALL_F32"])
    _add_sizes(writer, model)
    _add_tokens(writer, gguf, tokenizer, _embedding(model).shape[0])
    names = gguf.get_tensor_name_map(arch, blocks)
    kind = gguf.GGMLQuantizationType[DTYPES[dtype]]
    for own, values in _tensors(model, arch == gguf.MODEL_ARCH.LLAMA):
        full = own if own.startswith(("lm_head", "rope_freqs")) else prefix + own
        written = own if own.startswith("rope_freqs") else names.get_name(full, try_suffixes=(".weight", ".bias"))
        form = gguf.GGMLQuantizationType.F32 if values.ndim < 2 else kind
        if values.ndim == 2 and dtype.startswith("q") and values.shape[1] % 32:
            form = gguf.GGMLQuantizationType.F16
        if form in (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16):
            half = form == gguf.GGMLQuantizationType.F16
            writer.add_tensor(str(written), values.astype(np.float16 if half else np.float32))
        else:
            writer.add_tensor(str(written), gguf.quants.quantize(values, form), raw_dtype=form)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    writer.write_header_to_file(Path(path))
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _embedding(model: GPT2 | Llama) -> Tensor:
    return (model.wte if isinstance(model, GPT2) else model.embed_tokens).weight


def _add_sizes(writer: Any, model: GPT2 | Llama) -> None:
    """What a program must know to build the model."""
    width = _embedding(model).shape[1]
    writer.add_context_length(model.context)
    writer.add_embedding_length(width)
    writer.add_vocab_size(_embedding(model).shape[0])
    if isinstance(model, GPT2):
        writer.add_feed_forward_length(4 * width)
        writer.add_head_count(model.heads)
        writer.add_layer_norm_eps(model.ln_f.eps)
        return
    layer: Any = model.layers[0]
    attention = layer.self_attn
    writer.add_feed_forward_length(layer.mlp.up_proj.weight.shape[0])
    writer.add_head_count(attention.q_proj.weight.shape[0] // model.size)
    writer.add_head_count_kv(model.groups)
    writer.add_key_length(model.size)
    writer.add_value_length(model.size)
    writer.add_layer_norm_rms_eps(model.norm.eps)
    writer.add_rope_freq_base(float(model.base))
    writer.add_rope_dimension_count(model.size)


def _add_tokens(writer: Any, gguf: Any, path: str | os.PathLike[str] | None, count: int) -> None:
    """The tokens and merges of a file of the library tokenizers."""
    if path is None:
        writer.add_tokenizer_model("none")
        return
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    found = content.get("model", {})
    if found.get("type", "BPE") != "BPE" or "merges" not in found:
        raise ValueError(
            f"save_gguf: {os.fspath(path)} is of {found.get('type')}, not of byte pairs; leave out tokenizer"
        )
    added = {token["id"]: token for token in content.get("added_tokens", [])}
    names = {number: token for token, number in found["vocab"].items()} | {i: t["content"] for i, t in added.items()}
    kinds = gguf.TokenType
    types = []
    for number in range(count):
        special = number in added and added[number].get("special")
        types.append(kinds.UNUSED if number not in names else kinds.CONTROL if special else kinds.NORMAL)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([names.get(number, f"[PAD{number}]") for number in range(count)])
    writer.add_token_types(types)
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in found["merges"]])


def _tensors(model: GPT2 | Llama, pairs_together: bool) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
    """The weights by our names, in GGUF's order.

    pairs_together: feature 2i of a head turns with 2i + 1; in ours, i with i + size / 2.
    """
    for name, parameter in model.named_parameters():
        values = parameter.detach().float().cpu().numpy()
        if pairs_together and isinstance(model, Llama) and name.split(".")[-2] in ("q_proj", "k_proj"):
            halves = values.reshape(-1, 2, model.size // 2, *values.shape[1:])
            values = np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(values.shape)
        yield name, values
    if isinstance(model, Llama) and model.scaling is not None:
        scaled = model._speeds(_embedding(model).device).cpu().numpy()
        half = model.size // 2
        plain = np.exp(np.arange(half, dtype=np.float32) * (-np.log(model.base) / half))
        yield "rope_freqs.weight", (plain / scaled).astype(np.float32)
