"""`train`: texts or digits from files; can be interrupted anywhere and continued."""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import math
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .. import _core, amp, distributed, nn, optim, profiler
from ..compiler import compile
from ..progress import Progress
from ..utils import checkpoints
from . import models
from .options import UserError, add_device, add_list_of_models, check_writable, one_device, positive
from .tasks import TASKS, Task
from .tokens import KINDS, SIZES

OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "adam": optim.Adam,
    "adamw": optim.AdamW,
    "rmsprop": optim.RMSprop,
    "sgd": functools.partial(optim.SGD, momentum=0.9),
}
LOG = "training_log.jsonl"
PROFILED = 20
READ_EVERY = 10  # steps between two reads of the loss, each of which waits for the device


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command of `python -m spirograd`."""
    train = commands.add_parser("train", help="texts or digits, from files")
    add_list_of_models(train)
    tasks = train.add_subparsers(metavar="TASK", required=True)

    text = tasks.add_parser("text", help="a model of the characters, words or parts of words of texts")
    text.add_argument(
        "--data", metavar="PATH", nargs="+", help="texts in UTF-8, or folders of them; or shakespeare, the data set"
    )
    text.add_argument("--tokens", choices=KINDS, default="characters", help="what is predicted (default %(default)s)")
    most = f"words ({SIZES['words']:,}) or parts ({SIZES['bpe']:,}), at most"
    text.add_argument("--vocabulary", type=positive, metavar="N", help=most)
    text.add_argument("--model", choices=["gpt", "lstm"], default="gpt", help="default %(default)s")
    text.add_argument("--context", type=positive, default=128, help="tokens seen at once (default %(default)s)")
    text.add_argument("--layers", type=positive, default=4, help="default %(default)s")
    text.add_argument("--heads", type=positive, default=4, help="of attention, for gpt (default %(default)s)")
    text.add_argument("--width", type=positive, default=128, help="default %(default)s")
    text.add_argument("--dropout", type=share, default=0.0, help="default %(default)s")
    text.set_defaults(task="text")
    common(text, steps=2000, batch=32, rate=1e-3)

    digits = tasks.add_parser("digits", help="a classifier of handwritten digits")
    digits.add_argument(
        "--data", choices=["mnist", "digits"], default="mnist", help="mnist: 10,000 images; digits: 1,797 small ones"
    )
    digits.add_argument("--model", choices=["mlp", "cnn"], default="mlp", help="default %(default)s")
    digits.add_argument(
        "--hidden", type=sizes, default=[128, 64], metavar="N,N", help="sizes or channels (default 128,64)"
    )
    digits.set_defaults(task="digits")
    common(digits, steps=1000, batch=64, rate=3e-3)


def common(parser: argparse.ArgumentParser, steps: int, batch: int, rate: float) -> None:
    """The options of every task."""
    parser.add_argument("--out", metavar="FOLDER", help="where checkpoints are kept")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint, if there is one")
    parser.add_argument("--steps", type=positive, default=steps, help="in all (default %(default)s)")
    parser.add_argument("--batch", type=positive, default=batch, help="default %(default)s")
    parser.add_argument("--lr", type=rate_of, default=rate, help="the largest learning rate (default %(default)s)")
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZERS), default="adam", help="default %(default)s")
    types = ["float32", "float16", "bfloat16"]
    parser.add_argument("--precision", choices=types, default="float32", help="of products (default %(default)s)")
    parser.add_argument("--compile", action="store_true", help="record a step and replay it")
    parser.add_argument("--profile", action="store_true", help=f"a table of the last {PROFILED} steps: where time goes")
    parser.add_argument("--seed", type=int, default=0, help="of all that is random (default %(default)s)")
    parser.add_argument("--every", type=positive, default=200, help="steps between checkpoints (default %(default)s)")
    parser.add_argument("--keep", type=positive, default=3, help="checkpoints that stay (default %(default)s)")
    parser.add_argument("--seconds", type=float, help="stop after this time, with a checkpoint")
    parser.add_argument("--config", metavar="FILE.toml", help="options by name; those of the command line come first")
    parser.add_argument(
        "--distributed",
        action="store_true",
        help="in the processes of `python -m spirograd launch`, with --batch for each of them",
    )
    add_device(parser, "best", "cpu, gpu, gpu:1 or best, a GPU where there is one")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Trains; prints the loss at each checkpoint."""
    if not options.distributed:
        return run_alone(options)
    distributed.init_process_group()
    try:
        status = run_alone(options)
        distributed.barrier()
    except UserError:  # usually raised in all processes: one message is enough
        if distributed.get_rank():
            raise SystemExit(2) from None
        raise
    distributed.destroy_process_group()
    return status


