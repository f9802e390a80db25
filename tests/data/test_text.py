"""Tokenizers: what goes in comes out, files hold data and no code, unknown things are said."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd.text import ByteTokenizer, CharTokenizer, Tokenizer, WordTokenizer, from_file, from_json

TEXT = "To be, or not to be:\nthat is — the question. 𝄞\n"


@pytest.mark.parametrize(
    "tokens",
    [CharTokenizer.from_text(TEXT), ByteTokenizer(), WordTokenizer.from_text(TEXT)],
    ids=lambda t: type(t).__name__,
)
class TestAll:
    def test_round_trip(self, tokens: Tokenizer) -> None:
        ids = tokens.encode(TEXT)
        assert ids.dtype == np.int64 and ids.ndim == 1 and ids.min() >= 0 and ids.max() < tokens.vocab_size
        for form in (ids, ids.tolist(), sg.tensor(ids), ids.reshape(1, -1), ids.astype(np.uint16)):
            assert tokens.decode(form) == TEXT

    def test_nothing(self, tokens: Tokenizer) -> None:
        assert tokens.encode("").shape == (0,) and tokens.decode([]) == "" and tokens.decode(tokens.encode("")) == ""

    def test_one_number(self, tokens: Tokenizer) -> None:
        first = tokens.encode(TEXT)[0]
        assert TEXT.startswith(tokens.decode(int(first))) and tokens.decode(sg.tensor(first)) == tokens.decode([first])

    def test_file(self, tokens: Tokenizer, tmp_path: Path) -> None:
        path = tmp_path / "tokens.json"
        tokens.save(path)
        for again in (from_file(path), type(tokens).load(str(path))):
            assert type(again) is type(tokens) and again.vocab_size == tokens.vocab_size
            assert np.array_equal(again.encode(TEXT), tokens.encode(TEXT)) and again.decode(again.encode(TEXT)) == TEXT
        assert json.loads(path.read_text())["spirograd"] == type(tokens).__name__

    def test_numbers_that_are_none(self, tokens: Tokenizer) -> None:
        for wrong in (-1, tokens.vocab_size):
            with pytest.raises(IndexError, match=f"{wrong} is not a number of the vocabulary"):
                tokens.decode([0, wrong])
        with pytest.raises(TypeError, match="not float64"):
            tokens.decode([0.5])


class TestCharacters:
    def test_order_of_code_points(self) -> None:
        tokens = CharTokenizer.from_text("banana")
        assert tokens.vocabulary == "abn" and tokens.vocab_size == 3
        assert tokens.encode("nab").tolist() == [2, 0, 1]
        assert CharTokenizer(["b", "a"]).vocabulary == "ab"

    @pytest.mark.parametrize("unknown", ["A", "z", "é"])
    def test_unknown(self, unknown: str) -> None:
        with pytest.raises(ValueError, match=f"{unknown!r}, character 2 of the text"):
            CharTokenizer("ab").encode(f"ab{unknown}")

    def test_surrogates(self) -> None:
        tokens = CharTokenizer("\ud800a")
        assert tokens.decode(tokens.encode("a\ud800")) == "a\ud800"

    @pytest.mark.parametrize("vocabulary", ["", ["ab"], [1]])
    def test_no_vocabulary(self, vocabulary: Any) -> None:
        with pytest.raises(ValueError, match="single characters"):
            CharTokenizer(vocabulary)


class TestBytes:
    def test_any_text(self) -> None:
        assert ByteTokenizer().encode("aé").tolist() == [97, 195, 169] and ByteTokenizer().vocab_size == 256
        assert ByteTokenizer().decode([195, 97]) == "�a"


class TestWords:
    def test_most_frequent_first(self) -> None:
        tokens = WordTokenizer.from_text("b a a c\na b\n")
        assert tokens.vocabulary == ["a", "b", "<eos>", "c", "<unk>"]
        assert tokens.encode("a  x\n\nb").tolist() == [0, 4, 2, 2, 1]
        assert tokens.decode([0, 4, 2, 2, 1]) == "a <unk>\n\nb"

    def test_few_words(self) -> None:
        text = "a a a b b c <unk>\n"
        assert WordTokenizer.from_text(text, minimum=2).vocabulary == ["a", "b", "<unk>", "<eos>"]
        assert WordTokenizer.from_text(text, size=3).vocabulary == ["a", "<unk>", "<eos>"]
        assert WordTokenizer.from_text(text, size=2).vocab_size == 2
        with pytest.raises(ValueError, match="size is 1"):
            WordTokenizer.from_text(text, size=1)

    @pytest.mark.parametrize("vocabulary", [["a", "a"], ["a b"], [""], ["a\n"], [1]])
    def test_no_words(self, vocabulary: Any) -> None:
        with pytest.raises(ValueError, match="each once"):
            WordTokenizer(vocabulary)

    def test_counts_of_wikitext2(self) -> None:
        """As many tokens as the data set's authors count, with one end a line."""
        try:
            text = sg.datasets.wikitext2("valid", download=False)
        except sg.datasets.DatasetUnavailableError:
            pytest.skip("SPIROGRAD_DATA names no folder with WikiText-2")
        assert len(WordTokenizer(["a"]).encode(text)) == 217_646


