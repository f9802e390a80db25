"""The base of tokenizers, and their files: JSON, which never runs code."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from .._core import FileFormatError, Tensor
from ..base.keywords import naming_keywords
from ..serialization._paths import written

__all__ = ["Tokenizer", "from_file", "from_json"]

Ids = npt.NDArray[np.int64]
K = TypeVar("K", bound="Tokenizer")


class Tokenizer:
    """Base of tokenizers: `encode` makes numbers of a text, `decode` makes a text of numbers."""

    kinds: ClassVar[dict[str, type[Tokenizer]]] = {}

    def __init_subclass__(cls) -> None:
        if cls._of.__func__ is not Tokenizer._of.__func__:  # type: ignore[attr-defined]
            Tokenizer.kinds[cls.__name__] = cls

    @property
    def vocab_size(self) -> int:
        """How many different numbers there are: the size of an embedding."""
        raise NotImplementedError

    def encode(self, text: str) -> Ids:
        """The numbers of a text, int64 [n]."""
        raise NotImplementedError

    def decode(self, ids: Any) -> str:
        """The text of numbers: a tensor, an array, a list, or one number.

        Raises:
            IndexError: a number is not of the vocabulary.
        """
        raise NotImplementedError

    def to_json(self) -> str:
        """What `save` writes, as a text for `from_json`."""
        return json.dumps({"spirograd": type(self).__name__, **self._state()}, ensure_ascii=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a JSON file that `from_file` and `load` read."""
        with written(path) as file:
            file.write(self.to_json().encode())

    @classmethod
    def load(cls: type[K], path: str | os.PathLike[str]) -> K:
        """The tokenizer of a file.

        Raises:
            FileFormatError: the file is none of `save`, or of another kind of tokenizer.
        """
        made = from_file(path)
        if not isinstance(made, cls):
            raise FileFormatError(f"{cls.__name__}: {path} holds a {type(made).__name__}; use sg.text.from_file")
        return made

    def _state(self) -> dict[str, Any]:
        """The state of the tokenizer that its file holds."""
        raise NotImplementedError

    @classmethod
    def _of(cls, state: dict[str, Any]) -> Tokenizer:
        """The tokenizer of what is in a file; any error means that the file is damaged."""
        raise NotImplementedError

    def _numbers(self, ids: Any) -> Ids:
        array = ids.detach().cpu().numpy() if isinstance(ids, Tensor) else np.asarray(ids)
        array = array.reshape(-1)
        if array.size and array.dtype.kind not in "iu":
            raise TypeError(f"{type(self).__name__}: decode takes whole numbers, not {array.dtype}")
        wrong = (array < 0) | (array >= self.vocab_size)
        if wrong.any():
            raise IndexError(
                f"{type(self).__name__}: {array[wrong][0]} is not a number of the vocabulary; they are 0 to "
                f"{self.vocab_size - 1}"
            )
        return array.astype(np.int64)


# What reads files that are not JSON and begin with this byte, given their content and path.
FILES: dict[bytes, Callable[[bytes, str], Tokenizer]] = {}


@naming_keywords
def from_file(path: str | os.PathLike[str]) -> Tokenizer:
    """The tokenizer of a file: one of `save`, a ``tokenizer.json`` of the library tokenizers, or a ``tokenizer.model``
    of SentencePiece.

    Raises:
        FileFormatError: the file is none of them.
        ImportError: it is a file of the library tokenizers or sentencepiece, which is not installed.
        OSError: the file cannot be read.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "characters.json"
        ...     sg.text.CharTokenizer.from_text("abc").save(path)
        ...     sg.text.from_file(path).vocab_size
        3
    """
    content = Path(path).read_bytes()
    if content[:1] in FILES and not content.lstrip().startswith(b"{"):
        return FILES[content[:1]](content, str(path))
    return _made("from_file", str(path), content)


@naming_keywords
def from_json(text: str) -> Tokenizer:
    """The tokenizer of `to_json()`, or of what a ``tokenizer.json`` of the library tokenizers holds.

    Raises:
        FileFormatError: the text is neither.
        ImportError: it is one of the library tokenizers, which is not installed.

    Example:
        >>> sg.text.from_json(sg.text.CharTokenizer("abc").to_json()).vocab_size
        3
    """
    return _made("from_json", "the text", text.encode())


def _made(op: str, path: str, content: bytes) -> Tokenizer:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(
            f"{op}: {path} is not JSON ({error}); give a file of save(), a tokenizer.json or a tokenizer.model"
        ) from None
    if isinstance(data, dict) and "spirograd" in data:
        kind = data["spirograd"]
        if not isinstance(kind, str) or kind not in Tokenizer.kinds:
            known = ", ".join(sorted(Tokenizer.kinds))
            raise FileFormatError(f"{op}: {path} holds a {kind!r}; known are {known}")
        try:
            return Tokenizer.kinds[kind]._of(data)
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"{op}: {path} is damaged ({error!r}); save the tokenizer again") from None
    if isinstance(data, dict) and "model" in data:
        found = library(f"{op}: {path}")
        try:
            return ForeignTokenizer(found.Tokenizer.from_str(content.decode()))
        except Exception as error:  # the library raises nothing narrower
            raise FileFormatError(f"{op}: the library tokenizers does not read {path} ({error})") from None
    raise FileFormatError(
        f"{op}: {path} holds no tokenizer; give a file of save(), a tokenizer.json or a tokenizer.model"
    )


def library(op: str) -> Any:
    """The library tokenizers.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return importlib.import_module("tokenizers")
    except ImportError:
        raise ImportError(
            f"{op} needs the library tokenizers, which is not installed; pip install spirograd[hf]"
        ) from None


class ForeignTokenizer(Tokenizer):
    """A tokenizer of the library tokenizers, which is `tokenizer`."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    @property
    def vocab_size(self) -> int:
        return int(self.tokenizer.get_vocab_size())

    def encode(self, text: str) -> Ids:
        return np.array(self.tokenizer.encode(text).ids, np.int64)

    def decode(self, ids: Any) -> str:
        return str(self.tokenizer.decode(self._numbers(ids).tolist()))

    def to_json(self) -> str:
        return str(self.tokenizer.to_str())
