"""ONNX: what onnxruntime computes from an exported module, and what the module read back computes, are its outputs."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn
from spirograd.nn import functional as F

onnx = pytest.importorskip("onnx", reason="needs onnx")
ort = pytest.importorskip("onnxruntime", reason="needs onnxruntime")


def arrays(output: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(output, sg.Tensor):
        return [output.detach().cpu().numpy()]
    return [a for part in output for a in arrays(part)]


def run(model: Any, inputs: tuple[sg.Tensor, ...]) -> list[np.ndarray[Any, Any]]:
    """What onnxruntime computes."""
    onnx.checker.check_model(model, full_check=True)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [x.name for x in session.get_inputs()]
    feeds = {f"input_{i}": x.detach().cpu().numpy() for i, x in enumerate(inputs)}
    return session.run(None, {name: feeds[name] for name in names})


def check(module: nn.Module, *args: Any, **options: Any) -> Any:
    """Exports, runs and reads back; gives the model."""
    inputs = tuple(a for a in args if isinstance(a, sg.Tensor))
    module.eval()
    with sg.no_grad():
        wanted = arrays(module(*args))
    model = sg.onnx.export(module, args, **options)
    for got in (run(model, inputs), arrays(sg.onnx.load(model)(*inputs))):
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted, strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    return model


def x(*shape: int, seed: int = 0) -> sg.Tensor:
    return sg.tensor(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


IMAGE, LINE, BOX = (2, 4, 7, 6), (2, 4, 9), (2, 4, 5, 6, 4)
MODULES: dict[str, tuple[Any, ...]] = {
    **{
        name: (getattr(nn, name)(), (3, 5))
        for name in (
            "CELU",
            "ELU",
            "GELU",
            "Hardshrink",
            "Hardsigmoid",
            "Hardswish",
            "Hardtanh",
            "Identity",
            "LeakyReLU",
            "LogSigmoid",
            "Mish",
            "PReLU",
            "RReLU",
            "ReLU",
            "ReLU6",
            "SELU",
            "SiLU",
            "Sigmoid",
            "Softplus",
            "Softshrink",
            "Softsign",
            "Tanh",
            "Tanhshrink",
            "Dropout",
            "AlphaDropout",
        )
    },
    "GELU_tanh": (nn.GELU("tanh"), (3, 5)),
    "Softplus_beta": (nn.Softplus(2.0, 3.0), (3, 5)),
    "GLU": (nn.GLU(), (3, 6)),
    "Threshold": (nn.Threshold(0.1, 20.0), (3, 5)),
    "PReLU_channels": (nn.PReLU(4), IMAGE),
    "Softmax": (nn.Softmax(1), (3, 5)),
    "LogSoftmax": (nn.LogSoftmax(-1), (3, 5)),
    "Softmin": (nn.Softmin(0), (3, 5)),
    "Softmax2d": (nn.Softmax2d(), IMAGE),
    "Dropout1d": (nn.Dropout1d(), LINE),
    "Dropout2d": (nn.Dropout2d(), IMAGE),
    "Dropout3d": (nn.Dropout3d(), BOX),
    "FeatureAlphaDropout": (nn.FeatureAlphaDropout(), IMAGE),
    "Linear": (nn.Linear(5, 3), (2, 5)),
    "Linear_plain": (nn.Linear(5, 3, bias=False), (4, 2, 5)),
    "LazyLinear": (nn.LazyLinear(3), (2, 5)),
    "Bilinear": (nn.Bilinear(3, 4, 5), (2, 3), (2, 4)),
    "Conv1d": (nn.Conv1d(4, 6, 3, 2, 1, 2), LINE),
    "Conv2d": (nn.Conv2d(4, 6, (3, 2), padding=(1, 0)), IMAGE),
    "Conv2d_groups": (nn.Conv2d(4, 8, 3, groups=4), IMAGE),
    "Conv2d_same": (nn.Conv2d(4, 6, 4, padding="same"), IMAGE),
    "Conv2d_reflect": (nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), IMAGE),
    "Conv3d": (nn.Conv3d(4, 3, 2), BOX),
    "Conv2d_one": (nn.Conv2d(4, 6, 3), (4, 7, 6)),
    "LazyConv2d": (nn.LazyConv2d(5, 3), IMAGE),
    "ConvTranspose1d": (nn.ConvTranspose1d(4, 6, 3, 2, 1, 1), LINE),
    "ConvTranspose2d": (nn.ConvTranspose2d(4, 6, 3, 2, groups=2), IMAGE),
    "ConvTranspose3d": (nn.ConvTranspose3d(4, 2, 2, dilation=2), BOX),
    "MaxPool1d": (nn.MaxPool1d(2), LINE),
    "MaxPool2d": (nn.MaxPool2d(3, 2, 1), IMAGE),
    "MaxPool3d": (nn.MaxPool3d(2), BOX),
    "MaxPool2d_dilated": (nn.MaxPool2d(2, 1, dilation=2), IMAGE),
    "AvgPool1d": (nn.AvgPool1d(3, 2, 1), LINE),
    "AvgPool3d": (nn.AvgPool3d(2), BOX),
    "AvgPool2d": (nn.AvgPool2d(3, 2, 1, count_include_pad=False), IMAGE),
    "AvgPool2d_divisor": (nn.AvgPool2d(2, divisor_override=3), IMAGE),
    "AdaptiveAvgPool1d": (nn.AdaptiveAvgPool1d(4), LINE),
    "AdaptiveAvgPool2d": (nn.AdaptiveAvgPool2d((3, 1)), IMAGE),
    "AdaptiveAvgPool2d_one": (nn.AdaptiveAvgPool2d(1), IMAGE),
    "AdaptiveAvgPool3d": (nn.AdaptiveAvgPool3d(2), BOX),
    "AdaptiveMaxPool1d": (nn.AdaptiveMaxPool1d(4), LINE),
    "AdaptiveMaxPool2d": (nn.AdaptiveMaxPool2d((3, 2)), IMAGE),
    "AdaptiveMaxPool3d": (nn.AdaptiveMaxPool3d(2), BOX),
    "LPPool1d": (nn.LPPool1d(2, 3), LINE),
    "LPPool2d": (nn.LPPool2d(2, (2, 3)), IMAGE),
    "LPPool3d": (nn.LPPool3d(2, 2), BOX),
    "BatchNorm1d": (nn.BatchNorm1d(4), LINE),
    "BatchNorm2d": (nn.BatchNorm2d(4), IMAGE),
    "BatchNorm3d": (nn.BatchNorm3d(4), BOX),
    "BatchNorm2d_batch": (nn.BatchNorm2d(4, track_running_stats=False), IMAGE),
    "SyncBatchNorm": (nn.SyncBatchNorm(4), IMAGE),
    "LazyBatchNorm2d": (nn.LazyBatchNorm2d(), IMAGE),
    "InstanceNorm1d": (nn.InstanceNorm1d(4), LINE),
    "InstanceNorm2d": (nn.InstanceNorm2d(4, affine=True), IMAGE),
    "InstanceNorm3d": (nn.InstanceNorm3d(4), BOX),
    "GroupNorm": (nn.GroupNorm(2, 4), IMAGE),
    "LayerNorm": (nn.LayerNorm((7, 6)), IMAGE),
    "RMSNorm": (nn.RMSNorm(6), IMAGE),
    "LocalResponseNorm": (nn.LocalResponseNorm(3), IMAGE),
    "ChannelShuffle": (nn.ChannelShuffle(2), IMAGE),
    "PixelShuffle": (nn.PixelShuffle(2), IMAGE),
    "PixelUnshuffle": (nn.PixelUnshuffle(2), (2, 4, 6, 8)),
    "Flatten": (nn.Flatten(), IMAGE),
    "Unflatten": (nn.Unflatten(1, (2, 2)), IMAGE),
    "Fold": (nn.Fold((4, 5), 2), (2, 8, 12)),
    "Unfold": (nn.Unfold(2, padding=1, stride=2), IMAGE),
    **{
        f"{kind}Pad{n}d": (
            getattr(nn, f"{kind}Pad{n}d")(1, *([2.5] if kind == "Constant" else [])),
            {1: LINE, 2: IMAGE, 3: BOX}[n],
        )
        for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero")
        for n in (1, 2, 3)
    },
    "ZeroPad2d_cut": (nn.ZeroPad2d((-1, 2, 1, -2)), IMAGE),
    "Upsample": (nn.Upsample(scale_factor=2), IMAGE),
    "Upsample_bilinear": (nn.Upsample(size=(9, 5), mode="bilinear"), IMAGE),
    "Upsample_bicubic": (nn.Upsample(scale_factor=1.5, mode="bicubic"), IMAGE),
    "Upsample_linear": (nn.Upsample(13, mode="linear"), LINE),
    "UpsamplingBilinear2d": (nn.UpsamplingBilinear2d(scale_factor=2), IMAGE),
    "UpsamplingNearest2d": (nn.UpsamplingNearest2d(11), IMAGE),
    "CosineSimilarity": (nn.CosineSimilarity(), (3, 4), (3, 4)),
    "PairwiseDistance": (nn.PairwiseDistance(), (3, 4), (3, 4)),
    "RNN": (nn.RNN(5, 6, 2), (7, 3, 5)),
    "RNN_relu": (nn.RNN(5, 6, nonlinearity="relu", bidirectional=True), (7, 3, 5)),
    "LSTM": (nn.LSTM(5, 6), (7, 3, 5)),
    "LSTM_deep": (nn.LSTM(5, 6, 2, bidirectional=True, batch_first=True), (3, 7, 5)),
    "LSTM_projected": (nn.LSTM(5, 6, 2, bidirectional=True, proj_size=3), (7, 3, 5)),
    "LSTM_plain": (nn.LSTM(5, 6, bias=False), (7, 5)),
    "GRU": (nn.GRU(5, 6), (7, 3, 5)),
    "GRU_deep": (nn.GRU(5, 6, 2, bidirectional=True, batch_first=True), (3, 7, 5)),
    "GRU_state": (nn.GRU(5, 6), (7, 3, 5), (1, 3, 6)),
    "RNNCell": (nn.RNNCell(5, 6), (3, 5)),
    "LSTMCell": (nn.LSTMCell(5, 6), (3, 5)),
    "GRUCell": (nn.GRUCell(5, 6), (3, 5), (3, 6)),
    "MultiheadAttention": (nn.MultiheadAttention(8, 2, batch_first=True), (2, 5, 8), (2, 6, 8), (2, 6, 8)),
    "TransformerBlock": (nn.TransformerBlock(8, 2), (2, 5, 8)),
    "TransformerEncoder": (nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2), (2, 5, 8)),
    "TransformerEncoder_first": (nn.TransformerEncoderLayer(8, 2, 16, norm_first=True, activation="gelu"), (5, 2, 8)),
    "TransformerDecoder": (nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2), (5, 2, 8), (6, 2, 8)),
    "Transformer": (nn.Transformer(8, 2, 1, 1, 16), (5, 2, 8), (4, 2, 8)),
    "SinusoidalPositionalEncoding": (nn.SinusoidalPositionalEncoding(8, 10), (2, 5, 8)),
    "RoPE": (nn.RoPE(8), (2, 2, 5, 8)),
    "Sequential": (nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2)), (3, 5)),
    "L1Loss": (nn.L1Loss(), (3, 4), (3, 4)),
    "MSELoss": (nn.MSELoss(), (3, 4), (3, 4)),
    "HuberLoss": (nn.HuberLoss(), (3, 4), (3, 4)),
    "SmoothL1Loss": (nn.SmoothL1Loss(), (3, 4), (3, 4)),
    "KLDivLoss": (nn.KLDivLoss(log_target=True), (3, 4), (3, 4)),
    "BCEWithLogitsLoss": (nn.BCEWithLogitsLoss(), (3, 4), (3, 4)),
    "SoftMarginLoss": (nn.SoftMarginLoss(), (3, 4), (3, 4)),
    "PoissonNLLLoss": (nn.PoissonNLLLoss(), (3, 4), (3, 4)),
    "TripletMarginLoss": (nn.TripletMarginLoss(), (3, 4), (3, 4), (3, 4)),
    "MarginRankingLoss": (nn.MarginRankingLoss(), (3,), (3,), (3,)),
    "CosineEmbeddingLoss": (nn.CosineEmbeddingLoss(), (3, 4), (3, 4), (3,)),
    "HingeEmbeddingLoss": (nn.HingeEmbeddingLoss(), (3, 4), (3, 4)),
    "MultiLabelSoftMarginLoss": (nn.MultiLabelSoftMarginLoss(), (3, 4), (3, 4)),
}
MODULES["HingeLoss"] = (nn.HingeLoss(), (3, 4), (3, 4))
MODULES["ContrastiveLoss"] = (nn.ContrastiveLoss(), (3, 4), (3, 4), (3,))
OF_CLASSES = ["CrossEntropyLoss", "FocalLoss", "MultiMarginLoss", "NLLLoss"]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_exported_and_read_back(name: str) -> None:
    module, *shapes = MODULES[name]
    inputs = [x(*shape, seed=i + 1) for i, shape in enumerate(shapes)]
    if name in ("MarginRankingLoss", "HingeEmbeddingLoss", "CosineEmbeddingLoss", "SoftMarginLoss", "HingeLoss"):
        inputs[-1] = inputs[-1].sign()
    module(*inputs)  # lazy ones get their shapes
    check(module, *inputs)


def test_a_program_that_used_autocast_exports_as_before() -> None:
    norm = nn.LayerNorm(5)
    with sg.autocast("cpu", dtype=sg.bfloat16):
        norm(x(2, 5))
    check(norm, x(2, 5))


@pytest.mark.parametrize("name", OF_CLASSES)
def test_losses_of_classes_are_exported(name: str) -> None:
    check(getattr(nn, name)(), x(4, 5).log_softmax(1), sg.tensor([0, 4, 2, 1]))


def test_the_list_has_every_module_of_nn() -> None:
    known = {name.split("_")[0] for name in MODULES} | {
        *OF_CLASSES,
        "AdaptiveLogSoftmaxWithLoss",
        "MultiLabelMarginLoss",
        "Embedding",
        "EmbeddingBag",
        "BCELoss",
        "GaussianNLLLoss",
        "CTCLoss",
        "MaxUnpool1d",
        "MaxUnpool2d",
        "MaxUnpool3d",
    }
    bases = {"Module", "TensorModule", "RNNCellBase", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList"}
    bases |= {"TransformerEncoderLayer", "TransformerDecoderLayer"}  # inside others
    bases |= {"CrossMapLRN2d", "FractionalMaxPool2d", "FractionalMaxPool3d"}  # a Function, and draws of places
    bases |= {"LinearCrossEntropyLoss", "TripletMarginWithDistanceLoss"}  # made of exported functions
    every = {n for n in dir(nn) if isinstance(getattr(nn, n), type) and issubclass(getattr(nn, n), nn.Module)}
    assert {n for n in every - known - bases if not n.startswith("Lazy")} == set()


def test_a_projected_lstm_takes_states() -> None:
    class Stated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.LSTM(5, 6, 2, proj_size=3)

        def forward(self, input: sg.Tensor, h: sg.Tensor, c: sg.Tensor) -> Any:
            return self.layer(input, (h, c))

    model = check(Stated(), x(7, 3, 5), x(2, 3, 3, seed=1), x(2, 3, 6, seed=2))
    assert [node.op_type for node in model.graph.node].count("LSTM") == 2


def test_classes_in_clusters_are_exported() -> None:
    class All(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside = nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 6], 2.0)

        def forward(self, input: sg.Tensor) -> sg.Tensor:
            return self.inside.log_prob(input)

    check(All(), x(4, 8))
    with pytest.raises(sg.Error, match="nonzero has no ONNX form here"):  # which rows a cluster sees
        sg.onnx.export(All().inside, (x(3, 8), sg.tensor([0, 4, 9])))


def test_pools_are_undone() -> None:
    for pool, module, shape in (
        (F.max_pool1d, nn.MaxUnpool1d(2), (2, 3, 8)),
        (F.max_pool2d, nn.MaxUnpool2d(2), (2, 3, 6, 4)),
        (F.max_pool3d, nn.MaxUnpool3d(2), (1, 2, 4, 6, 4)),
    ):
        check(module, *pool(x(*shape), 2, return_indices=True))


def test_sequences_of_labels_are_scored() -> None:
    scores, labels = x(6, 2, 5).log_softmax(2), sg.tensor([[1, 2], [3, 3]])
    check(nn.CTCLoss(), scores, labels, (6, 5), (2, 1))


def test_tables_and_probabilities_are_exported() -> None:
    check(nn.MultiLabelMarginLoss(), x(2, 4), sg.tensor([[3, 0, -1, 1], [-1, 1, 1, 1]]))
    check(nn.Embedding(7, 4, padding_idx=0), sg.tensor([[1, 6, 0], [2, 2, 3]]))
    check(nn.EmbeddingBag(7, 4), sg.tensor([[1, 6], [2, 3]]))
    check(nn.BCELoss(), x(3, 4).sigmoid(), x(3, 4, seed=1).sigmoid())
    check(nn.GaussianNLLLoss(), x(3, 4), x(3, 4, seed=1), x(3, 4, seed=2).square() + 0.1)


# ---- forwards of all kinds -------------------------------------------------------------------------------------------


class Written(nn.Module):
    """Writes in place, indexes, branches, loops, and calls functions and methods."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.register_buffer("table", sg.arange(12.0).reshape(3, 4))

    def forward(self, x: sg.Tensor, flag: bool = True, power: float = 2.0) -> Any:
        y = self.first(x)
        if flag:
            y = y**power + 1
        for i in range(3):
            y[:, i] = y[:, i] * (i + 1)
        y += x
        y[1, 2:4] *= -1
        z = sg.zeros(4, 6)
        z[1:3] = y[0]
        z[0, ::2] = 7.0
        half, rest = y.split([2, 4], 1)
        top, where = sg.topk(rest, 2, 1)
        picked = self.table[where % 3, where]
        parts = sg.cat([half, top, y.flip(1)[:, :1], picked], dim=1)
        return {"parts": parts.clamp(-5, 5), "z": z.T, "both": (where, (y > 0) & ~(y > 1), y.roll(2, 1).mean())}


