"""Trains a GPT on characters, tiny Shakespeare's or a file's: `python -m spirograd.examples.gpt`.

Exit status: 0 when the loss on the text held back reaches the floor, 1 when not, 2 when it could not run, 3 when time
was over before the last step (`--seconds`; the next run with the same `--checkpoints` goes on). `python -m spirograd
generate` and `chat` read those checkpoints.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import spirograd as sg
from spirograd import datasets, nn
from spirograd.examples import _session

F = nn.functional


class Settings(NamedTuple):
    layers: int
    heads: int
    width: int
    context: int
    dropout: float
    batch: int
    steps: int
    warm: int
    learning_rate: float
    floor: float  # loss on the text held back


FULL = Settings(6, 6, 384, 256, 0.2, 64, 2000, 100, 1e-3, floor=1.50)
SMALL = Settings(2, 4, 64, 64, 0.0, 16, 150, 20, 4e-3, floor=2.9)


def gpt(vocabulary: int, s: Settings) -> Any:
    """Tokens [batch, time] -> scores of the next one [batch, time, vocabulary]."""
    return sg.models.GPT2(vocabulary, s.context, s.width, s.layers, s.heads, s.dropout)


def groups(model: Any, decay: float = 0.1) -> list[dict[str, Any]]:
    """Weights of products decay; norms, biases and embeddings of one row do not."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]


def loss_of(model: Any, windows: Any, reduction: str = "mean") -> Any:
    """Cross-entropy of each character of [batch, time + 1] given those before it."""
    scores = model(windows[:, :-1])
    return F.cross_entropy(scores.flatten(0, 1), windows[:, 1:].flatten(), reduction=reduction)


def held_back_loss(model: Any, numbers: Any, s: Settings) -> float:
    """The mean loss over windows that lie side by side."""
    windows = numbers[: (len(numbers) - 1) // s.context * s.context + 1].unfold(0, s.context + 1, s.context)
    model.eval()
    with sg.no_grad():
        sums = [loss_of(model, windows[i : i + s.batch], "sum").item() for i in range(0, len(windows), s.batch)]
    model.train()
    return float(sum(sums) / (len(windows) * s.context))


def text_of(options: Any) -> str:
    if options.text:
        return Path(options.text).read_text(encoding="utf-8")
    return Path(__file__).read_text(encoding="utf-8") if options.small else datasets.tiny_shakespeare()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _session.parser("gpt", "Trains a GPT on characters.", "tiny Shakespeare")
    parser.add_argument("--sample", type=int, default=300, help="characters to write at the end (default 300)")
    parser.add_argument("--distributed", action="store_true", help="in the processes of `python -m spirograd launch`")
    options = parser.parse_args(arguments)
    if options.distributed:
        sg.distributed.init_process_group()
    s = SMALL if options.small else FULL
    s = s._replace(steps=options.steps or s.steps)
    try:
        device, text = _session.device_of(options.device), text_of(options)
    except (OSError, UnicodeDecodeError, sg.Error) as error:
        print(error, file=sys.stderr)
        return 2
    tokens = sg.text.CharTokenizer.from_text(text)
    numbers = tokens.encode(text)
    cut = len(numbers) * 9 // 10
    if len(numbers) - cut <= s.context + 1:
        print(f"the text has {len(numbers)} characters; give at least {10 * (s.context + 2)}", file=sys.stderr)
        return 2
    train, held_back = (sg.tensor(part, device=device) for part in (numbers[:cut], numbers[cut:]))

    sg.manual_seed(options.seed)
    model = gpt(tokens.vocab_size, s).to(device)
    learner = nn.parallel.DistributedDataParallel(model) if options.distributed else model
    optimizer = sg.optim.AdamW(groups(model), lr=s.learning_rate, betas=(0.9, 0.99))
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, {tokens.vocab_size} characters, on {device}")
    window = sg.arange(s.context + 1, device=device)

    def loss_of_step(step: int) -> Any:
        starts = sg.randint(0, len(train) - s.context, (s.batch, 1), device=device)
        return loss_of(learner, train[starts + window])

    def rate(step: int) -> float:
        return _session.warm_cosine(step, s.steps, s.warm, s.learning_rate, s.learning_rate / 10)

    start = time.perf_counter()
    sizes = {name: getattr(s, name) for name in ("layers", "heads", "width", "context", "dropout")}
    about = {"model": "gpt", **sizes, "vocabulary": tokens.vocab_size, "tokenizer": tokens.to_json()}
    curve, done = _session.run(
        "GPT", s.steps, loss_of_step, rate, options, about=about, model=model, optimizer=optimizer
    )
    if done < s.steps:
        print(f"time is over after {done} of {s.steps} steps; run it again to go on")
        return 3
    seconds = time.perf_counter() - start
    if sg.distributed.get_rank():  # the first process tries the model
        return 0
    loss = held_back_loss(model, held_back, s)
    fine = loss <= s.floor
    print(f"training loss {curve[-1][1]:.4f}, held back {loss:.4f}, {seconds:.1f} s")
    if options.sample > 0:
        first = [int(train[0].item())]
        print(tokens.decode(first + sg.generation.generate(model, first, options.sample, temperature=0.8)))
    print(f"floor {s.floor:.2f}: {'reached' if fine else 'MISSED'}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
