"""The statements of random programs: an entry for each way to make or write a tensor."""

from __future__ import annotations

from draw import Drawing, value, write

SMOOTH = ("tanh", "sigmoid", "exp", "sin", "cos", "neg", "abs", "relu", "square", "sign", "floor", "silu", "softsign")
FOLDS = ("sum", "mean", "amax", "amin", "logsumexp")


@value(8)
def unary(d: Drawing) -> str:
    x = d.pick_value()
    name = d.pick(*SMOOTH, "log1p(abs", "sqrt(abs")
    if "(" in name:
        outer, inner = name.split("(")
        return f"t.{outer}(t.{inner}({x}) + 0.5)"
    if name == "exp":
        return f"t.exp(t.clamp({x}, -4.0, 2.0))"
    if name in ("silu", "softsign"):
        return f"t.nn.functional.{name}({x})"
    return f"t.{name}({x})"


@value(12)
def arithmetic(d: Drawing) -> str:
    x = d.pick_value()
    other = d.like(x) if d.maybe(0.7) else d.number()
    op = d.pick("+", "-", "*", "+", "-", "*", "/")
    if op == "/":
        return f"{x} / ({other} * {other} + 1.0)" if d.maybe(0.5) else f"{x} / 4.0"
    return f"{x} {op} {other}" if d.maybe(0.8) else f"{other} {op} {x}"


@value(3)
def extremes(d: Drawing) -> str:
    x = d.pick_value()
    return f"t.{d.pick('maximum', 'minimum')}({x}, {d.like(x)})"


@value(3)
def clamp(d: Drawing) -> str:
    return f"t.clamp({d.pick_value()}, {d.pick('-0.5', 'None', '-1.0')}, {d.pick('0.5', '1.0')})"


@value(3)
def choose(d: Drawing) -> str:
    x = d.pick_value()
    y = d.like(x)
    return f"t.where({x} > {d.pick('0.1', y)}, {d.pick(x, y)}, {d.pick(y, d.number())})"


@value(2)
def compare(d: Drawing) -> str:
    """Not whether two floating values are the same: what was rounded twice may be so on one backend alone."""
    x = d.pick_value()
    if d.maybe(0.5):
        return f"({x} {d.pick('>', '<=')} {d.pick('0.3', d.like(x))})"
    return f"(t.floor({x} * 4.0 + 0.3) {d.pick('==', '!=')} {d.pick('1.0', f't.floor({d.like(x)} * 4.0 + 0.3)')})"


@value(2)
def lerp(d: Drawing) -> str:
    x = d.pick_value()
    return f"t.lerp({x}, {d.like(x)}, {d.number()})"


# ---- loops -----------------------------------------------------------------------------------------------------------
@value(3)
def loop(d: Drawing) -> str:
    x = d.pick_value(1)
    w, dim, n = d.pick_value(fits=lambda name: d.shape(name) in ((), d.shape(x), d.shape(x)[-1:])), d.dim(x), d.number()
    rounds, every = d.below(14) + 2, d.pick("", "", ", every=True")
    step = d.pick(
        f"t.tanh(h * t.sin({w}) + {n})",
        f"h / (t.abs(h).sum({dim}, keepdim=True) + 1.0) + {w} * 0.25",
        f"t.sin(h * t.sin({w}).mean()) - t.amax(h, {dim}, keepdim=True) * 0.5",
        f"t.softmax(h * t.sin({w}), {dim}).flip({dim})",
        f"t.cat([h[1:], t.cos(h[:1] * t.sin({w}) + {n})])",
    )
    return f"distinct(loop(lambda h: {step}, {x}, {rounds}{every}))"  # what converges would be equal


@value(2)
def loop_of_products(d: Drawing) -> str:
    x = d.pick_value(1)
    size = d.shape(x)[-1]
    m, rounds, every = f"leaf({d.key()}, ({size}, {size}))", d.below(14) + 2, d.pick("", ", every=True")
    step = f"t.tanh(h @ m * {0.5 / max(size, 1)}{d.pick('', ' + m[0]')})"
    return f"distinct((lambda m: loop(lambda h: {step}, {x}, {rounds}{every}))({m}))"


