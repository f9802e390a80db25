"""The examples and the benchmarks run, learn, and say so when they do not. Pictures and curves have their labels."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import datasets
from spirograd.examples import mnist
from spirograd.progress import Progress

ROOT = Path(__file__).resolve().parents[2]


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
    monkeypatch.setitem(sys.modules, "spirograd.viz._figure", None)
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
    assert "From which size on a GPU wins was not measured" in done.stdout
    saved = json.loads(target.read_text())
    rows = {(r["facts"]["section"], r["row"]) for r in saved["results"]}
    operations = ("Addition", "Multiplication", "Power", "ReLU")
    parts = ("matrix product", "fused chain of 8 ops", "training step")
    assert {("Basic Operations", name) for name in operations} | {("Tensors", name) for name in parts} <= rows
    assert {section for section, _ in rows} == {re.match("[^:\n]+", s)[0] for s in done.stdout.split("\n\n")[1:5]}
    networks = {(r["row"], r["case"]) for r in saved["results"] if r["facts"]["section"] == "Neural Network"}
    for row in ("small MLP 10-20-20-1", "medium MLP 50-100-100-1"):
        for kind in ("Values", "tensors"):
            assert {(row, f"{kind}, {what}") for what in ("forward", "forward + backward", "training step")} <= networks
    assert {"date", "commit", "cpu", "devices", "versions", "skipped"} <= set(saved["environment"])
    assert all(0 < r["timing"]["least"] <= r["timing"]["median"] <= r["timing"]["greatest"] for r in saved["results"])
    if importlib.util.find_spec("matplotlib"):
        assert target.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the files in benchmarks importable."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


NAMES = {"cpu": "cpu", "gpu:0": "gpu:0 (card)", "gpu:1": "gpu:1"}


def by_size(**times: list[float]) -> list[Any]:
    """Results of models of 100, 1,000 and 10,000 parameters; gpu0 stands for gpu:0."""
    from harness.common import Result
    from rows.gpu.sizes import SIZES

    return [
        Result(
            "MLP",
            f"{size:,} parameters",
            "spirograd",
            device.replace("gpu", "gpu:"),
            value,
            "ms",
            facts={"section": SIZES.name, "size": size},
        )
        for device, values in times.items()
        for size, value in zip((100, 1_000, 10_000), values, strict=False)
    ]


@pytest.mark.parametrize(
    ("gpu", "sentence"),
    [
        ([4, 2, 0.5], "gpu:0 (card) wins from 10,000 parameters on (0.25x at 100, 20x at 10,000)."),
        ([4, 0.5, 1], "gpu:0 (card) wins from 1,000 parameters on (0.25x at 100, 2x at 1,000, 10x at 10,000)."),
        ([0.5, 2, 1], "gpu:0 (card) wins from 10,000 parameters on (2x at 100, 10x at 10,000)."),
        ([0.5, 0.5, 1], "gpu:0 (card) wins at every size tried (2x at 100, 10x at 10,000)."),
        (
            [4, 2],
            "gpu:0 (card) does not win up to 1,000 parameters, the largest model tried (0.25x at 100, 0.5x at 1,000).",
        ),
    ],
)
def test_from_which_size_a_gpu_wins(benchmarks: None, gpu: list[float], sentence: str) -> None:
    from rows.gpu.report import verdict

    assert verdict(by_size(cpu=[1, 1, 10], gpu0=gpu), NAMES) == f"On this machine {sentence}"
    both = verdict(by_size(cpu=[1, 1, 10], gpu0=gpu, gpu1=[1, 1, 1]), NAMES)
    assert both.startswith(f"On this machine {sentence[:-1]}; gpu:1 wins from 10,000 parameters on")
    assert "not measured" in verdict(by_size(cpu=[1, 1, 10]), NAMES)
    assert "not measured" in verdict(by_size(gpu0=gpu), NAMES)


def test_comparison_of_devices(benchmarks: None) -> None:
    from rows.gpu.report import comparison

    lines = [line.split() for line in comparison(by_size(cpu=[1, 1, 10], gpu0=[4, 0.5])).splitlines()]
    assert lines == [
        ["cpu,", "ms", "gpu:0,", "ms", "gpu:0", "speed-up"],
        ["MLP", "100", "parameters", "1", "4", "0.25x"],
        ["MLP", "1,000", "parameters", "1", "0.5", "2x"],
        ["MLP", "10,000", "parameters", "10", "-", "-"],
    ]


def test_models_that_do_not_fit_are_named(benchmarks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from rows.gpu import sizes as gpu_sizes
    from rows.gpu.section import Bench

    class Small:
        kind = type = "cpu"
        memory_free, memory_total = 2**30, 2**31

        def __str__(self) -> str:
            return "cpu"

    place = Bench(Small(), "", quick=True)
    monkeypatch.setattr(gpu_sizes, "MODELS", [(8192, 8192, 8192, 10)])
    assert list(gpu_sizes.run(place)) == []
    assert place.skipped == ["cpu, 134,316,042 parameters: skipped, it needs 3.0 GiB, 1.0 GiB are free"]
    monkeypatch.setattr(gpu_sizes, "MODELS", [(1, 1)])
    place = Bench(Small(), "", quick=True, latest=2.0)
    assert list(gpu_sizes.run(place)) == []
    assert place.skipped == ["cpu, 2 parameters: skipped, the size before took 2.0 s"]


@pytest.mark.gpu
def test_benchmark_of_a_gpu(benchmarks: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    from rows.gpu import networks as gpu_networks
    from rows.gpu import report as gpu_report
    from rows.gpu import scalars as gpu_scalars
    from rows.gpu import sizes as gpu_sizes
    from rows.gpu import tensors as gpu_tensors
    from rows.gpu.section import Bench

    for name, (unit, sizes, few, make) in gpu_tensors.PARTS.items():
        monkeypatch.setitem(gpu_tensors.PARTS, name, (unit, sizes, few[:1], make))
    monkeypatch.delitem(gpu_tensors.PARTS, "training step")
    monkeypatch.setattr(gpu_networks, "NETWORKS", {"small": (2, 3, 1)})
    monkeypatch.setattr(gpu_sizes, "MODELS", gpu_sizes.MODELS[:1])
    results = []
    for section in (gpu_scalars.BASIC, gpu_networks.NETWORK, gpu_tensors.TENSORS, gpu_sizes.SIZES):
        measured = [r for name in ("cpu", "gpu") for r in section.run(Bench(sg.Device(name), section.name, quick=True))]
        text = gpu_report.comparison(measured)
        assert len(text.splitlines()[0].split()) == 6 and " - " not in text
        results += measured
    assert gpu_report.verdict(results, NAMES).startswith("On this machine gpu:0 (card) ")
    gpu_report.picture(results, NAMES, tmp_path / "gpu.png")
    assert (tmp_path / "gpu.png").read_bytes().startswith(b"\x89PNG")


def run_rows(tmp_path: Path, program: str, rows: str, anchors: str = "none") -> Any:
    """What a benchmark writes of these rows."""
    target = tmp_path / "results.json"
    options = ("--quick", "--device", "cpu", "--anchors", anchors, "--rows", rows, "--json", str(target))
    done = run_benchmark(program, *options)
    assert done.returncode == 0, done.stderr
    written = json.loads(target.read_text())
    assert {r["row"] for r in written["results"]} == set(rows.split(","))
    return written


def test_bench_slice(tmp_path: Path) -> None:
    run_rows(tmp_path, "bench_slice.py", "step64,counters,chain1,dependent,matmul,plus_one")
    assert run_benchmark("bench_slice.py", "--rows", "nonsense").returncode == 2


def test_bench_train(tmp_path: Path) -> None:
    written = run_rows(tmp_path, "bench_train.py", "small,gpt2,norm,counters,gpt2_counters,replay,peak_mlp")
    missed = [r["case"] for r in written["results"] if "counters" in r["row"] and "MISSED" in r["target"]]
    assert not missed, "counters do not depend on the machine"


@pytest.mark.parametrize("what", ["mnist", "gpt", "lstm"])
def test_train_real(tmp_path: Path, what: str) -> None:
    target, folder = tmp_path / "real.json", tmp_path / "checkpoints"
    options = (what, "--quick", "--device", "cpu", "--anchors", "none", "--checkpoints", str(folder))
    cut = run_benchmark("train_real.py", *options, "--seconds", "0")
    assert cut.returncode == 3 and "the same command goes on" in cut.stdout, cut.stderr
    done = run_benchmark("train_real.py", *options, "--json", str(target))
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(target.read_text())["results"]
    assert result["library"] == "spirograd" and result["facts"]["curve"][0][1] > result["facts"]["curve"][-1][1]
    assert not list(folder.iterdir()), "checkpoints of a training that is done are deleted"


def test_bench_ops(tmp_path: Path) -> None:
    rows = "chains,smallest,sums,layer_norm,attention,lstm,transposed,take_rows,planning,moved"
    written = run_rows(tmp_path, "bench_ops.py", rows, anchors="numpy")
    assert written["environment"]["failed"] == {}
    ratios = [r for r in written["results"] if r["library"] == "ratio"]
    assert ratios and all(r["facts"]["anchor"] == "numpy" and r["value"] > 0 for r in ratios)


def test_a_row_that_fails_does_not_end_the_others(
    benchmarks: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from harness import program
    from harness.common import Result
    from harness.rows import Row

    def missing(context: Any) -> Any:
        yield sg.no_such_operation  # type: ignore[attr-defined]

    def there(context: Any) -> Any:
        yield Result("there", "", "spirograd", str(context.device), 1.0, "")

    monkeypatch.setattr(program, "ROWS", {f.__name__: Row(f.__name__, "", f, True, True) for f in (missing, there)})
    target = tmp_path / "rows.json"
    monkeypatch.setattr(sys, "argv", ["program", "--device", "cpu", "--json", str(target)])
    assert program.run("rows", "", ()) == 1
    written = json.loads(target.read_text())
    assert [r["row"] for r in written["results"]] == ["there"]
    assert "no_such_operation" in written["environment"]["failed"]["cpu missing"]
