"""Trains real models on real data, and the same ones in PyTorch: what do they reach?

    python benchmarks/train_real.py mnist               # a CNN on 8,000 digits, 2,000 held back
    python benchmarks/train_real.py gpt                 # characters of tiny Shakespeare
    python benchmarks/train_real.py lstm                # words of WikiText-2
    python benchmarks/train_real.py gpt --precision bf16    # both libraries under autocast

Writes benchmarks/results/NAME-DATE.json. A training with spirograd that is not done after `--seconds` leaves a
checkpoint, and the same command goes on. The data come from SPIROGRAD_DATA, or are fetched. Both libraries begin with
the same weights. Exit status: 0 when all is reached, 1 when not, 2 when it could not run, 3 when time was over.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import spirograd as sg
from harness import common
from models import networks, twins
from spirograd import datasets
from spirograd.examples import _session, gpt, lstm_lm, mnist


class TimeOver(Exception):
    """The training was cut; its checkpoint says where."""


class Outcome(NamedTuple):
    library: str
    value: float
    facts: dict[str, Any]


class Side:
    """One library on its device."""

    def __init__(
        self, name: str, t: Any, device: Any, checkpoints: str | None, seconds: float | None, precision: str
    ) -> None:
        self.name, self.t, self.device, self.precision = name, t, device, precision
        self.session = argparse.Namespace(checkpoints=checkpoints, every=10**9, seconds=seconds)

    def tensor(self, values: Any) -> Any:
        return self.t.tensor(values, device=self.device)

    def began(self, model: Any, weights: dict[str, Any]) -> Any:
        """The model on the device, with these weights."""
        model.load_state_dict({key: self.t.tensor(value) for key, value in weights.items()})
        return model.to(self.device)

    def example(self, module: Any) -> Any:
        return module if self.t is sg else twins.in_torch(module, self.t)

    def precise(self) -> contextlib.AbstractContextManager[Any]:
        """What computes a loss is in this context."""
        if self.precision == "float32":
            return contextlib.nullcontext()
        kind = self.device.kind if self.t is sg else self.device.type
        context: contextlib.AbstractContextManager[Any] = self.t.autocast(kind, dtype=self.t.bfloat16)
        return context

    def train(
        self, steps: int, loss: Callable[[int], Any], rate: Callable[[int], float], model: Any, **objects: Any
    ) -> dict[str, Any]:
        """What is worth knowing of a training.

        Raises:
            TimeOver: it is not done.
        """

        def precise_loss(step: int) -> Any:
            with self.precise():
                return loss(step)

        begin = time.perf_counter()
        curve, done = _session.run(self.name, steps, precise_loss, rate, self.session, model=model, **objects)
        if done < steps:
            raise TimeOver(f"{done} of {steps} steps are done; the same command goes on")
        seconds = time.perf_counter() - begin
        parameters = sum(p.numel() for p in model.parameters())
        return {"parameters": parameters, "steps": steps, "seconds_of_last_piece": seconds, "curve": curve}


def weights_of(model: Any) -> dict[str, Any]:
    return {key: value.numpy().copy() for key, value in model.state_dict().items()}


def train_mnist(sides: list[Side], quick: bool) -> Iterator[Outcome]:
    task = mnist.digits_task() if quick else mnist.mnist_task()
    images, labels = task.train
    size, shift, batch = images.shape[1], task.shift, 100
    network = networks.cnn(*((8, 16) if quick else (32, 64)), side=size, batch=batch)
    padded = np.pad(images, ((0, 0), (shift, shift), (shift, shift)), constant_values=images.min())[:, None]
    per_epoch = len(images) // batch
    steps = (3 if quick else 20) * per_epoch
    sg.manual_seed(0)
    weights = weights_of(network.build(sg))
    for side in sides:
        t, net = side.t, side.began(network.build(side.t), weights)
        x, y = side.tensor(padded), side.tensor(labels)

        def loss(step: int, side: Side = side, net: Any = net, x: Any = x, y: Any = y) -> Any:
            epoch, place = divmod(step, per_epoch)
            order = np.random.default_rng([0, epoch]).permutation(len(images))
            rows = side.tensor(order[place * batch : (place + 1) * batch])
            top, left = np.random.default_rng([1, step]).integers(0, 2 * shift + 1, 2).tolist()
            return network.loss(side.t, net, x[rows][:, :, top : top + size, left : left + size], y[rows])

        def rate(step: int) -> float:
            return _session.warm_cosine(step, steps, 50, 2e-3, 1e-5)

        facts = side.train(steps, loss, rate, net, optimizer=t.optim.Adam(net.parameters()))
        net.eval()
        with t.no_grad():
            named = np.array(net(side.tensor(task.held_back[0][:, None])).argmax(1).tolist())
        right = int((named == task.held_back[1]).sum())
        yield Outcome(side.name, 100 * right / len(named), facts | {"right": right, "data": task.name})


def train_gpt(sides: list[Side], quick: bool) -> Iterator[Outcome]:
    s = gpt.SMALL._replace(steps=60) if quick else gpt.FULL
    text = Path(gpt.__file__).read_text(encoding="utf-8") if quick else datasets.tiny_shakespeare()
    vocabulary = sorted(set(text))
    number_of = {c: i for i, c in enumerate(vocabulary)}
    numbers = np.array([number_of[c] for c in text])
    cut = len(numbers) * 9 // 10
    sg.manual_seed(0)
    weights = weights_of(gpt.gpt(len(vocabulary), s))
    for side in sides:
        t, example = side.t, side.example(gpt)
        model = side.began(example.gpt(len(vocabulary), s), weights)
        optimizer = t.optim.AdamW(example.groups(model), lr=s.learning_rate, betas=(0.9, 0.99))
        train, window = side.tensor(numbers[:cut]), side.tensor(np.arange(s.context + 1))
        t.manual_seed(0)

        def loss(
            step: int,
            side: Side = side,
            example: Any = example,
            model: Any = model,
            train: Any = train,
            w: Any = window,
        ) -> Any:
            starts = side.t.randint(0, len(train) - s.context, (s.batch, 1), device=side.device)
            return example.loss_of(model, train[starts + w])

        def rate(step: int) -> float:
            return _session.warm_cosine(step, s.steps, s.warm, s.learning_rate, s.learning_rate / 10)

        facts = side.train(s.steps, loss, rate, model, optimizer=optimizer) | {"settings": s._asdict()}
        if t is sg:
            written = sg.generation.generate(model, [int(numbers[0])], 20 if quick else 500, temperature=0.8)
            facts["sample"] = "".join(vocabulary[i] for i in [int(numbers[0]), *written])
        yield Outcome(side.name, example.held_back_loss(model, side.tensor(numbers[cut:]), s), facts)


def train_lstm(sides: list[Side], quick: bool) -> Iterator[Outcome]:
    s = lstm_lm.SMALL._replace(epochs=2) if quick else lstm_lm.FULL
    learned, held_back = lstm_lm.texts_of(argparse.Namespace(text=None, small=quick, split="valid"))
    tokens = sg.text.WordTokenizer.from_text(learned, size=s.words)
    numbers = [np.array(tokens.encode(text)) for text in (learned, held_back)]
    sg.manual_seed(0)
    weights = weights_of(lstm_lm.WordModel(tokens.vocab_size, s))
    per_epoch = (len(numbers[0]) // s.batch - 1) // s.time
    steps = s.epochs * per_epoch
    for side in sides:
        t, example = side.t, side.example(lstm_lm)
        model = side.began(example.WordModel(tokens.vocab_size, s), weights)
        optimizer = t.optim.Adam(model.parameters(), lr=s.learning_rate)
        train, test = (example.columns(side.tensor(n), s.batch) for n in numbers)
        carried = example.Carried(s, side.device)
        t.manual_seed(0)

        def loss(step: int, model: Any = model, train: Any = train, carried: Any = carried) -> Any:
            return carried.loss(model, train, step % per_epoch)

        def rate(step: int) -> float:
            return _session.warm_cosine(step, steps, 20, s.learning_rate, s.learning_rate / 10)

        facts = side.train(steps, loss, rate, model, optimizer=optimizer, carried=carried)
        facts |= {"settings": s._asdict(), "words": tokens.vocab_size}
        yield Outcome(side.name, example.perplexity(model, test, s, side.device), facts)


class Run(NamedTuple):
    train: Callable[[list[Side], bool], Iterator[Outcome]]
    unit: str
    reached: Callable[[float], bool]
    target: str
    near: Callable[[float, float], bool]  # ours, PyTorch's
    apart: str


RUNS = {
    "mnist": Run(
        train_mnist, "% right", lambda v: v >= 98, ">= 98 %", lambda a, b: abs(a - b) <= 0.2, "within 0.2 points"
    ),
    "gpt": Run(train_gpt, "loss", lambda v: v <= 1.50, "<= 1.50", lambda a, b: True, ""),
    "lstm": Run(
        train_lstm, "perplexity", lambda v: True, "", lambda a, b: abs(a / b - 1) <= 0.02, "within 2 % of torch"
    ),
}


def judged(run: Run, what: str, outcomes: list[Outcome], device: Any) -> tuple[list[common.Result], bool]:
    """Results with goals, and whether they are reached."""
    results, fine, theirs = [], True, {o.library: o.value for o in outcomes}.get("torch")
    for o in outcomes:
        goals = [(run.target, run.reached(o.value))]
        if theirs is not None and run.apart:
            goals.append((run.apart, run.near(o.value, theirs)))
        ours = o.library == "spirograd"
        fine = fine and (not ours or all(good for _, good in goals))
        target = ", ".join(f"{text}{'' if good else ': MISSED'}" for text, good in goals if text) if ours else ""
        seconds = o.facts["seconds_of_last_piece"]
        case = f"held back, {o.facts['steps']:,} steps, {seconds:.1f} s"
        results.append(common.Result(what, case, o.library, str(device), o.value, run.unit, None, target, o.facts))
    return results, fine


def main() -> int:
    parser = argparse.ArgumentParser(description="Trains real models on real data.")
    parser.add_argument("what", choices=list(RUNS))
    parser.add_argument("--device", default="gpu", help="cpu, gpu (default), gpu:1")
    parser.add_argument("--anchors", choices=["torch", "none"], default="torch", help="what is trained beside")
    parser.add_argument("--precision", choices=["float32", "bf16"], default="float32", help="bf16: under autocast")
    parser.add_argument("--quick", action="store_true", help="small models, other data: does it run at all")
    parser.add_argument("--seconds", type=float, default=280, help="stop after that time (default %(default)s)")
    parser.add_argument("--checkpoints", metavar="FOLDER", default=str(common.ROOT / "build" / "train_real"))
    parser.add_argument("--json", metavar="FILE", help="where the results go")
    options = parser.parse_args()
    suffix = f"-{options.precision}" * (options.precision != "float32")
    folder = Path(options.checkpoints) / f"{options.what}{suffix}{'-quick' * options.quick}"
    outcomes: list[Outcome] = []
    run = RUNS[options.what]
    try:
        device = sg.Device(options.device)
        sides = [Side("spirograd", sg, device, str(folder), options.seconds, options.precision)]
        if options.anchors == "torch":
            torch = twins.torch_on(device)
            sides.append(Side("torch", torch.torch, torch.device, None, None, options.precision))
        outcomes.extend(run.train(sides, options.quick))
    except TimeOver as over:
        print(over)
        return 3
    except (OSError, ImportError, sg.Error) as error:
        print(error, file=sys.stderr)
        return 2
    results, fine = judged(run, options.what, outcomes, device)
    print(common.table(results))
    if sample := outcomes[0].facts.get("sample"):
        print(f"\n{sample}\n")
    path = common.save(options.what + suffix, results, common.environment([device]), options.json)
    print(f"\nresults: {path}")
    shutil.rmtree(folder, ignore_errors=True)
    return 0 if fine or options.quick else 1


if __name__ == "__main__":
    sys.exit(main())
