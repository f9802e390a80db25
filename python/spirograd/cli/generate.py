"""`generate` and `chat`: text from a language model, as it comes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from .. import _core
from ..generation import stream
from . import models
from .options import UserError, add_device, one_device, positive


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The commands of `python -m spirograd`."""
    generate = commands.add_parser("generate", help="text from a language model that was trained here")
    common(generate, length=500)
    generate.add_argument("--prompt", help="what comes before (default: a new line)")
    generate.set_defaults(run=run)
    chat = commands.add_parser("chat", help="the same as a conversation: each line of the input is a prompt")
    common(chat, length=200)
    chat.set_defaults(run=run_chat)


def common(parser: argparse.ArgumentParser, length: int) -> None:
    """The options of both commands."""
    parser.add_argument("model", metavar="FOLDER", help="checkpoints of `train text` or of an example, or one of them")
    parser.add_argument("--length", type=positive, default=length, help="tokens at most (default %(default)s)")
    parser.add_argument("--until", metavar="TEXT", help="end after this text")
    parser.add_argument("--temperature", type=float, default=0.8, help="0: always the likeliest (default %(default)s)")
    parser.add_argument("--top-k", type=positive, metavar="K", help="only the K likeliest tokens")
    parser.add_argument("--top-p", type=float, metavar="P", help="only the likeliest that make probability P")
    parser.add_argument("--seed", type=int, default=0, help="default %(default)s")
    add_device(parser, "best", "cpu, gpu, gpu:1 or best, a GPU where there is one")


class Writer:
    """A model with the text that it has read so far."""

    def __init__(self, command: str, options: argparse.Namespace) -> None:
        self.command, self.options = command, options
        self.model, self.tokenizer = models.read(command, options.model, one_device(options.device))
        self.tokens: list[int] = []
        _core.manual_seed(options.seed)

    def begin(self) -> str:
        """What comes before a text: the end of a line, or the first token."""
        try:
            return "\n" if len(self.tokenizer.encode("\n")) else self.tokenizer.decode([0])
        except ValueError:
            return self.tokenizer.decode([0])

    def write(self, prompt: str) -> Iterator[str]:
        """The text that follows the prompt and everything before it, piece by piece.

        Raises:
            UserError: the tokenizer does not know what is in the prompt.
        """
        o, decode = self.options, self.tokenizer.decode
        try:
            self.tokens += self.tokenizer.encode(prompt).tolist()
            known, written = len(self.tokens), decode(self.tokens)
            tokens = stream(self.model, self.tokens, o.length, temperature=o.temperature, top_k=o.top_k, top_p=o.top_p)
            start = len(written)
            for token in tokens:
                self.tokens.append(token)
                text = decode(self.tokens)
                if text.endswith("\ufffd") and len(self.tokens) - known < o.length:
                    continue  # half of a character
                yield text[len(written) :]
                written = text
                if o.until and written[start:].endswith(o.until):
                    break
        except ValueError as error:
            raise UserError(f"{self.command}: {error}") from None


def run(options: argparse.Namespace) -> int:
    """Prints each piece as it comes."""
    if options.prompt == "":
        raise UserError("generate: --prompt is empty; give at least one character")
    writer = Writer("generate", options)
    say(options.prompt or "")
    for piece in writer.write(options.prompt or writer.begin()):
        say(piece)
    say("\n")
    return 0


def run_chat(options: argparse.Namespace) -> int:
    """Answers each line of the input, until its end."""
    writer = Writer("chat", options)
    if sys.stdin.isatty():
        print("a line is a prompt; Ctrl-D ends", file=sys.stderr)
    begin = writer.begin()
    end = begin if begin == "\n" else ""
    for line in sys.stdin:
        try:
            for piece in writer.write(line.rstrip("\n") + end or begin):
                say(piece)
        except UserError as error:
            print(error, file=sys.stderr)
            continue
        say("\n")
    return 0


def say(text: str) -> None:
    """Without waiting for the end of the line."""
    sys.stdout.write(text)
    sys.stdout.flush()