def test_a_forward_may_do_anything() -> None:
    module = Written().eval()
    inputs = x(3, 6)
    for extra in ((), (False,), (True, 3.0)):
        out = module(inputs, *extra)
        wanted = [out["parts"], out["z"], *out["both"]]
        model = sg.onnx.export(module, (inputs, *extra))
        for got in (run(model, (inputs,)), arrays(sg.onnx.load(model)(inputs))):
            for a, b in zip(got, arrays(wanted), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "arithmetic": (lambda a, b: (a - b) / (b.abs() + 1) * 2 - 1 / (a.square() + 1) + (-a) ** 2, (3, 4), (4,)),
    "integers": (lambda a: ((a * 10).long() // 3, (a * 10).long() % 4, (a * 10).int() + 1, a > 0), (3, 4)),
    "sums of exponentials": (
        lambda a, b: (sg.logaddexp(a, b), sg.hypot(a, b), a.deg2rad(), a.rad2deg()),
        (3, 4),
        (3, 4),
    ),
    "rounding": (lambda a: (a.floor(), a.ceil(), a.round(), a.trunc(), a.frac() if 0 else a - a.trunc()), (3, 4)),
    "exponentials": (lambda a: (a.exp(), (a.abs() + 1).log(), a.expm1(), a.abs().log1p(), a.exp2(), a.erf()), (3, 4)),
    "angles": (lambda a: (a.sin(), a.cos(), a.tanh(), a.atan(), a.sinh(), (a / 9).asin()), (3, 4)),
    "folds": (
        lambda a: (a.sum(1), a.mean((0, 2), True), a.amax(-1), a.prod(0), a.std(1), a.var(), a.logsumexp(1)),
        (2, 3, 4),
    ),
    "places": (lambda a: (a.argmax(1), a.max(1), a.min(0)[0], a.sort(1, True)[0], a.argsort(0), a.cumsum(1)), (3, 4)),
    "norms": (lambda a: (a.norm(), a.norm(1, 1), a.norm(3.0, 0), a.norm(float("inf"), 1)), (3, 4)),
    "shapes": (
        lambda a: (a.permute(2, 0, 1), a.mT, a.unsqueeze(1).expand(2, 5, 3, 4), a.flatten(1), a[None, :, -1]),
        (2, 3, 4),
    ),
    "parts": (
        lambda a: (*a.chunk(2, 2), *a.unbind(0), a.narrow(2, 1, 2), a[..., 1::2], a[:, [2, 0]], a[1, :, -1]),
        (2, 3, 4),
    ),
    "moves": (
        lambda a: (a.repeat(1, 2, 1), a.tile((2,)), a.rot90(1, (1, 2)), a.diagonal(0, 1, 2), a.unfold(2, 2, 1)),
        (2, 3, 4),
    ),
    "masks": (
        lambda a: (a.masked_fill(a > 0, -1), sg.where(a > 0, a, 0.0), a.tril(1), a.triu(), a.clamp(min=0)),
        (4, 4),
    ),
    "products": (
        lambda a, b: (a @ b, sg.einsum("ij,jk->ki", a, b), sg.outer(a[0], b[:, 0]), sg.addmm(b[:3], a, b)),
        (3, 4),
        (4, 4),
    ),
    "joins": (
        lambda a, b: (sg.stack([a, b], -1), sg.cat((a, b), -2), sg.maximum(a, b), sg.lerp(a, b, 0.3)),
        (3, 4),
        (3, 4),
    ),
    "scatters": (
        lambda a, b: (a.index_add(0, sg.tensor([1, 0, 1]), b), a.scatter_add(1, a.argsort(1), b)),
        (3, 4),
        (3, 4),
    ),
    "gathers": (lambda a: (a.gather(1, a.argsort(1)), a.index_select(1, sg.tensor([3, 0])), a[a.argmax(1)]), (4, 4)),
    "conversions": (lambda a: (a.double(), a.half().float(), (a > 0).float(), a.to(sg.int32), a.bool()), (3, 4)),
    "attention": (lambda a: F.scaled_dot_product_attention(a, a, a, is_causal=True), (2, 3, 5, 4)),
    "attention_masked": (
        lambda a: F.scaled_dot_product_attention(a, a, a, attn_mask=sg.ones(5, 5, dtype=sg.bool).tril(-1)),
        (2, 3, 5, 4),
    ),
    "attention_biased": (lambda a: F.scaled_dot_product_attention(a, a, a, attn_mask=a @ a.mT), (2, 3, 5, 4)),
    "attention_shared": (
        lambda a: F.scaled_dot_product_attention(a, a[:, :2], a[:, 2:], enable_gqa=True),
        (2, 4, 5, 4),
    ),
    "constants": (
        lambda a: (a + sg.arange(4) * sg.eye(4)[0], sg.full((2,), 3.0), sg.linspace(0, 1, 4) * a.detach()),
        (3, 4),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_exported(name: str) -> None:
    function, *shapes = FUNCTIONS[name]

    class Module(nn.Module):
        def forward(self, *inputs: sg.Tensor) -> Any:
            return function(*inputs)

    check(Module(), *(x(*shape, seed=i) for i, shape in enumerate(shapes)))


@pytest.mark.parametrize("name", ["GPT2", "Llama", "Bert"])
def test_language_models_are_exported(name: str) -> None:
    sizes: dict[str, dict[str, Any]] = {
        "GPT2": {"vocabulary": 50, "context": 16, "width": 32, "heads": 2, "layers": 2},
        "Llama": {"vocabulary": 50, "context": 16, "width": 32, "heads": 4, "groups": 2, "layers": 2, "inner": 48},
        "Bert": {"vocabulary": 50, "context": 16, "width": 32, "heads": 2, "layers": 2, "inner": 48},
    }
    check(getattr(sg.models, name)(**sizes[name]), sg.randint(0, 50, (2, 9)))


def test_vision_models_are_exported() -> None:
    check(sg.models.ResNet([1, 1, 1, 1], classes=5), x(1, 3, 64, 64))
    check(sg.models.UNet(3, 2, 4, 2), x(1, 3, 16, 16))
    check(sg.models.ViT(side=16, patch=8, width=16, heads=2, layers=1, inner=32, classes=5), x(2, 3, 16, 16))


# ---- sizes, devices, files -------------------------------------------------------------------------------------------


def test_open_sizes_take_other_batches() -> None:
    module = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3), nn.Softmax(1)
    ).eval()
    model = sg.onnx.export(module, x(1, 1, 8, 8), dynamic_axes={"input_0": {0: "batch"}})
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    for rows in (1, 5):
        images = x(rows, 1, 8, 8, seed=rows)
        wanted = arrays(module(images))
        np.testing.assert_allclose(run(model, (images,))[0], wanted[0], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(arrays(sg.onnx.load(model)(images))[0], wanted[0], rtol=1e-4, atol=1e-5)


def test_names_files_and_modes(tmp_path: Path) -> None:
    module = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5))
    module[1].eval()
    path = tmp_path / "deep" / "net.onnx"
    model = sg.onnx.export(module, x(2, 4), path, input_names=["pixels"], output_names=["classes"])
    assert module.training and module[0].training and not module[1].training
    assert onnx.load(path) == model and model.opset_import[0].version == 18
    assert [i.name for i in model.graph.input] == ["pixels"] and [o.name for o in model.graph.output] == ["classes"]
    assert "0.bias" in [t.name for t in model.graph.initializer]
    loaded = sg.onnx.load(path)
    assert not loaded.training and {"pixels"} == set(loaded.inputs) and "0_bias" in dict(loaded.named_parameters())


def test_a_model_that_was_read_can_learn() -> None:
    module = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    loaded = sg.onnx.load(sg.onnx.export(module, x(4, 2), dynamic_axes={"input_0": {0: "batch"}}))
    points, classes = sg.datasets.moons(200, noise=0.1, seed=0)
    assert sg.fit(loaded, points, classes, lr=0.05, epochs=30, verbose=0).last()["loss"] < 0.2


def test_a_model_on_any_device_is_exported(device: sg.Device) -> None:
    module = nn.Sequential(nn.Conv1d(2, 3, 3), nn.GELU(), nn.LSTM(7, 5)).to(device).eval()
    inputs = x(4, 2, 9)
    model = sg.onnx.export(module, inputs.to(device))
    wanted = arrays(module(inputs.to(device)))
    loaded = sg.onnx.load(model).to(device)
    for got in (run(model, (inputs,)), arrays(loaded(inputs.to(device)))):
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


# ---- what cannot be exported -----------------------------------------------------------------------------------------


def refused(function: Any, *inputs: sg.Tensor) -> str:
    class Module(nn.Module):
        def forward(self, *inputs: sg.Tensor) -> Any:
            return function(*inputs)

    with pytest.raises(sg.Error) as caught:
        sg.onnx.export(Module(), inputs)
    return str(caught.value)


def test_what_cannot_be_followed_is_said() -> None:
    a = x(3, 4)
    outside = sg.zeros(3, 4)

    def past_the_eye(v: sg.Tensor) -> sg.Tensor:
        class Twice(sg.autograd.Function):
            @staticmethod
            def forward(ctx: Any, v: sg.Tensor) -> sg.Tensor:
                with sg._core._Mode(alone=True):
                    return v * 2

            @staticmethod
            def backward(ctx: Any, g: sg.Tensor) -> sg.Tensor:
                return g * 2

        return Twice.apply(v)

    def through_a_view(v: sg.Tensor) -> sg.Tensor:
        y = v * 1
        y[0].add_(1)
        return y

    assert refused(lambda v: v.cummax(1)[0], a).startswith("onnx.export: cummax has no ONNX form here; compute it")
    assert "add wrote into a part of a tensor that is read afterwards" in refused(through_a_view, a)
    assert "writes into a tensor that was made outside the model" in refused(lambda v: outside.copy_(v), a)
    assert "an index that depends on the inputs" in refused(lambda v: v[v > 0], a)
    assert "a tensor [3, 4] was made in a way that cannot be followed" in refused(past_the_eye, a)
    flat = nn.LSTM(3, 4, proj_size=2)
    sg.nn.init.ones_(flat.weight_hr_l0)
    with pytest.raises(sg.Error, match="the rows of weight_hr of an LSTM depend on each other"):
        sg.onnx.export(flat, x(5, 1, 3))
    with pytest.raises(sg.Error, match="item"):
        sg.onnx.export(Item(), a)
    with pytest.raises(ValueError, match="input_names has 2 names, the model 1 inputs"):
        sg.onnx.export(nn.ReLU(), a, input_names=["a", "b"])


class Item(nn.Module):
    def forward(self, v: sg.Tensor) -> Any:
        return v * v.sum().item()


def made(nodes: list[Any], inputs: list[str], outputs: list[str], initialisers: Any = MappingProxyType({})) -> Any:
    """A model of float32 values of one shape."""
    info = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in inputs + outputs]
    arrays = [onnx.numpy_helper.from_array(np.float32(v), name) for name, v in initialisers.items()]
    steps = [onnx.helper.make_node(*node) for node in nodes]
    return onnx.helper.make_model(
        onnx.helper.make_graph(steps, "g", info[: len(inputs)], info[len(inputs) :], initializer=arrays)
    )