@value(1)
def growing_loop(d: Drawing) -> str:
    x = d.pick_value(1)
    w = d.pick_value(fits=lambda name: d.shape(name) in ((), d.shape(x)[1:]))
    return f"loop(lambda h: t.cat([h, t.tanh(h.mean(0, keepdim=True) * t.sin({w}))]), {x}, {d.below(10) + 2})"


# ---- types -----------------------------------------------------------------------------------------------------------
@value(3)
def cast(d: Drawing) -> str:
    x = d.pick_value(floats=False)
    there = d.pick("int32", "int64", "int16", "uint8", "bool", "float16", "bfloat16")
    if there == "uint8":
        return f"t.clamp({x}.to(F), 0.0, 200.0).to(t.uint8)"
    return f"{x}.to(t.{there}).to(F)" if d.maybe(0.7) else f"{x}.to(t.{there})"


@value(1)
def to_float(d: Drawing) -> str:
    return f"{d.pick_value(floats=False)}.to(F)"


@value(1)
def there_and_back(d: Drawing) -> str:
    return f"{d.pick_value(floats=False)}.cpu().to(D).clone()"


# ---- folds and scans -------------------------------------------------------------------------------------------------
@value(10)
def fold(d: Drawing) -> str:
    x = d.pick_value(1)
    name, keep = d.pick(*FOLDS), d.pick("", ", keepdim=True")
    if name in ("sum", "mean") and d.maybe(0.35):
        return f"{x}.{name}()"
    dims = d.dims(x)
    return f"t.{name}({x}, {dims if d.maybe(0.6) else dims[0]}{keep})"


@value(3)
def spread(d: Drawing) -> str:
    x = d.pick_value(1)
    variance = f"t.var({x}, {d.dim(x)}, unbiased=False)"
    return variance if d.maybe(0.5) else f"t.sqrt({variance} + 0.25)"


@value(2)
def product_of_all(d: Drawing) -> str:
    x = d.pick_value(1)
    return f"t.prod({x} * 0.5 + 1.0, {d.dim(x)})"


@value(4)
def softmax(d: Drawing) -> str:
    x = d.pick_value(1)
    return f"t.{d.pick('softmax', 'log_softmax')}({x}, {d.dim(x)})"


@value(2)
def which(d: Drawing) -> str:
    x = d.pick_value(1)
    return f"t.{d.pick('argmax', 'argmin')}({x}, {d.dim(x)})"


@value(2)
def count(d: Drawing) -> str:
    x = d.pick_value(1)
    return f"({x} > 0.01).{d.pick('any', 'all', 'sum')}({d.dim(x)})"


@value(3)
def scan(d: Drawing) -> str:
    x = d.pick_value(1)
    name = d.pick("cumsum", "cumsum", "cumprod", "logcumsumexp")
    return f"t.{name}({x}{' * 0.5' if name == 'cumprod' else ''}, {d.dim(x)})"


@value(2)
def running(d: Drawing) -> str:
    x = d.pick_value(1)
    return f"t.{d.pick('cummax', 'cummin')}({x}, {d.dim(x)})[{d.below(2)}]"


@value(3)
def sort(d: Drawing) -> str:
    x = d.pick_value(1, fits=lambda n: d.shape(n)[-1] > 0)
    name = d.pick("sort", "sort", "topk", "kthvalue", "median")
    if name == "sort":
        return f"t.sort({x}, {d.dim(x)}, descending={d.maybe(0.5)}, stable=True)[{d.pick(0, 0, 1)}]"
    if name == "median":
        return f"t.median(distinct({x}), {d.dim(x)})[0]"
    return f"t.{name}(distinct({x}), {1 + d.below(d.shape(x)[-1])}, -1)[0]"


