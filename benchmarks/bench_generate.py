"""Generation: tokens of a GPT per second, beside the loop without a cache.

    python benchmarks/bench_generate.py                     # every row, every device
    python benchmarks/bench_generate.py --rows decode --device gpu

Writes benchmarks/results/generate-DATE.json. Close other programs first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import spirograd as sg
from harness import program
from harness.common import Result, measure
from harness.rows import Context, row
from spirograd.generation import generate
from spirograd.models import GPT2
from spirograd.utils.sampling import sample_logits

CONTEXT = 256
PROMPT = 16  # tokens


def gpt(context: Context) -> tuple[GPT2, str]:
    """The model of a device, and its name: one that a CPU finishes in time, and a larger one for GPUs."""
    sg.manual_seed(0)
    layers, width = (6, 384) if context.gpu and not context.quick else (4, 128)
    model = GPT2(65, CONTEXT, width, layers, width // 64).to(context.device).eval()
    return model, f"GPT of {layers} layers, {width} wide, context {CONTEXT}"


def goal(context: Context, batch: int) -> tuple[str, float]:
    least = {1: 1_500.0, 64: 40_000.0}[batch] if context.gpu else {1: 488.0}.get(batch, 0.0)
    return (f">= {least:,.0f}" if least else ""), least


def cached(model: GPT2, prompts: list[list[int]], count: int) -> Callable[[], Any]:
    return lambda: generate(model, prompts, count, temperature=0.8, seed=0)


def whole(model: GPT2, prompts: list[list[int]], count: int) -> Callable[[], Any]:
    """The window of one length is read anew for each token, so that one plan serves all."""

    def run() -> None:
        known = [list(prompt) for prompt in prompts]
        with sg.no_grad():
            for _ in range(count):
                size = len(known[0])
                padded = [tokens + [0] * (CONTEXT - size) for tokens in known]
                scores = model(sg.tensor(padded, device=model.device))
                place = sg.tensor([size - 1], device=model.device)
                for tokens, token in zip(known, sample_logits(scores.index_select(1, place)[:, 0], 0.8), strict=True):
                    tokens.append(int(token.item()))

    return run


def speeds(
    context: Context, name: str, batch: int, works: dict[str, tuple[int, Callable[[], Any]]]
) -> Iterator[Result]:
    """Tokens of all sequences per second; `works` are counts of tokens of one sequence, and what makes them."""
    model_name = gpt(context)[1]
    for library, (count, work) in works.items():
        timings = measure({library: work}, calls_inside=count, **context.turns)
        target, least = goal(context, batch) if library == "spirograd" else ("", 0.0)
        value = batch / timings[library].median
        target += ": MISSED" if value < least else ""
        yield Result(
            name,
            f"{model_name}, batch {batch}",
            library,
            str(context.device),
            value,
            "tokens/s",
            timings[library],
            target,
        )


@row("decode")
def decode(context: Context) -> Iterator[Result]:
    """Tokens per second after a prompt of 16, drawn at temperature 0.8, to the end of the context."""
    model, _ = gpt(context)
    for batch in (1, 64):
        prompts = [[(7 * i + j) % 65 for j in range(PROMPT)] for i in range(batch)]
        count = 24 if context.quick else CONTEXT - PROMPT
        few = 2 if context.quick or batch > 1 else 12
        works = {
            "spirograd": (count, cached(model, prompts, count)),
            "without a cache": (few, whole(model, prompts, few)),
        }
        yield from speeds(context, "decode", batch, works)


@row("prompt")
def prompt(context: Context) -> Iterator[Result]:
    """The first token after a prompt of 240: how long it takes to read."""
    model, name = gpt(context)
    for batch in (1, 64):
        prompts = [[(7 * i + j) % 65 for j in range(240)] for i in range(batch)]
        timings = measure({"spirograd": cached(model, prompts, 1)}, **context.turns)
        yield from context.results("prompt", f"{name}, batch {batch}", timings, "ms", lambda s: s * 1e3)


if __name__ == "__main__":
    sys.exit(program.run("generate", "Tokens of a GPT per second.", ()))