def test_every_initialiser_has_a_name_of_its_own() -> None:
    """`a.b` and `a_b`, and names that modules have."""
    names = ["a_b", "a.b", "forward", "inputs", "outputs", "training", "_nodes", "_parameters", "a_b_", "weight"]
    nodes = [("Add", [f"x{i}", name], [f"x{i + 1}"]) for i, name in enumerate(names)]
    values = {name: [2.0**i] * 2 for i, name in enumerate(names)}
    loaded = sg.onnx.load(made(nodes, ["x0"], [f"x{len(names)}"], values))
    assert loaded(sg.zeros(2)).tolist() == [2 ** len(names) - 1] * 2
    state = loaded.state_dict()
    assert list(state)[:3] == ["a_b", "a_b_", "forward_"] and len(state) == len(names), "in the order of the file"
    assert callable(loaded.forward) and loaded.inputs == ["x0"] and loaded.training is False


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (made([("Add", ["x", "y"], ["z"])], ["x"], ["z"]), "Add reads y, which nothing makes before it"),
        (made([("Relu", ["z"], ["z"])], ["x"], ["z"]), "Relu reads z, which nothing makes"),
        (made([("Relu", ["x"], ["z"])], ["x"], ["w"]), "the output w is one that nothing makes"),
        (made([("Relu", ["x"], ["z"])], ["x", "x"], ["z"]), "a name of an input stands for two values"),
    ],
)
def test_graphs_with_loose_ends_are_refused(model: Any, message: str, tmp_path: Path) -> None:
    for source in (model, tmp_path / "x.onnx"):
        onnx.save(model, tmp_path / "x.onnx")
        with pytest.raises(sg.FileFormatError, match=rf"onnx\.load: {message}"):
            sg.onnx.load(source)


