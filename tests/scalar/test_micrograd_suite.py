"""micrograd's own test file passes with only its import lines changed.

The file is not kept here: it comes out of micrograd's source package, which pip fetches. It compares with PyTorch, or,
by its other import line, with our tensors. `test_against_finite_differences` of test_value.py does the same tasks
without it.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from typing import Any

import pytest

import spirograd as sg
from reference import scalar

PACKAGE = "micrograd==0.1.0"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("micrograd")
    fetch = [
        "download",
        "--quiet",
        "--retries",
        "0",
        "--timeout",
        "15",
        "--no-deps",
        "--no-binary",
        ":all:",
        "--dest",
        str(folder),
        PACKAGE,
    ]
    try:
        done = subprocess.run([sys.executable, "-m", "pip", *fetch], capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        pytest.skip(f"pip did not fetch {PACKAGE} within two minutes")
    archives = list(folder.glob("*.tar.gz"))
    if done.returncode or not archives:
        pytest.skip(f"pip could not fetch {PACKAGE}: {done.stderr.strip().splitlines()[-1:]}")
    with tarfile.open(archives[0]) as package:
        for member in package.getmembers():
            file = package.extractfile(member) if member.name.endswith("test/test_engine.py") else None
            if file:
                return file.read().decode()
    pytest.skip(f"the source package of {PACKAGE} has no test/test_engine.py")


@pytest.mark.parametrize("beside", ["torch", "spirograd"])
@pytest.mark.parametrize("name", scalar.EVERY)
def test_micrograds_own_tests(source: str, name: str, beside: str) -> None:
    pytest.importorskip(beside, reason=f"{beside} is not installed")
    engine = scalar.engine(name)
    imports = {"import torch": f"import {beside} as torch"}
    if name != "micrograd":
        imports["from micrograd.engine import Value"] = "from spirograd import Value"
        sg.set_default_device(name)
    lines = source.splitlines()
    assert set(imports) <= set(lines)
    names: dict[str, Any] = {}
    exec("\n".join(imports.get(line, line) for line in lines), names)
    assert names["Value"] is (sg.Value if name != "micrograd" else engine.Value)
    tests = [test for test_name, test in names.items() if test_name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()
