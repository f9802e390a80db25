"""Texts to numbers and back: characters, bytes, words, and what the library tokenizers does: pairs of bytes, files.

Example:
    >>> tokens = sg.text.CharTokenizer.from_text("hello")
    >>> tokens.encode("hole").tolist(), tokens.decode([1, 0, 2, 2, 3])
    ([1, 3, 2, 0], 'hello')
"""

from .bpe import from_gpt2_files, train_bpe
from .tokenizer import Tokenizer, from_file, from_json
from .words import ByteTokenizer, CharTokenizer, WordTokenizer

__all__ = ["ByteTokenizer", "CharTokenizer", "Tokenizer", "WordTokenizer", "from_file", "from_gpt2_files"]
__all__ += ["from_json", "train_bpe"]
