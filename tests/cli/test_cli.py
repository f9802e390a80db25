"""`python -m spirograd`: what each command does, and what it says when it cannot."""

from __future__ import annotations

import gc
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import cli
from spirograd.cli import generate, selftest, tokens, train
from spirograd.utils import checkpoints

TEXT = "".join(f"{a} and {b}, so {a}{b}.\n" for a in "pqrstuvw" for b in "abcdefgh") * 4
Capture = pytest.CaptureFixture[str]


def run(*words: str, status: int = 0) -> None:
    assert cli.main(list(words)) == status


def process(*words: str, **options: Any) -> subprocess.Popen[str]:
    path = os.pathsep.join(p for p in sys.path if p)
    return subprocess.Popen(
        [sys.executable, "-m", "spirograd", *words],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def content(folder: Path) -> Any:
    """The last checkpoint, bit for bit, without the time that it took."""

    def plain(x: Any) -> Any:
        if isinstance(x, dict):
            return {key: plain(value) for key, value in x.items() if key != "seconds"}
        if isinstance(x, (list, tuple)):
            return [plain(part) for part in x]
        return (x.dtype.name, x.numpy().tobytes()) if isinstance(x, sg.Tensor) else x

    path = checkpoints.latest(folder)
    assert path is not None
    return plain(sg.load(path, map_location="cpu"))


@pytest.fixture
def digits() -> list[str]:
    small = ["--hidden", "8", "--batch", "16", "--every", "5", "--lr", "0.03"]
    return ["train", "digits", "--data", "digits", "--device", "cpu", *small]


@pytest.fixture
def text(tmp_path: Path) -> list[str]:
    (tmp_path / "text.txt").write_text(TEXT, newline="\n")
    small = ["--context", "16", "--layers", "1", "--width", "16", "--heads", "2", "--batch", "8", "--lr", "0.02"]
    return ["train", "text", "--data", str(tmp_path / "text.txt"), *small]


# --- what a terminal of 80 columns shows


def test_a_wrong_option_shows_the_usage_of_its_command(capsys: Capture) -> None:
    for words, program in ((["train", "digits", "--foo"], "train digits"), (["bench", "--foo", "1"], "bench")):
        with pytest.raises(SystemExit) as ended:
            cli.main(words)
        error = capsys.readouterr().err
        assert ended.value.code == 2 and error.startswith(f"usage: python -m spirograd {program} [-h] [--")
        assert f"unrecognized arguments: {' '.join(words[words.index('--foo') :])}" in error.splitlines()[-1]


def test_variables_are_shown_that_are_set(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPIROGRAD_FUSE", "0")
    run("info")
    few = capsys.readouterr().out
    assert "*SPIROGRAD_FUSE=0" in few and "SPIROGRAD_TILES" not in few
    run("info", "--all")
    assert "SPIROGRAD_TILES" in capsys.readouterr().out
    for name, *_ in sg._core._environment():
        monkeypatch.delenv(name, raising=False)
    assert "no variable of spirograd is set; `python -m spirograd info --all`" in sg.show_config()


def test_bench_and_models_fit(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spirograd.cli.bench.SECONDS", 0.001)
    run("bench", "--device", "cpu", "--quick")
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
    with pytest.raises(SystemExit):
        cli.main(["--list-models"])
    lines = capsys.readouterr().out.splitlines()
    assert len({line.index(line.split()[1]) for line in lines}) == 1, "names of classes stand below each other"


def test_texts_fit_a_terminal(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("spirograd.cli.info.nccl", lambda: "2.28.9 (" + "/".join(["folder"] * 9) + "), but no libcuda")
    missing = (
        "no Vulkan loader: libvulkan.so.1 was not found",
        "install libvulkan1, or name it in SPIROGRAD_VULKAN_LIB",
    )
    monkeypatch.setattr(sg._core, "_gpu_reason", lambda: missing)
    monkeypatch.setattr(sg.Device, "is_gpu_available", lambda: False)
    run("info", "--all")
    words = ["run", "launch", "info", "doctor", "selftest", "bench", "report", "train", "generate", "chat"]
    for word in [*words, "train text", "train digits"]:
        with pytest.raises(SystemExit):
            cli.main([*word.split(), "--help"])
    for line in (said := capsys.readouterr().out).splitlines():
        assert len(line) <= 80, line
    assert "or name it in SPIROGRAD_VULKAN_LIB" in " ".join(said.split()), "nothing is cut off"
    with pytest.raises(SystemExit) as ended:
        cli.main(["train", "--list-models"])
    assert ended.value.code == 0 and "gpt2-xl" in capsys.readouterr().out


def test_a_path_that_cannot_be_written_fails_first(digits: list[str], tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "file").write_text("")
    run(*digits, "--out", str(tmp_path / "file"), status=2)
    run("report", "--output", str(tmp_path), status=2)
    run("report", "--output", str(tmp_path / "file" / "x.json"), status=2)
    seen = capsys.readouterr()
    assert not seen.out and seen.err.count(": cannot write to ") == 3


def test_lines_and_bar_are_apart_and_a_resumed_one_counts_on(digits: list[str], tmp_path: Path) -> None:
    pexpect = pytest.importorskip("pexpect", reason="terminals need pexpect")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}

    def shown(*words: str) -> str:
        command = ["-m", "spirograd", *digits, "--out", str(tmp_path), "--every", "2", *words]
        child = pexpect.spawn(sys.executable, command, env=environment, dimensions=(24, 80), encoding="utf-8")
        return str(child.read())

    for words, begin, steps in ((["--steps", "4"], 0, (2, 4)), (["--steps", "6", "--resume"], 4, (6,))):
        screen = shown(*words)
        assert f"step {begin} of " in screen and f"{steps[-1]}/{steps[-1]}, " in screen.splitlines()[-1]
        lines = [line.rpartition("\r")[2].replace("\033[K", "") for line in screen.split("\r\n")]
        for step in steps:
            assert sum(line.startswith(f"step {step}: loss ") for line in lines) == 1, lines
        assert all(len(frame.replace("\033[K", "")) < 80 for line in lines[1:] for frame in line.split("\r"))


# --- info, selftest, bench


def test_info_names_the_devices(capsys: Capture) -> None:
    run("info")
    assert "cpu: " in capsys.readouterr().out


def test_models_are_listed(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--list-models"])
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    kinds = (sg.models.GPT2, sg.models.Llama, sg.models.Bert, sg.models.ResNet, sg.models.ViT)
    published = {name for kind in kinds for name in kind.published}
    assert ended.value.code == 0 and published <= set(lines)
    assert "GPT2" in lines["gpt2-xl"] and "layers 48" in lines["gpt2-xl"]


def test_every_family_is_right(device: sg.Device, capsys: Capture) -> None:
    run("selftest", "--device", str(device))
    out = capsys.readouterr().out
    assert out.count(" ok ") == len(selftest.FAMILIES) and out.endswith("all is well\n") and "FAIL" not in out


@pytest.mark.parametrize("device", ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_report_is_a_file_to_send(device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spirograd.cli.bench.SECONDS", 0.001)
    monkeypatch.setattr("spirograd.cli.bench.LONGEST", 0.0)
    run("report", "--device", device, "--output", str(tmp_path / "report.json"))
    report = json.loads((tmp_path / "report.json").read_text())
    (entry,) = report["devices"].values()
    assert [row["family"] for row in entry["selftest"]] == [family.name for family in selftest.FAMILIES]
    assert all(row["right"] and row["error"] <= row["allowed"] for row in entry["selftest"])
    assert len(entry["figures"]) >= 3 and all(row["seconds"]["median"] > 0 for row in entry["figures"])
    assert any("CPU" in line or "gpu" in line for line in report["info"])
    if device == "gpu":
        assert len(entry["kernels"]) > 50 and all(row["milliseconds"] >= 0 for row in entry["kernels"])


def test_selftest_tells_of_a_wrong_family(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(device: sg.Device) -> Any:
        yield sg.ones(3, device=device), [1, 1, 1.01]

    def broken(device: sg.Device) -> Any:
        raise ValueError("no such kernel")
        yield

    def shape(device: sg.Device) -> Any:
        yield sg.ones(3, device=device), [[1, 1, 1]]

    def nothing(device: sg.Device) -> Any:
        yield sg.full((2,), float("nan"), device=device), [1, 1]

    families = [selftest.Family(f.__name__, 1e-3, f) for f in (wrong, broken, shape, nothing)]
    monkeypatch.setattr(selftest, "FAMILIES", [*families, selftest.Family("right", 1e-2, wrong)])
    run("selftest", "--device", "cpu", status=1)
    out = capsys.readouterr().out
    assert re.search(r"wrong +FAIL.*error 5\.0e-03, allowed 1e-03", out)
    assert re.search(r"broken +FAIL.*ValueError: no such kernel", out)
    assert re.search(r"shape +FAIL.*has shape \(3,\), it should be \(1, 3\)", out)
    assert re.search(r"nothing +FAIL.*is not a number", out) and re.search(r"right +ok", out)
    assert out.endswith("FAIL: wrong on cpu, broken on cpu, shape on cpu, nothing on cpu\n")


# Functions of each family, which a driver may get wrong in one element.
WRONG = {
    "pointwise": ["Tensor.tanh", "Tensor.sin", "Tensor.__mod__"],
    "reductions": ["Tensor.mean", "Tensor.amax", "Tensor.argmin", "Tensor.var", "Tensor.sum"],
    "rows": ["Tensor.softmax", "Tensor.log_softmax"],
    "scans": ["Tensor.cumsum", "Tensor.cummax"],
    "sorts": ["Tensor.sort", "Tensor.argsort", "Tensor.topk"],
    "gathers": ["Tensor.gather", "Tensor.__getitem__"],
    "scatters": ["Tensor.scatter_add", "Tensor.index_add_"],
    "products": ["Tensor.__matmul__", "functional.linear"],
    "transposes": ["Tensor.permute", "Tensor.transpose", "_core.cat"],
    "random numbers": ["_core.rand", "_core.randn", "_core.randperm"],
    "casts": ["Tensor.to"],
    "gradients": ["_core.cross_entropy", "autograd.grad"],
    "optimisers": ["_core.stack"],
    "convolutions": ["functional.conv2d"],
    "attention": ["functional.scaled_dot_product_attention"],
}


@pytest.mark.parametrize(("family", "function"), [(family, f) for family, names in WRONG.items() for f in names])
def test_selftest_finds_a_wrong_function(family: str, function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last element is off by a five-hundredth: the self-test, as it is, says so of the family that uses it."""
    assert WRONG.keys() == {f.name for f in selftest.FAMILIES}
    place, name = function.split(".")
    owner: Any = {"_core": sg._core, "Tensor": sg.Tensor, "autograd": sg.autograd, "functional": selftest.F}[place]
    right = getattr(owner, name)
    calls = 0

    def spoilt(x: Any) -> Any:
        if not isinstance(x, sg.Tensor):
            return type(x)([spoilt(x[0]), *x[1:]])
        factors, terms = (np.full(x.numel(), value, np.float32) for value in (1, 0))
        if x.is_floating_point():
            factors[-1] = 1.002
        else:
            terms[-1] = 1
        a, b = (sg.tensor(values.reshape(x.shape)).to(x.dtype) for values in (factors, terms))
        return x * a + b

    def wrong(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        with monkeypatch.context() as unbroken:
            unbroken.setattr(owner, name, right)
            made = right(*arguments, **options)
            return spoilt(made) if calls % 2 else made  # what the device is compared with may call it too

    monkeypatch.setattr(owner, name, wrong)
    (found,) = (f for f in selftest.FAMILIES if f.name == family)
    fine, error, _ = selftest.checked(found, sg.Device.cpu())
    assert calls > 0 and not fine, f"error {error}, allowed {found.allowed}"


def test_bench_gives_figures(capsys: Capture) -> None:
    run("bench", "--quick", "--device", "cpu")
    out = capsys.readouterr().out
    for unit in ("us", "GB/s", "TFLOP/s", "ms"):
        assert re.search(rf" [0-9.]+ {unit} ", out), out


# --- train


def test_digits_are_learnt_and_gone_on_with_to_the_same_bits(
    digits: list[str], device: sg.Device, tmp_path: Path, capsys: Capture
) -> None:
    digits += ["--steps", "20", "--device", str(device)]
    run(*digits, "--out", str(tmp_path / "whole"))
    out = capsys.readouterr().out
    looks = re.findall(r"step (\d+): loss ([0-9.]+), held back ([0-9.]+), accuracy ([0-9.]+), ", out)
    assert [int(step) for step, *_ in looks] == [5, 10, 15, 20]
    assert float(looks[-1][2]) < float(looks[0][2]) and float(looks[-1][3]) > 0.2
    with pytest.raises(sg.FileFormatError):
        checkpoints.restore(__file__)
    cut = ["--out", str(tmp_path / "cut"), "--resume"]
    run(*digits, *cut, "--seconds", "0.000001")
    assert "out of time after step 1 of 20; --resume goes on" in capsys.readouterr().err
    run(*digits, *cut)
    assert content(tmp_path / "whole") == content(tmp_path / "cut")


def test_an_old_training_is_not_overwritten(digits: list[str], tmp_path: Path, capsys: Capture) -> None:
    digits += ["--out", str(tmp_path)]
    run(*digits, "--steps", "1")
    run(*digits, "--steps", "2", status=2)
    assert "step-0000000001.npz exists; --resume continues" in capsys.readouterr().err
    run(*digits, "--steps", "2", "--resume", "--hidden", "9", status=2)
    assert "is of a training with --hidden [8], not [9]" in capsys.readouterr().err
    run(*digits, "--steps", "2", "--resume")
    run("generate", str(tmp_path), status=2)
    assert "is no checkpoint of a language model" in capsys.readouterr().err


def test_options_come_from_a_file_and_the_command_line_wins(digits: list[str], tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    out = tmp_path / "out"
    config = tmp_path / "digits.toml"
    config.write_text(f'steps = 3\nhidden = [6, 5]\nresume = false\nlr = 1e-2\nout = "{out.as_posix()}"\n')
    run("train", "digits", *digits[2:6], "--config", str(config), "--steps", "2")
    found = checkpoints.peek(out)
    assert found and found.step == 2 and found.extra["hidden"] == [6, 5]
    assert "step 0 of 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [("steps = [", "--config"), ("[a]\nb = 1", r"\[a\] is a table"), (b"\xff\xfe", "--config")],
)
def test_a_wrong_config_is_said_so(content: str | bytes, message: str, tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    path = tmp_path / "x.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    run("train", "digits", "--config", str(path), status=2)
    assert re.search(message, capsys.readouterr().err)


def test_config_without_a_reader_of_toml_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    for name in ("tomllib", "tomli"):
        monkeypatch.setitem(sys.modules, name, None)
    run("train", "digits", "--config", str(tmp_path / "x.toml"), status=2)
    assert "--config needs Python 3.11, or the tomli library; pip install tomli" in capsys.readouterr().err


@pytest.mark.needs("signals")
def test_an_interrupted_training_keeps_its_last_step(digits: list[str], tmp_path: Path) -> None:
    with process(*digits, "--steps", "100000", "--out", str(tmp_path)) as p:
        assert p.stdout
        for line in p.stdout:
            if line.startswith("step 5:"):
                p.send_signal(signal.SIGINT)
                break
        p.stdout.read()
        assert p.stderr
        said = p.stderr.read()
    assert p.returncode == 130 and "Traceback" not in said
    step = re.search(r"interrupted after step (\d+) of 100000; --resume goes on", said)
    latest = checkpoints.latest(tmp_path)
    assert step and latest and latest.name == f"step-{int(step[1]):010}.npz"


def test_a_loss_that_is_no_number_ends_the_training(digits: list[str], tmp_path: Path, capsys: Capture) -> None:
    run(*digits, "--steps", "20", "--lr", "1e30", "--out", str(tmp_path), status=2)
    assert re.search(r"the loss is (nan|inf) at step \d+; try a smaller --lr", capsys.readouterr().err)


def test_the_learning_rate_rises_and_falls() -> None:
    shares = [train.share_of_rate(step, 100) for step in range(100)]
    assert shares[:5] == [0.2, 0.4, 0.6, 0.8, 1.0] and max(shares) == 1.0
    assert shares[5:] == sorted(shares[5:], reverse=True) and 0.1 < shares[-1] < 0.11


# --- text


@pytest.mark.parametrize("model", ["gpt", "lstm"])
def test_a_text_is_learnt_and_written(model: str, text: list[str], tmp_path: Path, capsys: Capture) -> None:
    out = str(tmp_path / "out")
    run(*text, "--model", model, "--steps", "60", "--every", "30", "--device", "cpu", "--out", out)
    looks = [float(x) for x in re.findall(r"held back ([0-9.]+)", capsys.readouterr().out)]
    assert len(looks) == 2 and looks[1] < looks[0] < 3.5

    def written(*words: str) -> str:
        run("generate", out, "--device", "cpu", "--length", "30", "--prompt", "p and ", *words)
        return capsys.readouterr().out

    first = written("--seed", "3")
    assert first.startswith("p and ") and len(first) == 6 + 30 + 1 and set(first) <= set(TEXT)
    assert written("--seed", "3") == first != written("--seed", "4")
    assert written("--temperature", "0") == written("--top-k", "1") == written("--top-p", "1e-6")
    assert written("--until", "\n", "--length", "300").endswith(".\n\n")
    run("generate", out, "--prompt", "\u00e9", status=2)
    assert "CharTokenizer: '\u00e9', character 0 of the text, is not in the vocabulary" in capsys.readouterr().err
    run("generate", out, "--top-p", "7", status=2)
    assert "top_p is 7.0" in capsys.readouterr().err


@pytest.mark.parametrize("model", ["gpt", "lstm"])
def test_each_character_runs_the_plan_of_the_one_before(model: str, text: list[str], tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    run(*text, "--model", model, "--steps", "1", "--device", "cpu", "--out", out)
    options = cli.parser().parse_args(["generate", out, "--device", "cpu", "--length", "10"])
    writer = generate.Writer("generate", options)
    written = writer.write("p")
    for _ in range(3):
        next(written)
    before = sg.stats()["plan_misses"]
    assert len(list(written)) == 7 and sg.stats()["plan_misses"] == before


@pytest.mark.parametrize("kind", ["bytes", "words", "bpe"])
def test_tokens_of_other_kinds_are_learnt_and_written(
    kind: str, text: list[str], tmp_path: Path, capsys: Capture
) -> None:
    if kind == "bpe":
        pytest.importorskip("tokenizers")
    out = str(tmp_path / "out")
    size = {"bytes": [], "words": ["--vocabulary", "40"], "bpe": ["--vocabulary", "270"]}[kind]
    run(*text, "--tokens", kind, *size, "--steps", "40", "--every", "20", "--device", "cpu", "--out", out)
    said = re.findall(r"held back ([0-9.]+), perplexity ([0-9.]+)", capsys.readouterr().out)
    assert float(said[1][0]) < float(said[0][0])
    assert float(said[1][1]) == pytest.approx(math.exp(float(said[1][0])), rel=1e-3)
    settings = checkpoints.peek(out).extra  # type: ignore[union-attr]
    assert settings["vocabulary"] == {"bytes": 256, "words": 40, "bpe": 270}[kind]
    run("generate", out, "--device", "cpu", "--length", "12", "--prompt", "p and a,", "--temperature", "0")
    written = capsys.readouterr().out
    assert written.startswith("p and a,") and len(written) > 12
    if kind == "words":
        assert written.count(" ") + written.count("\n") >= 12 and set(written.split()) <= {*TEXT.split(), "<unk>"}
    else:
        run(*text, "--tokens", "characters", "--out", out, "--resume", status=2)
        assert "is of a training with --tokens" in capsys.readouterr().err


def test_files_and_folders_are_read_in_order_and_many_tokens_are_mapped(
    text: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "books" / "old"
    folder.mkdir(parents=True)
    (folder / "b.txt").write_text(TEXT[:900], newline="\n")
    (folder.parent / "a.txt").write_text(TEXT[900:], newline="\n")
    (folder / ".hidden").write_bytes(b"\xff")
    text[3:4] = [str(folder.parent), str(tmp_path / "text.txt")]
    few = [*text, "--steps", "4", "--every", "2", "--device", "cpu"]
    run(*few, "--out", str(tmp_path / "whole"))
    assert not (tmp_path / "whole" / "tokens").exists()
    monkeypatch.setattr(tokens, "LARGE", 0)
    monkeypatch.setattr(tokens, "PIECE", 50)
    run(*few, "--out", str(tmp_path / "mapped"), "--seconds", "0.000001")
    assert content(tmp_path / "whole") != content(tmp_path / "mapped")
    kept = tmp_path / "mapped" / "tokens" / "tokens.bin"
    assert kept.stat().st_size == 2 * 2 * len(TEXT)
    numbers = tokens.read(text[3:5], "characters", None, tmp_path / "mapped")
    assert isinstance(numbers.numbers, np.memmap)
    assert numbers.tokenizer.decode(numbers.numbers) == TEXT[900:] + TEXT[:900] + TEXT
    del numbers  # Windows replaces no file that is mapped
    gc.collect()
    before = kept.stat().st_mtime_ns
    run(*few, "--out", str(tmp_path / "mapped"), "--resume")
    assert kept.stat().st_mtime_ns == before, "they were found again"
    assert content(tmp_path / "whole") == content(tmp_path / "mapped")
    (folder / "b.txt").write_text(TEXT, newline="\n")
    run(*few, "--out", str(tmp_path / "mapped"), "--resume")
    assert kept.stat().st_size > 2 * 2 * len(TEXT), "another text is read anew"
    (tmp_path / "empty").mkdir()
    run("train", "text", "--data", str(tmp_path / "empty"), "--out", str(tmp_path / "x"), status=2)
    assert "empty has no files" in capsys.readouterr().err


def test_a_log_says_what_a_training_did(digits: list[str], tmp_path: Path, capsys: Capture) -> None:
    run(*digits, "--steps", "10", "--out", str(tmp_path))
    run(*digits, "--steps", "15", "--out", str(tmp_path), "--resume")
    lines = [json.loads(line) for line in (tmp_path / train.LOG).read_text().splitlines()]
    assert [line["step"] for line in lines] == [5, 10, 15]
    assert [line["epoch"] for line in lines] == pytest.approx([n * 16 / 1437 for n in (5, 10, 15)])
    assert lines[0]["seconds"] < lines[1]["seconds"] < lines[2]["seconds"]
    for line in lines:
        assert line["device"] == "cpu" and line["precision"] == "float32" and line["seconds_an_epoch"] > 0
        assert math.isfinite(line["loss"] + line["held back"]) and 0 <= line["accuracy"] <= 1
    found = checkpoints.peek(tmp_path)
    assert found and found.extra["device"] == "cpu" and found.extra["seconds"] == lines[2]["seconds"]


@pytest.mark.parametrize(
    "words",
    [
        ["--optimizer", "adamw", "--compile"],
        ["--optimizer", "sgd"],
        ["--precision", "bfloat16", "--compile"],
        ["--precision", "bfloat16", "--optimizer", "rmsprop"],
        ["--precision", "float16"],
        ["--precision", "float16", "--compile"],
    ],
    ids=" ".join,
)
def test_a_step_is_taken_in_other_ways(
    words: list[str], digits: list[str], device: sg.Device, tmp_path: Path, capsys: Capture
) -> None:
    words = [*digits, *words, "--device", str(device), "--steps", "20"]
    run(*words, "--out", str(tmp_path / "whole"))
    looks = [float(x) for x in re.findall(r"held back ([0-9.]+)", capsys.readouterr().out)]
    assert looks[-1] < looks[0]
    run(*words, "--out", str(tmp_path / "cut"), "--seconds", "0.000001")
    run(*words, "--out", str(tmp_path / "cut"), "--resume")
    assert content(tmp_path / "whole") == content(tmp_path / "cut")


def test_a_compiled_training_has_the_same_losses(digits: list[str], tmp_path: Path, capsys: Capture) -> None:
    for name, more in (("plain", []), ("compiled", ["--compile"])):
        run(*digits, "--steps", "24", "--precision", "float16", *more, "--out", str(tmp_path / name))
    logs = [(tmp_path / name / train.LOG).read_text().splitlines() for name in ("plain", "compiled")]
    plain, compiled = ([json.loads(line)["loss"] for line in log] for log in logs)
    assert len(plain) > 3 and plain == compiled


def test_a_profile_ends_with_its_table(digits: list[str], tmp_path: Path, capsys: Capture) -> None:
    run(*digits, "--steps", "3", "--profile", "--out", str(tmp_path))
    out = capsys.readouterr().out
    assert "Self CPU" in out and "matmul" in out


def test_an_lstm_reads_token_by_token_what_it_reads_at_once(device: sg.Device) -> None:
    sg.manual_seed(0)
    model = sg.models.LSTMDecoder(9, layers=2, width=8)
    with sg.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)
    model = model.to(device).eval()
    prompts = [[1, 2, 3], [4, 5, 6]]
    found = sg.generation.generate(model, prompts, 20, temperature=0)
    for prompt, written in zip(prompts, found, strict=True):
        for i, token in enumerate(written):
            with sg.no_grad():
                scores = model(sg.tensor([prompt + written[:i]], device=device))
            assert token == scores[0, -1].argmax().item(), i
    assert sg.generation.beam_search(model, [1, 2, 3], 20, beams=1)[0].tokens == found[0]
    with pytest.raises(ValueError, match="different lengths"):
        sg.generation.generate(model, [[1], [1, 2]], 3)


def test_chat_answers_each_line(text: list[str], tmp_path: Path, capsys: Capture) -> None:
    out = str(tmp_path / "out")
    run(*text, "--model", "lstm", "--steps", "5", "--out", out, "--device", "cpu")
    capsys.readouterr()
    with process("chat", out, "--length", "7", "--device", "cpu", stdin=subprocess.PIPE) as p:
        said, complaints = p.communicate("p and a\n\u00e9\nq and b\n", timeout=180)
    assert p.returncode == 0 and len(said) == 16 and "'\u00e9', character 0 of the text, is not" in complaints


@pytest.mark.gpu
@pytest.mark.slow
def test_a_text_is_learnt_on_a_gpu_to_the_same_bits(text: list[str], tmp_path: Path) -> None:
    text += ["--model", "gpt", "--steps", "3", "--every", "1", "--device", "gpu", "--dropout", "0.1"]
    run(*text, "--out", str(tmp_path / "whole"))
    run(*text, "--out", str(tmp_path / "cut"), "--seconds", "0.000001")
    run(*text, "--out", str(tmp_path / "cut"), "--resume")
    assert content(tmp_path / "whole") == content(tmp_path / "cut")


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"short", "has 5 tokens; with --context 16 it needs more than 170"), (b"\xff" * 999, "not text in UTF-8")],
)
def test_a_text_that_cannot_be_used_is_said_so(
    content: bytes, message: str, text: list[str], tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "text.txt").write_bytes(content)
    run(*text, "--out", str(tmp_path / "out"), status=2)
    assert message in capsys.readouterr().err and not (tmp_path / "out").exists()


# --- what can go wrong anywhere


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "text", "--out", "x"], "train text: --data is missing; give it"),
        (["train", "digits"], "train digits: --out is missing; give it"),
        (["train", "text", "--data", "none.txt", "--out", "x"], r"\[.*\] .*: 'none\.txt'"),
        (["generate", "none"], r"generate: none has no checkpoint; give a folder of `train text`"),
        (["selftest", "--device", "tpu"], "--device tpu: .* names no device"),
        (["selftest", "--device", "gpu:77"], "gpu:77"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], message: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(*words, status=2)
    out, err = capsys.readouterr()
    assert re.match(rf"python -m spirograd: .*{message}", err) and err.count("\n") == 1 and not out
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["dance"],
        ["train", "digits", "--steps", "0"],
        ["train", "digits", "--lr", "-1"],
        ["train", "digits", "--hidden", "3,x"],
        ["train", "text", "--dropout", "1"],
        ["generate"],
    ],
)
def test_wrong_words_end_with_status_2(words: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 2 and "usage: python -m spirograd" in capsys.readouterr().err


def test_a_damaged_checkpoint_is_one_line(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "step-0000000001.npz").write_bytes(b"PK\3\4")
    run("generate", str(tmp_path), status=2)
    assert re.match(r"python -m spirograd: load: .* is damaged", capsys.readouterr().err)


def test_a_closed_pipe_is_no_error() -> None:
    with process("selftest", "--device", "cpu") as p:
        assert p.stdout and p.stderr
        p.stdout.close()
        assert p.stderr.read() == ""
    assert p.returncode == 0


@pytest.mark.needs("signals")
def test_ctrl_c_has_no_traceback() -> None:
    with process("bench", "--device", "cpu") as p:
        assert p.stdout and p.stderr
        p.stdout.readline()
        time.sleep(0.05)
        p.send_signal(signal.SIGINT)
        assert p.stderr.read() == "\ninterrupted\n"
    assert p.returncode == 130


PAGES = [*Path(__file__).resolve().parents[2].glob("docs/*.md"), Path(__file__).resolve().parents[2] / "README.md"]
COMMANDS = [
    " ".join(c.replace("\\\n", " ").split())
    for p in PAGES
    for c in re.findall(r"^ *python -m spirograd +((?:.*\\\n)*.*)$", p.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("command", sorted(set(COMMANDS)))
def test_commands_of_the_pages_are_understood(command: str) -> None:
    options = cli.parser().parse_args(shlex.split(command))
    assert callable(options.run)