# ---- values that nothing computes before they are read ---------------------------------------------------------------
@value(6)
def constant(d: Drawing) -> str:
    x = d.pick_value(floats=False)
    shape, to = d.shape(x), "dtype=F, device=D"
    kind = d.below(6)
    if kind == 0:
        return f"t.full({shape}, {d.number()}, {to})"
    if kind == 1:
        return f"t.{d.pick('zeros_like', 'ones_like')}({x}, {to})"
    if kind == 2:
        return f"t.full((), {d.number()}, {to}).expand({shape})"
    if kind == 3 and len(shape) > 1:
        return f"t.eye({shape[-2]}, {shape[-1]}, {to})"
    if kind == 4 and len(shape) > 1:
        return f"t.{d.pick('tril', 'triu')}(t.ones({shape[-2:]}, {to}), {d.pick(-1, 0, 1)})"
    n = d.tensor(x).numel()
    return f"(t.arange({n}, {to}).reshape({shape}) % {d.pick(3, 5, 7)} - 2.0) * 0.25"


# ---- views -----------------------------------------------------------------------------------------------------------
@value(12)
def index(d: Drawing) -> str:
    return d.part(d.pick_value(1, floats=False))


@value(4)
def permute(d: Drawing) -> str:
    x = d.pick_value(2, floats=False)
    if d.maybe(0.5):
        return f"{x}.transpose({d.dim(x)}, {d.dim(x)})"
    return f"{x}.permute({tuple(int(i) for i in d.random.permutation(len(d.shape(x))))})"


@value(4)
def reshape(d: Drawing) -> str:
    x = d.pick_value(floats=False)
    n = d.tensor(x).numel()
    shape = d.pick(
        "(-1,)",
        "(1, -1)",
        "(-1, 1)",
        *[f"(-1, {k})" for k in (2, 3, 4, 5, 7) if n and n % k == 0],
        *[f"({k}, -1)" for k in (2, 3) if n and n % k == 0],
    )
    # Results keep the strides of what they are made of in PyTorch, so that memory is shared at other times.
    return f"{x}.view({shape})" if d.is_leaf(x) else f"{x}.reshape({shape}).clone()"


@value(3)
def expand(d: Drawing) -> str:
    x = d.pick_value(floats=False)
    sizes = [str(d.pick(2, 3, n)) if n == 1 else "-1" for n in d.shape(x)]
    if d.maybe(0.5) and len(sizes) < 5:
        sizes.insert(0, str(d.pick(1, 2, 3)))
    return f"{x}.expand({', '.join(sizes)})" if sizes else f"{x}.expand(2)"


@value(3)
def flip(d: Drawing) -> str:
    x = d.pick_value(1, floats=False)
    if d.maybe(0.3):
        return f"t.roll({x}, {d.pick(1, -1, 2)}, {d.dim(x)})"
    return f"t.flip({x}, {d.dims(x)})"


@value(2)
def unfold(d: Drawing) -> str | None:
    x = d.pick_value(1)
    dim = d.below(len(d.shape(x)))
    n = d.shape(x)[dim]
    return f"{x}.unfold({dim}, {1 + d.below(min(n, 3))}, {d.pick(1, 1, 2)})" if n else None


@value(2)
def strided(d: Drawing) -> str | None:
    x = d.pick_value(1, fits=d.is_leaf)
    n = d.tensor(x).numel()
    if n < 4:
        return None
    rows, columns, step = d.pick(1, 2, 3), d.pick(1, 2, 3), d.pick(0, 1, 2)
    strides = (step, d.pick(1, 1, 2))
    reach = (rows - 1) * strides[0] + (columns - 1) * strides[1]
    return f"t.as_strided({x}, ({rows}, {columns}), {strides})" if reach < n else None


@value(3)
def size_of_one(d: Drawing) -> str:
    x = d.pick_value(floats=False)
    if d.maybe(0.5):
        return f"{x}.unsqueeze({d.below(len(d.shape(x)) + 1)})"
    return f"{x}.squeeze()"


@value(2)
def diagonal(d: Drawing) -> str:
    return f"t.diagonal({d.pick_value(2)}, {d.pick(0, 0, 1, -1)})"


@value(2)
def triangle(d: Drawing) -> str:
    return f"t.{d.pick('tril', 'triu')}({d.pick_value(2)}, {d.pick(0, 1, -1)})"


