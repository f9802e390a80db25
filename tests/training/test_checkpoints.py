"""Checkpoints: a training that was killed goes on with the bits of one that was not."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import spirograd as sg
from spirograd.utils import checkpoints

TRAIN = """
import sys, time
import numpy as np
import spirograd as sg
from spirograd.utils import checkpoints

folder, device, steps, wait = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
sg.manual_seed(3)
order, noise = np.random.default_rng(5), sg.Generator(device).manual_seed(6)
net = sg.nn.Sequential(sg.nn.Linear(4, 8), sg.nn.Tanh(), sg.nn.Linear(8, 1)).to(device)
optimizer = sg.optim.Adam(net.parameters(), lr=1e-2)
parts = dict(model=net, optimizer=optimizer, order=order, noise=noise)
found = checkpoints.restore(folder, **parts)
curve = found.extra if found else []
for step in range(found.step if found else 0, steps):
    x = sg.tensor(order.normal(size=(5, 4)).astype(np.float32), device=device) + sg.rand(5, 4, device=device)
    loss = ((net(x) - sg.randn(5, 1, generator=noise, device=device)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    curve.append(loss.item())
    checkpoints.save(folder, step + 1, epoch=step // 5, extra=curve, **parts)
    print(step + 1, flush=True)
    time.sleep(wait)
"""


def train(folder: Path, device: sg.Device, steps: int, kill_after: int | None = None) -> None:
    """In a process of its own; killed, when asked to, somewhere in the step after the one that it told of."""
    path = os.pathsep.join(p for p in sys.path if p)
    wait = "0" if kill_after is None else "0.002"
    with subprocess.Popen(
        [sys.executable, "-c", TRAIN, str(folder), str(device), str(steps), wait],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if kill_after is not None and int(line) >= kill_after:
                process.kill()
                break
        process.stdout.read()
        status = process.wait(60)
    killed = 1 if os.name == "nt" else -signal.SIGKILL
    assert status == (0 if kill_after is None else killed)


def test_a_killed_training_goes_on_with_the_bits_of_an_undisturbed_one(device: sg.Device, tmp_path: Path) -> None:
    steps = 12
    train(tmp_path / "whole", device, steps)
    whole = checkpoints.latest(tmp_path / "whole")
    chance = random.Random(os.urandom(8))
    kills = sorted(chance.sample(range(1, steps - 1), 2))
    for kill in kills:
        train(tmp_path / "cut", device, steps, kill)
    train(tmp_path / "cut", device, steps)
    cut = checkpoints.latest(tmp_path / "cut")
    assert whole and cut and whole.name == cut.name == "step-0000000012.npz"
    assert whole.read_bytes() == cut.read_bytes(), f"killed after {kills}"


def test_everything_comes_back(tmp_path: Path) -> None:
    net = sg.nn.Linear(2, 1)
    optimizer = sg.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    own, numpys = sg.Generator().manual_seed(1), np.random.default_rng(2)
    net(sg.ones(3, 2)).sum().backward()
    optimizer.step()
    sg.rand(3)
    parts = {"model": net, "optimizer": optimizer, "own": own, "numpys": numpys}
    path = checkpoints.save(tmp_path, 4, epoch=2, extra={"best": 0.5}, **parts)
    before = {k: v.tolist() for k, v in net.state_dict().items()}

    def future() -> list[object]:
        return [sg.rand(2).tolist(), sg.rand(2, generator=own).tolist(), numpys.normal()]

    expected = future()
    net(sg.ones(3, 2)).sum().backward()
    optimizer.step()
    assert checkpoints.restore(tmp_path, **parts) == (4, 2, {"best": 0.5}, path)
    assert {k: v.tolist() for k, v in net.state_dict().items()} == before
    assert future() == expected
    assert checkpoints.restore(path, model=net) == (4, 2, {"best": 0.5}, path)


def test_without_a_file_nothing_is_restored(tmp_path: Path) -> None:
    net = sg.nn.Linear(1, 1)
    assert checkpoints.restore(tmp_path / "none", model=net) is None
    assert checkpoints.restore(tmp_path, model=net) is None and checkpoints.latest(tmp_path) is None


def test_the_last_ones_stay(tmp_path: Path) -> None:
    net = sg.nn.Linear(1, 1)
    (tmp_path / "step-x.npz").write_text("not ours")
    for step in (1, 2, 9_999_999_999, 10_000_000_000):
        checkpoints.save(tmp_path, step, keep=2, model=net)
    names = ["step-10000000000.npz", "step-9999999999.npz", "step-x.npz"]
    assert sorted(os.listdir(tmp_path)) == names
    (tmp_path / ".step-0000000009.npz.0a1b2c3d.part").write_text("of a process that was killed while it wrote")
    latest = checkpoints.latest(tmp_path)
    assert latest and latest.name == "step-10000000000.npz"
    checkpoints.save(tmp_path, 5, keep=1, model=net)  # one that was just written is never the old one
    assert sorted(os.listdir(tmp_path)) == ["step-0000000005.npz", "step-x.npz"]
    for step in range(6, 12):
        checkpoints.save(tmp_path, step, keep=0, model=net)
    assert len(os.listdir(tmp_path)) == 8


def test_a_damaged_last_file_gives_way_to_the_one_before(tmp_path: Path) -> None:
    net = sg.nn.Linear(1, 1)
    for step in (1, 2, 3):
        checkpoints.save(tmp_path, step, model=net)
    third, second, first = (tmp_path / f"step-000000000{i}.npz" for i in (3, 2, 1))
    third.write_bytes(third.read_bytes()[:-30])
    second.write_bytes(b"")
    with pytest.warns(sg.CacheWarning, match=r"step-0000000003\.npz is damaged.*step-0000000001\.npz is taken instead"):
        found = checkpoints.restore(tmp_path, model=net)
    assert found and found.step == 1
    with pytest.raises(sg.FileFormatError, match="is damaged"):
        checkpoints.restore(third, model=net)
    first.unlink()
    with pytest.raises(sg.FileFormatError, match=r"step-0000000003\.npz is damaged"):
        checkpoints.restore(tmp_path, model=net)


def test_what_does_not_fit_is_said_before_anything_changes(tmp_path: Path) -> None:
    net, other = sg.nn.Linear(1, 1), sg.nn.Linear(1, 1)
    path = checkpoints.save(tmp_path, 1, model=net)
    before = other.weight.tolist()
    with pytest.raises(ValueError, match=r"has no state of scheduler, only of model"):
        checkpoints.restore(tmp_path, model=other, scheduler=sg.nn.Linear(1, 1))
    assert other.weight.tolist() == before
    with pytest.raises(TypeError, match="save: model is a int without state_dict"):
        checkpoints.save(tmp_path, 2, model=3)
    with pytest.raises(TypeError, match="restore: model is a int"):
        checkpoints.restore(tmp_path, model=3)
    with pytest.raises(ValueError, match="step is -1"):
        checkpoints.save(tmp_path, -1)
    sg.save({"step": 1}, path)
    with pytest.raises(sg.FileFormatError, match="does not hold the state of a training"):
        checkpoints.restore(path, model=net)


def test_a_training_moves_between_devices(device: sg.Device, tmp_path: Path) -> None:
    net = sg.nn.Linear(3, 1).to(device)
    checkpoints.save(tmp_path, 1, model=net)
    for place in (sg.Device.cpu(), device):
        other = sg.nn.Linear(3, 1).to(place)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            checkpoints.restore(tmp_path, model=other)
        assert other.weight.device == place and other.weight.tolist() == net.weight.tolist()