def device_of(options: argparse.Namespace) -> _core.Device:
    """Of this process: on a machine with GPUs, each has its own."""
    if distributed.get_world_size() > 1 and options.device in ("best", "gpu") and _core.Device.is_gpu_available():
        return one_device(f"gpu:{distributed.get_local_rank()}")
    return one_device(options.device)


def run_alone(options: argparse.Namespace) -> int:
    """The work of each process."""
    for name in ("data", "out"):
        if not getattr(options, name):
            raise UserError(f"train {options.task}: --{name} is missing; give it")
    device, folder = device_of(options), Path(options.out)
    check_writable("train", folder, folder=True)
    last = checkpoints.latest(folder)
    if last and not options.resume:
        raise UserError(f"train: {last} exists; --resume continues it, another --out starts afresh")
    task: Task = after_the_first(lambda: TASKS[options.task](vars(options), device))
    _core.manual_seed(options.seed)
    model = models.make(task.settings).to(device)
    optimizer = OPTIMIZERS[options.optimizer](model.parameters(), lr=options.lr)
    parts = {"model": model, "optimizer": optimizer, "order": task.order}
    if options.precision == "float16":
        parts["scaler"] = amp.GradScaler(device=device.kind)
    step, seconds = begin(folder, task, parts)
    if "scaler" in parts:  # steps are counted on the device, and what changes with them must be there, too
        for group in optimizer.param_groups:
            group["lr"] = _core.tensor(float(group["lr"]), device=device)
    count, processes = sum(p.numel() for p in model.parameters()), distributed.get_world_size()
    if is_first():
        several = f" in {processes} processes" if processes > 1 else ""
        at = f"step {step} of {options.steps}"
        print(f"{options.model} of {count:,} parameters on {device}{several}, {at}", flush=True)
    return train(options, task, parts, step, seconds)


def is_first() -> bool:
    """Whether this process prints and saves."""
    return distributed.get_rank() == 0


def after_the_first(make: Callable[[], Any]) -> Any:
    """Calls a function in the first process, whose files the others then read."""
    made, error = None, None
    if is_first():
        try:
            made = make()
        except UserError as found:
            error = found
    distributed.barrier()
    if error:
        raise error
    return made if is_first() else make()


def agreed(values: list[float]) -> list[float]:
    """The mean of these numbers over the processes."""
    x = _core.tensor(values, dtype=_core.float64, device="cpu")
    distributed.all_reduce(x, "mean")
    means: list[float] = x.tolist()
    return means


def begin(folder: Path, task: Task, parts: dict[str, Any]) -> tuple[int, float]:
    """Loads the last checkpoint, if there is one, and returns the steps done and the seconds that they took.

    Raises:
        UserError: the checkpoint is of another training.
    """
    content = checkpoints.peek(folder)
    if content is None:
        return 0, 0.0
    before = content.extra
    if not isinstance(before, dict) or before.get("task") != task.settings["task"]:
        raise UserError(f"train: {content.path} is not a checkpoint of `train {task.settings['task']}`")
    for name, value in task.settings.items():
        if before.get(name) != value:
            what = f"--{name} {before.get(name)}, not {value}"
            if name in ("vocabulary", "tokenizer"):
                what = "another text"
            raise UserError(f"train: {content.path} is of a training with {what}")
    checkpoints.restore(content.path, **parts)
    return content.step, float(before.get("seconds", 0.0))


def stepping(options: argparse.Namespace, task: Task, parts: dict[str, Any]) -> Callable[..., Any]:
    """A function that takes a step with a batch and gives its loss."""
    model, optimizer, scaler = parts["model"], parts["optimizer"], parts.get("scaler")
    if options.distributed:
        model = nn.parallel.DistributedDataParallel(model)
        _core.manual_seed(options.seed + (distributed.get_rank() << 32))  # dropout differs
    kind, half = next(model.parameters()).device.kind, options.precision != "float32"
    dtype = getattr(_core, options.precision)

    def step(*batch: Any) -> Any:
        with amp.autocast(kind, dtype if half else None, enabled=half):
            loss = task.loss(model, *batch)
        optimizer.zero_grad()
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        return loss.detach()

    return compile(step) if options.compile else step


