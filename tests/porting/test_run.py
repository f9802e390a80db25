"""`python -m spirograd run`: somebody's program, unchanged, with spirograd in PyTorch's place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CALLS = Path(__file__).with_name("programs") / "calls.py"


def run(*words: object, status: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    """`python -m spirograd run WORDS`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **variables}
    command = [sys.executable, "-m", "spirograd", "run", *map(str, words)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180)
    assert result.returncode == status, result.stdout + result.stderr
    return result


@pytest.fixture
def script(tmp_path: Path):
    """Writes a program and gives its path."""

    def write(text: str, name: str = "train.py") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_a_program_gets_its_arguments_and_gives_its_status(script) -> None:
    path = script("import sys, torch\nprint(__name__, sys.argv[1:], sys.path[0])\nsys.exit(int(torch.tensor(3)))\n")
    result = run(path, "--lr", "0.1", "-m", status=3)
    assert result.stdout == f"__main__ ['--lr', '0.1', '-m'] {path.parent}\n"


def test_one_line_says_what_runs(script) -> None:
    lines = run(script("import torch\n")).stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("spirograd ") and "stands in for PyTorch" in lines[0]


def test_a_module_runs_too(script, tmp_path: Path) -> None:
    script("import torch\nprint(torch.ones(2).sum().item())\n", "program.py")
    environment = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *(p for p in sys.path if p)])}
    assert run("-m", "program", **environment).stdout == "2.0\n"


def test_modules_of_pytorch_are_found_by_any_import(script) -> None:
    path = script("""
import torch
import torch.nn as nn, torch.nn.functional as F
import torch.backends.cudnn as cudnn
from torch import optim
from torch.autograd import Variable
from torch.cuda.amp import GradScaler, autocast
from torch.nn.modules.conv import Conv2d
from torch.nn.parameter import Parameter
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.dataloader import default_collate
from torch.utils.data.sampler import RandomSampler
assert default_collate is torch.utils.data.default_collate and isinstance(nn.GRU(1, 1), nn.RNNBase)
cudnn.benchmark = True
assert nn is torch.nn and F is nn.functional and optim is torch.optim and Conv2d is nn.Conv2d
assert cudnn is torch.backends.cudnn and torch.backends.cudnn.benchmark
assert [int(n) for n in torch.__version__.split("+")[0].split(".")][0] >= 2
print(nn.Linear(2, 1).forward.__module__)
""")
    assert run(path).stdout == "spirograd.nn.linear\n"


@pytest.mark.parametrize(
    ("line", "missing"),
    [("torch.nn.Nope(3)", "torch.nn.Nope"), ("torch.nope(3)", "torch.nope"), ("import torch.nope", "torch.nope")],
)
def test_a_missing_name_is_named_with_its_line(script, line: str, missing: str) -> None:
    path = script(f"import torch\nx = torch.zeros(2)\n{line}\n")
    error = run(path, status=1).stderr
    assert missing in error.splitlines()[-1 - ("--check" in error.splitlines()[-1] and line.startswith("import"))]
    assert f"{path}:3" in error


def test_a_missing_name_can_be_asked_for(script) -> None:
    text = "import torch\nprint(hasattr(torch, 'nope'), getattr(torch.nn, 'Nope', 1))\n"
    text += "try:\n    from torch.nn import Nope\nexcept ImportError as e:\n    print('no', e.name)\n"
    assert run(script(text)).stdout == "False 1\nno torch.nn\n"


def test_check_lists_all_missing_names_without_running(script) -> None:
    script("from torch.nn import Linear, Missing\n", "model.py")
    path = script("""import torch
import torch.nn.functional as F
from torch import nope as x
import model, not_installed_anywhere
def f():
    return F.relu(torch.zeros(2)), F.neither(torch.cuda.is_available(), torch.linalg.nor)
raise SystemExit("it ran")
""")
    lines = run("--check", path, status=1).stdout.splitlines()
    folder = path.parent
    assert lines == [
        f"{path}:3: torch.nope",
        f"{path}:4: not_installed_anywhere (not installed)",
        f"{path}:6: torch.linalg.nor",
        f"{path}:6: torch.nn.functional.neither",
        f"{folder / 'model.py'}:1: torch.nn.Missing",
        "5 missing",
    ]


def test_check_of_a_program_that_lacks_nothing(script) -> None:
    path = script("import torch\nfrom torch import nn\nprint(nn.Linear(2, 1)(torch.ones(2)))\n")
    assert run("--check", path).stdout == "nothing is missing\n"
    assert run("--check", CALLS).stdout == "nothing is missing\n"


def test_a_traceback_shows_the_program_alone(script) -> None:
    error = run(script("import torch\ntorch.ones(2, 3) @ torch.ones(2, 3)\n"), status=1).stderr
    assert "train.py" in error and "running.py" not in error and "runpy" not in error
    assert error.splitlines()[-1].startswith("ValueError: matmul: inner sizes differ")


def test_no_such_program() -> None:
    assert "there is no file nowhere.py" in run("nowhere.py", status=2).stderr
    assert "there is no program nowhere" in run("--check", "-m", "nowhere", status=2).stderr


