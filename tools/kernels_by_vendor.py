"""What other makers' compilers make of the kernels: registers, spills, shared memory, occupancy.

    python-navi31 tools/kernels_by_vendor.py navi31 [--write]

compiles the programs below for the one GPU that there is, and compares spills with the device's table in
docs/kernels_by_vendor.md; --write replaces that table. `tools/test.sh vendors` runs it with drivers that have no
hardware (docs/decisions/035-devices-are-faked-from-below.md): nothing is computed there.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

os.environ |= {"SPIROGRAD_DEBUG": "2", "SPIROGRAD_CACHE": "0", "SPIROGRAD_SPECIALIZE": "0"}

import spirograd as sg
from spirograd.nn import functional as F

LEAST = 100  # kernels: fewer prove nothing
PAGE = Path(__file__).resolve().parent.parent / "docs" / "kernels_by_vendor.md"
Program = Callable[[], object]


def empty(*shape: int, dtype: sg.dtype = sg.float32, grad: bool = False) -> sg.Tensor:
    """A tensor that no kernel writes."""
    return sg.empty(*shape, dtype=dtype, device="gpu", requires_grad=grad)


def product(m: int, k: int, n: int, dtype: sg.dtype = sg.float32) -> sg.Tensor:
    """A product of contiguous matrices."""
    return empty(m, k, dtype=dtype) @ empty(k, n, dtype=dtype)


def products() -> Iterator[tuple[str, Program]]:
    """Each tile, operands that lie across, an epilogue, the other types."""
    for m, k, n in [
        (4096, 4096, 4096),
        (768, 768, 768),
        (256, 256, 256),
        (64, 256, 10),
        (48, 512, 65536),
        (4, 512, 200000),
    ]:
        yield f"product {m} x {k} x {n}", partial(product, m, k, n)
    yield "product of transposed", lambda: empty(4096, 4096).T @ empty(4096, 4096)
    yield "product, bias, gelu", lambda: F.gelu(F.linear(empty(4096, 1024), empty(4096, 1024), empty(4096)))
    yield "product of float64", partial(product, 1024, 1024, 1024, sg.float64)
    yield "product of int32", partial(product, 1024, 1024, 1024, sg.int32)
    for t in (sg.float16, sg.bfloat16):
        yield f"product of {t.name}", partial(product, 4096, 4096, 4096, t)
    yield "small product of float16", partial(product, 256, 256, 256, sg.float16)
    for precision in ("high", "medium"):
        yield f"product, precision {precision}", partial(with_precision, precision)


def with_precision(precision: str) -> sg.Tensor:
    """A product of float32 by halves."""
    sg.set_float32_matmul_precision(precision)
    out = product(4096, 4096, 4096)
    sg.set_float32_matmul_precision("highest")
    return out


def backward(*inputs: sg.Tensor, of: Callable[..., sg.Tensor]) -> list[sg.Tensor | None]:
    """The gradients of inputs."""
    out = of(*inputs)
    out.backward(sg.empty_like(out))
    return [x.grad for x in inputs]


def convolutions() -> Iterator[tuple[str, Program]]:
    """Forward and both gradients; kernels of other sides than 3; depthwise; halves."""

    def convolve(t: sg.dtype, side: int = 3) -> object:
        x, w = empty(64, 64, 56, 56, dtype=t, grad=True), empty(128, 64, side, side, dtype=t, grad=True)
        return backward(x, w, of=lambda x, w: F.conv2d(x, w, padding=side // 2))

    for t in (sg.float32, sg.float16):
        yield f"convolution of {t.name}", partial(convolve, t)
    yield "convolution 5 x 5 of float32", partial(convolve, sg.float32, 5)
    yield (
        "depthwise convolution",
        lambda: backward(
            empty(16, 64, 56, 56, grad=True),
            empty(64, 1, 3, 3, grad=True),
            of=lambda x, w: F.conv2d(x, w, padding=1, groups=64),
        ),
    )
    yield (
        "max pooling",
        lambda: backward(empty(16, 64, 56, 56, grad=True), of=lambda x: F.max_pool2d(x, 3, 2, 1)),
    )


def attentions() -> Iterator[tuple[str, Program]]:
    """Sizes of a head, halves, one query, dropout."""

    def attend(d: int, t: sg.dtype, dropout: float = 0.0) -> object:
        qkv = [empty(8, 16, 1024, d, dtype=t, grad=True) for _ in range(3)]
        return backward(*qkv, of=lambda q, k, v: F.scaled_dot_product_attention(q, k, v, None, dropout, True))

    for d in (32, 64, 128, 256):
        yield f"attention, heads of {d}", partial(attend, d, sg.float32)
    for d in (64, 128):
        yield f"attention of float16, heads of {d}", partial(attend, d, sg.float16)
    yield "attention with dropout", partial(attend, 64, sg.float32, 0.1)
    yield (
        "attention of one query",
        lambda: F.scaled_dot_product_attention(empty(8, 16, 1, 64), empty(8, 16, 4096, 64), empty(8, 16, 4096, 64)),
    )


def rows() -> Iterator[tuple[str, Program]]:
    """Softmax, normalisations, losses, sums."""
    yield "softmax of 1024", lambda: backward(empty(8192, 1024, grad=True), of=lambda x: x.softmax(-1))
    yield "softmax of 32000", lambda: empty(256, 32000).softmax(-1)
    norm = lambda x, w, b: F.layer_norm(x, (1024,), w, b)  # noqa: E731
    yield (
        "layer norm of 1024",
        lambda: backward(empty(8192, 1024, grad=True), empty(1024, grad=True), empty(1024, grad=True), of=norm),
    )
    yield (
        "batch norm",
        lambda: backward(
            empty(32, 64, 56, 56, grad=True),
            empty(64, grad=True),
            empty(64, grad=True),
            of=lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        ),
    )
    yield (
        "cross entropy of 50257",
        lambda: backward(empty(1024, 50257, grad=True), of=lambda x: F.cross_entropy(x, empty(1024, dtype=sg.int64))),
    )
    yield "sum of all", lambda: empty(1 << 24).sum()
    yield "sum of columns", lambda: empty(8192, 1024).sum(0)
    yield "transpose", lambda: empty(4096, 4096).T.contiguous() + 1


def sort(dtype: sg.dtype) -> object:
    """A sort of one long row."""
    return empty(1 << 22, dtype=dtype).sort()


def orders() -> Iterator[tuple[str, Program]]:
    """Sorts, selections, scans, gathers and scatters."""
    for t in (sg.float32, sg.int64):
        yield f"sort of {t.name}", partial(sort, t)
    yield "sort of short rows", lambda: empty(4096, 256).sort()
    yield "topk", lambda: empty(64, 50257).topk(50)
    yield "median", lambda: empty(1 << 22).median()
    yield "cumsum", lambda: empty(1 << 24).cumsum(0)
    yield "cumsum of float64", lambda: empty(1 << 22, dtype=sg.float64).cumsum(0)
    yield "cumprod", lambda: empty(1 << 22).cumprod(0)
    yield "cummax", lambda: empty(1 << 22).cummax(0)
    yield "searchsorted", lambda: sg.searchsorted(empty(1 << 20), empty(1 << 16))
    yield (
        "embedding",
        lambda: backward(empty(50257, 768, grad=True), of=lambda w: F.embedding(empty(8192, dtype=sg.int64), w)),
    )
    yield "unique", lambda: sg.nonzero(empty(1 << 16, dtype=sg.int32))


def networks() -> Iterator[tuple[str, Program]]:
    """Recurrent layers, an optimiser, random numbers."""
    for name in ("RNN", "LSTM", "GRU"):

        def step(name: str = name) -> object:
            layer = getattr(sg.nn, name)(128, 256).to("gpu")
            out = layer(empty(32, 64, 128))[0]
            out.sum().backward()
            return [p.grad for p in layer.parameters()]

        yield name, step

    def adam() -> object:
        layer = sg.nn.Linear(1024, 1024).to("gpu")
        optimizer = sg.optim.AdamW(layer.parameters())
        layer(empty(64, 1024)).sum().backward()
        optimizer.step()
        return layer

    yield "AdamW", adam
    yield "dropout", lambda: backward(empty(1 << 20, grad=True), of=lambda x: F.dropout(x, 0.1))
    yield "randn", lambda: sg.randn(1 << 20, device="gpu")

    def values() -> object:
        out = sg.Value(1.0, device="gpu") * 2 + 3
        out.relu().backward()
        return out

    yield "scalar Values", values


GROUPS = (products, convolutions, attentions, rows, orders, networks)

# As the engine prints them at SPIROGRAD_DEBUG=2.
_FACTS = re.compile(r"\[spirograd\] (\w+): (.+ [\d.]+)$")
# The columns of a table, and what drivers call them.
_NAMES = {
    "registers": ("VGPRs", "Max live registers", "Number of GPRs", "Registers used", "GPRs"),
    "scalar": ("SGPRs", "Uniforms"),
    "spilled": ("Spilled VGPRs", "Spills", "Spills to memory", "STP Count"),
    "shared": ("LDS size", "Workgroup Memory Size"),
    "side by side": ("Subgroups per SIMD", "Max dispatch width", "Max warps/SM", "Max Waves Per Core", "Threads"),
}
_FILLS = re.compile(r"full|contiguous|arange")  # no work of their own
Row = dict[str, int]


def said_by_compiler(program: Program) -> list[tuple[str, str]]:
    """The kernels that a program compiles, and the driver's facts about each."""
    with tempfile.TemporaryFile() as log:
        sys.stderr.flush()
        before = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            held = program()
            sg.synchronize("gpu")
            del held
        finally:
            os.dup2(before, 2)
            os.close(before)
        log.seek(0)
        lines = log.read().decode(errors="replace").splitlines()
    return [(found[1], found[2]) for line in lines if (found := _FACTS.match(line))]


