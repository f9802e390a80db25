"""Byte-pair encoding, by the library tokenizers: trained on a text, or from the two files of GPT-2."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from .._core import FileFormatError
from ..base.keywords import naming_keywords
from .tokenizer import ForeignTokenizer, Tokenizer, library

__all__ = ["from_gpt2_files", "train_bpe"]

_END = "<|endoftext|>"  # of GPT-2


def _of_bytes(found: Any, model: Any) -> Any:
    """A tokenizer of this model whose parts are made of bytes: no text is unknown to it."""
    made = found.Tokenizer(model)
    made.pre_tokenizer = found.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = found.decoders.ByteLevel()
    return made


@naming_keywords
def train_bpe(texts: str | Iterable[str], size: int, special: Sequence[str] = ()) -> Tokenizer:
    """A tokenizer of bytes and, again and again, of the most frequent pair of parts (Sennrich et al., 2016).

    Args:
        texts: what it learns from: one text, or several.
        size: how many parts, at least 256 and one for each special one.
        special: parts that are never cut, such as the end of a text; they come first.

    Raises:
        ImportError: the library tokenizers is not installed; `pip install spirograd[hf]`.
        ValueError: the size is too small.
    """
    found = library("train_bpe")
    if size < 256 + len(special):
        raise ValueError(f"train_bpe: size is {size}; the 256 bytes and {len(special)} special parts need more")
    made = _of_bytes(found, found.models.BPE())
    alphabet = found.pre_tokenizers.ByteLevel.alphabet()
    trainer = found.trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(special), initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator([texts] if isinstance(texts, str) else texts, trainer)
    return ForeignTokenizer(made)


@naming_keywords
def from_gpt2_files(vocab: str | os.PathLike[str], merges: str | os.PathLike[str]) -> Tokenizer:
    """The tokenizer of `vocab.json` and `merges.txt`, which GPT-2 was published with.

    Raises:
        FileFormatError: a file is damaged.
        ImportError: the library tokenizers is not installed; `pip install spirograd[hf]`.
    """
    found = library("from_gpt2_files")
    try:
        made = _of_bytes(found, found.models.BPE.from_file(os.fspath(vocab), os.fspath(merges)))
    except Exception as error:  # the library raises nothing narrower
        raise FileFormatError(f"from_gpt2_files: {vocab} and {merges} are not read ({error})") from None
    if made.token_to_id(_END) is not None:
        made.add_special_tokens([_END])
    return ForeignTokenizer(made)
