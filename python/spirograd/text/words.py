"""Tokenizers of characters, of bytes and of words."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.keywords import naming_keywords
from .tokenizer import Ids, Tokenizer

__all__ = ["ByteTokenizer", "CharTokenizer", "WordTokenizer"]

CODES = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"  # a character is a uint32
UNKNOWN, END = "<unk>", "<eos>"


@naming_keywords
class CharTokenizer(Tokenizer):
    """One number for each character, in the order of their code points.

    Args:
        vocabulary: the characters.

    Raises:
        ValueError: there is none, or what is no single character among them.

    Example:
        >>> tokens = sg.text.CharTokenizer("abc")
        >>> tokens.decode(tokens.encode("cab"))
        'cab'
    """

    def __init__(self, vocabulary: Iterable[str]) -> None:
        characters = sorted(set(vocabulary))
        if not characters or any(not isinstance(c, str) or len(c) != 1 for c in characters):
            raise ValueError("CharTokenizer: the vocabulary is of single characters, at least one")
        self.vocabulary = "".join(characters)
        self._codes = _codes(self.vocabulary)

    @classmethod
    def from_text(cls, text: str) -> CharTokenizer:
        """With the characters of a text."""
        return cls(text)

    @property
    def vocab_size(self) -> int:
        """The number of characters."""
        return len(self._codes)

    def encode(self, text: str) -> Ids:
        """The numbers of the characters, int64 [n].

        Raises:
            ValueError: a character is not in the vocabulary.
        """
        codes = _codes(text)
        at = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        unknown = self._codes[at] != codes
        if unknown.any():
            i = int(unknown.argmax())
            raise ValueError(f"CharTokenizer: {text[i]!r}, character {i} of the text, is not in the vocabulary")
        return at.astype(np.int64)

    def decode(self, ids: Any) -> str:
        """The characters of numbers."""
        return self._codes[self._numbers(ids)].tobytes().decode(CODES, "surrogatepass")

    def _state(self) -> dict[str, Any]:
        return {"vocabulary": self.vocabulary}

    @classmethod
    def _of(cls, state: dict[str, Any]) -> CharTokenizer:
        if not isinstance(state["vocabulary"], str):
            raise TypeError("vocabulary is not text")
        return cls(state["vocabulary"])


def _codes(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode(CODES, "surrogatepass"), np.uint32)


class ByteTokenizer(Tokenizer):
    """The bytes of the text in UTF-8: 256 numbers, no vocabulary to learn, and every text can be encoded.

    Example:
        >>> sg.text.ByteTokenizer().encode("é").tolist()
        [195, 169]
    """

    @property
    def vocab_size(self) -> int:
        """256."""
        return 256

    def encode(self, text: str) -> Ids:
        """The bytes, int64 [n]."""
        return np.frombuffer(text.encode(), np.uint8).astype(np.int64)

    def decode(self, ids: Any) -> str:
        """The text of bytes; what is not UTF-8 becomes U+FFFD."""
        return self._numbers(ids).astype(np.uint8).tobytes().decode(errors="replace")

    def _state(self) -> dict[str, Any]:
        return {}

    @classmethod
    def _of(cls, state: dict[str, Any]) -> ByteTokenizer:
        return cls()


@naming_keywords
class WordTokenizer(Tokenizer):
    """One number for each word; words are apart by white space, and each line ends with ``<eos>``.

    A word that is not in the vocabulary is ``<unk>``.

    Args:
        vocabulary: the words, number 0 first; ``<unk>`` and ``<eos>`` are put behind them if they are missing.

    Raises:
        ValueError: a word comes twice, or is none.

    Example:
        >>> tokens = sg.text.WordTokenizer.from_text("a b a\\nc a b\\n", size=4)
        >>> tokens.vocabulary
        ['a', 'b', '<eos>', '<unk>']
        >>> tokens.decode(tokens.encode("a c b\\n"))
        'a <unk> b\\n'
    """

    def __init__(self, vocabulary: Iterable[str]) -> None:
        words = list(vocabulary)
        words += [word for word in (UNKNOWN, END) if word not in words]
        self._numbers_of = {word: i for i, word in enumerate(words)}
        if len(self._numbers_of) != len(words) or any(not isinstance(w, str) or w.split() != [w] for w in words):
            raise ValueError("WordTokenizer: the vocabulary is of words without white space, each once")
        self.vocabulary = words
        self._unknown = self._numbers_of[UNKNOWN]

    @classmethod
    def from_text(cls, text: str, size: int | None = None, minimum: int = 1) -> WordTokenizer:
        """With the words of a text, the most frequent ones first.

        Args:
            text: what to count in.
            size: how many words at most, with ``<unk>`` and ``<eos>``.
            minimum: how often a word comes at least.
        """
        counts = Counter(_words(text))
        words = [word for word, count in counts.most_common() if count >= minimum]
        if size is not None:
            if size < 2:
                raise ValueError(f"WordTokenizer: size is {size}; give at least 2, for <unk> and <eos>")
            rare = set([word for word in words if word not in (UNKNOWN, END)][size - 2 :])
            words = [word for word in words if word not in rare]
        return cls(words)

    @property
    def vocab_size(self) -> int:
        """The number of words."""
        return len(self.vocabulary)

    def encode(self, text: str) -> Ids:
        """The numbers of the words, int64 [n]."""
        number, unknown = self._numbers_of.get, self._unknown
        return np.array([number(word, unknown) for word in _words(text)], np.int64)

    def decode(self, ids: Any) -> str:
        """The words, with spaces between them and a new line for each ``<eos>``."""
        lines: list[list[str]] = [[]]
        for i in self._numbers(ids).tolist():
            if self.vocabulary[i] == END:
                lines.append([])
            else:
                lines[-1].append(self.vocabulary[i])
        return "\n".join(" ".join(line) for line in lines)

    def _state(self) -> dict[str, Any]:
        return {"vocabulary": self.vocabulary}

    @classmethod
    def _of(cls, state: dict[str, Any]) -> WordTokenizer:
        if not isinstance(state["vocabulary"], list):
            raise TypeError("vocabulary is not a list")
        return cls(state["vocabulary"])


def _words(text: str) -> list[str]:
    """The words of all lines; a line that ends has an end."""
    words: list[str] = []
    *lines, last = text.split("\n")
    for line in lines:
        words += line.split()
        words.append(END)
    return words + last.split()
