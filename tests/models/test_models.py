"""Published models: their weights are read by the names of the hubs, and they compute what the originals do."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import published
import spirograd as sg
from process_memory import peak
from spirograd.models import GPT2, Bert, Llama, Pretrained, ResNet, UNet, ViT, read_weights

OURS: dict[str, type[Pretrained]] = {"gpt2": GPT2, "bert": Bert, "vit": ViT, "resnet18": ResNet, "resnet50": ResNet}
OURS |= dict.fromkeys(["llama", "llama3", "mistral", "qwen2"], Llama)
Golden = dict[str, Any]


@pytest.fixture(scope="module")
def golden() -> Golden:
    found: Golden = json.loads(published.GOLDEN.read_text())
    return found


def weights_of(entry: Golden) -> dict[str, np.ndarray]:
    return {name: published.weight_of(name, tuple(shape)) for name, shape in entry["weights"].items()}


def write(folder: Path, entry: Golden, shards: int = 1) -> None:
    """A folder as a hub has it."""
    weights = weights_of(entry)
    (folder / "config.json").write_text(json.dumps(entry["config"]))
    if shards == 1:
        sg.save_safetensors(weights, folder / "model.safetensors")
        return
    places = {name: f"model-{i % shards + 1:05}-of-{shards:05}.safetensors" for i, name in enumerate(weights)}
    for file in set(places.values()):
        sg.save_safetensors({n: weights[n] for n in weights if places[n] == file}, folder / file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))


def logits(name: str, model: Any, device: sg.Device) -> np.ndarray:
    with sg.no_grad():
        y = model(sg.tensor(published.input_of(name), device=device)).numpy()
    return np.asarray(y.reshape(-1, y.shape[-1])[:, :: max(1, y.shape[-1] // 40)])


@pytest.mark.parametrize("name", published.TRANSFORMERS)
def test_logits_are_those_of_transformers(name: str, golden: Golden, tmp_path: Path, device: sg.Device) -> None:
    write(tmp_path, golden[name])
    model = OURS[name].from_pretrained(tmp_path).to(device)
    assert not model.training
    want = np.array(golden[name]["logits"])
    assert np.std(want) > 0.1  # they say something
    assert np.abs(logits(name, model, device) - want).max() < 1e-4


@pytest.mark.parametrize("name", published.TORCHVISION)
def test_logits_are_those_of_torchvision(name: str, golden: Golden, tmp_path: Path, device: sg.Device) -> None:
    path = tmp_path / "resnet.npz"
    sg.savez(path, **weights_of(golden[name]))
    model = ResNet.named(name)
    model.load_pretrained(path)
    want = np.array(golden[name]["logits"])
    scale = np.abs(want).max()
    assert np.abs(logits(name, model.to(device).eval(), device) - want).max() < 1e-4 * max(1, scale)


def test_the_stored_logits_are_still_theirs(golden: Golden) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("torchvision")
    for name, entry in published.theirs():
        assert entry["weights"] == golden[name]["weights"]
        assert np.allclose(entry["logits"], golden[name]["logits"], atol=2e-5), name


def test_sharded_weights_are_read(golden: Golden, tmp_path: Path) -> None:
    write(tmp_path, golden["llama"], shards=3)
    want = np.array(golden["llama"]["logits"])
    assert np.abs(logits("llama", Llama.from_pretrained(tmp_path), sg.Device("cpu")) - want).max() < 1e-4
    assert read_weights(tmp_path).keys() == golden["llama"]["weights"].keys()
    assert read_weights(tmp_path / "model.safetensors.index.json").keys() == golden["llama"]["weights"].keys()
    (tmp_path / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="model-00002"):
        Llama.from_pretrained(tmp_path)


def test_older_folders_have_a_file_of_pytorch(golden: Golden, tmp_path: Path) -> None:
    sg.savez(tmp_path / "pytorch_model.bin", **weights_of(golden["gpt2"]))
    (tmp_path / "config.json").write_text(json.dumps(golden["gpt2"]["config"]))
    want = np.array(golden["gpt2"]["logits"])
    assert np.abs(logits("gpt2", GPT2.from_pretrained(tmp_path), sg.Device("cpu")) - want).max() < 1e-4
    sg.save([sg.ones(1)], tmp_path / "pytorch_model.bin")
    with pytest.raises(sg.FileFormatError, match="holds no dict of tensors"):
        GPT2.from_pretrained(tmp_path)


def change_index(folder: Path, **changes: Any) -> None:
    path = folder / "model.safetensors.index.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({"weight_map": content["weight_map"] | changes}))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (
            lambda d: change_index(d, **{"model.extra": "../secret.safetensors"}),
            "'../secret.safetensors', which is no weights beside it",
        ),
        *[
            (lambda d, name=name: change_index(d, **{"model.extra": name}), f"'?{words}'?, which is no weights")
            for name, words in {
                "..": r"\.\.",
                "": "",
                ".": r"\.",
                "model.safetensors.index.json": "model.*",
                "a\0b": ".*",
            }.items()
        ],
        (lambda d: change_index(d, **{"model.extra": ["a"]}), "no weight_map"),
        (lambda d: change_index(d, **{"model.extra": 3}), "no weight_map"),
        (lambda d: (d / "model.safetensors.index.json").write_text('{"weight_map": {}}'), "names no weights"),
        (lambda d: (d / "model.safetensors.index.json").write_text("[" * 100_000), "no weight_map"),
        (lambda d: (d / "config.json").write_text("[" * 100_000), "is not JSON"),
        (lambda d: change_index(d, **{"model.extra": "model-00001-of-00002.safetensors"}), "names model.extra, which"),
        (lambda d: (d / "model.safetensors.index.json").write_text("[]"), "no weight_map"),
        (lambda d: (d / "model.safetensors.index.json").unlink(), "has none of model.safetensors"),
        (lambda d: (d / "config.json").write_text("{"), "is not JSON"),
        (lambda d: (d / "config.json").write_text("[]"), "holds a list"),
    ],
)
def test_damaged_folders_are_refused(
    damage: Callable[[Path], object], words: str, golden: Golden, tmp_path: Path
) -> None:
    write(tmp_path, golden["llama"], shards=2)
    damage(tmp_path)
    with pytest.raises(sg.FileFormatError, match=words):
        Llama.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("gpt2", {"activation_function": "relu"}, "activation_function is relu"),
        ("gpt2", {"n_inner": 20}, "n_inner is 20"),
        ("llama", {"rope_scaling": {"rope_type": "yarn"}}, "rope_type yarn"),
        ("llama", {"hidden_act": "gelu"}, "hidden_act is gelu"),
        ("llama", {"attention_bias": True}, "with a bias"),
        ("bert", {"hidden_act": "relu"}, "hidden_act is relu"),
    ],
)
def test_configurations_of_other_models_are_refused(
    name: str, change: dict[str, Any], words: str, golden: Golden, tmp_path: Path
) -> None:
    write(tmp_path, golden[name] | {"config": golden[name]["config"] | change})
    with pytest.raises(ValueError, match=words):
        OURS[name].from_pretrained(tmp_path)


ODD: list[Any] = [-1, 0, 1 << 20, 1 << 40, 10**400, 0.5, True, "64", [64], {}, float("nan"), float("inf"), None]


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "vit"])
def test_odd_and_huge_numbers_of_a_configuration_are_refused(name: str, golden: Golden, tmp_path: Path) -> None:
    """Each number of the file in turn: the model is made, or one of two errors says why not. It takes little memory."""
    config, before = golden[name]["config"], peak()
    write(tmp_path, golden[name])
    for key, value in config.items():
        for odd in ODD if isinstance(value, (int, float, dict)) and type(value) is not bool else []:
            (tmp_path / "config.json").write_text(json.dumps(config | {key: odd}))
            try:
                OURS[name].from_pretrained(tmp_path)
            except sg.FileFormatError as error:
                assert "\n" not in str(error) and len(str(error)) < 400, (key, odd, error)
            except ValueError as error:  # of another model
                assert len(str(error)) < 4000, (key, odd, error)
        (tmp_path / "config.json").write_text(json.dumps({k: v for k, v in config.items() if k != key}))
        with contextlib.suppress(sg.FileFormatError, ValueError):
            OURS[name].from_pretrained(tmp_path)
    assert peak() - before < 200 << 20


def test_old_files_of_gpt2_and_bert_are_read(golden: Golden, tmp_path: Path) -> None:
    cpu = sg.Device("cpu")
    old = {n.removeprefix("transformer."): x for n, x in weights_of(golden["gpt2"]).items()}
    old |= {"h.0.attn.bias": np.ones((1, 1, 24, 24), np.float32), "lm_head.weight": old["wte.weight"]}
    sg.savez(tmp_path / "gpt2.npz", **old)
    model: Any = GPT2(**GPT2.arguments_of(golden["gpt2"]["config"])).eval()
    model.load_pretrained(tmp_path / "gpt2.npz")
    assert np.abs(logits("gpt2", model, cpu) - np.array(golden["gpt2"]["logits"])).max() < 1e-4
    old = weights_of(golden["bert"])
    for new, name in (("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta")):
        old = {n.replace(new, name): x for n, x in old.items()}
    old["bert.pooler.dense.bias"] = np.zeros(16, np.float32)
    sg.savez(tmp_path / "bert.npz", **old)
    model = Bert(**Bert.arguments_of(golden["bert"]["config"])).eval()
    model.load_pretrained(tmp_path / "bert.npz")
    assert np.abs(logits("bert", model, cpu) - np.array(golden["bert"]["logits"])).max() < 1e-4


def test_weights_of_another_size_are_refused(golden: Golden, tmp_path: Path) -> None:
    write(tmp_path, golden["gpt2"])
    with pytest.raises(ValueError, match=r"wpe\.weight"):
        GPT2.from_pretrained(tmp_path, context=12)
    assert len(read_weights(tmp_path)) == len(golden["gpt2"]["weights"])


# Of a deep one, the first layer: the 124.44 million of GPT-2 are 46.47 and eleven times 7.088.
PUBLISHED: list[tuple[type[Pretrained], str, dict[str, int], float]] = [
    (ResNet, "resnet18", {}, 11.69),
    (ResNet, "resnet34", {}, 21.80),
    (ResNet, "resnet50", {}, 25.56),
    (ResNet, "resnet101", {}, 44.55),
    (ResNet, "resnet152", {}, 60.19),
    (GPT2, "gpt2", {"layers": 1}, 46.47),
    (Bert, "bert-base-uncased", {"layers": 1}, 31.55),
    (ViT, "vit_tiny_patch16_224", {}, 5.72),
]


@pytest.mark.parametrize(("kind", "name", "changes", "millions"), PUBLISHED, ids=[p[1] for p in PUBLISHED])
def test_published_sizes_have_as_many_parameters(
    kind: type[Pretrained], name: str, changes: dict[str, int], millions: float
) -> None:
    model = kind.named(name, **changes)
    assert sum(p.numel() for p in model.parameters()) / 1e6 == pytest.approx(millions, abs=0.006)


def test_unknown_sizes_are_named() -> None:
    with pytest.raises(ValueError, match="'resnet20' is not a published size; use resnet18, "):
        ResNet.named("resnet20")


def test_a_mask_hides_tokens_from_bert(device: sg.Device) -> None:
    sg.manual_seed(0)
    model = Bert(20, width=16, inner=32, layers=2, heads=2, context=8).to(device).eval()
    long = sg.tensor([[3, 4, 5, 6, 7]], device=device)
    mask = sg.tensor([[1, 1, 1, 0, 0]], device=device)
    with sg.no_grad():
        assert sg.allclose(model(long, mask)[:, :3], model(long[:, :3]), atol=1e-6)
        assert not sg.allclose(model(long)[:, :3], model(long[:, :3]), rtol=1e-3, atol=0)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: UNet(1, 2, width=4, levels=2), (2, 1, 8, 12)),
        (lambda: ViT(2, side=8, patch=4, width=16, inner=32, layers=1, heads=2, channels=1), (2, 1, 8, 8)),
        (lambda: ResNet([1, 1], classes=2, channels=1), (2, 1, 16, 16)),
    ],
)
def test_models_of_images_learn(make: Callable[[], sg.nn.Module], shape: tuple[int, ...]) -> None:
    sg.manual_seed(0)
    model = make()
    x = sg.randn(shape)
    y = (x[:, 0] > 0).long() if isinstance(model, UNet) else sg.tensor([0, 1])
    optimizer = sg.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(25):
        loss = sg.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    assert all(p.grad is not None for p in model.parameters())


def test_a_unet_sees_the_pixels_around_at_every_level() -> None:
    sg.manual_seed(0)
    model = UNet(1, 2, width=4, levels=2).eval()
    x = sg.randn(1, 1, 16, 16, requires_grad=True)
    model(x)[0, 0, 8, 8].backward()
    assert (x.grad != 0).sum().item() > 150
    with pytest.raises(ValueError, match="multiples of 4"):
        model(sg.zeros(1, 1, 16, 18))


class _Doubled(sg.nn.Module):
    def __init__(self, layer: sg.nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: sg.Tensor) -> sg.Tensor:
        return 2 * self.layer(x)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_layer_may_be_wrapped_hooked_or_of_another_class(name: str) -> None:
    """What takes the place of a Linear, as in LoRA, is called; so are its hooks."""
    make: Any = OURS[name]
    sizes = {"vocabulary": 11, "width": 8, "layers": 1, "heads": 2} | ({} if name == "gpt2" else {"inner": 16})
    model, tokens = make(**sizes, context=8).eval(), sg.tensor([[1, 2, 3]])
    part, at = (model.h[0].mlp, "c_fc") if name == "gpt2" else (model.layers[0].mlp, "up_proj")
    layer = getattr(part, at)
    before = model(tokens)
    with layer.register_forward_hook(lambda module, args, out: 2 * out):
        hooked = model(tokens)
    setattr(part, at, _Doubled(layer))
    wrapped = model(tokens)
    assert not sg.allclose(before, hooked) and sg.allclose(hooked, wrapped)


def test_decoders_learn_to_repeat() -> None:
    sg.manual_seed(0)
    tokens = sg.tensor([[1, 2, 3, 4, 5, 6, 7, 8] * 2])
    for model in (GPT2(9, 16, 16, 1, 2), Llama(9, width=16, inner=32, layers=1, heads=2, groups=1, context=16)):
        optimizer = sg.optim.Adam(model.parameters(), lr=0.02)
        for _ in range(60):
            loss = sg.nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        assert sg.generation.generate(model, [1, 2], 8, temperature=0) == [3, 4, 5, 6, 7, 8, 1, 2]
