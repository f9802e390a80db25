"""Transformer layers against their formulas, positions, what a GPT's step costs, and PyTorch where it is there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn

F = nn.functional


def numbers(*shape: int, seed: int = 0) -> sg.Tensor:
    return sg.tensor(np.random.default_rng(seed).normal(size=shape))


def close(a: sg.Tensor, b: Any, bound: float = 1e-12) -> None:
    np.testing.assert_allclose(
        a.detach().numpy(), b.detach().numpy() if hasattr(b, "detach") else b, atol=bound, rtol=1e-9
    )


@pytest.mark.parametrize("norm_first", [False, True])
def test_an_encoder_layer_is_its_parts(norm_first: bool) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 12, norm_first=norm_first, activation="gelu", dtype=sg.float64).eval()
    x, mask = numbers(5, 3, 8), numbers(5, 5, seed=1)

    def attention(x: sg.Tensor) -> sg.Tensor:
        y: sg.Tensor = layer.self_attn(x, x, x, attn_mask=mask)[0]
        return y

    def products(x: sg.Tensor) -> sg.Tensor:
        return layer.linear2(F.gelu(layer.linear1(x)))

    if norm_first:
        y = x + attention(layer.norm1(x))
        y = y + products(layer.norm2(y))
    else:
        y = layer.norm1(x + attention(x))
        y = layer.norm2(y + products(y))
    close(layer(x, mask), y)


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_decoder_layer_is_its_parts(norm_first: bool) -> None:
    layer = nn.TransformerDecoderLayer(8, 2, 12, batch_first=True, norm_first=norm_first, dtype=sg.float64).eval()
    x, memory, mask = (
        numbers(3, 5, 8),
        numbers(3, 4, 8, seed=1),
        nn.generate_square_subsequent_mask(5, dtype=sg.float64),
    )

    def own(x: sg.Tensor) -> sg.Tensor:
        y: sg.Tensor = layer.self_attn(x, x, x, attn_mask=mask)[0]
        return y

    def other(x: sg.Tensor) -> sg.Tensor:
        y: sg.Tensor = layer.multihead_attn(x, memory, memory)[0]
        return y

    def products(x: sg.Tensor) -> sg.Tensor:
        return layer.linear2(F.relu(layer.linear1(x)))

    y = x
    for part, norm in ((own, layer.norm1), (other, layer.norm2), (products, layer.norm3)):
        y = y + part(norm(y)) if norm_first else norm(y + part(y))
    close(layer(x, memory, mask), y)
    close(layer(x, memory, tgt_is_causal=True), y)


def test_stacks_copy_their_layer() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 12, dtype=sg.float64).eval()
    stack = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(8, dtype=sg.float64)).eval()
    x = numbers(5, 3, 8)
    close(stack(x), stack.norm(layer(layer(x))))
    with sg.no_grad():
        stack.layers[0].linear1.weight.zero_()
    assert layer.linear1.weight.abs().max().item() > 0
    assert stack.layers[1].linear1.weight.abs().max().item() > 0
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 12, dtype=sg.float64), 2).eval()
    memory = numbers(4, 3, 8, seed=2)
    close(decoder(x, memory), decoder.layers[1](decoder.layers[0](x, memory), memory))


def test_parameters_have_the_names_of_pytorch() -> None:
    ends = [("self_attn.in_proj_weight", "self_attn.in_proj_bias", "self_attn.out_proj.weight"), ("norm2.bias",)]
    names = list(nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12), 2).state_dict())
    assert names[:3] == [f"layers.0.{name}" for name in ends[0]] and names[-1] == "layers.1.norm2.bias"
    assert names[4:8] == [f"layers.0.linear{i}.{p}" for i in (1, 2) for p in ("weight", "bias")]
    names = list(nn.TransformerDecoderLayer(8, 2, 12).state_dict())
    assert names[4] == "multihead_attn.in_proj_weight" and names[-2:] == ["norm3.weight", "norm3.bias"]
    assert not any(name.endswith("bias") for name in nn.TransformerBlock(8, 2, bias=False).state_dict())


def test_a_block_is_a_causal_encoder_layer(device: sg.Device) -> None:
    block = nn.TransformerBlock(8, 2).to(device)
    layer = nn.TransformerEncoderLayer(8, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True).to(device)
    layer.load_state_dict(block.state_dict())
    x = numbers(2, 5, 8).float().to(device)
    close(block(x), layer(x, nn.generate_square_subsequent_mask(5, device=device)).cpu(), 1e-5)
    y = x.clone()
    y[:, 3:] = 0
    close(block(x)[:, :3], block(y)[:, :3].cpu(), 1e-6)


def test_dropout_ends_with_training() -> None:
    layer, x = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.5), numbers(5, 3, 8).float()
    assert not np.allclose(layer(x).detach().numpy(), layer(x).detach().numpy())
    layer.eval()
    close(layer(x), layer(x))


def test_padding_is_left_out() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, dtype=sg.float64).eval()
    x = numbers(1, 5, 8)
    padding = sg.tensor([[False, False, False, True, True]])
    close(layer(x, src_key_padding_mask=padding)[:, :3], layer(x[:, :3]))


def test_the_mask_of_a_sequence() -> None:
    want = np.triu(np.full((4, 4), -np.inf), 1)
    np.testing.assert_array_equal(nn.generate_square_subsequent_mask(4).numpy(), want)


def test_gradients_of_a_block() -> None:
    block = nn.TransformerBlock(4, 2, 4, dtype=sg.float64)
    assert sg.autograd.gradcheck(block, (numbers(1, 3, 4).requires_grad_(),))


def test_an_unknown_activation_is_explained() -> None:
    with pytest.raises(ValueError, match="use relu, gelu or a function"):
        nn.TransformerEncoderLayer(8, 2, activation="sin")
    assert nn.TransformerEncoderLayer(8, 2, activation=F.silu)(sg.ones(3, 1, 8)).shape == (3, 1, 8)


# ---- positions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("traditional", [False, True])
def test_rope_turns_pairs(traditional: bool) -> None:
    x = numbers(2, 5, 10)
    got = nn.RoPE(8, traditional=traditional, base=100.0, scale=0.5)(x, offset=3).numpy()
    values, want = x.numpy(), x.numpy().copy()
    for t in range(5):
        for i in range(4):
            a, b = (2 * i, 2 * i + 1) if traditional else (i, i + 4)
            turn = np.exp(1j * (t + 3) * 0.5 * 100.0 ** (-2 * i / 8))
            z = (values[:, t, a] + 1j * values[:, t, b]) * turn
            want[:, t, a], want[:, t, b] = z.real, z.imag
    np.testing.assert_allclose(got, want, atol=1e-12)


def test_rope_knows_distances_only(device: sg.Device) -> None:
    rope, q, k = nn.RoPE(8), numbers(1, 8).float().to(device), numbers(1, 8, seed=1).float().to(device)
    near, far = ((rope(q, offset=i + 3) * rope(k, offset=i)).sum().item() for i in (0, 40))
    assert near == pytest.approx(far, abs=1e-4)
    other = (rope(q, offset=4) * rope(k)).sum().item()
    assert abs(other - near) > 1e-3


def test_rope_refuses_odd_sizes() -> None:
    with pytest.raises(ValueError, match="even"):
        nn.RoPE(7)
    with pytest.raises(ValueError, match="8 or more"):
        nn.RoPE(8)(sg.ones(5, 6))


def test_sinusoidal_positions() -> None:
    got = nn.SinusoidalPositionalEncoding(6)(sg.arange(7)).numpy()
    frequency = np.array([1.0, 1e-2, 1e-4])
    angle = np.arange(7)[:, None] * frequency
    want = np.concatenate([np.sin(angle), np.cos(angle)], 1) * np.sqrt(2 / 3)
    np.testing.assert_allclose(got, want, atol=1e-6)
    turns = nn.SinusoidalPositionalEncoding(6, 0.1, 10.0, scale=1.0, cos_first=True, full_turns=True)
    angle = np.arange(7)[:, None] * np.array([10.0, 1.0, 0.1]) * 2 * np.pi
    want = np.concatenate([np.cos(angle), np.sin(angle)], 1)
    np.testing.assert_allclose(turns(sg.arange(7, dtype=sg.float64)).numpy(), want, atol=1e-9)
    with pytest.raises(ValueError, match="even"):
        nn.SinusoidalPositionalEncoding(3)


# ---- a GPT -----------------------------------------------------------------------------------------------------------


def gpt(library: Any, dtype: str = "float32", layers: int = 2) -> Any:
    """The same in both libraries."""
    kind = getattr(library, dtype)

    class Gpt(library.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.token = library.nn.Embedding(11, 16, dtype=kind)
            self.position = library.nn.Embedding(6, 16, dtype=kind)
            layer = library.nn.TransformerEncoderLayer(
                16, 2, 64, dropout=0.0, activation="gelu", batch_first=True, norm_first=True, dtype=kind
            )
            self.blocks = library.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
            self.norm = library.nn.LayerNorm(16, dtype=kind)
            self.head = library.nn.Linear(16, 11, dtype=kind)

        def forward(self, x: Any, mask: Any) -> Any:
            x = self.token(x) + self.position.weight
            return self.head(self.norm(self.blocks(x, mask, is_causal=True)))

    return Gpt()


def test_a_step_of_a_gpt(device: sg.Device) -> None:
    net = gpt(sg).to(device)
    optimizer = sg.optim.Adam(net.parameters(), lr=1e-2)
    data = sg.tensor(np.random.default_rng(0).integers(0, 11, (4, 7)), device=device)
    first = last = 0.0
    for i in range(4):
        if i == 3:
            sg.synchronize(device)
            sg.reset_stats()
        scores = net(data[:, :-1], None)
        loss = F.cross_entropy(scores.reshape(-1, 11), data[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        s = sg.stats()
        last = loss.item()
        first = first or last
    assert last < first
    assert (s["submissions"], s["allocations"], s["fallbacks"]) == (1, 0, 0)
    assert (s["plan_hits"], s["plan_misses"]) == (1, 0)
    assert s["dispatches"] <= 90


@pytest.mark.parametrize(("dtype", "bound"), [("float32", 1e-4), ("float64", 1e-9)])
def test_the_loss_curve_of_pytorch(dtype: str, bound: float) -> None:
    torch = pytest.importorskip("torch")
    data = np.random.default_rng(0).integers(0, 11, (4, 7))
    theirs, ours = gpt(torch, dtype), gpt(sg, dtype)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict({key: sg.tensor(value.numpy()) for key, value in theirs.state_dict().items()})
    curves = []
    for library, net in ((torch, theirs), (sg, ours)):
        optimizer = library.optim.Adam(net.parameters(), lr=1e-3)
        x, y = library.tensor(data[:, :-1].copy()), library.tensor(data[:, 1:].copy())
        mask = library.triu(library.full((6, 6), float("-inf"), dtype=getattr(library, dtype)), 1)
        curve = []
        for _ in range(20):
            loss = library.nn.functional.cross_entropy(net(x, mask).reshape(-1, 11), y.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            curve.append(loss.item())
        curves.append(curve)
    np.testing.assert_allclose(curves[1], curves[0], rtol=bound)
    assert curves[1][-1] < curves[1][0]


def test_a_decoder_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    results = []
    start: dict[str, Any] = {}
    for library in (torch, sg):
        layer = library.nn.TransformerDecoderLayer(8, 2, 12, dropout=0.0, dtype=library.float64)
        net = library.nn.TransformerDecoder(layer, 2)
        if library is torch:
            start = net.state_dict()
        else:
            net.load_state_dict({key: sg.tensor(value.numpy()) for key, value in start.items()})
        x, memory = (library.tensor(numbers(n, 3, 8).numpy()) for n in (5, 4))
        mask = library.triu(library.full((5, 5), float("-inf"), dtype=library.float64), 1)
        out = net(x, memory, mask, tgt_is_causal=True)
        out.sin().sum().backward()
        results.append([out, *(p.grad for p in net.parameters())])
    for want, got in zip(*results, strict=True):
        close(got, want)
