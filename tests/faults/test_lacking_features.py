"""What a device cannot compute costs only what asked for it. The lane `limits` fakes such devices."""

from __future__ import annotations

import pytest

import spirograd as sg

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
