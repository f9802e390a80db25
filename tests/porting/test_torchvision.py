"""torchvision's own models, from its source files, with spirograd in PyTorch's place."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("vision_models.py")
PRINTED = Path(__file__).parents[1] / "golden" / "torch_vision.txt"  # by PyTorch 2.13, torchvision 0.28 on a CPU
MODELS = sorted({line.split()[0] for line in PRINTED.read_text(encoding="utf-8").splitlines()})

if importlib.util.find_spec("torchvision") is None:
    pytest.skip("torchvision is not there (pip install --no-deps torchvision)", allow_module_level=True)


def run(*arguments: object) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    environment["SPIROGRAD_ALLOW_CPU_VULKAN"] = "0"
    command = [sys.executable, "-W", "ignore", "-m", "spirograd", "run", *map(str, arguments)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


FEATURES = """
import torch
from torchvision.models import resnet18
from torchvision.models.feature_extraction import create_feature_extractor, get_graph_node_names

names = get_graph_node_names(resnet18())[1]
print(len(names), names[5], names[-2:])
parts = create_feature_extractor(resnet18(), {"layer1": "early", "layer4.1.relu_1": "late", "flatten": "flat"})
for name, value in parts(torch.randn(2, 3, 64, 64)).items():
    print(name, tuple(value.shape))
"""


@pytest.mark.slow
def test_values_inside_of_a_model_can_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "features.py").write_text(FEATURES)
    assert run(tmp_path / "features.py").splitlines() == [
        "70 layer1.0.conv1 ['flatten', 'fc']",
        "early (2, 64, 16, 16)",
        "late (2, 512, 2, 2)",
        "flat (2, 512)",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_model_computes_what_it_does_with_pytorch(name: str) -> None:
    expected = [line for line in PRINTED.read_text(encoding="utf-8").splitlines() if line.split()[0] == name]
    found = run(SCRIPT, name).splitlines()
    assert len(found) == len(expected) >= 2
    for a, b in zip(found, expected, strict=True):
        for x, y in zip(a.split(), b.split(), strict=True):
            close = 1e-3 if "loss" in a else 1e-4  # a step has been taken
            assert x == y or float(x) == pytest.approx(float(y), rel=close, abs=1e-5), (found, expected)
