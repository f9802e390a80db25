"""What the language models share: a training that can be interrupted anywhere, and options for devices and texts."""

from __future__ import annotations

import argparse
import contextlib
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import spirograd as sg
from spirograd.progress import Progress

READ_EVERY = 20  # steps between two reads of the loss, each of which waits for the device


def warm_cosine(step: int, steps: int, warm: int, highest: float, lowest: float) -> float:
    """A learning rate that rises linearly for `warm` steps and then falls as half a cosine."""
    if step < warm:
        return highest * (step + 1) / warm
    done = (step - warm) / max(steps - warm, 1)
    return lowest + (highest - lowest) * (1 + math.cos(math.pi * done)) / 2


def run(
    label: str,
    steps: int,
    loss_of: Callable[[int], Any],
    rate: Callable[[int], float],
    options: argparse.Namespace,
    about: Mapping[str, Any] | None = None,
    **objects: Any,
) -> tuple[list[tuple[int, float]], int]:
    """Takes the steps that are left: from the last checkpoint on, until the time is over.

    Args:
        label: of the progress bar.
        steps: in all.
        loss_of: the loss of a step.
        rate: the learning rate of a step.
        options: `checkpoints`, `every` and `seconds` of the command line.
        about: of the model, for checkpoints, so that `generate` and `chat` can make it again.
        objects: `model`, `optimizer` and whatever else has a state.

    Returns:
        (step, loss) for some steps, and the number of steps done so far.
    """
    optimizer = objects["optimizer"]
    found = options.checkpoints and sg.utils.checkpoints.restore(options.checkpoints, **objects)
    rank = sg.distributed.get_rank()
    done, before, curve = 0, 0.0, []
    if found:
        done, before = found.step, float(found.extra["seconds"])
        curve = [(int(s), float(v)) for s, v in found.extra["curve"]]
    if rank:  # each process has batches of its own
        sg.manual_seed(options.seed + (rank << 32) + done)
    device = str(next(iter(objects["model"].parameters())).device)
    start = time.perf_counter()
    with Progress(steps, label) if rank == 0 else contextlib.nullcontext() as progress:
        if progress:
            progress.advance(done)
        while done < steps:
            for group in optimizer.param_groups:
                group["lr"] = rate(done)
            loss = loss_of(done)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            note = None
            if done % READ_EVERY == 0 or done == steps - 1:
                curve.append((done, loss.item()))
                note = f"loss {curve[-1][1]:.4f}"
            if progress:
                progress.advance(note=note)
            done += 1
            over = options.seconds is not None and _over(time.perf_counter() - start > options.seconds)
            if rank == 0 and options.checkpoints and (over or done == steps or done % options.every == 0):
                seconds = before + time.perf_counter() - start
                extra = {**(about or {}), "curve": curve, "device": device, "seconds": seconds}
                sg.utils.checkpoints.save(options.checkpoints, done, extra=extra, **objects)
            if over:
                break
    return curve, done


def _over(here: bool) -> bool:
    """Whether the time of the first process is over: all end after the same step."""
    found = [here]
    sg.distributed.broadcast_object_list(found)
    return found[0]


def parser(name: str, description: str, text: str) -> argparse.ArgumentParser:
    """The options that both models have."""
    made = argparse.ArgumentParser(prog=f"python -m spirograd.examples.{name}", description=description)
    made.add_argument("--small", action="store_true", help="a model that trains in seconds on a CPU, on its own source")
    made.add_argument("--text", metavar="FILE", help=f"a text to learn, its last tenth held back (default: {text})")
    made.add_argument("--device", choices=["cpu", "gpu", "best"], default="best", help="default: best")
    made.add_argument("--steps", type=_positive, help="steps in all")
    made.add_argument("--seed", type=int, default=0, help="of weights, batches and dropout (default 0)")
    made.add_argument("--checkpoints", metavar="FOLDER", help="go on from here if there are any, and leave more")
    made.add_argument("--every", type=_positive, default=500, help="steps between two checkpoints (default 500)")
    made.add_argument("--seconds", type=float, help="stop after that time, with a checkpoint; the next run goes on")
    return made


def device_of(name: str) -> Any:
    if name != "cpu" and sg.distributed.get_world_size() > 1 and sg.Device.is_gpu_available():
        return sg.Device(f"gpu:{sg.distributed.get_local_rank()}")
    return {"cpu": sg.Device.cpu, "gpu": sg.Device.gpu, "best": sg.Device.best}[name]()


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not positive")
    return value
