"""GGUF: the package gguf reads back what decoders were written as, and computes the same from it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd.models import GPT2, Llama, save_gguf

gguf = pytest.importorskip("gguf", reason="needs gguf")
Weights = dict[str, np.ndarray[Any, Any]]


def read(path: Path) -> tuple[dict[str, Any], Weights]:
    """The fields, and the tensors as float32."""
    reader = gguf.GGUFReader(path)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    tensors = {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in reader.tensors}
    return fields, {
        name: x.reshape(tuple(int(n) for n in t.shape[::-1]))
        for (name, x), t in zip(tensors.items(), reader.tensors, strict=True)
    }


def gpt2() -> GPT2:
    sg.manual_seed(0)
    model = GPT2(vocabulary=70, context=16, width=64, layers=2, heads=4).eval()
    with sg.no_grad():
        for p in model.parameters():
            p.copy_(sg.randn(*p.shape) * 0.3)
    return model


def llama(**options: Any) -> Llama:
    sg.manual_seed(0)
    sizes = {"width": 64, "inner": 96, "layers": 2, "heads": 4, "groups": 2, "context": 16} | options
    model = Llama(70, **sizes).eval()
    with sg.no_grad():
        for p in model.parameters():
            p.copy_(sg.randn(*p.shape) * 0.3)
    return model


TOKENS = np.array([3, 69, 0, 12, 3, 40])


def softmax(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q: Any, k: Any, v: Any, heads: int, groups: int) -> np.ndarray[Any, Any]:
    time = len(q)
    q, k, v = (x.reshape(time, n, -1).swapaxes(0, 1) for x, n in ((q, heads), (k, groups), (v, groups)))
    k, v = (np.repeat(x, heads // groups, 0) for x in (k, v))
    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1]) + np.triu(np.full((time, time), -np.inf), 1)
    return (softmax(scores) @ v).swapaxes(0, 1).reshape(time, -1)


def run_gpt2(f: dict[str, Any], w: Weights) -> np.ndarray[Any, Any]:
    """GPT-2 from nothing but the file."""

    def norm(x: Any, name: str) -> Any:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + f["gpt2.attention.layer_norm_epsilon"])
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    def product(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    x = w["token_embd.weight"][TOKENS] + w["position_embd.weight"][: len(TOKENS)]
    heads = f["gpt2.attention.head_count"]
    for i in range(f["gpt2.block_count"]):
        q, k, v = np.split(product(norm(x, f"blk.{i}.attn_norm"), f"blk.{i}.attn_qkv"), 3, 1)
        x = x + product(attention(q, k, v, heads, heads), f"blk.{i}.attn_output")
        y = product(norm(x, f"blk.{i}.ffn_norm"), f"blk.{i}.ffn_up")
        y = 0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))
        x = x + product(y, f"blk.{i}.ffn_down")
    return norm(x, "output_norm") @ w["token_embd.weight"].T


def run_llama(f: dict[str, Any], w: Weights) -> np.ndarray[Any, Any]:
    """Llama or Qwen2 from nothing but the file. One turns features 2i and 2i + 1, the other i and i + size / 2."""
    arch = f["general.architecture"]
    size, heads, groups = (
        f[f"{arch}.{n}"] for n in ("rope.dimension_count", "attention.head_count", "attention.head_count_kv")
    )

    def norm(x: Any, name: str) -> Any:
        return (
            x
            / np.sqrt((x * x).mean(-1, keepdims=True) + f[f"{arch}.attention.layer_norm_rms_epsilon"])
            * w[f"{name}.weight"]
        )

    def product(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"].T + w.get(f"{name}.bias", 0.0)

    def turned(x: Any) -> Any:
        speeds = f[f"{arch}.rope.freq_base"] ** (-2.0 * np.arange(size // 2) / size) / w.get("rope_freqs.weight", 1.0)
        angles = (np.arange(len(x))[:, None] * speeds)[:, None]
        x = x.reshape(len(x), -1, size)
        a, b = (x[..., ::2], x[..., 1::2]) if arch == "llama" else (x[..., : size // 2], x[..., size // 2 :])
        c, s = np.cos(angles), np.sin(angles)
        parts = [a * c - b * s, b * c + a * s]
        out = np.stack(parts, -1).reshape(x.shape) if arch == "llama" else np.concatenate(parts, -1)
        return out.reshape(len(x), -1)

    x = w["token_embd.weight"][TOKENS]
    for i in range(f[f"{arch}.block_count"]):
        y = norm(x, f"blk.{i}.attn_norm")
        q, k, v = (product(y, f"blk.{i}.attn_{n}") for n in "qkv")
        x = x + product(attention(turned(q), turned(k), v, heads, groups), f"blk.{i}.attn_output")
        y = norm(x, f"blk.{i}.ffn_norm")
        gate = product(y, f"blk.{i}.ffn_gate")
        x = x + product(gate / (1 + np.exp(-gate)) * product(y, f"blk.{i}.ffn_up"), f"blk.{i}.ffn_down")
    return norm(x, "output_norm") @ w.get("output.weight", w["token_embd.weight"]).T


def scores(model: Any) -> np.ndarray[Any, Any]:
    with sg.no_grad():
        return model(sg.tensor(TOKENS[None]))[0].numpy()


SCALING = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}


@pytest.mark.parametrize(
    ("model", "arch", "run"),
    [
        (gpt2, "gpt2", run_gpt2),
        (llama, "llama", run_llama),
        (lambda: llama(tied=True, base=500.0), "llama", run_llama),
        (lambda: llama(scaling=SCALING), "llama", run_llama),
        (lambda: llama(bias=True), "qwen2", run_llama),
    ],
    ids=["gpt2", "llama", "tied", "scaled", "qwen2"],
)
def test_the_file_alone_gives_the_scores(model: Any, arch: str, run: Any, tmp_path: Path) -> None:
    made = model()
    save_gguf(made, tmp_path / "model.gguf", dtype="float32", name="small")
    fields, weights = read(tmp_path / "model.gguf")
    assert fields["general.architecture"] == arch and fields["general.name"] == "small"
    assert fields[f"{arch}.context_length"] == 16 and fields[f"{arch}.vocab_size"] == 70
    wanted = scores(made)
    np.testing.assert_allclose(run(fields, weights), wanted, rtol=1e-3, atol=1e-3 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("dtype", "error"),
    [
        ("float16", 1e-3),
        ("bfloat16", 8e-3),
        ("q8_0", 1e-2),
        ("q5_0", 0.08),
        ("q5_1", 0.08),
        ("q4_0", 0.16),
        ("q4_1", 0.16),
    ],
)
def test_matrices_have_the_type_and_vectors_float32(dtype: str, error: float, tmp_path: Path) -> None:
    model = gpt2()
    save_gguf(model, tmp_path / "deep" / "model.gguf", dtype=dtype)
    reader = gguf.GGUFReader(tmp_path / "deep" / "model.gguf")
    names = {"float16": "F16", "bfloat16": "BF16"}
    for t in reader.tensors:
        assert t.tensor_type.name == (names.get(dtype, dtype.upper()) if len(t.shape) == 2 else "F32")
    _, weights = read(tmp_path / "deep" / "model.gguf")
    wanted = model.h[1].mlp.c_fc.weight.detach().numpy()
    assert np.abs(weights["blk.1.ffn_up.weight"] - wanted).max() <= error * np.abs(wanted).max()


def test_rows_that_make_no_blocks_stay_float16(tmp_path: Path) -> None:
    save_gguf(GPT2(vocabulary=9, context=8, width=24, layers=1, heads=2), tmp_path / "m.gguf", dtype="q4_0")
    kinds = {t.name: t.tensor_type.name for t in gguf.GGUFReader(tmp_path / "m.gguf").tensors}
    assert kinds["blk.0.attn_qkv.weight"] == "F16" and kinds["blk.0.ffn_down.weight"] == "Q4_0"


def test_tokens_and_merges_are_written(tmp_path: Path) -> None:
    vocabulary = {chr(97 + i): i for i in range(8)} | {"ab": 8}
    added = [{"id": 9, "content": "<end>", "special": True}]
    content = {"model": {"type": "BPE", "vocab": vocabulary, "merges": [["a", "b"]]}, "added_tokens": added}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    model = GPT2(vocabulary=12, context=8, width=32, layers=1, heads=2)
    save_gguf(model, tmp_path / "m.gguf", tokenizer=tmp_path / "tokenizer.json")
    fields, _ = read(tmp_path / "m.gguf")
    assert fields["tokenizer.ggml.tokens"] == [*vocabulary, "<end>", "[PAD10]", "[PAD11]"]
    assert fields["tokenizer.ggml.merges"] == ["a b"] and fields["tokenizer.ggml.model"] == "gpt2"
    assert fields["tokenizer.ggml.token_type"][8:] == [1, 3, 5, 5]
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"type": "WordPiece", "vocab": {}}}))
    with pytest.raises(ValueError, match="is of WordPiece, not of byte pairs; leave out tokenizer"):
        save_gguf(model, tmp_path / "m.gguf", tokenizer=tmp_path / "tokenizer.json")


def test_what_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.gguf"
    with pytest.raises(TypeError, match="save_gguf: Linear has no form in GGUF here; give a GPT2 or a Llama"):
        save_gguf(sg.nn.Linear(2, 2), path)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="save_gguf: dtype is 'q2'; use float32"):
        save_gguf(gpt2(), path, dtype="q2")
    with pytest.raises(TypeError, match="are of few bits; write them before"):
        save_gguf(sg.models.quantize(llama(inner=128), 8), path)
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(
        ImportError, match=r"save_gguf: the package gguf is not installed; pip install spirograd\[gguf\]"
    ):
        save_gguf(gpt2(), path)
    assert not path.exists()