def test_initialisers_that_are_none_are_refused(tmp_path: Path) -> None:
    model = made([("Add", ["x", "w"], ["z"])], ["x"], ["z"], {"w": [1, 2]})
    model.graph.initializer[0].dims[0] = 1 << 40
    onnx.save(model, tmp_path / "x.onnx")
    with pytest.raises(sg.FileFormatError, match="is no ONNX model"):
        sg.onnx.load(tmp_path / "x.onnx")
    model = made([("Add", ["x", "w"], ["z"])], ["x"], ["z"], {"w": [1, 2]})
    model.graph.initializer.append(model.graph.initializer[0])
    with pytest.raises(sg.FileFormatError, match="two initialisers have one name"):
        sg.onnx.load(model)


def test_what_is_no_model_is_said(tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"no model at all")
    with pytest.raises(sg.FileFormatError, match=r"onnx.load: .*bad\.onnx is no ONNX model"):
        sg.onnx.load(tmp_path / "bad.onnx")
    with pytest.raises(FileNotFoundError):
        sg.onnx.load(tmp_path / "none.onnx")
    graph = onnx.helper.make_graph([onnx.helper.make_node("StringSplit", ["a"], ["b"])], "g", [], [])
    with pytest.raises(sg.Error, match=r"onnx\.load: StringSplit are not known here"):
        sg.onnx.load(onnx.helper.make_model(graph))
