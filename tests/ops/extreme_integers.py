"""Every integer that a caller may give, where it is far too large: a program of its own, so that a crash is one line of
a test's report. `python extreme_integers.py cpu` prints each call before it is made.

A call either raises one of our errors or gives a result that is read. Tensors beside it keep their values.
"""

from __future__ import annotations

import contextlib
import faulthandler
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import spirograd as sg
from spirograd.nn import functional as F

EXTREMES = (0, -1, 2**31 - 1, 2**31, 2**32, 2**49, 2**62, 2**63 - 1, -(2**63))
ERRORS = (ValueError, TypeError, IndexError, OverflowError, MemoryError, sg.Error)
FEW = 4096  # elements of a result that is read
MEMORY = 12 << 30  # of the process: what asks for more is an OutOfMemoryError, at once
SECONDS = 20  # for one call

ALONG = """
    all amax amin aminmax any argmax argmin argsort count_nonzero cummax cummin cumprod cumsum diff expand_dims
    log_softmax logcumsumexp logsumexp max mean median min nanmean nanmedian nansum norm prod size softmax sort squeeze
    std std_mean stride sum unbind unique unique_consecutive unsqueeze var var_mean
"""
CALLS = """
x.flip(N) | x.permute(N, 0) | x.permute_dims(N, 0)
x.as_strided((N,), (1,)) | x.as_strided((2,), (N,)) | x.as_strided((1,), (1,), N) | x.as_strided((1,), (N,))
x.as_strided((2, 2), (N, N)) | x.as_strided((0,), (1,), N) | x.as_strided((N, N), (0, 0))
x.as_strided((3,), (1,), N - 1) | x.as_strided((N, 0), (N, N)) | x.broadcast_to((N, 2, 3)) | x.expand(N, 2, 3)
x.expand(N, N, 2, 3).sum() | x[:1].expand(N, 3).cumsum(0) | sg.ones(3).expand(N, 3).sum() | x[:0].expand(0, N)
sg.cat([sg.ones(1).expand(N)] * 2) | sg.stack([sg.ones(1).expand(N)] * 2) | sg.cat([x, x], N) | sg.concat([x, x], N)
sg.concatenate([x, x], N) | sg.stack([x, x], N) | x.chunk(N) | x.chunk(2, N) | x[:0].chunk(N) | x.split(N)
x.split(1, N) | x.split((N, N)) | x.split((2 - N, N)) | x.split_with_sizes((N, 1)) | x.split_with_sizes((2,), N)
x.split_with_sizes((N, 2 - N)) | x.tensor_split(N) | x.tensor_split((N, 1)) | x.tensor_split(2, N) | x.hsplit(N)
x.hsplit((N,)) | x.vsplit(N) | x.vsplit((N,)) | x.diag(N) | x[0].diag(N) | x[0].diag_embed(N)
x.diag_embed(0, N, 0) | x.diag_embed(0, 0, N) | x.diagonal(N) | x.diagonal(0, N, 1) | x.diagonal(0, 0, N)
x.diff(N) | x.diff(1, N) | x.tril(N) | x.triu(N) | x.clone().tril_(N) | x.clone().triu_(N) | x.flatten(N)
x.flatten(0, N) | x.unflatten(N, (1, 2)) | x.unflatten(0, (N, 2)) | x.unflatten(0, (N, -1)) | x.reshape(N)
x.reshape(N, N) | x.reshape(-1, N) | x[:0].reshape(N, 0) | x[:0].reshape(N, N, -1) | x.view(N) | x.view(N, 6)
x.view(-1, N) | x[:0].view(0, N, N) | x.moveaxis(N, 0) | x.moveaxis(0, N) | x.movedim(N, 0) | x.movedim(0, N)
x.transpose(N, 0) | x.transpose(0, N) | x.swapaxes(N, 0) | x.swapaxes(0, N) | x.swapdims(N, 0) | x.swapdims(0, N)
x.narrow(N, 0, 1) | x.narrow(0, N, 1) | x.narrow(0, 1, N) | x.narrow(0, N, N) | x.narrow(0, 1, N - 1)
x.narrow(0, N, 2 - N) | x.select(N, 0) | x.select(0, N) | x[N] | x[N:] | x[:N] | x[::N] | x[N:N:N] | x[1::N]
x[0, N] | x[[N]] | x[:, [N]] | x.unfold(N, 1, 1) | x.unfold(0, N, 1) | x.unfold(0, 1, N) | x.unfold(0, 2, N)
x.repeat(N, 1) | x.repeat(1, N) | x.repeat(N, N) | x.repeat(N, 1, 1) | x.tile(N) | x.tile(N, N) | x[:0].repeat(N, N)
x.repeat_interleave(N) | x.repeat_interleave(N, 0) | x.repeat_interleave(2, N)
x.repeat_interleave(sg.tensor([N, 1]), 0) | x.repeat_interleave(2, output_size=N) | x.roll(N) | x.roll(1, N)
x.roll((N, N), (0, 1)) | x.rot90(N) | x.rot90(1, (N, 0)) | x.rot90(1, (0, N)) | x.round(decimals=N)
x.clone().round_(decimals=N) | x.topk(N) | x.topk(1, N) | x.kthvalue(N) | x.kthvalue(1, N) | x.quantile(0.5, N)
x.nanquantile(0.5, N) | x.cov(correction=N) | x.gpu(N) | x.gather(N, i) | x.gather(0, i + N) | x.take(i + N)
x.take_along_dim(i, N) | x.index_select(N, i[0]) | x.index_select(0, i[0] + N) | x.scatter(N, i, 0.0)
x.scatter(0, i + N, 0.0) | x.scatter_add(N, i, x) | x.scatter_add(0, i + N, x) | x.scatter_reduce(N, i, x, 'sum')
x.index_add(N, i[0], x[[0] * 3]) | x.index_copy(N, i[0], x[[0] * 3]) | x.index_fill(N, i[0], 1.0)
x.index_fill(0, i[0] + N, 1.0) | x.clone().scatter_(N, i, 0.0) | x.clone().scatter_add_(N, i, x)
x.clone().scatter_reduce_(N, i, x, 'sum') | x.clone().index_add_(N, i[0], x[[0] * 3])
x.clone().index_copy_(N, i[0], x[[0] * 3]) | x.clone().index_fill_(N, i[0], 1.0) | i.one_hot(N)
(i[0] + N).one_hot() | (i[0] + N).one_hot(2) | i[0].bincount(minlength=N) | (i[0] + N).bincount()
x.multinomial(N, True) | x.multinomial(N) | x.clone().random_(N) | x.clone().random_(0, N) | x.clone().random_(N, N)
x.new_empty(N) | x.new_full((N,), 1) | x.new_ones(N, N) | x.new_zeros(N, 0) | sg.zeros(N) | sg.zeros(N, N)
sg.zeros(0, N, N) | sg.ones(N) | sg.empty(N) | sg.empty(N, N) | sg.full((N, 2), 1) | sg.eye(N) | sg.eye(2, N)
sg.linspace(0, 1, N) | sg.logspace(0, 1, N) | sg.arange(N) | sg.arange(0, N, 2**61) | sg.arange(N, N + 2)
sg.arange(0, 2, N) | sg.arange(-N, N, N) | sg.arange(0.0, N) | sg.arange(N, 0, -(2**61)) | sg.rand(N)
sg.rand(N, N) | sg.randn(N) | sg.randn(0, N, N) | sg.normal(0.0, 1.0, (N, N)) | sg.randperm(N) | sg.manual_seed(N)
sg.randint(N, (2,)) | sg.randint(N, 2**63 - 1, (2,)) | sg.randint(-(2**63), N, (2,)) | sg.randint(0, 2, (N, N))
sg.randint_like(x, N, N) | sg.randint_like(x, 0, N) | sg.broadcast_shapes((N,), (1,)) | sg.tensordot(x, x, N)
sg.device('gpu', N)
sg.tensordot(x, x, ([N], [0])) | sg.tril_indices(N, 0) | sg.tril_indices(0, N) | sg.tril_indices(2, 2, N)
sg.triu_indices(N, 0) | sg.triu_indices(2, 2, N) | F.pad(x, (N, 0)) | F.pad(x, (0, N)) | F.pad(x, (N, N))
F.pad(x, (N, -N)) | F.pad(x, (0, 0, N, 1)) | F.pad(x[:, :0], (N, 2)) | F.pad(x, (N, 1), mode='replicate')
F.pad(x[None], (N, 1), mode='reflect') | F.pad(x[None], (1, N), mode='circular') | F.avg_pool1d(x, N)
F.avg_pool1d(x, 1, N) | F.avg_pool1d(x, 2, 1, N) | F.avg_pool1d(x, N, 1, N // 2) | F.avg_pool2d(p, (N, 1))
F.avg_pool2d(p, N) | F.avg_pool2d(p, 1, (N, 2)) | F.avg_pool2d(p, 2, (1, N), ceil_mode=True)
F.avg_pool2d(p, 2, 1, (0, N)) | F.avg_pool2d(p, 2, divisor_override=N) | F.avg_pool2d(p, N, N, N // 2)
F.max_pool1d(x, N) | F.max_pool1d(x, 1, N) | F.max_pool1d(x, 2, 1, N) | F.max_pool1d(x, 2, 1, 0, N)
F.max_pool2d(p, N) | F.max_pool2d(p, 1, (N, 2)) | F.max_pool2d(p, (2, 1), (2, N)) | F.max_pool2d(p, 2, 1, N)
F.max_pool2d(p, 2, 1, 0, N) | sg.max_pool1d_with_indices(x, N) | sg.max_pool1d_with_indices(x, 1, N)
sg.max_pool2d_with_indices(p, N) | sg.max_pool2d_with_indices(p, 1, N) | F.conv1d(x, w[0])
F.conv1d(x, w[0], stride=N) | F.conv1d(x, w[0], padding=N) | F.conv1d(x, w[0], dilation=N)
F.conv1d(x, w[0], groups=N) | F.conv2d(p, w, stride=(N, 1)) | F.conv2d(p, w, padding=N)
F.conv2d(p, w, padding=(1, N)) | F.conv2d(p, w, dilation=N) | F.conv2d(p, w, groups=N)
F.conv3d(p[None], w[None], stride=N) | F.conv3d(p[None], w[None], padding=N)
F.conv3d(p[None], w[None], dilation=N) | F.conv3d(p[None], w[None], groups=N)
F.conv_transpose1d(x, t[0], stride=N) | F.conv_transpose1d(x, t[0], padding=N)
F.conv_transpose1d(x, t[0], dilation=N) | F.conv_transpose1d(x, t[0], groups=N)
F.conv_transpose1d(x, t[0], output_padding=N) | F.conv_transpose1d(x, t[0], stride=N, output_padding=N - 1)
F.conv_transpose2d(p, w, stride=N) | F.conv_transpose2d(p, w, padding=N) | F.conv_transpose2d(p, w, dilation=N)
F.conv_transpose2d(p, w, groups=N) | F.conv_transpose2d(p, w, stride=(N, 1))
F.conv_transpose2d(p, w, output_padding=N) | F.cross_entropy(x, i[0, :2], ignore_index=N)
F.cross_entropy(x, i[0, :2] + N) | F.nll_loss(x, i[0, :2], ignore_index=N) | F.nll_loss(x, i[0, :2] + N)
F.embedding(i + N, x) | F.softmax(x, N) | F.normalize(x, dim=N) | F.glu(x.T, N) | F.group_norm(x, N)
F.channel_shuffle(x[None], N) | F.unfold(p, N) | F.unfold(p, 1, N) | F.unfold(p, 1, 1, N) | F.unfold(p, 1, 1, 0, N)
F.fold(x[None], (N, N), 1) | F.fold(x[None], (1, 3), 1, padding=N) | F.interpolate(p, N)
F.interpolate(p, (N, 2), mode='bilinear') | F.interpolate(p, N, mode='area') | F.interpolate(p, scale_factor=N)
F.pixel_shuffle(p, N) | F.pixel_unshuffle(p, N) | F.adaptive_avg_pool1d(x, N) | F.adaptive_avg_pool2d(p, (N, 1))
F.adaptive_max_pool2d(p, (1, N)) | sg.linalg.matrix_power(x[:, :2], N) | sg.linalg.vector_norm(x, dim=N)
sg.einsum('i,j->ij', sg.ones(1).expand(N), sg.ones(1).expand(N))
sg.kron(sg.ones(1).expand(N), sg.ones(1).expand(N)) | sg.outer(sg.ones(1).expand(N), sg.ones(1).expand(N))
sg.ones(1).expand(N) @ sg.ones(1).expand(N)
"""


