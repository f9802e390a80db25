"""Writes files that PyTorch reads: a zip archive of a pickle and of the bytes of each tensor.

The pickle's instructions are written here one by one, so that PyTorch's classes are named without being there.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from .._core import Tensor
from ..base.stand_in import StandIn
from ..sparse import SparseTensor
from ._arrays import DTYPES, Array, values_of
from ._torch import KINDS
from ._trees import DEPTH, bad_key, inside, is_key, refused, too_deep

STORAGES = {dtype: f"{kind}Storage" for kind, dtype in zip(KINDS, DTYPES, strict=True)}
STORAGES |= {"complex64": "ComplexFloatStorage", "complex128": "ComplexDoubleStorage"}
ALIGNMENT = 64  # of the bytes of a tensor in the file, so that it can be mapped into memory
HEADER = 30  # bytes before a member's name


def write_torch(stream: BinaryIO, obj: Any, writer: Pickle | None = None) -> None:
    """Uncompressed, and the same bytes for the same content."""
    writer = writer or Pickle()
    writer.write(obj, "obj", 0)
    members = {"data.pkl": bytes(writer.code + b"."), ".format_version": b"1", "byteorder": b"little"}
    members |= {f"data/{i}": array.tobytes() for i, array in enumerate(writer.arrays)}
    start = stream.tell() if stream.seekable() else 0
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {**members, "version": b"3\n"}.items():
            member = zipfile.ZipInfo(f"archive/{name}")
            at = archive.start_dir - start + HEADER + len(member.filename) + 4  # 4: the head of the padding
            padding = -at % ALIGNMENT
            member.extra = struct.pack("<HH", 0x4246, padding) + b"Z" * padding
            archive.writestr(member, content)


class Pickle:
    """The instructions that make an object; the elements of its tensors are set aside."""

    def __init__(self) -> None:
        self.code = bytearray(b"\x80\x02")
        self.arrays: list[Array] = []
        self.numbers: dict[int, int] = {}  # of tensors seen before, in the reader's memory
        self.kept: list[Any] = []  # so that no two of them have one id
        self.places: dict[Any, int] = {}  # of arrays, by their address and type

    def write(self, x: Any, where: str, depth: int) -> None:
        if depth > DEPTH:
            raise too_deep("save", where)
        if isinstance(x, np.generic):
            x = x.item()
        if x is None or isinstance(x, bool):
            self.code += {None: b"N", True: b"\x88", False: b"\x89"}[x]
        elif isinstance(x, int):
            self.integer(int(x))
        elif isinstance(x, float):
            self.code += b"G" + struct.pack(">d", x)
        elif isinstance(x, str):
            data = x.encode("utf-8", "surrogatepass")
            self.code += b"X" + struct.pack("<I", len(data)) + data
        elif isinstance(x, (list, tuple)):
            self.code += b"](" if isinstance(x, list) else b"("
            for i, part in enumerate(x):
                self.write(part, f"{where}[{i}]", depth + 1)
            self.code += b"e" if isinstance(x, list) else b"t"
        elif isinstance(x, Mapping):
            self.empty_dict(x)
            self.code += b"("
            for key, value in x.items():
                if not is_key(key):
                    raise bad_key("save", where, key)
                self.write(key, where, depth + 1)
                self.write(value, inside(where, key), depth + 1)
            self.code += b"u"
        elif isinstance(x, (Tensor, np.ndarray)) or (isinstance(x, StandIn) and x.is_complex()):
            self.tensor(x, where)
        elif isinstance(x, SparseTensor):
            self.sparse(x, where)
        else:
            self.other(x, where)

    def empty_dict(self, x: Mapping[Any, Any]) -> None:
        """What the entries of a dict are put into."""
        self.code += b"}"

    def other(self, x: Any, where: str) -> None:
        """An object of another kind: it is refused."""
        raise refused("save", where, x)

    def integer(self, n: int) -> None:
        if -(2**31) <= n < 2**31:
            self.code += b"J" + struct.pack("<i", n)
        else:
            data = n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True)
            if len(data) > 255:
                raise ValueError(f"save: a number has {len(data)} bytes; 255 are the most")
            self.code += b"\x8a" + bytes([len(data)]) + data

    def name(self, module: str, name: str) -> None:
        self.code += f"c{module}\n{name}\n".encode()

    def call(self, module: str, name: str, arguments: Sequence[Any], where: str) -> None:
        """A function of a module with these arguments."""
        self.name(module, name)
        self.write(tuple(arguments), where, 0)
        self.code += b"R"

    def sparse(self, x: SparseTensor, where: str) -> None:
        """_rebuild_sparse_tensor(layout, parts)."""
        self.name("torch._utils", "_rebuild_sparse_tensor")
        self.code += b"("
        kind = "sparse_csr" if x.is_sparse_csr else "sparse_coo"
        self.call("torch.serialization", "_get_layout", [f"torch.{kind}"], where)
        places = [x.crow_indices(), x.col_indices()] if x.is_sparse_csr else [x._places]
        last = [] if x.is_sparse_csr else [x.is_coalesced()]
        self.write((*places, x._elements, tuple(x.shape), *last), where, 0)
        self.code += b"tR"

    def tensor(self, x: Any, where: str) -> None:
        """The tensor, as a parameter if it is one: _rebuild_parameter(tensor, requires_grad, hooks)."""
        from ..nn.parameter import Parameter, UninitializedParameter  # late: nn is larger than files need

        if id(x) in self.numbers:
            self.code += b"j" + struct.pack("<I", self.numbers[id(x)])
        elif isinstance(x, UninitializedParameter):  # UninitializedParameter(requires_grad, device, dtype)
            self.name("torch.nn.parameter", "UninitializedParameter")
            self.code += b"("
            self.write(x.requires_grad, where, 0)
            self.write(None, where, 0)
            self.name("torch", x.dtype.name)
            self.code += b"tR"
            self.met(x)
        elif isinstance(x, Parameter):
            self.name("torch._utils", "_rebuild_parameter")
            self.code += b"("
            self.rebuilt(x, where)
            self.write(x.requires_grad, where, 0)
            self.hooks()
            self.code += b"tR"
            self.met(x)
        else:
            self.rebuilt(x, where)
            self.met(x)

    def met(self, x: Any) -> None:
        """Numbers what was made, in case it occurs again."""
        self.numbers[id(x)] = len(self.numbers)
        self.code += b"r" + struct.pack("<I", self.numbers[id(x)])
        self.kept.append(x)

    def hooks(self) -> None:
        self.name("collections", "OrderedDict")
        self.code += b")R"

    def rebuilt(self, x: Any, where: str) -> None:
        """_rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks)."""
        values = x.numpy().astype(x.dtype.name) if isinstance(x, StandIn) else values_of("save", where, x, "?biufc")
        values = values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
        dtype = "bfloat16" if values.dtype.kind == "V" else values.dtype.name
        if dtype not in STORAGES:
            raise TypeError(f"save: {where} is an array of {dtype}; PyTorch's files hold {', '.join(DTYPES)}")
        self.name("torch._utils", "_rebuild_tensor_v2")
        self.code += b"(("
        self.write("storage", where, 0)
        self.name("torch", STORAGES[dtype])
        is_tensor = isinstance(x, (Tensor, StandIn))
        on_gpu = is_tensor and x.device.kind == "gpu"
        number = self.number(values)
        for part in (str(number), f"cuda:{x.device.index}" if on_gpu else "cpu", self.arrays[number].size):
            self.write(part, where, 0)
        self.code += b"tQ"
        stride = tuple(step // values.itemsize for step in values.strides)
        self.write(0, where, 0)
        self.write(values.shape, where, 0)
        self.write(stride, where, 0)
        self.write(is_tensor and x.requires_grad, where, 0)
        self.hooks()
        self.code += b"tR"

    def number(self, values: Array) -> int:
        """The storage that begins with these elements: one that was met in the same memory, or a new one."""
        place = (values.ctypes.data, values.dtype)
        number = self.places.get(place)
        if number is None or values.size > self.arrays[number].size:
            number = self.places[place] = len(self.arrays)
            self.arrays.append(values)  # alive from here on, so that its memory is not that of another one
        return number