def train(options: argparse.Namespace, task: Task, parts: dict[str, Any], step: int, before: float) -> int:
    """The loop. It ends with a checkpoint, even if it is interrupted."""
    model, optimizer = parts["model"], parts["optimizer"]
    device, take_step = str(next(model.parameters()).device), stepping(options, task, parts)
    start = time.monotonic()
    done = saved = step
    profiled = None
    bar: Any
    shown = Progress(options.steps, "steps", done=step) if is_first() else contextlib.nullcontext()
    with interruptible() as interrupted, shown as bar:
        while done < options.steps:
            if options.profile and profiled is None and options.steps - done <= PROFILED:
                profiled = profiler.profile()
                profiled.start()
            rate(optimizer, options.lr * share_of_rate(done, options.steps))
            loss = take_step(*task.batch())
            done += 1
            read = done % READ_EVERY == 0
            if bar:
                bar.advance(note=f"loss {loss.item():.4f}" if read else None)
            over = bool(interrupted) or (options.seconds is not None and time.monotonic() - start > options.seconds)
            if options.distributed:  # processes look at different times, and end together
                over = read and agreed([float(over)])[0] > 0
            if done % options.every == 0 or done == options.steps or over:
                model.eval()
                seen = {"loss": loss.item(), **task.look(model)}
                model.train()
                if options.distributed:
                    seen = dict(zip(seen, agreed(list(seen.values())), strict=True))
                if not all(map(math.isfinite, seen.values())):
                    raise UserError(f"train: the loss is {seen['loss']} at step {done}; try a smaller --lr")
                seconds = before + time.monotonic() - start
                about = {"device": device, "seconds": seconds}
                saved = done
                if is_first():
                    checkpoints.save(options.out, done, keep=options.keep, extra={**task.settings, **about}, **parts)
                    row = {"step": done, "epoch": done / task.steps_of_epoch, **seen, **about}
                    log(options, row, done / seconds, task)
                    numbers = ", ".join(f"{name} {value:.4f}" for name, value in seen.items())
                    bar.print(f"step {done}: {numbers}, {time.monotonic() - start:.1f} s")
            if over:
                break
    if profiled is not None:
        _core.synchronize()
        profiled.stop()
        if is_first():
            print(profiled.key_averages().table(sort_by="gpu_time" if "gpu" in device else None, row_limit=15))
    if done < options.steps:
        why = "interrupted" if interrupted else "out of time"
        print(f"{why} after step {saved} of {options.steps}; --resume goes on", file=sys.stderr)
    return 130 if interrupted else 0


def log(options: argparse.Namespace, entry: dict[str, Any], steps_a_second: float, task: Task) -> None:
    """Adds a line to the log: losses, the time so far, and what an epoch takes."""
    entry["seconds_an_epoch"] = task.steps_of_epoch / steps_a_second
    entry |= {"precision": options.precision, "time": time.strftime("%Y-%m-%dT%H:%M:%S")}
    with (Path(options.out) / LOG).open("a") as file:
        file.write(json.dumps(entry) + "\n")


def share_of_rate(step: int, steps: int) -> float:
    """The learning rate of a step: rises during a twentieth of the steps, then falls along a cosine to a tenth."""
    rise = max(1, steps // 20)
    if step < rise:
        return (step + 1) / rise
    return 0.55 + 0.45 * math.cos(math.pi * (step - rise) / max(1, steps - rise))


def rate(optimizer: Any, value: float) -> None:
    """Sets the learning rate, in place where it is a tensor: a replayed step reads that one."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], _core.Tensor):
            group["lr"].fill_(value)
        else:
            group["lr"] = value


@contextlib.contextmanager
def interruptible() -> Iterator[list[int]]:
    """Ctrl-C fills the list, so that the step is finished first; a second one interrupts at once."""
    seen: list[int] = []

    def note(number: int, _: Any) -> None:
        seen.append(number)
        signal.signal(signal.SIGINT, before)

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:  # not the main thread
        yield seen
        return
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


def from_toml(path: str) -> list[str]:
    """The words of a command line that say what a TOML file says.

    Raises:
        UserError: it is no TOML, or holds tables; or this Python has no reader of TOML.
    """
    for name in ("tomllib", "tomli"):
        with contextlib.suppress(ImportError):
            toml = importlib.import_module(name)
            break
    else:
        raise UserError("--config needs Python 3.11, or the tomli library; pip install tomli")
    try:
        with open(path, "rb") as f:
            found = toml.load(f)
    except (toml.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"--config {path}: {error}") from None
    words = []
    for name, value in found.items():
        if isinstance(value, dict):
            raise UserError(f"--config {path}: [{name}] is a table; write options as name = value")
        if value is False:
            continue
        words.append(f"--{name}")
        if isinstance(value, list):
            words += map(str, value) if name == "data" else [",".join(map(str, value))]
        elif value is not True:
            words.append(str(value))
    return words


def share(text: str) -> float:
    """A number from 0 up to 1."""
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not in [0, 1)")
    return value


def rate_of(text: str) -> float:
    """A number above 0."""
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{value} is not above 0")
    return value


def sizes(text: str) -> list[int]:
    """Whole numbers with commas between."""
    return [positive(part) for part in text.split(",")]
