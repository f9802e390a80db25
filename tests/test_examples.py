"""The examples and the benchmarks run, learn, and say so when they do not. Pictures and curves have their labels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from spirograd import datasets
from spirograd.examples import mnist
from spirograd.progress import Progress

ROOT = Path(__file__).resolve().parents[1]


def blobs(count: int, pixels: int, learnable: bool = True) -> datasets.Split:
    """Ten noisy pictures; their classes, or classes that have nothing to do with them."""
    random = np.random.default_rng(3)
    labels = random.integers(0, 10, count)
    centres = random.random((10, pixels), dtype=np.float32)
    images = np.clip(centres[labels] + random.normal(0, 0.1, (count, pixels)), 0, 1).astype(np.float32)
    return datasets.Split(images, labels if learnable else random.integers(0, 10, count))


@pytest.fixture
def fake_mnist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "mnist", lambda split: blobs(8_600, 784))


def unavailable(*_: object) -> datasets.Split:
    raise datasets.DatasetUnavailableError("mnist: no network")


def test_learns_and_returns_zero(fake_mnist: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert mnist.main(["--device", "cpu", "--epochs", "1", "--out", ""]) == 0
    out = capsys.readouterr().out
    assert "floor 96%: reached" in out and "of 600" in out


def test_missed_floor_returns_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(datasets, "mnist", lambda split: blobs(8_600, 784, learnable=False))
    assert mnist.main(["--device", "cpu", "--epochs", "1", "--out", ""]) == 1
    assert "MISSED" in capsys.readouterr().out


def test_same_seed_same_result(fake_mnist: None) -> None:
    task = mnist.mnist_task()._replace(epochs=1)
    device = mnist.choose_devices("cpu")[0]
    first, second, other = (mnist.train(task, device, seed) for seed in (1, 1, 2))
    assert first.curve == second.curve and first.correct == second.correct
    assert first.curve != other.curve


def test_devices_that_disagree_return_one(fake_mnist: None, capsys: pytest.CaptureFixture[str]) -> None:
    task = mnist.mnist_task()
    one = mnist.Outcome("cpu", [(0, 1.0)], 600, 1.0)
    assert mnist.report(task, [one, one._replace(device="gpu:0", correct=594)])
    assert not mnist.report(task, [one, one._replace(device="gpu:0", correct=593)])
    assert "MORE than 6" in capsys.readouterr().out


def test_digits_take_over_under_their_name(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(datasets, "mnist", unavailable)
    monkeypatch.setattr(datasets, "digits", lambda: blobs(1_797, 64))
    assert mnist.main(["--device", "cpu", "--epochs", "8", "--out", ""]) == 0
    out = capsys.readouterr().out
    assert "no network" in out and "floor 95%: reached" in out
    assert mnist.main(["--data", "mnist", "--device", "cpu"]) == 2


def test_no_gpu_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Device(mnist.sg.Device):
        is_gpu_available = staticmethod(lambda: False)

    monkeypatch.setattr(mnist.sg, "Device", Device)
    assert [str(d) for d in mnist.choose_devices("both")] == ["cpu"]
    assert "SPIROGRAD_ALLOW_CPU_VULKAN=1" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--epochs", "0"], ["--batch", "-1"], ["--device", "tpu"]])
def test_wrong_arguments(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        mnist.main(arguments)
    assert end.value.code == 2


def test_batch_larger_than_the_data(fake_mnist: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert mnist.main(["--device", "cpu", "--batch", "9000", "--out", ""]) == 2
    assert "only 8000 images" in capsys.readouterr().err


def test_digits_reach_their_floor() -> None:
    pytest.importorskip("sklearn", reason="digits come with scikit-learn")
    assert mnist.main(["--data", "digits", "--device", "cpu", "--out", ""]) == 0


@pytest.mark.skipif("SPIROGRAD_DATA" not in os.environ, reason="SPIROGRAD_DATA names no folder with MNIST")
def test_mnist_reaches_its_floor() -> None:
    assert mnist.main(["--data", "mnist", "--device", "cpu", "--out", ""]) == 0


@pytest.mark.gpu
def test_cpu_and_gpu_agree(fake_mnist: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert mnist.main(["--device", "both", "--epochs", "1", "--out", ""]) == 0
    assert "the devices differ by" in capsys.readouterr().out


def test_loss_curve(fake_mnist: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    path = tmp_path / "loss.png"
    assert mnist.main(["--device", "cpu", "--epochs", "1", "--out", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG") and str(path) in capsys.readouterr().out


def test_without_matplotlib(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    path = tmp_path / "loss.png"
    task = mnist.Task("t", blobs(1, 4), blobs(1, 4), (), 0, 0.1, 1, 1, 0.5)
    mnist.save_curves([mnist.Outcome("cpu", [(0, 1.0)], 1, 1.0)], task, str(path))
    assert "matplotlib is not installed" in capsys.readouterr().out and not path.exists()


def test_progress_in_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(4, "work") as bar:
        for i in range(4):
            bar.advance(note=f"loss {i}")
    assert capsys.readouterr().err.startswith("work: 4/4, ")


def run_benchmark(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)


def test_benchmark_gpu(tmp_path: Path) -> None:
    target = tmp_path / "gpu.json"
    done = run_benchmark("benchmark_gpu.py", "--quick", "--device", "cpu", "--json", str(target))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] in ("GPU Available: True", "GPU Available: False")
    saved = json.loads(target.read_text())
    assert {r["row"] for r in saved["results"]} == {"matrix product", "fused chain of 8 ops", "training step"}
    assert {"date", "commit", "cpu", "devices", "versions"} <= set(saved["environment"])
    assert all(0 < r["timing"]["least"] <= r["timing"]["median"] <= r["timing"]["greatest"] for r in saved["results"])


def test_bench_slice(tmp_path: Path) -> None:
    target = tmp_path / "slice.json"
    rows = "step64,counters,chain1,dependent,matmul,plus_one"
    done = run_benchmark(
        "bench_slice.py", "--quick", "--device", "cpu", "--anchors", "none", "--rows", rows, "--json", str(target)
    )
    assert done.returncode == 0, done.stderr
    assert {r["row"] for r in json.loads(target.read_text())["results"]} == set(rows.split(","))
    assert run_benchmark("bench_slice.py", "--rows", "nonsense").returncode == 2
