"""`generate`: text from a model of `train text`, character by character."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from .. import _core
from ..generation import stream
from ..utils import checkpoints
from . import models
from .options import UserError, add_device, one_device, positive


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command of `python -m spirograd`."""
    parser = commands.add_parser("generate", help="text from a model of `train text`")
    parser.add_argument("model", metavar="FOLDER", help="that of --out, or one checkpoint")
    parser.add_argument("--prompt", help="what comes before (default: a new line)")
    parser.add_argument("--length", type=positive, default=500, help="characters (default %(default)s)")
    parser.add_argument("--until", metavar="TEXT", help="end after this text")
    parser.add_argument("--temperature", type=float, default=0.8, help="0: always the likeliest (default %(default)s)")
    parser.add_argument("--top-k", type=positive, metavar="K", help="only the K likeliest characters")
    parser.add_argument("--top-p", type=float, metavar="P", help="only the likeliest that make probability P")
    parser.add_argument("--seed", type=int, default=0, help="default %(default)s")
    parser.add_argument("--chat", action="store_true", help="read prompts, a line each, until the end of the input")
    add_device(parser, "best", "cpu, gpu, gpu:1 or best, a GPU where there is one")
    parser.set_defaults(run=run)


class Writer:
    """A model with the text that it has read so far."""

    def __init__(self, options: argparse.Namespace) -> None:
        device = one_device(options.device)
        found = checkpoints.peek(options.model)
        if found is None:
            raise UserError(f"generate: {options.model} has no checkpoint of `train text`")
        settings = found.extra
        if not isinstance(settings, dict) or settings.get("task") != "text":
            raise UserError(f"generate: {found.path} is not a checkpoint of `train text`")
        self.vocabulary: str = settings["vocabulary"]
        self.numbers = {character: i for i, character in enumerate(self.vocabulary)}
        self.model: Any = models.make(settings).to(device).eval()
        checkpoints.restore(found.path, model=self.model)
        _core.manual_seed(options.seed)
        self.options = options
        self.tokens: list[int] = []

    def write(self, prompt: str) -> Iterator[str]:
        """What follows the prompt, and all before it, character by character.

        Raises:
            UserError: the prompt has a character that the text had not.
        """
        if strange := sorted(set(prompt) - set(self.vocabulary)):
            raise UserError(f"generate: the prompt has {strange[0]!r}, which the text had not")
        o, written = self.options, ""
        self.tokens += [self.numbers[character] for character in prompt]
        tokens = stream(self.model, self.tokens, o.length, temperature=o.temperature, top_k=o.top_k, top_p=o.top_p)
        try:
            for token in tokens:
                self.tokens.append(token)
                written += self.vocabulary[token]
                yield written[-1]
                if o.until and written.endswith(o.until):
                    break
        except ValueError as error:
            raise UserError(str(error)) from None


def run(options: argparse.Namespace) -> int:
    """Prints each character as it comes."""
    if options.prompt == "":
        raise UserError("generate: --prompt is empty; give at least one character")
    writer = Writer(options)
    end = "\n" if "\n" in writer.vocabulary else ""
    if not options.chat:
        say(options.prompt or "")
        for character in writer.write(options.prompt or end or writer.vocabulary[0]):
            say(character)
        say("\n")
        return 0
    if sys.stdin.isatty():
        print("a line is a prompt; Ctrl-D ends", file=sys.stderr)
    for line in sys.stdin:
        try:
            for character in writer.write(line.rstrip("\n") + end or writer.vocabulary[0]):
                say(character)
        except UserError as error:
            print(error, file=sys.stderr)
            continue
        say("\n")
    return 0


def say(text: str) -> None:
    """Without waiting for the end of the line."""
    sys.stdout.write(text)
    sys.stdout.flush()
