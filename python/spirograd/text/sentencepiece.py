"""Files of SentencePiece, such as the tokenizer.model of Llama, by the library of that name."""

from __future__ import annotations

import base64
import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from .._core import FileFormatError
from ..base.keywords import naming_keywords
from .tokenizer import FILES, Ids, Tokenizer

__all__ = ["SentencePieceTokenizer", "from_sentencepiece"]


def _library(op: str) -> Any:
    try:
        return importlib.import_module("sentencepiece")
    except ImportError:
        raise ImportError(
            f"{op} needs the library sentencepiece, which is not installed; pip install spirograd[hf]"
        ) from None


class SentencePieceTokenizer(Tokenizer):
    """A tokenizer of SentencePiece, which is `processor`.

    Attributes:
        begin: whether texts begin with the number of the model's begin, as Llama expects.
    """

    def __init__(self, content: bytes, begin: bool, op: str = "SentencePieceTokenizer", path: str = "it") -> None:
        found = _library(f"{op}: {path}")
        try:
            self.processor = found.SentencePieceProcessor(model_proto=content)
        except RuntimeError as error:
            raise FileFormatError(f"{op}: the library sentencepiece does not read {path} ({error})") from None
        self._content, self.begin = content, begin and self.processor.bos_id() >= 0

    @property
    def vocab_size(self) -> int:
        return int(self.processor.vocab_size())

    def encode(self, text: str) -> Ids:
        return np.array(self.processor.encode(text, add_bos=self.begin), np.int64)

    def decode(self, ids: Any) -> str:
        return str(self.processor.decode(self._numbers(ids).tolist()))

    def _state(self) -> dict[str, Any]:
        return {"model": base64.b64encode(self._content).decode(), "begin": self.begin}

    @classmethod
    def _of(cls, state: dict[str, Any]) -> Tokenizer:
        return cls(base64.b64decode(state["model"], validate=True), bool(state["begin"]))


# These files are messages of Protocol Buffers, whose first field is number 1.
FILES[b"\n"] = lambda content, path: SentencePieceTokenizer(content, True, "from_file", path)


@naming_keywords
def from_sentencepiece(path: str | os.PathLike[str], begin: bool = True) -> Tokenizer:
    """The tokenizer of a file of SentencePiece, such as the ``tokenizer.model`` that Llama was published with.

    Args:
        path: the file.
        begin: whether texts begin with the number of the model's begin (<s>), if it has one.

    Raises:
        FileFormatError: the file is damaged.
        ImportError: the library sentencepiece is not installed; `pip install spirograd[hf]`.
        OSError: the file cannot be read.
    """
    return SentencePieceTokenizer(Path(path).read_bytes(), begin, "from_sentencepiece", os.fspath(path))
