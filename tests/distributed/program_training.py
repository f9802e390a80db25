"""Training in several processes against one process with the joint batch: run by mpiexec with 2 or 4 processes; the
device is the first argument. Every process computes both."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import spirograd as sg
from spirograd import distributed as dist
from spirograd.nn.parallel import DistributedDataParallel as DDP

F = sg.nn.functional
ROWS = 8  # of a process
DEVICE = f"gpu:{dist.get_local_rank()}" if os.environ.get("OWN_GPU") else sys.argv[1]


def rank() -> int:
    return dist.get_rank()


def size() -> int:
    return dist.get_world_size()


def data(rows: int = 0) -> tuple[sg.Tensor, sg.Tensor]:
    """The joint batch, the same everywhere."""
    numbers = np.random.default_rng(1)
    rows = rows or ROWS * size()
    x = numbers.standard_normal((rows, 4)).astype(np.float32)
    return sg.tensor(x, device=DEVICE), sg.tensor(numbers.integers(0, 3, rows), device=DEVICE)


def share(t: sg.Tensor) -> sg.Tensor:
    return t.chunk(size())[rank()]


class Model(sg.nn.Module):
    """A body and two heads, of which a pass uses one."""

    def __init__(self) -> None:
        super().__init__()
        self.body = sg.nn.Sequential(sg.nn.Linear(4, 8), sg.nn.Tanh(), sg.nn.Linear(8, 8))
        self.heads = sg.nn.ModuleList([sg.nn.Linear(8, 3), sg.nn.Linear(8, 3)])

    def forward(self, x: sg.Tensor, head: int = 0) -> sg.Tensor:
        return self.heads[head](self.body(x).relu())


def pair(make: Callable[[], sg.nn.Module] = Model, **options: Any) -> tuple[DDP, sg.nn.Module]:
    """A model that was wrapped with other values in each process, and a plain one with the values of the first."""
    sg.manual_seed(10 + rank())
    wrapped = DDP(make().to(DEVICE), **options)
    plain = make().to(DEVICE)
    plain.load_state_dict(wrapped.state_dict())
    return wrapped, plain


def close(a: sg.Tensor | None, b: sg.Tensor | None, what: str, bound: float = 1e-6) -> None:
    assert (a is None) == (b is None), what
    if a is not None and b is not None:
        np.testing.assert_allclose(a.detach().cpu().numpy(), b.detach().cpu().numpy(), bound, bound, err_msg=what)


def alike(a: sg.nn.Module, b: sg.nn.Module, bound: float = 1e-6) -> None:
    """Also in all processes."""
    for (name, p), q in zip(a.state_dict().items(), b.state_dict().values(), strict=True):
        close(p, q, name, bound)
    equal_everywhere(a)


def equal_everywhere(model: sg.nn.Module) -> None:
    everyone: list[Any] = [None] * size()
    dist.all_gather_object(everyone, bits(model))
    assert len(set(everyone)) == 1, "the copies differ"


def bits(model: sg.nn.Module) -> str:
    return hashlib.sha256(b"".join(p.detach().cpu().numpy().tobytes() for p in model.parameters())).hexdigest()


def step(model: Any, optimizer: Any, x: sg.Tensor, y: sg.Tensor) -> None:
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    sg.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()


def steps_are_those_of_the_joint_batch() -> None:
    x, y = data()
    for optimizer in (sg.optim.Adam, sg.optim.SGD, sg.optim.Muon):
        wrapped, plain = pair(lambda: sg.nn.Sequential(sg.nn.Linear(4, 8, bias=False), sg.nn.Linear(8, 3, bias=False)))
        a, b = (optimizer(m.parameters(), lr=0.01) for m in (wrapped, plain))
        for _ in range(4):
            step(wrapped, a, share(x), share(y))
            step(plain, b, x, y)
        alike(wrapped, plain, 1e-5 if optimizer is sg.optim.Muon else 1e-6)


def replays_hold_the_collectives() -> None:
    x, y = data()
    (wrapped, _), (replayed, _) = pair(), pair()
    replayed.load_state_dict(wrapped.state_dict())
    a, b = (sg.optim.Adam(m.parameters(), lr=0.01) for m in (wrapped, replayed))
    compiled = sg.compile(lambda x, y: step(replayed, b, x, y))
    own = share(x).clone(), share(y).clone()
    for _ in range(6):
        step(wrapped, a, *own)
        before = sg.stats()["nodes"]
        compiled(*own)
    assert sg.stats()["nodes"] == before, "a replay records nothing"
    assert bits(wrapped) == bits(replayed)
    equal_everywhere(replayed)


def unused_parameters_take_part() -> None:
    x, y = data()
    wrapped, plain = pair()
    F.cross_entropy(wrapped(share(x), rank() % 2), share(y)).backward()
    losses = [
        F.cross_entropy(plain(a, i % 2), b)
        for i, (a, b) in enumerate(zip(x.chunk(size()), y.chunk(size()), strict=True))
    ]
    sum(losses, sg.zeros((), device=DEVICE)).div(size()).backward()
    for (name, p), q in zip(wrapped.module.named_parameters(), plain.parameters(), strict=True):
        close(p.grad, q.grad, name)


def frozen_layers_stay() -> None:
    x, y = data()

    def make() -> sg.nn.Module:
        model = sg.nn.Sequential(sg.nn.Linear(4, 8), sg.nn.Linear(8, 3))
        model[0].requires_grad_(False)
        return model

    wrapped, plain = pair(make)
    for model, (a, b) in ((wrapped, (share(x), share(y))), (plain, (x, y))):
        optimizer = sg.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.1)
        step(model, optimizer, a, b)
        assert next(model.parameters()).grad is None
    alike(wrapped, plain)


def gradients_add_up_under_no_sync() -> None:
    x, y = data()
    wrapped, plain = pair()
    halves = [(share(x)[i : i + ROWS // 2], share(y)[i : i + ROWS // 2]) for i in (0, ROWS // 2)]
    with wrapped.no_sync():
        F.cross_entropy(wrapped(halves[0][0]), halves[0][1]).div(2).backward()
    F.cross_entropy(wrapped(halves[1][0]), halves[1][1]).div(2).backward()
    F.cross_entropy(plain(x), y).backward()
    for (name, p), q in zip(wrapped.module.named_parameters(), plain.parameters(), strict=True):
        if not name.startswith("heads.1"):
            close(p.grad, q.grad, name)
    F.cross_entropy(wrapped(share(x)), share(y)).backward()  # what was averaged stays so
    F.cross_entropy(plain(x), y).backward()
    close(wrapped.module.body[0].weight.grad, plain.body[0].weight.grad, "two steps")


def passes_may_be_many_and_checkpointed() -> None:
    x, y = data()
    wrapped, plain = pair()
    mine = share(x)
    first, second = wrapped(mine, 0), wrapped(mine, 1)  # each with a head of its own
    F.cross_entropy(first + second, share(y)).backward()
    F.cross_entropy(plain(x, 0) + plain(x, 1), y).backward()
    for (name, p), q in zip(wrapped.module.named_parameters(), plain.parameters(), strict=True):
        close(p.grad, q.grad, name)

    class Checkpointed(Model):
        def forward(self, x: sg.Tensor, head: int = 0) -> sg.Tensor:
            return self.heads[head](sg.utils.checkpoint.checkpoint(self.body, x).relu())

    wrapped, plain = pair(Checkpointed)
    F.cross_entropy(wrapped(share(x)), share(y)).backward()
    F.cross_entropy(plain(x), y).backward()
    close(wrapped.module.body[0].weight.grad, plain.body[0].weight.grad, "checkpoint")


def buffers_are_those_of_the_first() -> None:
    x, _ = data()

    def make() -> sg.nn.Module:
        return sg.nn.Sequential(sg.nn.BatchNorm1d(4), sg.nn.Linear(4, 3))

    wrapped, plain = pair(make)
    for _ in range(2):
        wrapped(share(x))
        plain(x.chunk(size())[0])
    wrapped(share(x))  # begins with the buffers of the first
    if rank() == 0:
        plain(x.chunk(size())[0])
    else:
        plain(share(x))
    close(wrapped.module[0].running_mean, plain[0].running_mean, "running mean")
    own = DDP(make().to(DEVICE), broadcast_buffers=False)
    own(share(x))
    close(own.module[0].running_mean, 0.1 * share(x).mean(0), "buffers of its own")


def sync_batch_norm_is_batch_norm_of_all() -> None:
    x, y = data()

    def make() -> sg.nn.Module:
        return sg.nn.Sequential(sg.nn.Linear(4, 6), sg.nn.BatchNorm1d(6), sg.nn.Linear(6, 3))

    sg.manual_seed(10 + rank())
    wrapped = DDP(sg.nn.SyncBatchNorm.convert_sync_batchnorm(make().to(DEVICE)))
    plain = make().to(DEVICE)
    plain.load_state_dict(wrapped.module.state_dict())
    uneven = [0, 3, *range(8, 8 + 8 * (size() - 2), 8), 8 * size()]  # rows of each process
    mine = slice(uneven[rank()], uneven[rank() + 1])
    rows = uneven[rank() + 1] - uneven[rank()]
    for _ in range(2):
        # Each process counts the same: weigh its mean by its rows.
        (F.cross_entropy(wrapped(x[mine] + 100), y[mine]) * (rows * size() / len(x))).backward()
        F.cross_entropy(plain(x + 100), y).backward()
    for (name, p), q in zip(wrapped.module.named_parameters(), plain.parameters(), strict=True):
        close(p.grad, q.grad, name, 2e-4)
    for (name, p), q in zip(wrapped.module.named_buffers(), plain.buffers(), strict=True):
        close(p, q, name, 1e-4)


def an_overflow_in_one_process_skips_the_step_in_all() -> None:
    x, y = data()
    wrapped, _ = pair()
    optimizer, scaler = sg.optim.Adam(wrapped.parameters(), lr=0.1), sg.amp.GradScaler()
    for bad in (True, False):
        before = bits(wrapped)
        mine = share(x) * (float("inf") if bad and rank() == size() - 1 else 1.0)
        with sg.autocast(DEVICE, sg.bfloat16):
            loss = F.cross_entropy(wrapped(mine), share(y))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        assert (bits(wrapped) == before) == bad, "an overflow"
        equal_everywhere(wrapped)
    assert int(scaler.skipped.item()) == 1


def states_are_read_with_and_without_the_wrapper() -> None:
    wrapped, plain = pair()
    assert all(name.startswith("module.") for name in wrapped.state_dict())
    wrapped.load_state_dict(plain.state_dict())
    plain.load_state_dict(wrapped.state_dict())
    alike(wrapped, plain)


def models_that_differ_are_refused() -> None:
    for make, words in (
        (lambda: sg.nn.Linear(4, 3 + rank()), "weight is float32 of [4, 4] in process 1 and float32 of [3, 4]"),
        (lambda: sg.nn.Linear(4, 3).requires_grad_(True) if rank() else half_frozen(), "weight is trained in only one"),
    ):
        try:
            DDP(make())
        except ValueError as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)


def half_frozen() -> sg.nn.Module:
    layer = sg.nn.Linear(4, 3)
    layer.weight.requires_grad = False
    return layer


def zero_is_the_plain_optimiser() -> None:
    x, y = data()
    kinds: list[tuple[Any, dict[str, Any]]] = [
        (sg.optim.AdamW, {"lr": 0.01, "weight_decay": 0.1}),
        (sg.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    ]
    for kind, options in kinds:
        for wrap in (True, False):
            wrapped, plain = pair(lambda: sg.nn.Sequential(sg.nn.Linear(4, 7), sg.nn.Tanh(), sg.nn.Linear(7, 3)))
            model = wrapped if wrap else wrapped.module
            if not wrap:
                del wrapped
            a = sg.optim.ZeroRedundancyOptimizer(model.parameters(), kind, **options)
            b = kind(plain.parameters(), **options)
            for number in range(4):
                for m, o, inputs, targets in ((model, a, share(x), share(y)), (plain, b, x, y)):
                    o.param_groups[0]["lr"] = options["lr"] / (1 + number)
                    loss = F.cross_entropy(m(inputs), targets)
                    o.zero_grad()
                    loss.backward()
                    o.step()
            alike(model, plain, 2e-6)
            held = sum(t.nbytes for s in a.optim.state.values() for t in s.values() if isinstance(t, sg.Tensor))
            whole = sum(t.nbytes for s in b.state.values() for t in s.values() if isinstance(t, sg.Tensor))
            assert held <= (1 / size() + 0.02) * whole, (held, whole)
            states_go_from_one_to_the_other(a, b, model, plain)


def states_go_from_one_to_the_other(a: Any, b: Any, model: Any, plain: Any) -> None:
    x, y = data()
    a.consolidate_state_dict()
    found = [a.state_dict() if rank() == 0 else None]
    dist.broadcast_object_list(found)
    state = found[0]
    want = b.state_dict()
    assert state is not None and state["state"].keys() == want["state"].keys()
    for number, values in want["state"].items():
        for name, value in values.items():
            close(state["state"][number][name], value, f"{name} of {number}", 2e-6)
    a.load_state_dict(want)
    b.load_state_dict(state)
    for m, o in ((model, a), (plain, b)):
        o.zero_grad()
        (F.cross_entropy(m(x), y)).backward()
        o.step()
    alike(model, plain, 3e-6)


def classifier() -> sg.nn.Module:
    return sg.nn.Sequential(sg.nn.Linear(4, 8), sg.nn.Tanh(), sg.nn.Linear(8, 3)).to(DEVICE)


def fit_is_that_of_one_process() -> None:
    x, y = data(54)  # the last batch is uneven
    options: dict[str, Any] = {"epochs": 3, "seed": 4, "metrics": ["accuracy", "f1"], "verbose": 0}
    sg.manual_seed(20 + rank())
    model, plain = classifier(), classifier()
    state = [model.state_dict()]
    dist.broadcast_object_list(state)
    plain.load_state_dict(state[0])
    got = sg.fit(model, x, y, batch_size=ROWS, validation_split=0.2, distributed=True, **options)
    want = sg.fit(plain, x, y, batch_size=ROWS * size(), validation_split=0.2, **options)
    alike(model, plain, 1e-5)
    fast, slow = classifier(), classifier()
    for net, compiled in ((fast, True), (slow, False)):
        net.load_state_dict(state[0])
        taken = options | {"metrics": ["accuracy"], "compile": compiled}
        sg.fit(net, x, y, batch_size=ROWS, distributed=True, **taken)
    assert bits(fast) == bits(slow)
    for name, values in (got.metrics | {f"val_{k}": v for k, v in got.val_metrics.items()}).items():
        known = want.metrics | {f"val_{k}": v for k, v in want.val_metrics.items()}
        np.testing.assert_allclose(values, known[name], 1e-5, 1e-6, err_msg=name)


def fit_goes_on_from_a_checkpoint() -> None:
    """One file and one log, written by the first process; one process goes on as all of them do."""
    folder = [tempfile.mkdtemp() if rank() == 0 else None]
    dist.broadcast_object_list(folder)
    where = Path(str(folder[0]))
    x, y = data(48)
    options: dict[str, Any] = {"seed": 4, "verbose": 0}
    sg.manual_seed(3)
    model = classifier()
    optimizer = sg.optim.ZeroRedundancyOptimizer(model.parameters(), sg.optim.Adam, lr=0.01)
    followers = [sg.callbacks.ModelCheckpoint(where), sg.callbacks.CSVLogger(where / "log.csv")]
    sg.fit(
        model, x, y, optimizer=optimizer, epochs=2, batch_size=ROWS, callbacks=followers, distributed=True, **options
    )
    dist.barrier()
    assert len((where / "log.csv").read_text().splitlines()) == 3
    assert len(list(where.glob("step-*.npz"))) == 2
    alone = classifier()
    adam = sg.optim.Adam(alone.parameters(), lr=0.5)
    found = sg.utils.checkpoints.restore(where, model=alone, optimizer=adam)
    assert found and found.epoch == 2
    alike(alone, model, 0)
    taken_up = {"epochs": 3, "initial_epoch": 2, **options}
    sg.fit(alone, x, y, optimizer=adam, batch_size=ROWS * size(), **taken_up)
    sg.fit(model, x, y, optimizer=optimizer, batch_size=ROWS, distributed=True, **taken_up)
    alike(alone, model, 1e-5)
    dist.barrier()
    if rank() == 0:
        shutil.rmtree(where)


def loaders_are_shared_out() -> None:
    x, y = data(40)
    rows = sg.utils.data.TensorDataset(x, y)
    sampler = sg.utils.data.DistributedSampler(rows)
    loader = sg.utils.data.DataLoader(rows, batch_size=5, sampler=sampler)
    model = classifier()
    history = sg.fit(model, loader, epochs=2, verbose=0, distributed=True)
    assert history.steps == 2 * len(loader) and sampler.epoch == 2
    equal_everywhere(model)
    try:
        sg.fit(model, [(x, y)] * (1 + rank()), verbose=0, distributed=True)
    except ValueError as error:
        assert "the loaders of the processes give 1, 2" in str(error), error
    else:
        raise AssertionError("loaders that differ")


def micro_batches_in_a_tree() -> None:
    """Prints a hash that is the same for 1, 2 and 4 processes."""
    sg.manual_seed(5)
    model = DDP(Model().to(DEVICE), reproducible=True)
    optimizer = sg.optim.Adam(model.parameters(), lr=0.01)
    x, y = data(64)
    own = 8 // size()
    for _ in range(3):
        optimizer.zero_grad()
        for i in range(own):
            rows = slice(8 * (own * rank() + i), 8 * (own * rank() + i + 1))
            with model.no_sync() if i < own - 1 else sg.enable_grad():
                (F.cross_entropy(model(x[rows]), y[rows]) / own).backward()
        optimizer.step()
    equal_everywhere(model)
    if rank() == 0:
        print("bits", bits(model))


CHECKS = [
    steps_are_those_of_the_joint_batch,
    replays_hold_the_collectives,
    unused_parameters_take_part,
    frozen_layers_stay,
    gradients_add_up_under_no_sync,
    passes_may_be_many_and_checkpointed,
    buffers_are_those_of_the_first,
    sync_batch_norm_is_batch_norm_of_all,
    an_overflow_in_one_process_skips_the_step_in_all,
    states_are_read_with_and_without_the_wrapper,
    models_that_differ_are_refused,
    zero_is_the_plain_optimiser,
    fit_is_that_of_one_process,
    fit_goes_on_from_a_checkpoint,
    loaders_are_shared_out,
]


def main() -> None:
    dist.init_process_group()
    backend = dist.get_backend()
    assert size() == int(sys.argv[2]), f"{size()} processes"
    for check in CHECKS if size() > 1 else ():
        check()
        if rank() == 0:
            print("right:", check.__name__)
    micro_batches_in_a_tree()
    dist.barrier()
    dist.destroy_process_group()
    print(f"all right by {backend}")


main()
