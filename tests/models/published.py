"""Small models of transformers and torchvision: what tests/golden/logits.json holds of them.

    python tests/models/published.py > tests/golden/logits.json

It needs torch, transformers and torchvision. For each model: its configuration, the names and shapes of its weights as
a hub has them, and what it gives. Weights and inputs are not stored: they follow from their names and shapes
(`weight_of`, `input_of`).
"""

from __future__ import annotations

import json
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parents[1] / "golden" / "logits.json"
Array = np.ndarray[Any, Any]

_TEXT = {"vocab_size": 37, "hidden_size": 16, "intermediate_size": 40, "num_hidden_layers": 2}
_TEXT |= {"num_attention_heads": 4, "max_position_embeddings": 32}
_SCALING = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0}
_SCALING |= {"high_freq_factor": 4.0, "original_max_position_embeddings": 16}
# Name -> class of transformers, its configuration.
TRANSFORMERS: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2LMHeadModel", {"vocab_size": 37, "n_positions": 24, "n_embd": 16, "n_layer": 2, "n_head": 4}),
    "llama": ("LlamaForCausalLM", {**_TEXT, "num_key_value_heads": 2, "rms_norm_eps": 1e-5}),
    "llama3": ("LlamaForCausalLM", {**_TEXT, "tie_word_embeddings": True, "rope_parameters": _SCALING, "head_dim": 8}),
    "mistral": ("MistralForCausalLM", {**_TEXT, "num_key_value_heads": 1, "sliding_window": 20}),
    "qwen2": ("Qwen2ForCausalLM", {**_TEXT, "num_key_value_heads": 2, "tie_word_embeddings": True}),
    "bert": ("BertForMaskedLM", _TEXT),
    "vit": (
        "ViTForImageClassification",
        {k: v for k, v in _TEXT.items() if k not in ("vocab_size", "max_position_embeddings")}
        | {"image_size": 8, "patch_size": 4},
    ),
}
# Name -> class of torchvision's blocks, how many of them.
TORCHVISION = {"resnet18": ("BasicBlock", [2, 2, 2, 2]), "resnet50": ("Bottleneck", [3, 4, 6, 3])}


def weight_of(name: str, shape: tuple[int, ...]) -> Array:
    """Random numbers that follow from the name."""
    if name.endswith("num_batches_tracked"):
        return np.zeros((), np.int64)
    x = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(shape)
    if len(shape) > 1:
        inputs = np.prod(shape[1:]) if len(shape) > 2 else max(shape)
        x = x / np.sqrt(inputs) * (2 if len(shape) == 2 else 1)
    else:
        x = 1 + 0.1 * np.abs(x) if name.endswith(("weight", "running_var", "gamma")) else 0.1 * x
    return np.asarray(x, np.float32)


def input_of(name: str) -> Array:
    random = np.random.default_rng(0)
    if name == "vit":
        return random.standard_normal((2, 3, 8, 8)).astype(np.float32)
    if name in TORCHVISION:
        return random.standard_normal((2, 3, 40, 40)).astype(np.float32)
    return random.integers(0, 37, (2, 14))


def theirs() -> Iterator[tuple[str, dict[str, Any]]]:
    """What the file holds of each model."""
    import safetensors.torch
    import torch
    import torchvision
    import transformers

    def entry(name: str, model: Any, config: Any, weights: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        with torch.no_grad():
            y = model.eval()(torch.from_numpy(input_of(name)))
        y = y if isinstance(y, torch.Tensor) else y.logits
        part = y.double().flatten(0, -2)[:, :: max(1, y.shape[-1] // 40)]
        return name, {
            "config": config,
            "weights": {n: list(x.shape) for n, x in weights.items()},
            "logits": [[round(v, 6) for v in row] for row in part.tolist()],
        }

    def filled(state: dict[str, Any]) -> dict[str, Any]:
        return {n: torch.from_numpy(weight_of(n, tuple(x.shape))) for n, x in state.items()}

    for name, (kind, config) in TRANSFORMERS.items():
        made = getattr(transformers, kind)
        model = made(made.config_class(**config))
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            weights = safetensors.torch.load_file(f"{folder}/model.safetensors")
            written = json.loads(Path(folder, "config.json").read_text())
            safetensors.torch.save_file(filled(weights), f"{folder}/model.safetensors", {"format": "pt"})
            yield entry(name, made.from_pretrained(folder), written, weights)
    for name, (kind, blocks) in TORCHVISION.items():
        model = torchvision.models.resnet.ResNet(getattr(torchvision.models.resnet, kind), blocks)
        model.load_state_dict(filled(model.state_dict()))
        yield entry(name, model, None, model.state_dict())


if __name__ == "__main__":
    json.dump(dict(theirs()), sys.stdout, separators=(",", ":"))
    print()