@value(2)
def copy(d: Drawing) -> str:
    return f"{d.pick_value(floats=False)}.{d.pick('clone()', 'contiguous().clone()', 'detach()', 'detach().clone()')}"


@value(3)
def pad(d: Drawing) -> str:
    x = d.pick_value(1)
    widths = tuple(d.pick(-1, 0, 1, 1, 2) for _ in range(2 * (1 + d.below(min(2, len(d.shape(x)))))))
    return f"t.nn.functional.pad({x}, {widths}, value={d.pick('0.0', '1.5')})"


@value(4)
def join(d: Drawing) -> str:
    x = d.pick_value(1)
    y = d.pick_value(1, fits=lambda n: d.shape(n)[1:] == d.shape(x)[1:] and len(d.shape(n)) == len(d.shape(x)))
    if d.shape(x) == d.shape(y) and d.maybe(0.5):
        return f"t.stack([{x}, {y}, {x}], {d.below(len(d.shape(x)) + 1)})"
    return f"t.cat([{x}, {y}], 0)"


@value(2)
def repeat(d: Drawing) -> str:
    x = d.pick_value(1, 3)
    if d.maybe(0.4):
        return f"t.repeat_interleave({x}, 2, {d.dim(x)})"
    return f"{x}.repeat({', '.join(str(d.pick(1, 2)) for _ in d.shape(x))})"


@value(2)
def piece(d: Drawing) -> str:
    x = d.pick_value(1, fits=lambda n: d.shape(n)[0] > 1)
    return f"t.{d.pick('chunk', 'tensor_split')}({x}, 2, 0)[{d.below(2)}]"


# ---- places ----------------------------------------------------------------------------------------------------------
@value(5)
def places(d: Drawing) -> str:
    x = d.pick_value(1, fits=lambda n: min(d.shape(n), default=0) > 0)
    dim = d.below(len(d.shape(x)))
    ints = d.places(d.pick(1, 2, 4), d.shape(x)[dim])
    kind = d.below(4)
    if kind == 0:
        return f"t.index_select({x}, {dim}, {ints})"
    if kind == 1:
        return f"t.gather({x}, {dim}, ints({d.key()}, {d.shape(x)}, {d.shape(x)[dim]}))"
    if kind == 2 and len(d.shape(x)) > 1:
        return f"{x}[{d.places(3, d.shape(x)[0])}, {d.places(3, d.shape(x)[1])}]"
    return f"{x}[{':, ' * dim}{ints}]"


@value(2)
def scattered(d: Drawing) -> str:
    x = d.pick_value(1, fits=lambda n: min(d.shape(n), default=0) > 0)
    dim = d.below(len(d.shape(x)))
    ints = f"ints({d.key()}, {d.shape(x)}, {d.shape(x)[dim]})"
    if d.maybe(0.6):
        return f"t.scatter_add({x}, {dim}, {ints}, {x} * 0.5)"
    return f"t.index_add({x}, {dim}, {d.places(d.shape(x)[dim], d.shape(x)[dim])}, {x})"


@value(1)
def masked(d: Drawing) -> str:
    x = d.pick_value(1)
    return f"{x}[{x} > 0.01]"


@value(2)
def filled(d: Drawing) -> str:
    x = d.pick_value()
    return f"{x}.masked_fill({x} > 0.2, {d.number()})"


# ---- products --------------------------------------------------------------------------------------------------------
@value(6)
def product(d: Drawing) -> str:
    x = d.pick_value(1, 4)
    k = d.shape(x)[-1]
    y = d.pick_value(1, 4, fits=lambda n: d.shape(n)[-2 if len(d.shape(n)) > 1 else -1] == k or d.shape(n)[-1] == k)
    turned = f"{y}.transpose(-1, -2)" if len(d.shape(y)) > 1 and d.shape(y)[-2] != k else y
    return f"t.matmul({x}, {turned}) * 0.25"


@value(2)
def linear(d: Drawing) -> str:
    x = d.pick_value(1, 3)
    return f"t.nn.functional.linear({x}, leaf({d.key()}, ({d.pick(1, 2, 5)}, {d.shape(x)[-1]}))) * 0.5"


