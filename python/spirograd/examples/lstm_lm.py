"""Trains an LSTM on words, WikiText-2's or a file's: `python -m spirograd.examples.lstm_lm`.

Of WikiText-2 it learns the validation file and is measured on the test file, so that it is done in minutes;
`--split train` takes the training file. Exit status: 0 when the perplexity reaches the floor, 1 when not, 2 when it
could not run, 3 when time was over before the last step (`--seconds`; the next run with the same `--checkpoints` goes
on).
"""

from __future__ import annotations

import math
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
    width: int
    dropout: float
    time: int  # words of a step
    batch: int
    epochs: int
    words: int  # of the vocabulary, at most
    learning_rate: float
    floor: float  # perplexity on the text held back


FULL = Settings(2, 256, 0.4, 35, 20, 12, 20_000, 3e-3, floor=400)
SMALL = Settings(1, 48, 0.0, 8, 4, 10, 400, 2e-2, floor=90)


class WordModel(nn.Module):
    """Numbers of words [time, batch] -> scores of the next one [time, batch, vocabulary], and the states.

    It has the weights of sg.models.LSTMDecoder, which writes.
    """

    def __init__(self, vocabulary: int, s: Settings) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, s.width)
        self.dropout = nn.Dropout(s.dropout)
        self.lstm = nn.LSTM(s.width, s.width, s.layers, dropout=s.dropout if s.layers > 1 else 0.0)
        self.output = nn.Linear(s.width, vocabulary)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        nn.init.uniform_(self.output.weight, -0.1, 0.1)
        nn.init.zeros_(self.output.bias)  # type: ignore[arg-type]  # it has one

    def forward(self, x: Any, states: Any = None) -> Any:
        y, states = self.lstm(self.dropout(self.embedding(x)), states)
        return self.output(self.dropout(y)), states


class Carried:
    """The states that each step hands to the next, without their history. They are zeros where a text begins."""

    def __init__(self, s: Settings, device: Any) -> None:
        self.shape, self.time, self.device = (s.layers, s.batch, s.width), s.time, device
        self.begin()

    def begin(self) -> None:
        self.states = tuple(sg.zeros(self.shape, device=self.device) for _ in range(2))

    def loss(self, model: Any, text: Any, number: int) -> Any:
        """Mean cross-entropy of the words in one window of a text [words, batch], given those before them."""
        if number == 0:
            self.begin()
        window = text[number * self.time : (number + 1) * self.time + 1]
        scores, states = model(window[:-1], self.states)
        self.states = tuple(state.detach() for state in states)
        return F.cross_entropy(scores.flatten(0, 1), window[1:].flatten())

    def state_dict(self) -> dict[str, Any]:
        return dict(zip("hc", self.states, strict=True))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.states = tuple(state[name].to(self.device) for name in "hc")


def columns(numbers: Any, batch: int) -> Any:
    """A text as [words, batch]: each column is a part of it, from its beginning to its end."""
    rows = len(numbers) // batch
    return numbers[: rows * batch].reshape(batch, rows).T.contiguous()


def perplexity(model: Any, text: Any, s: Settings, device: Any) -> float:
    """Of all words of [words, batch] but the first of each column."""
    carried, steps = Carried(s, device), (len(text) - 1) // s.time
    model.eval()
    with sg.no_grad():
        losses = [carried.loss(model, text, i).item() for i in range(steps)]
    model.train()
    return math.exp(sum(losses) / steps)


def texts_of(options: Any) -> tuple[str, str]:
    """What is learned and what is held back."""
    if not options.text and not options.small:
        return datasets.wikitext2(options.split), datasets.wikitext2("test")
    lines = Path(options.text or __file__).read_text(encoding="utf-8").splitlines(keepends=True)
    cut = len(lines) * 9 // 10
    return "".join(lines[:cut]), "".join(lines[cut:])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _session.parser("lstm_lm", "Trains an LSTM on words.", "WikiText-2")
    parser.add_argument("--split", choices=["train", "valid"], default="valid", help="of WikiText-2 (default: valid)")
    options = parser.parse_args(arguments)
    s = SMALL if options.small else FULL
    try:
        device, (learned, held_back) = _session.device_of(options.device), texts_of(options)
    except (OSError, UnicodeDecodeError, sg.Error) as error:
        print(error, file=sys.stderr)
        return 2
    tokens = sg.text.WordTokenizer.from_text(learned, size=s.words)
    train, test = (columns(sg.tensor(tokens.encode(t), device=device), s.batch) for t in (learned, held_back))
    per_epoch = (len(train) - 1) // s.time
    if per_epoch < 1 or len(test) <= s.time:
        print(f"the text is too short for {s.batch} columns of {s.time} words and more", file=sys.stderr)
        return 2
    steps = options.steps or s.epochs * per_epoch

    sg.manual_seed(options.seed)
    model = WordModel(tokens.vocab_size, s).to(device)
    optimizer = sg.optim.Adam(model.parameters(), lr=s.learning_rate)
    carried = Carried(s, device)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, {tokens.vocab_size} words, on {device}")

    def loss_of_step(step: int) -> Any:
        return carried.loss(model, train, step % per_epoch)

    def rate(step: int) -> float:
        return _session.warm_cosine(step, steps, 20, s.learning_rate, s.learning_rate / 10)

    start = time.perf_counter()
    sizes = {name: getattr(s, name) for name in ("layers", "width", "dropout")}
    about = {"model": "lstm", **sizes, "vocabulary": tokens.vocab_size, "tokenizer": tokens.to_json()}
    curve, done = _session.run(
        "LSTM", steps, loss_of_step, rate, options, about=about, model=model, optimizer=optimizer, carried=carried
    )
    if done < steps:
        print(f"time is over after {done} of {steps} steps; run it again to go on")
        return 3
    found = perplexity(model, test, s, device)
    fine = found <= s.floor
    print(
        f"perplexity: training {math.exp(curve[-1][1]):.1f}, held back {found:.1f}, {time.perf_counter() - start:.1f} s"
    )
    print(f"floor {s.floor:g}: {'reached' if fine else 'MISSED'}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
