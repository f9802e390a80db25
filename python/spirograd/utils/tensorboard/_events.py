"""Event files as TensorBoard reads them: records of TensorFlow's TFRecord format, each a protocol buffer.

Sources: tensorflow/core/util/event.proto, framework/summary.proto, lib/io/record_writer.h; RFC 3720 for CRC-32C.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence

import numpy as np

__all__ = ["audio", "curve", "event", "graph", "histogram", "image", "png", "record", "scalar", "text"]


def _crc_table() -> list[int]:
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


_TABLE = _crc_table()


def _masked_crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """Length, its checksum, data, their checksum."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", _masked_crc(length)) + data + struct.pack("<I", _masked_crc(data))


# ---- protocol buffers ------------------------------------------------------------------------------------------------
def _varint(n: int) -> bytes:
    n &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def _whole(field: int, n: int) -> bytes:
    return _varint(field << 3) + _varint(n)


def _double(field: int, x: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", x)


def _single(field: int, x: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", x)


def _block(field: int, data: bytes | str) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return _varint(field << 3 | 2) + _varint(len(data)) + data


# ---- events ----------------------------------------------------------------------------------------------------------
def event(wall_time: float, step: int | None = None, values: Iterable[bytes] = (), version: str = "") -> bytes:
    """An event with values, or the first one, with the version."""
    data = _double(1, wall_time)
    if step is not None:
        data += _whole(2, step)
    if version:
        return data + _block(3, version)
    return data + _block(5, b"".join(_block(1, value) for value in values))


def graph(wall_time: float, nodes: Iterable[tuple[str, str, list[str], tuple[int, ...] | None]]) -> bytes:
    """An event with a graph (framework/graph.proto): of each node the name, what it is, those before it, its shape."""
    data = b""
    for name, op, inputs, shape in nodes:
        node = _block(1, name) + _block(2, op) + b"".join(_block(3, before) for before in inputs)
        if shape is not None:
            sizes = b"".join(_block(2, _whole(1, size)) for size in shape)
            shapes = _block(1, _block(7, sizes))
            node += _block(5, _block(1, "_output_shapes") + _block(2, shapes))
        data += _block(1, node)
    return _double(1, wall_time) + _block(4, data + _block(4, _whole(1, 22)))


def audio(tag: str, samples: np.ndarray, rate: int) -> bytes:
    """A sound: [frames] of int16."""
    data = samples.astype("<i2").tobytes()
    head = struct.pack(
        "<4sI8sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVEfmt ", 16, 1, 1, rate, 2 * rate, 2, 16, b"data", len(data)
    )
    sound = _single(1, rate) + _whole(2, 1) + _whole(3, len(samples)) + _block(4, head + data) + _block(5, "audio/wav")
    return _block(1, tag) + _block(6, sound)


def scalar(tag: str, x: float) -> bytes:
    """A number."""
    return _block(1, tag) + _single(2, x)


def text(tag: str, words: str) -> bytes:
    """A text: a tensor of one string, for the plugin of that name."""
    tensor = _whole(1, 7) + _block(2, _block(2, _whole(1, 1))) + _block(8, words)
    return _block(1, tag) + _block(8, tensor) + _block(9, _block(1, _block(1, "text")))


def curve(tag: str, rows: np.ndarray) -> bytes:
    """A curve of precision and recall: [6, thresholds], for the plugin of that name."""
    sizes = b"".join(_block(2, _whole(1, size)) for size in rows.shape)
    tensor = _whole(1, 1) + _block(2, sizes) + _block(4, rows.astype("<f4").tobytes())
    plugin = _block(1, "pr_curves") + _block(2, _whole(1, 0) + _whole(2, rows.shape[1]))
    return _block(1, tag) + _block(8, tensor) + _block(9, _block(1, plugin))


def histogram(tag: str, values: np.ndarray, limits: Sequence[float]) -> bytes:
    """How many values lie below each limit and not below the one before."""
    counts = np.bincount(np.searchsorted(limits, values, "left").clip(0, len(limits) - 1), minlength=len(limits))
    moments = values.min(), values.max(), values.size, values.sum(), np.square(values).sum()
    data = b"".join(_double(i, float(x)) for i, x in enumerate(moments, 1))
    data += _block(6, np.asarray(limits, "<f8").tobytes()) + _block(7, counts.astype("<f8").tobytes())
    return _block(1, tag) + _block(5, data)


def image(tag: str, pixels: np.ndarray) -> bytes:
    """A picture: [height, width, channels] of uint8, with 1, 3 or 4 channels."""
    height, width, channels = pixels.shape
    sizes = _whole(1, height) + _whole(2, width) + _whole(3, channels)
    return _block(1, tag) + _block(4, sizes + _block(4, png(pixels)))


def png(pixels: np.ndarray) -> bytes:
    """The picture as a PNG file (ISO 15948)."""
    height, width, channels = pixels.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # each begins with its filter: none
    rows[:, 1:] = pixels.reshape(height, -1)
    kind = {1: 0, 3: 2, 4: 6}[channels]

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
