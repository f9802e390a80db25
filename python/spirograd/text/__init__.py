"""Texts to numbers and back: characters, bytes, words, and what the
libraries tokenizers and sentencepiece do: pairs of bytes, files.

Example:
    >>> tokens = sg.text.CharTokenizer.from_text("hello")
    >>> tokens.encode("hole").tolist(), tokens.decode([1, 0, 2, 2, 3])
    ([1, 3, 2, 0], 'hello')
"""

from .bpe import from_gpt2_files, train_bpe
from .sentencepiece import from_sentencepiece
from .tokenizer import Tokenizer, from_file, from_json
from .words import ByteTokenizer, CharTokenizer, WordTokenizer

__all__ = ["ByteTokenizer", "CharTokenizer", "Tokenizer", "WordTokenizer", "from_file", "from_gpt2_files"]
__all__ += ["from_json", "from_sentencepiece", "train_bpe"]
