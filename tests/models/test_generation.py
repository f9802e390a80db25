"""Tokens that follow others: those of the model without a cache, drawn by their probabilities, in few launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd.generation import beam_search, generate, stream
from spirograd.models import GPT2, Decoder, Llama

PROMPT = [1, 2, 3, 4, 5]


def decoder(kind: str, device: sg.Device, context: int = 64) -> Decoder:
    """A small one whose scores differ enough that rounding changes no choice."""
    sg.manual_seed(0)
    model: Any
    if kind == "gpt2":
        model = GPT2(vocabulary=31, context=context, width=32, layers=2, heads=4)
    else:
        model = Llama(31, width=32, inner=48, layers=2, heads=4, groups=2, context=context)
    with sg.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8 if parameter.ndim > 1 else 1)
    made: Decoder = model.to(device).eval()
    return made


def scores_after(model: Decoder, tokens: Sequence[int]) -> np.ndarray:
    """Without a cache."""
    with sg.no_grad():
        return np.asarray(model(sg.tensor([list(tokens)], device=model.device))[0, -1].numpy())


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_the_likeliest_token_is_that_of_the_whole_forward_pass(kind: str, device: sg.Device) -> None:
    model = decoder(kind, device)
    tokens = PROMPT + generate(model, PROMPT, 40, temperature=0)
    for i in range(len(PROMPT), len(tokens)):
        assert tokens[i] == scores_after(model, tokens[:i]).argmax(), i
    assert len(set(tokens)) > 5  # not one token for ever, which proves little


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_prompts_of_different_lengths_are_read_as_if_alone(kind: str, device: sg.Device) -> None:
    model = decoder(kind, device)
    prompts = [PROMPT, [7], [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11]]
    together = generate(model, prompts, 20, temperature=0)
    assert together == [generate(model, prompt, 20, temperature=0) for prompt in prompts]


def test_a_cache_of_its_full_length_is_used(device: sg.Device) -> None:
    model = decoder("gpt2", device, context=16)
    tokens = PROMPT + generate(model, PROMPT, 12, temperature=0)
    assert tokens[-1] == scores_after(model, tokens[:-1]).argmax() and len(tokens) == 17


def test_after_the_context_the_later_half_is_read_again() -> None:
    model = decoder("gpt2", sg.Device("cpu"), context=16)
    tokens = PROMPT + generate(model, PROMPT, 40, temperature=0)
    assert len(tokens) == 45
    begin = 0  # of what the model sees of the tokens before i
    for i in range(len(PROMPT), 45):
        if i - begin > 16:
            begin = i - 8
        assert tokens[i] == scores_after(model, tokens[begin:i]).argmax(), i
    assert generate(model, tokens, 3, temperature=0) == generate(model, tokens[-8:], 3, temperature=0)


def test_tokens_follow_the_distribution(device: sg.Device) -> None:
    model = decoder("gpt2", device)
    with sg.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.4)
    rows = 4000
    found = np.array(generate(model, [PROMPT] * rows, 2, temperature=1.3, seed=5))
    for tokens, scores in (
        (found[:, 0], scores_after(model, PROMPT)),
        (
            found[found[:, 0] == np.bincount(found[:, 0]).argmax(), 1],
            scores_after(model, [*PROMPT, int(np.bincount(found[:, 0]).argmax())]),
        ),
    ):
        shares = np.exp(scores / 1.3 - (scores / 1.3).max())
        wanted = shares / shares.sum() * len(tokens)
        counts = np.bincount(tokens, minlength=31)
        chi_square = ((counts - wanted) ** 2 / wanted).sum()
        assert chi_square < 59.7, chi_square  # 0.1% of such draws are above, with 30 degrees of freedom


def test_a_seed_decides_and_the_common_stream_goes_on(device: sg.Device) -> None:
    model = decoder("gpt2", device)
    first, second, other = (generate(model, PROMPT, 30, seed=seed) for seed in (3, 3, 4))
    assert first == second != other
    sg.manual_seed(1)
    drawn = [generate(model, PROMPT, 30) for _ in range(2)]
    sg.manual_seed(1)
    assert drawn == [generate(model, PROMPT, 30) for _ in range(2)] and drawn[0] != drawn[1]


def test_options_leave_out_what_they_say() -> None:
    model = decoder("gpt2", sg.Device("cpu"))
    likeliest = generate(model, PROMPT, 30, temperature=0)
    assert generate(model, PROMPT, 30, top_k=1) == generate(model, PROMPT, 30, top_p=1e-6) == likeliest
    order = np.argsort(-scores_after(model, PROMPT))
    drawn = {row[0] for row in generate(model, [PROMPT] * 500, 1, temperature=50.0, top_k=4, seed=0)}
    assert drawn == set(order[:4].tolist())


def test_the_repetition_penalty_changes_scores_of_tokens_that_were_there(device: sg.Device) -> None:
    model = decoder("gpt2", device)
    tokens = PROMPT + generate(model, PROMPT, 20, temperature=0, repetition_penalty=3.0)
    for i in range(len(PROMPT), len(tokens)):
        scores = scores_after(model, tokens[:i])
        seen = sorted(set(tokens[:i]))
        scores[seen] = np.where(scores[seen] > 0, scores[seen] / 3, scores[seen] * 3)
        assert tokens[i] == scores.argmax(), i


def test_stop_tokens_end_each_sequence_for_itself() -> None:
    model = decoder("gpt2", sg.Device("cpu"))
    whole = generate(model, [PROMPT, [7]], 30, temperature=0)
    stop = whole[0][3]
    assert whole[0].index(stop) > 0
    cut = [row[: row.index(stop) + 1] if stop in row else row for row in whole]
    assert generate(model, [PROMPT, [7]], 30, temperature=0, stop=[stop]) == cut
    assert generate(model, PROMPT, 30, temperature=0, stop=[stop]) == cut[0]
    steps = list(stream(model, [PROMPT, [7]], 30, temperature=0, stop=[stop]))
    assert len(steps) == max(map(len, cut)) and [t[0] for t in steps if t[0] is not None] == cut[0]


def test_a_stream_hands_out_each_token_when_it_is_known() -> None:
    model: Any = decoder("gpt2", sg.Device("cpu")).train()
    model.h[0].eval()
    tokens = stream(model, PROMPT, 30, temperature=0)
    first = [next(tokens) for _ in range(3)]
    assert not model.training
    assert first + list(tokens) == generate(model, sg.tensor(PROMPT), 30, temperature=0)
    assert model.training and model.h[1].mlp.training and not model.h[0].mlp.training  # as before


def test_prompts_may_be_arrays_and_tensors() -> None:
    model = decoder("gpt2", sg.Device("cpu"))
    want = generate(model, [PROMPT, PROMPT[::-1]], 5, temperature=0)
    both = np.array([PROMPT, PROMPT[::-1]])
    assert generate(model, both, 5, temperature=0) == generate(model, sg.tensor(both), 5, temperature=0) == want
    assert generate(model, [sg.tensor(PROMPT), both[1]], 5, temperature=0) == want
    assert generate(model, both[0], 5, temperature=0) == want[0]


@pytest.mark.gpu
@pytest.mark.parametrize("options", [{"temperature": 0}, {"temperature": 0.8}])
def test_each_token_replays_one_plan_of_few_launches(options: dict[str, Any], gpu: sg.Device) -> None:
    sg.manual_seed(0)
    model = GPT2(vocabulary=65, context=64, width=48, layers=6, heads=6).to(gpu).eval()
    tokens = stream(model, PROMPT, 40, seed=0, **options)
    for _ in range(8):
        next(tokens)  # of which a few are recorded
    kept = sg.stats()["plans_kept"]
    sg.reset_stats()
    for _ in range(20):
        next(tokens)
    stats = sg.stats()
    assert stats["dispatches"] <= 20 * 41  # a write at a checked place is a launch after that of its check
    assert (stats["plan_hits"], stats["plan_misses"], stats["plans_bound"]) == (20, 0, 0)
    assert stats["plans_kept"] == kept and stats["kernels_compiled"] == 0
    # All tokens at once: they are read 32 at a time, and nothing else is a submission.
    generate(model, PROMPT, 40, seed=0, **options)
    sg.reset_stats()
    generate(model, PROMPT, 40, seed=0, **options)
    assert sg.stats()["submissions"] <= 40 + 6


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_beams_find_the_likeliest_sequences(kind: str, device: sg.Device) -> None:
    model = decoder(kind, device)
    with sg.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.5 if parameter.ndim > 1 else 1)

    def shares(tokens: Sequence[int]) -> np.ndarray:
        """Logarithms of the probabilities of the next token."""
        scores = scores_after(model, tokens).astype(np.float64) - scores_after(model, tokens).max()
        return np.asarray(scores - np.log(np.exp(scores).sum()))

    # Two tokens, and as many beams as tokens: nothing is missed.
    found = beam_search(model, PROMPT, 2, beams=31, length_penalty=0.0)
    both = shares(PROMPT)[:, None] + np.array([shares([*PROMPT, a]) for a in range(31)])
    assert np.allclose([h.score for h in found], np.sort(both.flatten())[::-1][:31], atol=1e-4)
    assert found[0].tokens == list(np.unravel_index(both.argmax(), both.shape))
    few = beam_search(model, PROMPT, 8, beams=3)
    assert [len(h.tokens) for h in few] == [8] * 3 and few[0].score >= few[1].score >= few[2].score
    tokens = PROMPT + few[0].tokens
    total = sum(shares(tokens[:i])[tokens[i]] for i in range(len(PROMPT), len(tokens)))
    assert few[0].score == pytest.approx(total / 8, abs=1e-4)
    assert beam_search(model, PROMPT, 8, beams=1)[0].tokens == generate(model, PROMPT, 8, temperature=0)


def test_beams_end_at_stop_tokens() -> None:
    model = decoder("gpt2", sg.Device("cpu"))
    free = beam_search(model, PROMPT, 8, beams=3)[0].tokens
    found = beam_search(model, PROMPT, 8, beams=3, length_penalty=0.0, stop=[free[2]])
    assert all(free[2] not in h.tokens[:-1] for h in found) and any(h.tokens[-1] == free[2] for h in found)


def test_mistakes_are_named() -> None:
    model = decoder("gpt2", sg.Device("cpu"))
    for prompt, options, words in (
        ([], {}, "a prompt has no tokens"),
        ([[1], []], {}, "a prompt has no tokens"),
        (PROMPT, {"max_new_tokens": 0}, "max_new_tokens is 0"),
        (PROMPT, {"temperature": -1.0}, "temperature is -1.0"),
        (PROMPT, {"repetition_penalty": 0.0}, "repetition_penalty is 0.0"),
        (PROMPT, {"top_p": 2.0}, "top_p is 2.0"),
    ):
        with pytest.raises(ValueError, match=words):
            generate(model, prompt, **{"max_new_tokens": 3, **options})
    with pytest.raises(ValueError, match="beams is 0"):
        beam_search(model, PROMPT, 3, beams=0)
    with pytest.raises(ValueError, match="5 tokens and 60 more; the model's context is 64"):
        beam_search(model, PROMPT, 60)
    with pytest.raises(IndexError):
        generate(model, [99], 3)