def test_processes_that_a_program_starts_have_it_too(script) -> None:
    path = script("""
import torch
import torch.multiprocessing as mp
import torch.nn as nn
def work(rank, count):
    assert nn.Linear(count, 1)(torch.ones(count)).shape == torch.Size([1])
    assert nn.Linear(1, 1).forward.__module__.startswith("spirograd")
if __name__ == "__main__":
    mp.spawn(work, args=(3,), nprocs=1)
    print("done")
""")
    assert run(path).stdout == "done\n"


def test_install_refuses_when_pytorch_is_imported(run_python) -> None:
    code = "import sys, types; sys.modules['torch'] = types.ModuleType('torch')\n"
    code += "import spirograd.torch; spirograd.torch.install()"
    assert "RuntimeError: install: PyTorch  is already imported; call install() before" in run_python(code, status=1)


def test_install_twice_is_once(run_python) -> None:
    code = "import sys, spirograd.torch as t; t.install(); n = len(sys.meta_path); t.install()\n"
    assert run_python(code + "import torch; print(len(sys.meta_path) == n, torch.ones(2))") == "True tensor([1., 1.])\n"


def test_import_spirograd_loads_nothing_of_it(run_python) -> None:
    code = "import sys, spirograd as sg; sg.nn.Linear(2, 1); print([m for m in sys.modules if 'spirograd.torch' in m])"
    assert run_python(code + "; print(sg.zeros(2).shape, sg.device('cpu'))") == "[]\n(2,) cpu\n"


CUDA = """
import torch
assert torch.cuda.is_available() and torch.cuda.device_count() >= 1
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
assert device.type == "cuda" and str(device) == "cuda:0" and device == torch.device("cuda:0") == torch.device("cuda", 0)
assert device.index == 0 and torch.device(0) == device
x = torch.ones(2, 3, device="cuda")
y = torch.ones(2, 3).cuda(0)
z = torch.ones(2, 3).to(0).to("cuda", torch.float64, non_blocking=True)
assert x.is_cuda and x.device.type == "cuda" and y.device == x.device == z.device and z.dtype == torch.float64
assert x.type() == "torch.cuda.FloatTensor" and isinstance(x, torch.cuda.FloatTensor)
assert not isinstance(x, torch.FloatTensor) and isinstance(x.cpu(), torch.FloatTensor)
assert torch.cuda.FloatTensor([1, 2]).is_cuda and x.type(torch.FloatTensor).device.type == "cpu"
net = torch.nn.Linear(3, 1).cuda()
assert net.weight.is_cuda and torch.nn.Linear(3, 1, device="cuda").weight.is_cuda
torch.cuda.manual_seed_all(1)
a = torch.rand(3, device="cuda")
torch.cuda.manual_seed(1)
assert torch.equal(a, torch.rand(3, device="cuda"))
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record(); y = x @ x.T; end.record(); torch.cuda.synchronize()
assert start.elapsed_time(end) >= 0
assert torch.cuda.memory_allocated() > 0 and torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated()
assert torch.cuda.get_device_name(0) == torch.cuda.get_device_properties(0).name and torch.cuda.current_device() == 0
torch.cuda.empty_cache(); torch.cuda.reset_peak_memory_stats(); torch.cuda.set_device(device)
scaler = torch.amp.GradScaler("cuda")
with torch.autocast("cuda", dtype=torch.float16), torch.cuda.stream(torch.cuda.Stream()):
    loss = net(x).sum()
with torch.cuda.amp.autocast(), torch.cuda.device(0):
    assert net(x).dtype == torch.float16
scaler.scale(loss).backward()
assert net.weight.grad.is_cuda and scaler.is_enabled()
with torch.device("cuda"):
    assert torch.zeros(2).is_cuda
z.copy_(torch.zeros(2, 3))
assert z.is_cuda and not z.any()
print(torch.ones(1, device="cuda"))
"""


@pytest.mark.gpu
def test_cuda_is_the_gpu_of_this_machine(script) -> None:
    assert run(script(CUDA)).stdout == "tensor([1.], device='cuda:0')\n"


@pytest.mark.gpu
def test_files_of_a_program_are_read_without_it(script, tmp_path: Path, run_python) -> None:
    path = tmp_path / "saved.pt"
    text = f"import torch\ntorch.save(torch.ones(2, device='cuda'), {str(path)!r})\n"
    run(script(text + f"print(torch.load({str(path)!r}).device)\n"))
    assert run_python(f"import spirograd as sg; print(sg.load({str(path)!r}).device)") == "gpu:0\n"


def test_without_a_gpu_cuda_says_so(script) -> None:
    path = script("""import torch
print(torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.memory_allocated())
with torch.cuda.amp.autocast():
    print((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)
torch.cuda.manual_seed_all(0)
torch.ones(2).cuda()
""")
    result = run(path, status=1, SPIROGRAD_ALLOW_CPU_VULKAN="0", SPIROGRAD_VULKAN_LIB="/nowhere")
    assert result.stdout == "False 0 0\ntorch.float32\n"
    assert "DeviceUnavailableError" in result.stderr.splitlines()[-1]
