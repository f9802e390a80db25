"""Steps of training of models that other people wrote, with and without a read of each loss.

    python benchmarks/bench_models.py                     # every model whose package is installed, on the first GPU
    python benchmarks/bench_models.py --rows bert,gpt2

The models come from timm, transformers and PyTorch Geometric, which get spirograd in place of PyTorch; a row whose
package is missing fails with a line. PyTorch itself runs the same models in a process of its own, before (its
convolutions in float32, not TF32). A step that reads its loss should take as long as one that does not: the GPU has
work while Python records. Writes benchmarks/results/models-DATE.json. Close other programs first.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import spirograd as sg
from harness import program
from harness.common import Result, Timing, measure
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


def recurrent_model(torch: Any, device: str) -> tuple[Any, Callable[[], Any]]:
    """A language model of two layers of LSTM with 512 features: 32 texts of 64 words out of 10,000."""

    class Language(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = torch.nn.Embedding(10_000, 256)
            self.layers = torch.nn.LSTM(256, 512, 2, batch_first=True)
            self.head = torch.nn.Linear(512, 10_000)

        def forward(self, words: Any) -> Any:
            return self.head(self.layers(self.words(words))[0])

    net = Language().to(device)
    words = torch.randint(0, 10_000, (32, 64), device=device)
    return net, lambda: torch.nn.functional.cross_entropy(net(words).flatten(0, 1), words.flatten())


def graph_model(torch: Any, device: str) -> tuple[Any, Callable[[], Any]]:
    """Three kinds of layers of PyTorch Geometric on 20,000 nodes and 200,000 edges."""
    layers = importlib.import_module("torch_geometric.nn")

    class Graph(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = layers.GCNConv(128, 256)
            self.second = layers.GATConv(256, 64, heads=4)
            self.third = layers.SAGEConv(256, 40)

        def forward(self, x: Any, edges: Any) -> Any:
            x = torch.relu(self.first(x, edges))
            return self.third(torch.nn.functional.elu(self.second(x, edges)), edges)

    net = Graph().to(device)
    x, y = torch.randn(20_000, 128, device=device), torch.randint(0, 40, (20_000,), device=device)
    edges = torch.randint(0, 20_000, (2, 200_000), device=device)
    return net, lambda: torch.nn.functional.cross_entropy(net(x, edges), y)


MODELS: dict[str, Model] = {
    "resnet50": image_model("resnet50"),
    "efficientnet_b0": image_model("efficientnet_b0"),
    "convnext_tiny": image_model("convnext_tiny"),
    "mixer_s16": image_model("mixer_s16_224"),
    "bert": text_model("BertForMaskedLM", "BertConfig", 16, 256, num_hidden_layers=6),
    "gpt2": text_model("GPT2LMHeadModel", "GPT2Config", 4, 512),
    "lstm": recurrent_model,
    "graph": graph_model,
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


def timings_of(name: str, bf16: bool, turns: dict[str, Any]) -> dict[str, Timing]:
    """A step that reads its loss, and one that does not."""
    works = {case: steps(MODELS[name], "cuda", bf16, read) for case, read in ((READ, True), ("does not", False))}
    return measure(works, calls_inside=STEPS, **turns)


def pytorch(name: str, turns: dict[str, Any]) -> int:
    """Measures PyTorch in this process, which has no stand-in."""
    importlib.import_module("torch").backends.cudnn.allow_tf32 = False
    print(json.dumps([{case: vars(t) for case, t in timings_of(name, b, turns).items()} for b in (False, True)]))
    return 0


def beside(name: str, turns: dict[str, Any]) -> list[dict[str, Timing]]:
    """Timings of PyTorch in float32 and in bfloat16; without it, or without its GPU, none."""
    command = [sys.executable, __file__, "--pytorch", name, json.dumps(turns)]
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        print(f"PyTorch: {found.stderr.strip().rpartition(chr(10))[2]}", file=sys.stderr)
        return [{}, {}]
    times = json.loads(found.stdout.strip().rpartition("\n")[2])
    return [{f"PyTorch {case}": Timing(**values) for case, values in of.items()} for of in times]


def rows(context: Context, name: str) -> Iterator[Result]:
    others = beside(name, context.turns)
    install()
    stand_in()
    for bf16, other in zip((False, True), others, strict=True):
        timings = timings_of(name, bf16, context.turns)
        case = f"{name}, {'bfloat16' if bf16 else 'float32'}"
        goal = f"<= 1.05: {timings[READ].median / timings['does not'].median:.3f}"
        yield from context.results("step", case, timings | other, "ms", milliseconds, goal, READ)
        sg.empty_cache()


for model in MODELS:

    def run(context: Context, model: str = model) -> Iterator[Result]:
        yield from rows(context, model)

    run.__doc__ = f"A step of {model} that reads its loss, and one that does not."
    row(model, cpu=False)(run)

if __name__ == "__main__":
    if sys.argv[1:2] == ["--pytorch"]:
        sys.exit(pytorch(sys.argv[2], json.loads(sys.argv[3])))
    sys.exit(program.run("models", "Steps of models of timm and transformers.", ()))
