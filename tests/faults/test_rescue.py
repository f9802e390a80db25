"""Memory that runs out costs what needed it, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import spirograd as sg

Run = Callable[..., str]
LIMIT = 64 << 20

# What is pending when `large` finds no memory, and what has to hold then.
CASES = {
    "weights that were loaded": (
        "net = sg.nn.Linear(4, 4).to(d)\n"
        "state = {k: sg.full_like(v, 3.0) for k, v in net.state_dict().items()}\n"
        "sg.synchronize()\n"
        "net.load_state_dict(state)\n"
        "large(net(sg.ones(1, 4, device=d)).sum())\n"
        "assert net.weight.tolist() == [[3.0] * 4] * 4 and net.bias.tolist() == [3.0] * 4\n"
    ),
    "weights that are new": (
        "net = sg.nn.Linear(4, 4).to(d)\n"
        "sg.nn.init.constant_(net.weight, 2.0)\n"
        "large(net(sg.ones(1, 4, device=d)).sum())\n"
        "assert net.weight.tolist() == [[2.0] * 4] * 4\n"
        "assert net(sg.ones(1, 4, device=d)).shape == (1, 4) and net(sg.ones(1, 4, device=d)).isfinite().all().item()\n"
    ),
    "activations in place": (
        "x = sg.tensor([-1.0, 2.0], device=d)\n"
        "y, z = (x * 2).relu_(), x + 1\n"
        "z.exp_()\n"
        "large(x.sum())\n"
        "assert y.tolist() == [0.0, 4.0] and z.log().tolist() == [0.0, 3.0]\n"
    ),
    "an activation in place that finds no memory": (
        "x = sg.ones(9 << 20, device=d)\n"
        "y = x * 2\n"
        "z = y\n"
        "z.relu_()\n"
        "try: large(y.sum() + z.sum())\n"
        "except sg.OutOfMemoryError: pass\n"
        "del x\n"
        "w = sg.tensor([-1.0, 2.0], device=d).relu_()\n"
        "assert w.tolist() == [0.0, 2.0]\n"
    ),
    "the step before": (
        "w = sg.ones(3, device=d, requires_grad=True)\n"
        "opt = sg.optim.SGD([w], lr=0.5)\n"
        "(w * 2).sum().backward()\n"
        "opt.step()\n"
        "opt.zero_grad()\n"
        "large((w * 2).sum())\n"
        "assert w.tolist() == [0.0] * 3\n"
        "(w * 2).sum().backward()\n"
        "opt.step()\n"
        "assert w.tolist() == [-1.0] * 3\n"
    ),
    "an update between other work": (
        "ws = [sg.ones(3, device=d, requires_grad=True) for _ in range(4)]\n"
        "for w in ws: w.grad = sg.full((3,), 2.0, device=d)\n"
        "sg.synchronize()\n"
        "sg._core._Update('sgd', ws, [[None]] * 4).step((0.5, 0.0, 1.0), 0.0, False, None)\n"
        "large(sum(w.detach().sum() for w in ws))\n"
        "assert [w.tolist() for w in ws] == [[0.0] * 3] * 4\n"
    ),
    "a step of which a part finds no memory": (
        "w, big = sg.ones(3, device=d, requires_grad=True), sg.ones(6 << 20, device=d, requires_grad=True)\n"
        "opt = sg.optim.Adam([w, big], lr=0.5)\n"
        "sg.synchronize()\n"
        "(w * 2).sum().backward()\n"
        "big.grad = sg.ones(1, device=d).expand(6 << 20)\n"
        "y = w * 3\n"
        "try: opt.step()\n"
        "except sg.OutOfMemoryError: pass\n"
        "else: raise AssertionError('there was memory')\n"
        "assert w.tolist() == [1.0] * 3 and y.tolist() == [3.0] * 3 and w.grad.tolist() == [2.0] * 3\n"
        "big.grad = None\n"
        "opt.step()\n"
        "assert w.tolist() == [0.5] * 3 and opt.state[w]['step'] == 1\n"
    ),
    "a step that is longer than a log": (
        "ws = [sg.ones(2, device=d, requires_grad=True) for _ in range(1500)]\n"
        "big = sg.ones(6 << 20, device=d, requires_grad=True)\n"
        "opt = sg.optim.Adam([*ws, big], lr=0.5)\n"
        "for w in ws: w.grad = sg.ones(2, device=d)\n"
        "big.grad = sg.ones(1, device=d).expand(6 << 20)\n"
        "try: opt.step()\n"
        "except sg.OutOfMemoryError: pass\n"
        "else: raise AssertionError('there was memory')\n"
        "assert sg.cat(ws).tolist() == [1.0] * 3000\n"
        "big.grad = None\n"
        "opt.step()\n"
        "assert sg.cat(ws).tolist() == [0.5] * 3000 and opt.state[ws[0]]['step'] == 1\n"
    ),
    "a step behind it": (
        "w = sg.ones(3, device=d, requires_grad=True)\n"
        "opt = sg.optim.Adam([w], lr=0.5)\n"
        "z = enormous(w.detach().sum())\n"
        "(w * 2).sum().backward()\n"
        "opt.step()\n"
        "assert w.tolist() == [0.5] * 3 and opt.state[w]['step'] == 1\n"
        "fails(lambda: z)\n"
    ),
    "another result": (
        "x = sg.ones(5, device=d)\n"
        "y = (x * 3).cumsum(0)\n"
        "large(x.sum())\n"
        "assert y.tolist() == [3.0, 6.0, 9.0, 12.0, 15.0] and (y + x).sum().item() == 50\n"
    ),
    "a write behind it": (
        "x = sg.ones(5, device=d)\n"
        "def and_a_write():\n"
        "    z = enormous(x.sum())\n"
        "    x.mul_(2.0)\n"
        "    return z\n"
        "fails(and_a_write)\n"
        "assert x.tolist() == [2.0] * 5\n"
    ),
    "a write that needs it": (
        "x = sg.ones(5, device=d)\n"
        "def of_it():\n"
        "    x.mul_(2.0)\n"
        "    z = enormous(x.sum())\n"
        "    x.add_(z[0])\n"
        "    x.mul_(z[1])\n"
        "    return z\n"
        "fails(of_it)\n"
        "assert x.tolist() == [2.0] * 5\n"
    ),
    "a write over one that needs it": (
        "x = sg.ones(5, device=d)\n"
        "def over_it():\n"
        "    z = enormous(x.sum())\n"
        "    x.add_(z[0])\n"
        "    x.fill_(7.0)\n"
        "    return z\n"
        "fails(over_it)\n"
        "assert x.tolist() == [1.0] * 5\n"
    ),
    "many at once": (
        "xs = [sg.full((3,), float(i), device=d) * 2 for i in range(200)]\n"
        "large(sg.stack(xs).sum())\n"
        "assert all(x.tolist() == [2.0 * i] * 3 for i, x in enumerate(xs))\n"
    ),
}
START = (
    "import spirograd as sg\n"
    "d = '{device}'\n"
    f"def enormous(x): return (x + sg.arange({LIMIT}, device=d)).cumsum(0)\n"
    "def fails(f):\n"
    "    try:\n"
    "        f()[5].item()\n"
    "    except sg.OutOfMemoryError as e: assert 'asked' in str(e), str(e)\n"
    "    else: raise AssertionError('there was memory')\n"
    "def large(x): fails(lambda: enormous(x))\n"
)


@pytest.mark.parametrize("name", CASES)
def test_what_finds_no_memory_costs_nothing_else(name: str, device: sg.Device, run_python: Run) -> None:
    code = START.format(device=device.kind) + CASES[name] + "print('kept')"
    assert run_python(code, SPIROGRAD_MEMORY_LIMIT=str(LIMIT)) == "kept\n"


def test_scratch_of_a_run_that_failed_is_given_back(device: sg.Device, run_python: Run) -> None:
    code = START.format(device=device.kind) + (
        "x = sg.ones(5, device=d)\n"
        "sg.synchronize(); before = sg.stats()['bytes_live']\n"
        "large(x.sum())\n"
        "assert sg.stats()['bytes_live'] <= before + 4096, sg.stats()\n"
        "print('kept')"
    )
    assert run_python(code, SPIROGRAD_MEMORY_LIMIT=str(LIMIT)) == "kept\n"


def test_what_was_computed_for_a_value_that_failed_is_given_back(device: sg.Device, run_python: Run) -> None:
    """8 MiB, which the tensor that failed would have read."""
    code = START.format(device=device.kind) + (
        "x = sg.ones(5, device=d)\n"
        "def rows(): return (sg.arange(2 << 20, device=d) * 1.0 + x.sum()).expand(64, 2 << 20)\n"
        "def work(): return (rows() * 2.0).cumsum(0)[0]\n"
        "fails(work)\n"  # the arena has its size now
        "sg.synchronize(); before = sg.stats()['bytes_live']\n"
        "kept = work()\n"
        "fails(lambda: kept)\n"
        "assert sg.stats()['bytes_live'] <= before + 4096, (before, sg.stats())\n"
        "print('kept')"
    )
    assert run_python(code, SPIROGRAD_MEMORY_LIMIT=str(LIMIT)) == "kept\n"


def test_a_replay_of_several_runs_that_finds_no_memory_does_nothing(device: sg.Device, run_python: Run) -> None:
    code = START.format(device=device.kind) + (
        "def outcome(failing):\n"
        "    a, b = (sg.ones(3, device=d, requires_grad=True) for _ in range(2))\n"
        "    first, second = sg.optim.Adam([a], lr=0.5), sg.optim.Adam([b], lr=0.25)\n"
        "    def step(x):\n"
        "        first.zero_grad(), second.zero_grad()\n"
        "        ((a * x).sum() + (b * x).sum()).backward()\n"
        "        first.step()\n"
        "        second.step()\n"
        "        return (sg.arange(6 << 20, device=d) * x[0]).cumsum(0)\n"
        "    step, x = sg.compile(step), sg.ones(3, device=d)\n"
        "    def values(): return a.tolist(), b.tolist()\n"
        "    for _ in range(4): step(x)\n"
        "    before, ballast = values(), []\n"
        "    try:\n"
        "        while failing: ballast.append(sg.ones(1 << 18, device=d).realize())\n"
        "    except sg.OutOfMemoryError: pass\n"
        "    if failing:\n"
        "        fails(lambda: step(x))\n"
        "        assert values() == before, (values(), before)\n"
        "    ballast.clear()\n"
        "    step(x)\n"
        "    return values(), first.state[a]['step'], second.state[b]['step']\n"
        "got, wanted = outcome(True), outcome(False)\n"
        "assert got == wanted, (got, wanted)\n"
        "print('kept')"
    )
    assert run_python(code, SPIROGRAD_MEMORY_LIMIT=str(LIMIT)) == "kept\n"
