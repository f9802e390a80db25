"""Statements that train: modules with small parameters, losses, clipping, and steps of optimisers."""

from __future__ import annotations

from collections.abc import Callable

from draw import OPTIMIZERS, Drawing, value, write

CLIPPING = (
    "t.nn.utils.clip_grad_norm_({}.parameters(), 0.25)",
    "t.nn.utils.clip_grad_norm_({}.parameters(), 0.5, norm_type=float('inf'))",
    "t.nn.utils.clip_grad_value_({}.parameters(), 0.125)",
    "for g in gradients({}): g.mul_(0.5)",
)


def last(d: Drawing, size: int, low: int = 1, high: int = 3) -> str:
    return d.pick_value(low, high, fits=lambda n: d.shape(n)[-1] == size)


def channels(d: Drawing, size: int, low: int, high: int) -> str:
    return d.pick_value(low, high, fits=lambda n: d.shape(n)[1] == size and d.shape(n)[-1] > 1 and d.shape(n)[0] > 0)


@write(12, "modules")
def module(d: Drawing) -> str:
    """A module for what is there, and an optimiser over it."""
    name = d.new_name("m")
    text, call = d.pick(*KINDS)(d, name)
    d.modules[name] = call
    rule = d.pick(*OPTIMIZERS).format(f"{name}.parameters()")
    return f"{name} = module({d.key()}, {text})\n{name}_opt = t.optim.{rule}"


def of_rows(d: Drawing, name: str) -> tuple[str, Callable[[], str]]:
    k = d.shape(d.pick_value(1, 3))[-1]
    text = d.pick(
        f"t.nn.Linear({k}, {d.pick(1, 2, 5)})",
        f"t.nn.Sequential(t.nn.Linear({k}, 4), t.nn.{d.pick('Tanh', 'ReLU', 'GELU')}(), t.nn.Linear(4, 3))",
        f"t.nn.LayerNorm({k}, eps=0.25)",
        f"t.nn.RMSNorm({k}, eps=0.25)",
        f"t.nn.Linear({k}, 3, bias=False)",
    )
    return text, lambda: f"{name}({last(d, k)})"


def recurrent(d: Drawing, name: str) -> tuple[str, Callable[[], str]]:
    k = d.shape(d.pick_value(2, 3))[-1]
    kind = d.pick("LSTM", "LSTM", "RNN", "GRU")
    options = d.pick("", "", ", num_layers=2", ", bidirectional=True", ", batch_first=True")
    return f"t.nn.{kind}({k}, {d.pick(1, 3)}{options})", lambda: f"{name}({last(d, k, 2)})[0]"


def embedding(d: Drawing, name: str) -> tuple[str, Callable[[], str]]:
    shape = d.pick((3,), (2, 3), (4, 1))
    return f"t.nn.Embedding(5, {d.pick(1, 3)})", lambda: f"{name}(ints({d.key()}, {shape}, 5))"


def of_channels(d: Drawing, name: str) -> tuple[str, Callable[[], str]]:
    c = d.shape(d.pick_value(3, 3))[1]
    text = d.pick(
        f"t.nn.Conv1d({c}, {d.pick(1, 2)}, {d.pick(1, 2)}, padding={d.pick(0, 1)})",
        f"t.nn.ConvTranspose1d({c}, 2, 2, stride={d.pick(1, 2)})",
        f"t.nn.BatchNorm1d({c}, eps=0.25)",
        f"t.nn.GroupNorm(1, {c}, eps=0.25)",
        f"t.nn.PReLU({c})",
    )
    return text, lambda: f"{name}({channels(d, c, 3, 3)})"


def of_images(d: Drawing, name: str) -> tuple[str, Callable[[], str]]:
    c = d.shape(d.pick_value(4, 4))[1]
    text = d.pick(f"t.nn.Conv2d({c}, 2, 2, padding=1)", f"t.nn.BatchNorm2d({c}, eps=0.25)", f"t.nn.Conv2d({c}, {c}, 1)")
    return text, lambda: f"{name}({channels(d, c, 4, 4)})"


KINDS = (of_rows, of_rows, of_rows, recurrent, recurrent, embedding, of_channels, of_images)


@value(5, "modules")
def applied(d: Drawing) -> str:
    return d.modules[d.module()]()


@write(45, "training")
def train(d: Drawing) -> str:
    m = d.module()
    loss = d.pick("(({0}) * ({0})).mean()", "t.tanh({0}).sum()", "({0}).sum()").format(d.modules[m]())
    lines = [f"({loss}).backward({'retain_graph=True' if d.maybe(0.6) else ''})"]
    if d.maybe(0.3):
        lines.insert(0, f"{m}_opt.zero_grad({d.pick('', 'set_to_none=False')})")
    if d.maybe(0.6):
        lines.append(d.pick(*CLIPPING).format(m))
    if d.maybe(0.4):
        lines.append(f"{d.pick('keep', 'out')}(*gradients({m}))")
    if d.maybe(0.7):
        if any(line.startswith(f"{m}_opt = t.optim.Rprop") for line in d.lines):
            lines.append(f"calm({m})")
        lines.append(f"{m}_opt.step()")
    if d.maybe(0.3):
        lines.append(f"{d.pick('keep', 'out')}(*{m}.parameters())")
    return "\n".join(lines)


@value(12, "losses")
def loss(d: Drawing) -> str:
    f = "t.nn.functional."
    if d.maybe(0.5):
        x = d.pick_value(2, 3, fits=lambda n: d.shape(n)[1] > 0)
        classes, rest = d.shape(x)[1], (d.shape(x)[0], *d.shape(x)[2:])
        weight = d.pick("", f", weight=leaf({d.key()}, ({classes},)).abs() + 0.25")
        options = weight + d.pick("", ", reduction='sum'", ", reduction='none'", ", ignore_index=0")
        target = f"ints({d.key()}, {rest}, {classes})"
        if d.maybe(0.5):
            return f"{f}cross_entropy({x}, {target}{options}{d.pick('', ', label_smoothing=0.25')})"
        return f"{f}nll_loss(t.log_softmax({x}, 1), {target}{options})"
    x = d.pick_value(1)
    y = f"leaf({d.key()}, {x}.shape)"
    name, target = d.pick(
        ("mse_loss", y),
        ("l1_loss", y),
        ("smooth_l1_loss", y),
        ("huber_loss", y),
        ("binary_cross_entropy_with_logits", f"t.sigmoid({y})"),
        ("kl_div", f"t.softmax({y}, -1)"),
        ("soft_margin_loss", f"t.sign({y} + 0.1)"),
        ("poisson_nll_loss", f"{y}.abs()"),
    )
    return f"{f}{name}(t.clamp({x}, -4.0, 4.0), {target}, reduction='{d.pick('mean', 'sum', 'none')}')"
