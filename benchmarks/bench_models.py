"""Steps of training of models that other people wrote, with and without a read of each loss.

    python benchmarks/bench_models.py                     # every model whose package is installed, on the first GPU
    python benchmarks/bench_models.py --rows bert,gpt2

The models come from timm and transformers, which get spirograd in PyTorch's place; a row whose package is missing fails
with a line. A step that reads its loss should take as long as one that does not: the GPU has work while Python records.
Writes benchmarks/results/models-DATE.json. Close other programs first.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import spirograd as sg
from harness import program
from harness.common import Result, measure
from harness.rows import Context, milliseconds, row
from spirograd.torch import install
from spirograd.torch.start import stand_in

STEPS = 10  # in one sample
READ = "reads its loss"
Model = Callable[
    [Any, str], tuple[Any, Callable[[], Any]]
]  # from torch and a device: a module, and what gives its loss


def image_model(name: str) -> Model:
    """A model of timm on 32 images of 224 x 224."""

    def make(torch: Any, device: str) -> tuple[Any, Callable[[], Any]]:
        net = importlib.import_module("timm").create_model(name).to(device)
        x = torch.randn(32, 3, 224, 224, device=device)
        y = torch.randint(0, 1000, (32,), device=device)
        return net, lambda: torch.nn.functional.cross_entropy(net(x), y)

    return make


def text_model(kind: str, config: str, batch: int, tokens: int, **sizes: int) -> Model:
    """A model of transformers on sentences of random tokens."""

    def make(torch: Any, device: str) -> tuple[Any, Callable[[], Any]]:
        transformers = importlib.import_module("transformers")
        net = getattr(transformers, kind)(getattr(transformers, config)(**sizes)).to(device)
        ids = torch.randint(0, 30_000, (batch, tokens), device=device)
        return net, lambda: net(ids, labels=ids).loss

    return make


MODELS: dict[str, Model] = {
    "resnet50": image_model("resnet50"),
    "efficientnet_b0": image_model("efficientnet_b0"),
    "mixer_s16": image_model("mixer_s16_224"),
    "bert": text_model("BertForMaskedLM", "BertConfig", 16, 256, num_hidden_layers=6),
    "gpt2": text_model("GPT2LMHeadModel", "GPT2Config", 4, 512),
}


def steps(model: Model, device: str, bf16: bool, read: bool) -> Callable[[], Any]:
    """STEPS steps with AdamW, and a wait for the device."""
    torch = importlib.import_module("torch")
    torch.manual_seed(0)
    net, loss_of = model(torch, device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)

    def run() -> None:
        for _ in range(STEPS):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=bf16):
                loss = loss_of()
            loss.backward()
            optimizer.step()
            if read:
                float(loss)
        torch.cuda.synchronize()

    return run


def rows(context: Context, name: str) -> Iterator[Result]:
    install()
    stand_in()
    for bf16 in (False, True):
        works = {case: steps(MODELS[name], "cuda", bf16, read) for case, read in ((READ, True), ("does not", False))}
        timings = measure(works, calls_inside=STEPS, **context.turns)
        case = f"{name}, {'bfloat16' if bf16 else 'float32'}"
        goal = f"<= 1.05: {timings[READ].median / timings['does not'].median:.3f}"
        yield from context.results("step", case, timings, "ms", milliseconds, goal, READ)
        sg.empty_cache()


for model in MODELS:

    def run(context: Context, model: str = model) -> Iterator[Result]:
        yield from rows(context, model)

    run.__doc__ = f"A step of {model} that reads its loss, and one that does not."
    row(model, cpu=False)(run)

if __name__ == "__main__":
    sys.exit(program.run("models", "Steps of models of timm and transformers.", ()))