class TestFiles:
    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("no json", "is not JSON"),
            ("\xff", "is not JSON"),
            ("[" * 100_000, "is not JSON"),
            ("[1]", "holds no tokenizer"),
            ("{}", "holds no tokenizer"),
            (
                '{"spirograd": "Other"}',
                "holds a 'Other'; known are ByteTokenizer, CharTokenizer, SentencePieceTokenizer, WordTokenizer",
            ),
            ('{"spirograd": ["CharTokenizer"]}', "known are"),
            ('{"spirograd": "CharTokenizer"}', "is damaged"),
            ('{"spirograd": "CharTokenizer", "vocabulary": ["a"]}', "is damaged"),
            ('{"spirograd": "WordTokenizer", "vocabulary": "abc"}', "is damaged"),
            ('{"spirograd": "WordTokenizer", "vocabulary": [1, 2]}', "is damaged"),
            ('{"spirograd": "WordTokenizer", "vocabulary": [["a"]]}', "is damaged"),
        ],
    )
    def test_damaged(self, content: str, words: str, tmp_path: Path) -> None:
        path = tmp_path / "tokens.json"
        path.write_bytes(content.encode("latin-1"))
        with pytest.raises(sg.FileFormatError, match=words):
            from_file(path)

    def test_of_another_kind(self, tmp_path: Path) -> None:
        ByteTokenizer().save(tmp_path / "bytes.json")
        with pytest.raises(sg.FileFormatError, match="holds a ByteTokenizer"):
            CharTokenizer.load(tmp_path / "bytes.json")
        assert isinstance(Tokenizer.load(tmp_path / "bytes.json"), ByteTokenizer)

    def test_missing(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            from_file(tmp_path / "none.json")


LIBRARY_FILE = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": {"type": "Lowercase"},
    "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": None,
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": {"<unk>": 0, "to": 1, "be": 2}, "unk_token": "<unk>"},
}


class TestLibrary:
    """Files of the library tokenizers."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(LIBRARY_FILE))
        return path

    def test_read(self, path: Path, tmp_path: Path) -> None:
        pytest.importorskip("tokenizers")
        tokens = from_file(path)
        assert tokens.vocab_size == 3 and tokens.encode("To be sure").tolist() == [1, 2, 0]
        assert tokens.decode(sg.tensor([1, 2])) == "to be"
        with pytest.raises(IndexError, match="3 is not a number"):
            tokens.decode([3])
        tokens.save(tmp_path / "again.json")
        assert from_file(tmp_path / "again.json").encode("be").tolist() == [2]
        path.write_text('{"model": 1}')
        with pytest.raises(sg.FileFormatError, match="does not read"):
            from_file(path)

    def test_a_text_in_place_of_a_file(self, path: Path) -> None:
        pytest.importorskip("tokenizers")
        assert from_json(from_file(path).to_json()).encode("be").tolist() == [2]

    def test_without_it(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "tokenizers", None)
        with pytest.raises(ImportError, match=r"pip install spirograd\[hf\]"):
            from_file(path)

    def test_by_its_own_object(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is asked of the library, seen by a double of it."""

        class Double:
            @classmethod
            def from_str(cls, text: str) -> Double:
                assert json.loads(text) == LIBRARY_FILE
                return cls()

            def get_vocab_size(self) -> int:
                return 9

            def encode(self, text: str) -> Any:
                return type("Encoding", (), {"ids": [len(text)]})()

            def decode(self, ids: list[int]) -> str:
                return repr(ids)

        whole: Callable[[str], Any] = importlib.import_module
        library = type("Library", (), {"Tokenizer": Double})
        monkeypatch.setattr(importlib, "import_module", lambda n: library if n == "tokenizers" else whole(n))
        tokens = from_file(path)
        assert tokens.vocab_size == 9 and tokens.encode("abc").tolist() == [3] and tokens.decode(sg.tensor(4)) == "[4]"


class TestPairsOfBytes:
    """Byte-pair encoding, which the library tokenizers does."""

    TEXT = "low lower lowest newer newest " * 20

    def test_learnt_parts_are_words(self, tmp_path: Path) -> None:
        pytest.importorskip("tokenizers")
        tokens = sg.text.train_bpe(self.TEXT, 280, special=["<end>"])
        assert tokens.vocab_size <= 280 and tokens.encode("<end>").tolist() == [0]
        assert len(tokens.encode("lower lowest")) < 5
        for text in (self.TEXT, "caf\u00e9 \U0001f600\n\tx", ""):  # bytes that were not learnt are parts, too
            assert tokens.decode(tokens.encode(text)) == text
        tokens.save(tmp_path / "bpe.json")
        again = from_file(tmp_path / "bpe.json")
        assert again.encode(self.TEXT).tolist() == tokens.encode(self.TEXT).tolist()
        assert sg.text.train_bpe([self.TEXT, "x"], 300).vocab_size <= 300
        with pytest.raises(ValueError, match="size is 256"):
            sg.text.train_bpe(self.TEXT, 256, special=["<end>"])

    def test_files_of_gpt2(self, tmp_path: Path) -> None:
        pytest.importorskip("tokenizers")
        vocab, merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
        parts = ["l", "o", "w", "\u0120", "lo", "low", "\u0120low", "<|endoftext|>"]
        vocab.write_text(json.dumps({part: i for i, part in enumerate(parts)}))
        merges.write_text("#version: 0.2\nl o\nlo w\n\u0120 low\n", encoding="utf-8")
        tokens = sg.text.from_gpt2_files(vocab, merges)
        assert tokens.encode("low low<|endoftext|>wo").tolist() == [5, 6, 7, 2, 1]
        assert tokens.decode([5, 6]) == "low low"
        vocab.write_text("[")
        with pytest.raises(sg.FileFormatError, match="are not read"):
            sg.text.from_gpt2_files(vocab, merges)

    def test_without_the_library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "tokenizers", None)
        for call in (lambda: sg.text.train_bpe("a", 300), lambda: sg.text.from_gpt2_files("a", "b")):
            with pytest.raises(ImportError, match=r"needs the library tokenizers.*pip install spirograd\[hf\]"):
                call()
