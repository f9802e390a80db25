"""Tokenizers of SentencePiece: what the library says, files, checkpoints, errors."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

import spirograd as sg

TEXT = "the quick brown fox jumps over the lazy dog\npack my box with five dozen liquor jugs\n" * 20


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = pytest.importorskip("sentencepiece")
    content = io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT.splitlines()),
        model_writer=content,
        model_type="bpe",
        vocab_size=330,
        byte_fallback=True,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    path = tmp_path_factory.mktemp("llama") / "tokenizer.model"
    path.write_bytes(content.getvalue())
    return path


def test_numbers_are_those_of_the_library(model: Path) -> None:
    theirs: Any = pytest.importorskip("sentencepiece").SentencePieceProcessor(model_file=str(model))
    ours = sg.text.from_file(model)
    assert ours.vocab_size == theirs.vocab_size()
    for text in ("the dog jumps", "Zürich \N{SNOWMAN}", "", "  two  spaces"):
        assert ours.encode(text).tolist() == [theirs.bos_id(), *theirs.encode(text)]
        plain = sg.text.from_sentencepiece(model, begin=False)
        assert plain.encode(text).tolist() == theirs.encode(text)
        assert ours.decode(sg.tensor(ours.encode(text))) == theirs.decode(theirs.encode(text))
    with pytest.raises(IndexError, match="is not a number of the vocabulary"):
        ours.decode([ours.vocab_size])


def test_a_tokenizer_is_saved_with_its_model(model: Path, tmp_path: Path) -> None:
    ours = sg.text.from_sentencepiece(model, begin=False)
    ours.save(tmp_path / "kept.json")
    again = sg.text.from_file(tmp_path / "kept.json")
    assert again.encode("the fox").tolist() == ours.encode("the fox").tolist()


def test_a_damaged_file_says_so(model: Path, tmp_path: Path) -> None:
    broken = tmp_path / "tokenizer.model"
    broken.write_bytes(model.read_bytes()[:100])
    with pytest.raises(sg.FileFormatError, match=r"the library sentencepiece does not read .*tokenizer\.model"):
        sg.text.from_file(broken)


def test_without_the_library_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02")
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    for read in (sg.text.from_file, sg.text.from_sentencepiece):
        with pytest.raises(ImportError, match=r"needs the library sentencepiece.*pip install spirograd\[hf\]"):
            read(path)
