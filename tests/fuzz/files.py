"""Files that somebody changed: each is refused with FileFormatError, or read; never anything else.

    python tests/fuzz/files.py --seconds 60              all kinds of files in turn, until the time is over
    python tests/fuzz/files.py --count 100000            as many files
    python tests/fuzz/files.py --only npy --first 17 --count 1   one of them again
    python tests/fuzz/files.py --atheris npy -runs=10000 guided by what the reader runs, where Atheris is installed

A file is refused or read within a second of computing and 256 MiB. Where its parts have check-sums, what is read is
what was written. Every file follows from the seed, its kind and its number, so that a report of three words is enough.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gzip
import io
import json
import mmap
import multiprocessing
import os
import random
import resource
import struct
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pickles import program

try:
    from PIL import Image
except ImportError:
    Image = None  # type: ignore[assignment]

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

READERS = ["pickletools", "spirograd.serialization", "spirograd.text", "spirograd.datasets"]
if "--atheris" in sys.argv:
    import atheris

    watched = atheris.instrument_imports(include=READERS)
else:
    watched = contextlib.nullcontext()
with watched:
    import spirograd as sg
    from reference.archives import tarred, unzipped, zipped
    from reference.torch_files import Part, torch_file
    from spirograd.datasets import download, load_image, parse_idx
    from spirograd.datasets.folders import FORMATS
    from spirograd.utils import checkpoints
    from spirograd.utils.data import ArrayDataset

SECONDS, BYTES = 1.0, 256 << 20  # what a file may take
Reader = Callable[[bytes], Any]


class Kind(NamedTuple):
    """Whole files, how they are read, and whether a changed one that is read must hold what the whole one did."""

    samples: list[bytes]
    read: Reader
    same: bool = False
    make: Callable[[random.Random], bytes] | None = None  # in place of a changed one: one made from nothing


# --- the kinds


def saved(write: Callable[..., None], *arguments: Any, **named: Any) -> bytes:
    out = io.BytesIO()
    write(*[out if a is ... else a for a in arguments], **named)
    return out.getvalue()


def load(data: bytes) -> Any:
    return sg.load(io.BytesIO(data), map_location="cpu")


def from_path(name: str, read: Callable[[Path], Any], data: bytes) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        return read(path)


def data_set(name: str, data: bytes) -> Any:
    def read(path: Path) -> list[bytes]:
        file = download.File("in/a" if "." in name else name, 3000)
        return download.read(path.parent.name, [file], download.Download(name, ()), path.parent.parent, False)

    return from_path(name, read, data)


def pretrained(files: dict[str, bytes], name: str, data: bytes) -> Any:
    """A model of a folder in which one file is another one. What is of another model is refused as well."""
    with tempfile.TemporaryDirectory() as folder:
        for file, content in {**files, name: data}.items():
            (Path(folder) / file).write_bytes(content)
        try:
            return sg.models.Llama.from_pretrained(folder)
        except (ValueError, FileNotFoundError) as error:
            raise sg.FileFormatError(str(error).partition("\n")[0]) from None


def models() -> dict[str, Kind]:
    """Folders of the hubs, and ONNX and the library tokenizers where they are installed."""
    state = sg.models.Llama(vocabulary=9, context=4, width=8, inner=6, layers=2, heads=2).state_dict()
    numbers = {"vocab_size": 9, "max_position_embeddings": 4, "hidden_size": 8, "intermediate_size": 6}
    numbers |= {"num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 4}
    scaling = {"rope_type": "llama3", "factor": 2.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    scaling |= {"original_max_position_embeddings": 4}
    config = json.dumps({**numbers, "rms_norm_eps": 1e-6, "rope_theta": 1e4, "rope_scaling": scaling}).encode()
    shards = [dict(list(state.items())[i::2]) for i in range(2)]
    index = {"weight_map": {name: f"{i}.safetensors" for i, shard in enumerate(shards) for name in shard}}
    files = {f"{i}.safetensors": saved(sg.save_safetensors, shard, ...) for i, shard in enumerate(shards)}
    files |= {"config.json": config, "model.safetensors.index.json": json.dumps(index).encode()}
    made = {name: Kind([files[name]], partial(pretrained, files, name)) for name in list(files)[2:]}
    with contextlib.suppress(ImportError):
        with tempfile.TemporaryDirectory() as folder:
            sg.text.train_bpe(["low lower lowest new newer newest"] * 3, 262).save(Path(folder) / "t.json")
            found = (Path(folder) / "t.json").read_bytes()
        made["tokenizers"] = Kind([found], partial(from_path, "t.json", sg.text.from_file))
    with contextlib.suppress(ImportError):
        made["sentencepiece"] = Kind([pieces()], partial(from_path, "t.model", sg.text.from_sentencepiece))
    with contextlib.suppress(ImportError):
        small = sg.nn.Sequential(sg.nn.Conv2d(1, 2, 3), sg.nn.ReLU(), sg.nn.Flatten(), sg.nn.Linear(8, 2))
        graph = sg.onnx.export(small, sg.ones(1, 1, 4, 4)).SerializeToString()
        made["onnx"] = Kind([graph], partial(from_path, "x.onnx", onnx))
    return made


def first_row(path: Path) -> Any:
    try:
        return ArrayDataset(path)[:1]
    except ValueError as error:  # a single number has no rows
        raise sg.FileFormatError(str(error)) from None


def pieces() -> bytes:
    from sentencepiece import SentencePieceTrainer

    words, out = ["low lower lowest new newer newest wide wider widest"] * 3, io.BytesIO()
    options = {"vocab_size": 30, "model_type": "bpe", "minloglevel": 2}
    SentencePieceTrainer.train(sentence_iterator=iter(words), model_writer=out, **options)
    return out.getvalue()


def onnx(path: Path) -> Any:
    try:
        return sg.onnx.load(path)
    except sg.FileFormatError:
        raise
    except sg.Error as error:  # an operator that is not known
        raise sg.FileFormatError(str(error)) from None


def kinds() -> dict[str, Kind]:
    sg.manual_seed(0)
    net = sg.nn.Sequential(sg.nn.Linear(3, 2), sg.nn.BatchNorm1d(2))
    optimizer = sg.optim.Adam(net.parameters())
    net(sg.ones(4, 3)).sum().backward()
    optimizer.step()
    state = {
        "net": net.state_dict(), "optimizer": optimizer.state_dict(), "b": sg.ones(3, dtype=sg.bfloat16),
        "flags": sg.tensor([True, False]), (1, "x"): [None, 1.5, float("inf"), 2**70, np.arange(3), np.float32(2)],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        training = checkpoints.save(folder, 3, model=net, optimizer=optimizer, extra={"loss": [1.0]}).read_bytes()
        sg.text.CharTokenizer("hello").save(Path(folder) / "c.json")
        sg.text.WordTokenizer(["a", "b"]).save(Path(folder) / "w.json")
        tokens = [(Path(folder) / name).read_bytes() for name in ("c.json", "w.json")]
    whole = saved(sg.save, state, ...)
    arrays = {f"{d}": np.ones((2, 3), d) for d in ("?", "u1", "<f2", ">f4", "<i8", "<f8", "<c8", "<U3")}
    npy = [saved(np.save, ..., a) for a in (*arrays.values(), np.asfortranarray(np.ones((3, 2))), np.ones(()))]
    plain = {name: arrays[name] for name in ("?", "u1", ">f4", "<i8")}
    shared = np.arange(12, dtype=np.float32)
    weights = {
        "w": Part(shared, (2, 3), (1, 2), 3), "b": Part(shared, (3,), (0,), 11), "step": 7, "lr": [0.1, None, True],
        "p": Part(np.ones(2, np.int64), parameter=True), "h": Part(np.ones(3, np.float16)), "t": ("\u00fc", 1 << 40),
    }  # fmt: skip
    torch = torch_file(weights)
    pickled = unzipped(torch)["archive/data.pkl"]
    tree = unzipped(whole)
    idx = b"\0\0\10\3" + struct.pack(">3I", 2, 3, 4) + bytes(24)
    packed = {"in/a": bytes(range(250)) * 12, "in/b": b"other"}
    safe = saved(sg.save_safetensors, {"w": sg.ones(2, 3), "b": sg.ones(3, dtype=sg.bfloat16)}, ..., {"note": "x"})
    images = [
        saved(Image.fromarray(np.arange(99, dtype=np.uint8).reshape(3, 11, 3)).save, ..., format=form)
        for form in ((Image and FORMATS) or ())
    ]
    return {
        **models(),
        **({"image": Kind(images, partial(from_path, "x.png", load_image))} if images else {}),
        "save": Kind([whole, saved(sg.save, [sg.arange(5), "x"], ...)], load, same=True),
        "checkpoint": Kind([training], partial(from_path, "step-1.npz", checkpoints.peek), same=True),
        "tree": Kind([tree["tree.json"]], lambda data: load(zipped(tree | {"tree.json": data}))),
        "npz": Kind([saved(np.savez, ..., **plain), saved(np.savez_compressed, ..., **plain)], load, same=True),
        "npy": Kind(npy, load),
        "npy mapped": Kind(npy[:-1], partial(from_path, "x.npy", first_row)),
        "npy in npz": Kind(npy, lambda data: load(zipped({"w.npy": data}, zipfile.ZIP_DEFLATED))),
        "safetensors": Kind([safe], load),
        "torch": Kind([torch], load, same=True),
        "torch pickle": Kind([pickled], lambda data: load(torch_file(weights, **{"data.pkl": data}))),
        "torch program": Kind([pickled], lambda data: load(torch_file(weights, **{"data.pkl": data})), make=program),
        "torch old": Kind([torch_file(weights, old=True)], load),
        "tokenizer": Kind(tokens, partial(from_path, "t.json", sg.text.from_file)),
        "idx": Kind([idx], parse_idx),
        "gz": Kind([gzip.compress(packed["in/a"])], partial(data_set, "a.gz"), same=True),
        "tar": Kind([tarred(packed)], partial(data_set, "set.tar.gz")),
        "zip": Kind([zipped(packed), zipped(packed, zipfile.ZIP_DEFLATED)], partial(data_set, "set.zip"), same=True),
    }


def canary(data: bytes) -> None:
    """A reader with a mistake, which the lane wants to see reported."""
    if data[0] != 0:
        raise KeyError(data[0])


# --- changes

NUMBERS = [0, 1, 2, 3, 7, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 1 << 20, 1 << 31, (1 << 31) - 1, (1 << 32) - 1, 1 << 40,
           1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]  # fmt: skip
WORDS = [
    b"null", b"true", b"True", b"-1", b"1e999", b"NaN", b'""', b"[]", b"{}", b"(1,)", b"[" * 300, b"9" * 50, b"|O",
    b"<f8", b"1099511627776", b"\0", b"../", b"\xff\xfe", b"tensor", b"tuple", b"array", b"shape", b"PK\1\2", b"PK\5\6",
    b"c__builtin__\neval\n", b"\x80\2", b"\x85", b"q\0", b"h\0", b"R", b"b", b"Q", b"0", b"(", b"t", b"u",
]  # fmt: skip


def place(chance: random.Random, data: bytearray) -> int:
    return chance.randrange(len(data) + 1)


def flip(chance: random.Random, data: bytearray, other: bytes) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def byte(chance: random.Random, data: bytearray, other: bytes) -> None:
    if data:
        data[chance.randrange(len(data))] = chance.randrange(256)


def number(chance: random.Random, data: bytearray, other: bytes) -> None:
    size, at = chance.choice([1, 2, 4, 8]), place(chance, data)
    value = chance.choice(NUMBERS) & ((1 << 8 * size) - 1)
    data[at : at + size] = value.to_bytes(size, chance.choice(["little", "big"]))  # type: ignore[arg-type]


def word(chance: random.Random, data: bytearray, other: bytes) -> None:
    at, text = place(chance, data), chance.choice(WORDS)
    data[at : at + chance.choice([0, len(text)])] = text


def digit(chance: random.Random, data: bytearray, other: bytes) -> None:
    places = [i for i, c in enumerate(data) if 48 <= c < 58]
    if places:
        at = chance.choice(places)
        data[at : at + 1] = str(chance.choice(NUMBERS)).encode()


def cut(chance: random.Random, data: bytearray, other: bytes) -> None:
    del data[place(chance, data) :]


def drop(chance: random.Random, data: bytearray, other: bytes) -> None:
    at = place(chance, data)
    del data[at : at + chance.randrange(1, 17)]


def repeat(chance: random.Random, data: bytearray, other: bytes) -> None:
    at = place(chance, data)
    data[at:at] = data[at : at + chance.randrange(1, 65)] * chance.choice([1, 2, 50])


def splice(chance: random.Random, data: bytearray, other: bytes) -> None:
    begin = chance.randrange(len(other) + 1)
    at = place(chance, data)
    data[at : at + chance.choice([0, 64])] = other[begin : begin + chance.randrange(1, 65)]


CHANGES = [flip, flip, byte, number, number, word, digit, cut, drop, repeat, splice]


def changed(kind: Kind, name: str, seed: int, i: int) -> tuple[bytes, bytes]:
    """The i-th changed file, and the whole one that it comes from."""
    chance = random.Random(f"{seed} {name} {i}")
    sample = chance.choice(kind.samples)
    if kind.make:
        return kind.make(chance), sample
    data = bytearray(sample)
    for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
        chance.choice(CHANGES)(chance, data, chance.choice(kind.samples))
    return bytes(data), sample


# --- judgement


def plain(x: Any) -> Any:
    """Something that compares equal when all in it has the same bits."""
    if isinstance(x, sg.Tensor):
        return "tensor", x.dtype.name, tuple(x.shape), x.requires_grad, plain(x.detach().numpy())
    if isinstance(x, (np.ndarray, np.generic)):
        return str(x.dtype), x.shape, x.tobytes()
    if isinstance(x, dict):
        return [(plain(k), plain(v)) for k, v in x.items()]
    if isinstance(x, (list, tuple)) and not isinstance(x, checkpoints.Restored):
        return type(x).__name__, [plain(part) for part in x]
    if isinstance(x, checkpoints.Restored):
        return x.step, x.epoch, plain(x.extra)
    return repr(x)


def judged(kind: Kind, data: bytes, sample: bytes) -> str:
    """'read' or 'refused'; anything else is a mistake of the reader."""
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        found = kind.read(data)
    except sg.FileFormatError as error:
        outcome = "refused" if "\n" not in str(error) else f"a message of several lines: {error!r}"
    except Exception as error:
        outcome = f"{type(error).__name__}: {error}"
    else:
        outcome = "read"
        if kind.same and plain(found) != plain(kind.read(sample)):
            outcome = "other values than were written"
    if (took := time.process_time() - start) > SECONDS:
        outcome = f"{took:.1f} s"
    if (grown := resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) > BYTES >> 10:
        outcome = f"{grown >> 10} MiB"
    return outcome


# --- the runs


def numbered(args: argparse.Namespace, names: list[str]) -> Iterator[tuple[str, int]]:
    """Kinds in turn."""
    end = time.monotonic() + args.seconds if args.seconds else None
    for n in range(args.first * len(names), (args.first * len(names)) + args.count if args.count else 1 << 62):
        if end and time.monotonic() > end:
            return
        yield names[n % len(names)], n // len(names)


def work(args: argparse.Namespace, board: mmap.mmap) -> None:
    faulthandler.enable()
    table = all_kinds()
    names = args.only or [name for name in table if name != "canary"]
    read = refused = 0
    for name, i in numbered(args, names):
        data, sample = changed(table[name], name, args.seed, i)
        board[:] = f"{name} {i}".ljust(len(board)).encode()
        outcome = judged(table[name], data, sample)
        read, refused = read + (outcome == "read"), refused + (outcome == "refused")
        if outcome not in ("read", "refused"):
            kept = keep(name, i, data)
            sys.exit(f"files: {name} {i} (seed {args.seed}) gave {outcome[:300]}; the file is {kept}")
    print(f"files: {read + refused:,} changed files of {len(names)} kinds, {read:,} read, {refused:,} refused")


def keep(name: str, i: int, data: bytes) -> Path:
    path = Path("build/fuzz") / f"{name.replace(' ', '-')}-{i}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def all_kinds() -> dict[str, Kind]:
    return {**kinds(), "canary": Kind([bytes(64)], canary)}


def guided(name: str, options: list[str]) -> None:
    """Atheris: libFuzzer, which sees what the reader runs."""
    kind = all_kinds()[name]

    def one(data: bytes) -> None:
        outcome = judged(kind, data, kind.samples[0])
        if outcome not in ("read", "refused", "other values than were written"):
            raise AssertionError(outcome)

    corpus = Path("build/fuzz/corpus") / name.replace(" ", "-")
    corpus.mkdir(parents=True, exist_ok=True)
    for sample in kind.samples:
        (corpus / f"{zlib.crc32(sample):08x}").write_bytes(sample)
    atheris.Setup([sys.argv[0], "-artifact_prefix=build/fuzz/", *options, str(corpus)], one)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, help="until then")
    parser.add_argument("--count", type=int, help="so many files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first file of each kind")
    parser.add_argument("--only", action="append", help="a kind; may be given several times")
    parser.add_argument("--atheris", metavar="KIND")
    args, options = parser.parse_known_args()
    if args.atheris:
        guided(args.atheris, options)
        return 0
    board = mmap.mmap(-1, 64)  # what the worker reads, for when it dies
    worker = multiprocessing.get_context("fork").Process(target=work, args=(args, board))
    worker.start()
    worker.join()
    if worker.exitcode and worker.exitcode < 0:
        name, _, i = board[:].decode().strip().rpartition(" ")
        kept = keep(name, int(i), changed(all_kinds()[name], name, args.seed, int(i))[0])
        print(f"files: {name} {i} (seed {args.seed}) ended the process ({worker.exitcode}); the file is {kept}")
    return int(worker.exitcode != 0)


if __name__ == "__main__":
    os.environ.setdefault("SPIROGRAD_CACHE", "0")
    sys.exit(main())