def calls() -> list[str]:
    """Expressions in N; x is [2, 3], p and i are [1, 2, 3] and [1, 3], w and t are weights."""
    return [f"x.{name}(dim=N)" for name in ALONG.split()] + [
        call.strip() for line in CALLS.split("\n") for call in line.split("|") if call.strip()
    ]


def results(value: Any) -> Iterator[sg.Tensor]:
    if isinstance(value, sg.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from results(part)


def read(value: Any) -> None:
    """Reads what can be read, and its gradient."""
    for y in results(value):
        if y.numel() > FEW:
            continue
        y.tolist()
        if y.requires_grad:
            y.sum().backward()


def main(device: str) -> None:
    extremes = EXTREMES if device == "cpu" else EXTREMES[5:]  # where nothing that is large is left to compute
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sg.set_default_device(device)
    fences = [sg.full((64,), float(k)) for k in range(4)]
    for fence in fences:
        fence.realize()
    for call in calls():
        code = compile(call, call, "eval")
        for n in extremes:
            print(f"{call} N = {n}", flush=True)
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            names = {
                "sg": sg, "F": F, "N": n,
                "x": sg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True),
                "p": sg.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]),
                "i": sg.tensor([[0, 0, 0]]),
                "w": sg.tensor([[[[1.0, 1.0]]]]), "t": sg.tensor([[[[1.0, 1.0]], [[1.0, 1.0]]]]),
            }  # fmt: skip
            try:
                read(eval(code, names))
            except ERRORS as e:
                print(f"  {type(e).__name__}: {e}"[:200])
            with contextlib.suppress(*ERRORS):
                sg.synchronize()
            assert np.array_equal(names["x"].detach().numpy().ravel(), np.arange(1.0, 7.0)), "the input was changed"
            for k, fence in enumerate(fences):
                assert (fence.numpy() == k).all(), "another tensor was changed"
    faulthandler.cancel_dump_traceback_later()
    print("all done")


if __name__ == "__main__":
    main(sys.argv[1])
