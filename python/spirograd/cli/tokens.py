"""Texts as tokens: from files and folders, in memory or, when there are many, in a file that is mapped into it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import datasets
from ..serialization._paths import written
from ..text import ByteTokenizer, CharTokenizer, Tokenizer, WordTokenizer, from_file, train_bpe
from .options import UserError

KINDS = ("characters", "bytes", "words", "bpe")
SIZES = {"words": 10_000, "bpe": 2_000}  # of vocabularies
PIECE = 1 << 20  # characters that are read at a time
LARGE = 1 << 26  # bytes of text whose tokens are kept in a file

Numbers = npt.NDArray[np.unsignedinteger[Any]]


class Tokens(NamedTuple):
    """A text and how it became numbers."""

    tokenizer: Tokenizer
    numbers: Numbers


def read(sources: Sequence[str], kind: str, size: int | None, folder: Path) -> Tokens:
    """The tokens of texts.

    Args:
        sources: files in UTF-8, and folders, of which all files are read; or "shakespeare", the data set.
        kind: of KINDS.
        size: of the vocabulary of words or bpe, at most.
        folder: where many tokens are kept, and found again.

    Raises:
        ImportError: bpe needs the library tokenizers.
        OSError: a file cannot be read.
        UserError: a file is not text in UTF-8, or a folder is empty.
    """
    files = [file for source in sources for file in _files(source)]
    if sum(file.stat().st_size for file in files) < LARGE:
        tokenizer = _learnt(files, sources, kind, size)
        parts = [tokenizer.encode(text) for text in _texts(files, sources)]
        return Tokens(tokenizer, np.concatenate([np.zeros(0, np.int64), *parts]).astype(_type(tokenizer)))
    about = {"kind": kind, "size": size, "files": [[str(f), f.stat().st_size, f.stat().st_mtime_ns] for f in files]}
    place = folder / "tokens"
    if not (place / "about.json").exists() or json.loads((place / "about.json").read_text()) != about:
        tokenizer = _learnt(files, sources, kind, size)
        place.mkdir(parents=True, exist_ok=True)
        (place / "about.json").unlink(missing_ok=True)
        with written(place / "tokens.bin") as stream:
            for text in _texts(files, sources):
                stream.write(tokenizer.encode(text).astype(_type(tokenizer)).tobytes())
        tokenizer.save(place / "tokenizer.json")
        (place / "about.json").write_text(json.dumps(about))
    tokenizer = from_file(place / "tokenizer.json")
    return Tokens(tokenizer, np.memmap(place / "tokens.bin", _type(tokenizer), "r"))


def _files(source: str) -> list[Path]:
    path = Path(source)
    if source == "shakespeare" and not path.exists():
        return []
    if not path.is_dir():
        path.stat()  # raises where it is not there
        return [path]
    found = sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
    if not found:
        raise UserError(f"train: {source} has no files")
    return found


def _texts(files: Iterable[Path], sources: Sequence[str]) -> Iterator[str]:
    """The texts in pieces that end with a line."""
    if "shakespeare" in sources and not Path("shakespeare").exists():
        yield datasets.tiny_shakespeare()
    for path in files:
        try:
            with path.open(encoding="utf-8", newline="") as stream:
                while lines := stream.readlines(PIECE):
                    yield "".join(lines)
        except UnicodeDecodeError as error:
            raise UserError(f"train: {path} is not text in UTF-8 ({error.reason} at byte {error.start})") from None


def _learnt(files: Sequence[Path], sources: Sequence[str], kind: str, size: int | None) -> Tokenizer:
    """The tokenizer of a kind for these texts."""
    texts = _texts(files, sources)
    if kind == "bytes":
        return ByteTokenizer()
    if kind == "characters":
        seen: set[str] = set()
        for text in texts:
            seen.update(text)
        return CharTokenizer(seen or "\n")
    size = size or SIZES[kind]
    if kind == "bpe":
        return train_bpe(texts, size)
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text.split())
    return WordTokenizer([word for word, _ in counts.most_common(size - 2) if word not in ("<unk>", "<eos>")])


def _type(tokenizer: Tokenizer) -> type[np.unsignedinteger[Any]]:
    return np.uint16 if tokenizer.vocab_size <= 1 << 16 else np.uint32
