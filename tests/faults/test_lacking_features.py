"""What a device cannot compute costs only what asked for it. The lane `limits` fakes such devices."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import spirograd as sg
from spirograd.base.config import show_config

pytestmark = pytest.mark.gpu


@pytest.fixture
def without_float64(gpu: sg.Device) -> sg.Device:
    """A GPU without float64."""
    if gpu.features["shaderFloat64"] == "yes":
        pytest.skip("this GPU has float64; tools/test.sh limits fakes one without")
    return gpu


def test_a_refused_cast_leaves_its_source_alone(without_float64: sg.Device) -> None:
    w = sg.randn(3, device=without_float64)
    wide = w.double()
    with pytest.raises(sg.LimitError, match="no float64 in shaders"):
        wide.tolist()
    assert len(w.tolist()) == 3
    assert (w + 1).tolist() == pytest.approx([x + 1 for x in w.tolist()])


def test_a_wider_type_is_made_where_it_can_be(without_float64: sg.Device) -> None:
    x = sg.tensor([1.5, -2.0], device=without_float64)
    assert x.to("cpu", sg.float64).tolist() == [1.5, -2.0]
    assert x.to("cpu", sg.float64, non_blocking=True).dtype == sg.float64


def test_histograms_of_whole_numbers_need_no_float64(without_float64: sg.Device) -> None:
    x = sg.tensor([0, 1, 1, 2, 3, 3], device=without_float64)
    assert sg.histc(x, bins=4, min=0, max=3).tolist() == [1, 2, 1, 2]


def test_convolutions_run_whatever_the_room_of_a_workgroup(gpu: sg.Device) -> None:
    x, w = sg.randn(2, 5, 9, 9), sg.randn(6, 5, 3, 3)
    before = sg._core._convolutions_ignore_sizes(True)
    try:
        y = sg.conv2d(x.to(gpu), w.to(gpu), padding=1)
    finally:
        sg._core._convolutions_ignore_sizes(before)
    roomy = int(gpu.limits["maxComputeWorkGroupInvocations"]) >= 256
    roomy &= int(gpu.limits["maxComputeSharedMemorySize"]) >= 32768
    assert ("winograd" in [step.name for step in y.plan()]) == roomy
    assert sg.allclose(y.cpu(), sg.conv2d(x, w, padding=1), atol=1e-4)


def test_products_run_whatever_the_size_of_a_workgroup(gpu: sg.Device) -> None:
    threads = int(gpu.limits["maxComputeWorkGroupInvocations"])
    a, b = sg.randn(65, 130), sg.randn(130, 70)
    got = a.to(gpu) @ b.to(gpu)
    assert sg.allclose(got.cpu(), a @ b, atol=1e-4), f"{threads} threads"


def test_an_extreme_so_far_needs_18_kib(gpu: sg.Device) -> None:
    if int(gpu.limits["maxComputeWorkGroupInvocations"]) < 256:
        pytest.skip("this GPU runs fewer threads than a scan has")
    x = sg.tensor([3.0, 1.0, 4.0], device=gpu)
    assert x.cumsum(0).tolist() == [3.0, 4.0, 8.0]
    if int(gpu.limits["maxComputeSharedMemorySize"]) >= 18432:
        assert x.cummax(0).values.tolist() == [3.0, 3.0, 4.0]
        return
    with pytest.raises(sg.LimitError, match="this op needs 18432"):
        x.cummax(0).values.tolist()


def test_a_sort_needs_256_threads(gpu: sg.Device) -> None:
    x = sg.tensor([3.0, 1.0, 2.0], device=gpu)
    if int(gpu.limits["maxComputeWorkGroupInvocations"]) >= 256:
        assert x.sort().values.tolist() == [1.0, 2.0, 3.0]
        return
    with pytest.raises(sg.LimitError, match="this op needs 256"):
        x.sort().values.tolist()
    assert x.tolist() == [3.0, 1.0, 2.0]


@pytest.fixture
def without_bytes(gpu: sg.Device) -> sg.Device:
    """A GPU that cannot address single bytes."""
    if gpu.features["storageBuffer8BitAccess"] == "yes":
        pytest.skip("this GPU addresses bytes; tools/test.sh limits fakes one that does not")
    return gpu


def test_types_of_a_byte_are_refused_where_there_are_none(without_bytes: sg.Device) -> None:
    x = sg.tensor([3.0, -1.0], device=without_bytes)
    for make in (lambda: x > 0, lambda: x.to(sg.uint8), lambda: x.to(sg.int8)):
        with pytest.raises(
            sg.LimitError, match=r"the device cannot address single bytes, .* use int32, or the CPU device"
        ):
            make().tolist()
    assert x.tolist() == [3.0, -1.0]


def test_training_needs_no_bytes(without_bytes: sg.Device) -> None:
    """Comparisons inside a kernel are not stored."""
    net = sg.nn.Sequential(sg.nn.Linear(4, 8), sg.nn.ReLU(), sg.nn.Dropout(0.5), sg.nn.Linear(8, 3)).to(without_bytes)
    optimizer = sg.optim.Adam(net.parameters(), lr=0.01)
    x, y = sg.randn(16, 4, device=without_bytes), sg.zeros(16, dtype=sg.int64, device=without_bytes)
    losses = []
    for _ in range(30):
        loss = sg.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    assert x.relu().sort().values.cumsum(0).shape == (16, 4)


@pytest.mark.parametrize("dtype", [sg.float16, sg.float32], ids=str)
def test_kernels_that_count_on_subgroups_ask_for_their_threads(gpu: sg.Device, dtype: sg.dtype) -> None:
    least = gpu.limits["minSubgroupSize"]
    if least == gpu.limits["maxSubgroupSize"] or not os.environ.get("FAKE_DRIVER_LOG"):
        pytest.skip("needs subgroups that vary; tools/test.sh limits fakes them")
    log = Path(os.environ["FAKE_DRIVER_LOG"])
    before = log.stat().st_size if log.exists() else 0
    a, b = (sg.randn(97, 97).to(dtype) for _ in range(2))
    got = (a.to(gpu) @ b.to(gpu)).float().cpu()
    assert sg.allclose(got, a.float() @ b.float(), atol=1e-4 if dtype == sg.float32 else 0.05)
    asked = {line.split()[-1] for line in log.read_text()[before:].splitlines()}
    assert (least in asked) == (dtype == sg.float16 and "cm1" in gpu.features["float16 products"])
    assert asked <= {"0", least}


def test_info_says_what_a_device_lacks(gpu: sg.Device) -> None:
    text = show_config()
    for feature, without in [
        ("shaderFloat64", "no float64 tensors, scalar Values are float32"),
        ("storageBuffer8BitAccess", "no bool, int8 and uint8 tensors"),
        ("storageBuffer16BitAccess", "no float16, bfloat16 and int16 tensors"),
    ]:
        assert (f"    lacks {feature}: {without}\n" in text) == (gpu.features[feature] == "no")


def test_a_device_without_what_all_kernels_need_is_refused(run_python: Callable[..., str]) -> None:
    if not os.environ.get("FAKE_DRIVER_REAL"):
        pytest.skip("needs the fake driver of tools/test.sh limits")
    code = "import spirograd as sg; print(sg.Device.list(), *sg._core._gpu_reason(), sep='|')"
    devices, reason, remedy = (
        run_python(code, FAKE_DRIVER_LIMITS="shaderInt64=0", SPIROGRAD_ALLOW_CPU_VULKAN="1").strip().split("|")
    )
    assert devices == "[Device(cpu)]"
    assert reason.endswith(" lacks shaderInt64")
    assert remedy == "use the CPU device, or another GPU; a newer driver helps only where the hardware has it"
