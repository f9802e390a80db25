"""Texts: tiny Shakespeare and WikiText-2."""

from __future__ import annotations

import os

from ..base.docstrings import described_by
from ..base.keywords import naming_keywords
from .download import ARGUMENTS, Download, File, read

__all__ = ["tiny_shakespeare", "wikitext2"]

SHAKESPEARE = File("input.txt", 1_115_394, "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed")
SHAKESPEARE_SOURCE = Download(
    "input.txt",
    (
        "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
        "https://storage.googleapis.com/download.tensorflow.org/data/shakespeare.txt",
    ),
)
WIKITEXT2 = {
    # The SHA-1 that GluonNLP lists; those it lists for the other two files are right.
    "train": File("wikitext-2/wiki.train.tokens", None, "863f29c46ef9d167fff4940ec821195882fe29d1"),
    "valid": File(
        "wikitext-2/wiki.valid.tokens", 1_121_681, "f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8"
    ),
    "test": File(
        "wikitext-2/wiki.test.tokens", 1_256_449, "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0"
    ),
}
# The digest of the archive is that of DataDeps (MLDatasets.jl) and others.
WIKITEXT2_SOURCE = Download(
    "wikitext-2-v1.zip",
    (
        "https://wikitext.smerity.com/wikitext-2-v1.zip",
        "https://s3.amazonaws.com/research.metamind.io/wikitext/wikitext-2-v1.zip",
    ),
    "92675f1d63015c1c8b51f1656a52d5bdbc33aafa60cc47a218a66e7ee817488c",
)


@naming_keywords
@described_by(ARGUMENTS)
def tiny_shakespeare(split: str = "all", *, root: str | os.PathLike[str] | None = None, download: bool = True) -> str:
    """1,115,394 characters of Shakespeare's plays, of 65 kinds.

    Args:
        split: "all", "train" (the first 90 %) or "valid" (the rest).
    """
    if split not in ("all", "train", "valid"):
        raise ValueError(f'tiny_shakespeare: split is {split!r}; give "all", "train" or "valid"')
    text = read("tinyshakespeare", [SHAKESPEARE], SHAKESPEARE_SOURCE, root, download)[0].decode()
    cut = len(text) * 9 // 10
    return {"all": text, "train": text[:cut], "valid": text[cut:]}[split]


@naming_keywords
@described_by(ARGUMENTS)
def wikitext2(split: str = "train", *, root: str | os.PathLike[str] | None = None, download: bool = True) -> str:
    """WikiText-2: articles of Wikipedia with rare words as ``<unk>``, words apart by spaces, for word models.

    Args:
        split: "train" (about 2 million words), "valid" or "test" (about 0.2 million each).
    """
    if split not in WIKITEXT2:
        raise ValueError(f'wikitext2: split is {split!r}; give "train", "valid" or "test"')
    return read("wikitext-2", [WIKITEXT2[split]], WIKITEXT2_SOURCE, root, download)[0].decode()