def figures(facts: str) -> Row:
    """Those of the facts that the table has."""
    values = {name: value for name, value in (fact.rsplit(" ", 1) for fact in facts.split(", "))}
    return {
        column: int(values[name])
        for column, names in _NAMES.items()
        for name in names
        if values.get(name, "").isdigit()
    }


def measured() -> tuple[dict[str, Row], list[str]]:
    """A row for each kernel, the worst of those of one name; and the programs that the device has no kernels for."""
    table: dict[str, Row] = {}
    refused = []
    for label, program in (each for group in GROUPS for each in group()):
        try:
            kernels = said_by_compiler(program)
        except sg.LimitError as error:
            refused.append(f"{label}: {error}")
            continue
        for name, facts in kernels:
            if _FILLS.match(name):
                continue
            row = table.setdefault(f"{label}: {name}", {})
            for column, value in figures(facts).items():
                worse = min if column == "side by side" else max
                row[column] = worse(value, row.get(column, value))
    return table, refused


def sections(text: str) -> dict[str, str]:
    """The tables of the page, by device."""
    parts = re.split(r"^## (.+)\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def spilled(section: str) -> dict[str, int]:
    """What a table says of spills, by kernel."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    at = rows[0].index("spilled") if rows else 0
    return {row[0]: int(row[at]) for row in rows[2:] if row[at].isdigit()}


def written(table: dict[str, Row], refused: list[str]) -> str:
    """A section of the page, without its heading."""
    gpu = sg.Device("gpu")
    lines = [
        "",
        f"{gpu.name}; {gpu.driver}.",
        "",
        "| kernel | " + " | ".join(_NAMES) + " |",
        "|---" * (len(_NAMES) + 1) + "|",
    ]
    lines += [
        "| " + " | ".join([name, *(str(row.get(column, "")) for column in _NAMES)]) + " |"
        for name, row in table.items()
    ]
    lines += ["", *(f"Refused: {each}." for each in refused)]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    """Compares or writes; 1 when a kernel newly spills."""
    parser = argparse.ArgumentParser()
    parser.add_argument("device")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    table, refused = measured()
    text = PAGE.read_text()
    if options.write:
        tables = sections(text)
        tables[options.device] = written(table, refused) + "\n"
        head = text.split("\n## ")[0].rstrip() + "\n\n"
        PAGE.write_text(head + "\n".join(f"## {name}\n{body.rstrip()}\n" for name, body in tables.items()))
        return 0
    page = sections(text)[options.device]
    known = spilled(page)
    same_driver = sg.Device("gpu").driver in page
    print(f"{options.device}: {len(table)} kernels, {sum(row.get('spilled', 0) > 0 for row in table.values())} spill")
    worse = False
    for name, row in table.items():
        now, before = row.get("spilled", 0), known.get(name, 0)
        if now > before:
            print(f"spills {now} registers, {before} before: {name}")
            worse = worse or same_driver or before == 0
    if not same_driver:
        print("the table is of another driver, in which kernels that spill may spill less; write it anew")
    return 1 if worse or len(table) < LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
