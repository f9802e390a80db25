"""Programs in the language of pickles, made by chance: values in values, some of them doubled, deep or many times."""

from __future__ import annotations

import random
import struct

NAMES = [
    "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter", "torch._utils _rebuild_sparse_tensor",
    "torch.serialization _get_layout", "torch Size", "torch device", "torch FloatStorage", "torch float32", "os system",
    "collections OrderedDict", "collections Counter", "__builtin__ set", "__builtin__ complex", "_codecs encode",
]  # fmt: skip
WORDS = ["storage", "0", "1", "cpu", "cuda:0", "latin1", "torch.sparse_coo", "torch.sparse_csr", "\u00fc", "nan"]
MEMO = 4  # numbers that values are kept under
LONGEST = 1 << 17


def text(word: str) -> bytes:
    return b"X" + struct.pack("<I", len(word.encode())) + word.encode()


def name(full: str) -> bytes:
    return b"c%b\n%b\n" % tuple(full.encode().split())


def constant(chance: random.Random) -> bytes:
    return chance.choice([
        b"N", b"\x88", b"]", b"}", b")", b"K\1", b"G" + struct.pack(">d", chance.choice([0.5, float("nan")])),
        b"J" + struct.pack("<i", chance.choice([-1, 0, 3, 1 << 30])), b"\x8a\x09" + chance.randbytes(9),
        text(chance.choice(WORDS)), name(chance.choice(NAMES)), b"h%c" % chance.randrange(MEMO),
    ])  # fmt: skip


def storage(chance: random.Random) -> bytes:
    key = text(chance.choice("01"))
    return b"(" + text("storage") + name("torch FloatStorage") + key + text("cpu") + b"K\x0ctQ"


def tensor(chance: random.Random) -> bytes:
    offset, *numbers = (b"K%c" % chance.randrange(4) for _ in range(5))
    size, stride = (b"(" + b"".join(part) + b"t" for part in (numbers[:2], numbers[2:]))
    made = name("torch._utils _rebuild_tensor_v2") + b"(" + storage(chance) + offset + size + stride + b"\x89NtR"
    return name("torch._utils _rebuild_parameter") + b"(" + made + b"\x88NtR" if chance.random() < 0.2 else made


def value(chance: random.Random, depth: int) -> bytes:
    """Instructions that leave one value."""
    which = chance.randrange(12) if depth else 0
    parts = [value(chance, depth - 1) for _ in range(chance.randrange(1, 5))] if which > 2 else []
    if which <= 1:
        return constant(chance)
    if which == 2:
        return tensor(chance)
    if which == 3:
        return b"](" + b"".join(parts) + b"e"
    if which == 4:
        return b"(" + b"".join(parts) + b"t"
    if which == 5:
        return b"}(" + b"".join(constant(chance) + part for part in parts) + b"u"
    if which in (6, 7):  # a call, most often of something known
        return name(chance.choice(NAMES)) + b"(" + b"".join(parts) + b"tR"
    number = chance.randrange(MEMO)
    kept = parts[0] + b"q%c" % number
    if which == 8:
        return kept
    if which == 9:  # a tuple of two of the one before, and so on
        return kept + b"h%ch%c\x86q%c" % (number, number, number) * chance.choice([2, 20, 60])
    if which == 10:  # deep
        return parts[0] + chance.choice([b"\x85", b"\x85\x85"]) * chance.choice([2, 90, 5000, 60_000])
    many = chance.choice([parts[0], b"h%c" % number, b"c__builtin__\nset\nh%c\x85R" % number])
    return kept + b"0](" + many * min(chance.choice([2, 100, 20_000]), LONGEST // len(many)) + b"e"


def program(chance: random.Random) -> bytes:
    """A pickle of one value; a part of them has a few instructions changed."""
    code = bytearray(value(chance, chance.randrange(1, 6)))
    for _ in range(chance.choice([0, 0, 0, 1, 3])):
        at = chance.randrange(len(code))
        code[at : at + chance.randrange(2)] = chance.choice([b"t", b"(", b"R", b"s", b"a", b"0", b"b", b"Q", b"\x94"])
    return b"\x80\2" + bytes(code[:LONGEST]) + b"."
