"""Trains a small network on handwritten digits: `python -m spirograd.examples.mnist`.

On the CPU, and on the GPU where there is one, from the same seed. MNIST's 10,000 test images are split into 8,000 to
train on and 2,000 held back; without a download, the small digits of the package take its place, under their own name.
Exit status: 0 when every device reaches the floor and the devices agree, 1 when not, 2 when it could not run.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import spirograd as sg
from spirograd import datasets
from spirograd.progress import Progress

Images = npt.NDArray[np.float32]  # [n, side, side]
Classes = npt.NDArray[np.int64]  # [n]

READ_EVERY = 10  # steps between two reads of the loss, each of which waits for the device
AGREE_WITHIN = 6  # images that CPU and GPU may differ by


class Task(NamedTuple):
    name: str
    train: tuple[Images, Classes]
    held_back: tuple[Images, Classes]
    hidden: tuple[int, ...]
    shift: int  # pixels a training batch is moved by at most
    learning_rate: float
    epochs: int
    batch: int
    floor: float


class Outcome(NamedTuple):
    device: str
    curve: list[tuple[int, float]]  # (step, loss)
    correct: int
    seconds: float


def mnist_task() -> Task:
    """8,000 + 2,000 of MNIST's test images."""
    images, labels = datasets.mnist("test")
    grey = (images.reshape(-1, 28, 28) - np.float32(0.13)) / np.float32(0.31)  # about mean 0, deviation 1
    train, held_back = split(grey, labels, 8_000)
    return Task("MNIST", train, held_back, (256, 128), 1, 3e-3, epochs=10, batch=128, floor=0.96)


def digits_task() -> Task:
    """1,437 + 360 of the package's digits."""
    images, labels = datasets.digits()
    train, held_back = split(images.reshape(-1, 8, 8) * 2 - 1, labels, 1_437)
    return Task("digits (not MNIST)", train, held_back, (128, 64), 0, 3e-3, epochs=30, batch=48, floor=0.95)


def split(images: Images, labels: Classes, first: int) -> tuple[tuple[Images, Classes], tuple[Images, Classes]]:
    """In a mixed order that is the same for every seed, so that results can be compared."""
    order = np.random.default_rng(0).permutation(len(images))
    a, b = order[:first], order[first:]
    return (images[a], labels[a]), (images[b], labels[b])


def network(task: Task, device: Any) -> Any:
    """A multilayer perceptron. It is made on the CPU, so that every device starts from the same bits."""
    sizes = [task.train[0][0].size, *task.hidden, 10]
    layers: list[Any] = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        layers += [sg.nn.Linear(fan_in, fan_out), sg.nn.ReLU()]
    return sg.nn.Sequential(*layers[:-1]).to(device)


def train(task: Task, device: Any, seed: int) -> Outcome:
    """One run; everything random comes from `seed`."""
    sg.manual_seed(seed)
    random = np.random.default_rng(seed)
    net = network(task, device)
    optimizer = sg.optim.Adam(net.parameters(), lr=task.learning_rate)
    images, labels = task.train
    padded = np.pad(images, ((0, 0), *[(task.shift, task.shift)] * 2), constant_values=images.min())
    side = images.shape[1]
    per_epoch = len(images) // task.batch
    total = task.epochs * per_epoch
    curve: list[tuple[int, float]] = []
    start = time.perf_counter()
    with Progress(total, f"{task.name} on {device}") as progress:
        for step in range(total):
            if step % per_epoch == 0:
                order = random.permutation(len(images))
            rows = order[step % per_epoch * task.batch :][: task.batch]
            top, left = random.integers(0, 2 * task.shift + 1, 2)
            pixels = padded[rows, top : top + side, left : left + side].reshape(task.batch, -1)
            x, y = sg.tensor(pixels, device=device), sg.tensor(labels[rows], device=device)
            optimizer.param_groups[0]["lr"] = task.learning_rate * (1 - step / total)
            loss = sg.nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            note = None
            if step % READ_EVERY == 0 or step == total - 1:
                curve.append((step, loss.item()))
                note = f"loss {curve[-1][1]:.4f}"
            progress.advance(note=note)
        sg.synchronize()
        seconds = time.perf_counter() - start
    return Outcome(str(device), curve, count_correct(net, task.held_back, device), seconds)