@value(1)
def einsum(d: Drawing) -> str:
    x = d.pick_value(2, 2)
    rule = d.pick("ij->i", "ij->ji", "ij->", "ij,ij->", "ij,kj->ik", "ij,ij->ji", "ij,ij->j")
    return f"t.einsum('{rule}', {x}{f', {x}' if ',' in rule else ''}) * 0.25"


@value(2)
def convolution(d: Drawing) -> str:
    x = d.pick_value(3, 4, fits=lambda n: d.shape(n)[-1] >= 2 and d.shape(n)[1] > 0)
    channels = d.shape(x)[1]
    rank = len(d.shape(x)) - 2
    kernel = ", ".join(str(d.pick(1, 2)) for _ in range(rank))
    weight = f"leaf({d.key()}, ({d.pick(1, 2, 3)}, {channels}, {kernel}))"
    return f"t.nn.functional.conv{rank}d({x}, {weight}, padding={d.pick(0, 1)}, stride={d.pick(1, 1, 2)}) * 0.25"


@value(2)
def pool(d: Drawing) -> str:
    x = d.pick_value(3, 3, fits=lambda n: d.shape(n)[-1] >= 2)
    return f"t.nn.functional.{d.pick('max_pool1d', 'avg_pool1d')}({x}, 2, {d.pick(1, 2)})"


@value(2)
def norm(d: Drawing) -> str:
    x = d.pick_value(2, fits=lambda n: d.shape(n)[-1] > 1)
    return f"t.nn.functional.layer_norm({x}, ({d.shape(x)[-1]},), eps=0.25)"


# ---- writes ----------------------------------------------------------------------------------------------------------
def target(d: Drawing) -> str:
    return d.pick_value(fits=lambda n: n not in d.leaves and not d.overlaps(n))


def apart(d: Drawing, x: str) -> str:
    """What is written into x: of other memory, or a copy."""
    y = d.like(x)
    return y if d.root(y) != d.root(x) else f"({y} * 0.5)" if d.maybe(0.7) else f"{y}.clone()"


@write(8)
def in_place(d: Drawing) -> str:
    x = target(d)
    other = d.number() if d.maybe(0.5) else apart(d, x)
    return f"{x}.{d.pick('add_', 'sub_', 'mul_')}({other})"


@write(3)
def in_place_alone(d: Drawing) -> str:
    return f"{target(d)}.{d.pick('zero_()', 'fill_(n1)', 'tanh_()', 'neg_()', 'clamp_(-0.5, 0.75)', 'relu_()')}"


@write(6)
def write_part(d: Drawing) -> str:
    x = d.pick_value(1, fits=lambda n: n not in d.leaves and not d.overlaps(n))
    part = d.part(x)
    if d.maybe(0.4):
        return f"{part} = {d.number()}"
    return f"{part} {d.pick('=', '+=', '*=')} {d.number() if d.maybe(0.3) else f'leaf({d.key()}, {part}.shape)'}"


@write(3)
def write_all(d: Drawing) -> str:
    x = target(d)
    return f"{x}.copy_({apart(d, x)})"


@write(2)
def write_places(d: Drawing) -> str:
    x = d.pick_value(1, fits=lambda n: n not in d.leaves and not d.overlaps(n) and d.shape(n)[0] > 0)
    n = d.shape(x)[0]
    ints = d.places(min(n, 3), n)
    if d.maybe(0.5):
        return f"{x}.index_add_(0, {ints}, leaf({d.key()}, ({min(n, 3)},) + tuple({x}.shape[1:])))"
    return f"{x}[{ints}] = {d.number()}"


@write(2)
def write_mask(d: Drawing) -> str:
    x = target(d)
    return f"{x}.masked_fill_({x} > 0.25, {d.number()})" if d.maybe(0.6) else f"{x}[{x} > 0.25] = {d.number()}"


@write(1)
def without_grad(d: Drawing) -> str:
    x = d.pick_value(fits=lambda n: not d.overlaps(n))
    return f"with t.no_grad(): {x}.{d.pick('mul_(0.5)', 'add_(0.25)')}"