def count_correct(net: Any, data: tuple[Images, Classes], device: Any) -> int:
    """How many images the network classifies correctly."""
    images, labels = data
    with sg.no_grad():
        scores = net(sg.tensor(images.reshape(len(images), -1), device=device)).numpy()
    return int((scores.argmax(1) == labels).sum())


def choose_task(name: str) -> Task:
    if name == "digits":
        return digits_task()
    try:
        return mnist_task()
    except datasets.DatasetUnavailableError as error:
        if name == "mnist":
            raise
        print(f"MNIST could not be downloaded; these are the package's small digits instead.\n  ({error})")
        return digits_task()


def choose_devices(name: str) -> list[Any]:
    if name == "gpu":
        return [sg.Device.gpu()]
    if name == "best":
        return [sg.Device.best()]
    devices = [sg.Device.cpu()]
    if name == "both":
        if sg.Device.is_gpu_available():
            devices.append(sg.Device.gpu())
        else:
            print(
                "No GPU here: training on the CPU alone. "
                "SPIROGRAD_ALLOW_CPU_VULKAN=1 takes the GPU path on a software Vulkan driver, where one is installed."
            )
    return devices


def save_curves(outcomes: Sequence[Outcome], task: Task, path: str) -> None:
    try:
        from spirograd.viz import plot_loss

        plot_loss({o.device: o.curve for o in outcomes}, path, f"{task.name}: training loss")
        print(f"loss curve: {path}")
    except ImportError:
        print("loss curve: not drawn, matplotlib is not installed (pip install matplotlib)")


def report(task: Task, outcomes: Sequence[Outcome]) -> bool:
    """Prints the results; returns whether all of them are as expected."""
    count = len(task.held_back[1])
    fine = True
    print(f"\n{'device':<12} {'held back, right':>18} {'accuracy':>9} {'last loss':>10} {'time, s':>8}")
    for o in outcomes:
        accuracy = o.correct / count
        fine = fine and accuracy >= task.floor
        print(
            f"{o.device:<12} {f'{o.correct} of {count}':>18} {accuracy:>9.2%} {o.curve[-1][1]:>10.4f} {o.seconds:>8.1f}"
        )
    print(f"floor {task.floor:.0%}: {'reached' if fine else 'MISSED'}")
    if len(outcomes) > 1:
        apart = max(o.correct for o in outcomes) - min(o.correct for o in outcomes)
        agree = apart <= AGREE_WITHIN
        print(f"the devices differ by {apart} images of {count}: {'fine' if agree else f'MORE than {AGREE_WITHIN}'}")
        fine = fine and agree
    return fine


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m spirograd.examples.mnist", description="Trains a small network on handwritten digits."
    )
    parser.add_argument("--device", choices=["cpu", "gpu", "best", "both"], default="both", help="default: both")
    parser.add_argument(
        "--data", choices=["auto", "mnist", "digits"], default="auto", help="default: MNIST if it can be had"
    )
    parser.add_argument("--epochs", type=_positive, help="passes over the training images")
    parser.add_argument("--batch", type=_positive, help="images a step")
    parser.add_argument("--seed", type=int, default=0, help="of weights, order and shifts (default 0)")
    parser.add_argument(
        "--out", metavar="FILE.png", default="mnist_loss.png", help='loss curve (default %(default)s, "" none)'
    )
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not positive")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    if options.out and not Path(options.out).resolve().parent.is_dir():
        print(f"--out {options.out}: there is no folder {Path(options.out).parent}", file=sys.stderr)
        return 2
    try:
        devices = choose_devices(options.device)
        task = choose_task(options.data)
    except (OSError, sg.Error) as error:
        print(error, file=sys.stderr)
        return 2
    given = {key: value for key in ("epochs", "batch") if (value := getattr(options, key))}
    task = task._replace(**given)
    if task.batch > len(task.train[0]):
        print(f"--batch {task.batch}: there are only {len(task.train[0])} images to train on", file=sys.stderr)
        return 2
    outcomes = [train(task, device, options.seed) for device in devices]
    if options.out:
        save_curves(outcomes, task, options.out)
    return 0 if report(task, outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
