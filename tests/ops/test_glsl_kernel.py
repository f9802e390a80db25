"""Kernels of the user's: in order with everything else, with gradients, and with errors that name the line."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd.ops import GlslKernel, glsl_kernel

SQUARE = "uint i = global_index;\nif (i < y_size) store(y, i, load(x, i) * load(x, i));\n"
ROW_SUM = """
shared float parts[THREADS];

void main() {
  const uint row = gl_WorkGroupID.x, lane = gl_LocalInvocationID.x, n = x_shape(1);
  float sum = 0.0;
  for (uint column = lane; column < n; column += THREADS) sum += load(x, row * n + column);
  parts[lane] = sum;
  barrier();
  for (uint half_of = THREADS / 2; half_of > 0; half_of /= 2) {
    if (lane < half_of) parts[lane] += parts[lane + half_of];
    barrier();
  }
  if (lane == 0) store(total, row, parts[0]);
}
"""


def square(**more: Any) -> GlslKernel:
    return glsl_kernel("square", SQUARE, ["x"], ["y"], **more)


def row_sum(**more: Any) -> GlslKernel:
    return glsl_kernel(
        "row_sum", ROW_SUM, ["x"], [("total", lambda x: (x[0],))],
        groups=lambda x: x[0], local_size=64, constants={"THREADS": 64}, **more,
    )  # fmt: skip


@pytest.mark.gpu
def test_a_pointwise_kernel_gives_its_formula(gpu: sg.Device) -> None:
    for shape in [(), (1,), (5, 7), (3, 1000), (0, 4)]:
        x = sg.tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32), device=gpu)
        y = square()(x)
        assert y.shape == shape
        np.testing.assert_array_equal(y.numpy(), x.numpy() ** 2)


@pytest.mark.gpu
def test_strides_and_offsets_are_made_plain(gpu: sg.Device) -> None:
    base = sg.randn(8, 6, device=gpu)
    for x in (base.T, base[2:5], base[:, 3], base[1].expand(4, 6)):
        np.testing.assert_array_equal(square()(x).numpy(), x.numpy() ** 2)
        np.testing.assert_array_equal(square()(x + 1).numpy(), (x.numpy() + 1) ** 2)


@pytest.mark.gpu
def test_a_row_reduction_through_shared_memory(gpu: sg.Device) -> None:
    for rows, columns in [(1, 1), (9, 300), (50, 64)]:
        x = sg.randn(rows, columns, device=gpu)
        np.testing.assert_allclose(row_sum()(x).numpy(), x.numpy().sum(axis=1), rtol=1e-5, atol=1e-5)


@pytest.mark.gpu
def test_it_is_part_of_one_submission_in_order(gpu: sg.Device) -> None:
    x = sg.randn(16, 32, device=gpu)
    kernel = square()
    kernel(x)  # compiled
    sg.synchronize()
    before = sg.stats()
    y = kernel(kernel(x * 2) + 1).sum(dim=1).realize()
    after = sg.stats()
    assert after["submissions"] - before["submissions"] == 1
    np.testing.assert_allclose(y.numpy(), (((x.numpy() * 2) ** 2 + 1) ** 2).sum(axis=1), rtol=1e-5)
    assert [step.name for step in kernel(x * 2).plan()].count("square") == 1


@pytest.mark.gpu
def test_a_write_in_place_between_is_seen_in_order(gpu: sg.Device) -> None:
    x = sg.ones(4, device=gpu)
    before = square()(x)
    x += 2
    after = square()(x)
    assert before.tolist() == [1.0] * 4
    assert after.tolist() == [9.0] * 4


@pytest.mark.gpu
def test_it_is_compiled_once_for_all_shapes(gpu: sg.Device) -> None:
    kernel = glsl_kernel(
        "cube", "uint i = global_index; if (i < y_size) { float v = load(x, i); store(y, i, v * v * v); }", ["x"], ["y"]
    )
    kernel(sg.ones(3, device=gpu))
    before = sg.stats()["kernels_compiled"]
    for n in (4, 1000):
        kernel(sg.ones(n, device=gpu))
    glsl_kernel("cube", kernel.source, ["x"], ["y"])(sg.ones(5, device=gpu))
    assert sg.stats()["kernels_compiled"] == before


@pytest.mark.gpu
def test_its_code_is_kept_on_disk(run_python: Callable[..., str], tmp_path: Path) -> None:
    code = (
        "import spirograd as sg\n"
        "source = 'uint i = global_index; if (i < y_size) store(y, i, load(x, i) + 41.0);'\n"
        "k = sg.ops.glsl_kernel('kept', source, ['x'], ['y'])\n"
        "print(k(sg.ones(1, device='gpu')).item())"
    )
    for _ in range(2):
        assert run_python(code, SPIROGRAD_CACHE=str(tmp_path)).strip() == "42.0"
        files = [p for p in tmp_path.rglob("*") if p.is_file() and b"load(x, i) + 41.0" in p.read_bytes()]
        assert len(files) == 1


@pytest.mark.gpu
def test_kernels_of_one_name_are_told_apart_by_their_source(run_python: Callable[..., str], tmp_path: Path) -> None:
    code = """
import spirograd as sg
x = sg.ones(1, device='gpu')
for number in (1, 2):
    source = 'uint i = global_index; if (i < y_size) store(y, i, load(x, i) + %d.0);' % number
    print(sg.ops.glsl_kernel('same', source, ['x'], ['y'])(x).item())
"""
    for _ in range(2):
        assert run_python(code, SPIROGRAD_CACHE=str(tmp_path)).split() == ["2.0", "3.0"]


@pytest.mark.gpu
@pytest.mark.parametrize("path", ["/etc/passwd", "../../etc/passwd", "tests/conftest.py"])
def test_a_source_includes_no_file_of_the_machine(gpu: sg.Device, path: str) -> None:
    with pytest.raises(sg.KernelCompileError) as raised:
        glsl_kernel("curious", f'#include "{path}"\n', ["x"], ["y"])(sg.ones(3, device=gpu))
    assert "root:" not in str(raised.value) and "pytest" not in str(raised.value)


@pytest.mark.parametrize(
    "name",
    ["x;", "x) {} //", "x\n#define y", "x[0]", "a b", "x/**/", "\u00fc", "gl_x", "x__y", "main", "", "1x", "push"],
)
def test_no_name_reaches_the_source_but_a_name(name: str) -> None:
    for inputs, outputs, constants in (([name], ["out"], {}), (["in1"], [name], {}), (["in1"], ["out"], {name: 1})):
        with pytest.raises(ValueError, match="cannot be a name in GLSL"):
            glsl_kernel("k", SQUARE, inputs, outputs, constants=constants)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "uint8", "int8", "bool"])
def test_elements_are_those_of_glsl(gpu: sg.Device, dtype: str) -> None:
    x = sg.tensor([0, 1, 1, 0, 1], device=gpu).to(getattr(sg, dtype))
    kernel = glsl_kernel("copy", "uint i = global_index; if (i < y_size) store(y, i, load(x, i));", ["x"], ["y"])
    assert kernel(x).dtype == x.dtype
    np.testing.assert_array_equal(kernel(x).numpy(), x.numpy())


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types_are_floats(gpu: sg.Device, dtype: str) -> None:
    x = sg.tensor([0.5, -2.0, 3.0], device=gpu).to(getattr(sg, dtype))
    source = "uint i = global_index; if (i < y_size) store(y, i, 2.0 * load(x, i));"
    assert glsl_kernel("twice", source, ["x"], ["y"])(x).float().tolist() == [1.0, -4.0, 6.0]


@pytest.mark.gpu
def test_an_unchecked_kernel_sees_memory_as_it_is(gpu: sg.Device) -> None:
    x = sg.tensor([0.5, -2.0, 3.0], device=gpu).to(sg.float16)
    source = "uint i = global_index; if (i < y_size) y[i] = uint16_t(float16_bits(2.0 * float16_value(uint(x[i]))));"
    assert glsl_kernel("twice", source, ["x"], ["y"], unchecked=True)(x).float().tolist() == [1.0, -4.0, 6.0]
    b = sg.tensor([True, False, True], device=gpu)
    source = "uint i = global_index; if (i < y_size) y[i] = uint8_t(1u - uint(x[i]));"
    assert glsl_kernel("flip", source, ["x"], ["y"], unchecked=True)(b).tolist() == [False, True, False]


# ---- indices out of range


def shifted(**more: Any) -> GlslKernel:
    """y[i] = x[i + shift], where i + shift may lie outside."""
    return glsl_kernel(
        "shifted",
        "uint i = global_index; if (i < y_size) store(y, i, 1.0 + load(x, int64_t(i) + load(shift, 0)));",
        ["x", "shift"],
        ["y"],
        **more,
    )


@pytest.mark.gpu
@pytest.mark.parametrize("shift", [1, -1, 2**33, -(2**63), 2**63 - 6])
def test_a_read_out_of_range_is_reported_with_its_line_and_gives_nothing(gpu: sg.Device, shift: int) -> None:
    x = sg.arange(5.0, device=gpu).realize()
    at = sg.tensor([shift], device=gpu)
    y, line = shifted()(x, at), here()
    places = [i + shift for i in range(5)]
    wrong = [f"{p}" for p in places if not 0 <= p < 5]
    with pytest.raises(IndexError, match=rf"shifted: index ({'|'.join(wrong)}) out of range \[0, 5\) at .*") as raised:
        y.tolist()
    assert re.search(rf" at {re.escape(__file__)}:{line}\b", str(raised.value))
    assert shifted()(x, sg.tensor([0], device=gpu)).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0], "the device goes on"


def here() -> int:
    return sys._getframe(1).f_lineno


@pytest.mark.gpu
def test_a_read_out_of_range_is_zero(gpu: sg.Device) -> None:
    x, y = sg.arange(5.0, device=gpu), sg.zeros(5, device=gpu)
    made = shifted()(x, sg.tensor([3], device=gpu))
    y.copy_(made.detach())  # not done, since an index of what is written is out of range
    with pytest.raises(IndexError, match="what depends on it has no value, and writes of it were not done"):
        made.tolist()
    assert y.tolist() == [0.0] * 5


@pytest.mark.gpu
def test_a_write_out_of_range_touches_nobody(gpu: sg.Device) -> None:
    wild = glsl_kernel(
        "wild",
        "int64_t i = load(at, global_index); store(y, i, 7.0); store(y, -i - 1, 7.0);",
        ["at"],
        [("y", 4, sg.float32)],
        groups=1,
        local_size=8,
    )
    around = [sg.full((64,), float(i), device=gpu).realize() for i in range(8)]
    with pytest.raises(IndexError, match=r"wild: index -?\d+ out of range \[0, 4\)"):
        wild(sg.tensor([4, 5, 64, 1000, 2**31, 2**40, 2**62, -5], device=gpu)).tolist()
    assert [x.tolist() for x in around] == [[float(i)] * 64 for i in range(8)]


@pytest.mark.gpu
def test_nothing_lies_in_an_empty_tensor(gpu: sg.Device) -> None:
    first = glsl_kernel("first", "store(y, 0, load(x, 0));", ["x"], [("y", 1)], groups=1, local_size=1)
    assert first(sg.ones(1, device=gpu)).item() == 1.0
    with pytest.raises(IndexError, match=r"first: index 0 out of range \[0, 0\)"):
        first(sg.ones(0, device=gpu)).item()


@pytest.mark.gpu
def test_a_replayed_step_reports_too(gpu: sg.Device) -> None:
    x, at = sg.arange(5.0, device=gpu), sg.tensor([0], device=gpu)
    step = sg.compile(lambda: shifted()(x, at) * 2)
    for _ in range(3):
        assert step().tolist() == [2.0, 4.0, 6.0, 8.0, 10.0]
    at.fill_(1)
    with pytest.raises(IndexError, match=r"shifted: index 5 out of range \[0, 5\)"):
        step().tolist()
    at.fill_(0)
    assert step().tolist() == [2.0, 4.0, 6.0, 8.0, 10.0]


@pytest.mark.gpu
@pytest.mark.parametrize(
    "source",
    [
        "y[0] = 1.0;",
        "y.at[0] = 1.0;",
        "y.number = 1;",
        "Float32(tensor(1)).at[0] = 1.0;",
        "store(y, 0, float(word(0)));",
        "store(y, 0, float(push.block));",
        "store(x, 0, 1.0); store(7, 0, 1.0);",
    ],
)
def test_a_checked_kernel_has_no_way_to_memory_but_load_and_store(gpu: sg.Device, source: str) -> None:
    with pytest.raises(sg.KernelCompileError, match="line 1"):
        glsl_kernel("sneaky", source, ["x"], ["y"])(sg.ones(3, device=gpu))


@pytest.mark.gpu
def test_an_array_is_told_what_to_write_instead(gpu: sg.Device) -> None:
    with pytest.raises(sg.KernelCompileError, match=r"read a tensor with load\(x, i\), write it with store\("):
        glsl_kernel("old", "y[0] = x[0];", ["x"], ["y"])(sg.ones(3, device=gpu))


@pytest.mark.gpu
def test_a_kernel_that_returns_early_reports(gpu: sg.Device) -> None:
    source = "store(y, y_size + global_index, 1.0); if (global_index < 1000) return; store(y, 0, 1.0);"
    with pytest.raises(IndexError, match="early: index"):
        glsl_kernel("early", source, ["x"], ["y"])(sg.ones(3, device=gpu)).tolist()


@pytest.mark.gpu
def test_several_inputs_and_outputs_of_several_types(gpu: sg.Device) -> None:
    source = """
    uint row = global_index;
    if (row >= best_size) return;
    uint n = x_shape(1);
    int64_t at = 0;
    for (uint c = 1; c < n; ++c) if (load(x, row * n + c) > load(x, row * n + at)) at = int64_t(c);
    store(best, row, load(x, row * n + at) + load(shift, 0));
    store(place, row, at);
    """
    kernel = glsl_kernel(
        "row_max", source, ["x", "shift"], [("best", lambda x, _: (x[0],)), ("place", lambda x, _: x[0], sg.int64)]
    )
    x = sg.randn(11, 7, device=gpu)
    best, place = kernel(x, sg.tensor([10.0], device=gpu))
    np.testing.assert_array_equal(best.numpy(), x.numpy().max(axis=1) + np.float32(10))
    np.testing.assert_array_equal(place.numpy(), x.numpy().argmax(axis=1))
    best += 1
    np.testing.assert_array_equal(place.numpy(), x.numpy().argmax(axis=1))


@pytest.mark.gpu
def test_constants_of_all_kinds(gpu: sg.Device) -> None:
    source = "uint i = global_index; if (i < y_size) store(y, i, ON ? load(x, i) * SCALE + float(SHIFT) : 0.0);"
    x = sg.tensor([1.0, 2.0], device=gpu)
    for on, scale, shift in [(True, 0.1, -3), (False, 1.0, 0), (True, float("inf"), 7)]:
        kernel = glsl_kernel("affine", source, ["x"], ["y"], constants={"ON": on, "SCALE": scale, "SHIFT": shift})
        expected = x.numpy() * np.float32(scale) + np.float32(shift) if on else np.zeros(2, np.float32)
        try:
            got = kernel(x).numpy()
        except sg.KernelCompileError as error:
            if "global const initializers must be constant" not in str(error):
                raise
            pytest.skip("the glslang of this build takes no constant from its bits; newer ones do")
        np.testing.assert_array_equal(got, expected)


@pytest.mark.gpu
def test_names_of_tensors_do_not_touch_members(gpu: sg.Device) -> None:
    source = "uint i = gl_GlobalInvocationID.x; vec2 v = vec2(1.0, 2.0); if (i < y_size) y [i] = x[i] + v.x + v.y;"
    assert glsl_kernel("members", source, ["x"], ["y"], unchecked=True)(sg.ones(2, device=gpu)).tolist() == [4.0, 4.0]


@pytest.mark.gpu
def test_more_elements_than_one_axis_of_groups(gpu: sg.Device) -> None:
    limit = sg._core._glsl_limits(gpu)[0]
    n = min(limit, 70000) * 4 + 3
    kernel = glsl_kernel("count", "uint i = global_index; if (i < y_size) store(y, i, int(i));", ["x"],
                         [("y", n, sg.int32)], local_size=1)  # fmt: skip
    np.testing.assert_array_equal(kernel(sg.zeros(1, device=gpu)).numpy(), np.arange(n))


@pytest.mark.gpu
def test_the_gradient_is_the_users_and_of_any_order(gpu: sg.Device) -> None:
    kernel = square(grad=lambda grads, inputs, outputs: grads[0] * 2 * inputs[0])
    x = sg.tensor([1.0, -2.0, 3.0], device=gpu, requires_grad=True)
    (first,) = sg.autograd.grad((kernel(x * 2) * x).sum(), x, create_graph=True)  # 4 x**3
    np.testing.assert_allclose(first.detach().numpy(), 12 * x.detach().numpy() ** 2)
    (second,) = sg.autograd.grad(first.sum(), x)
    np.testing.assert_allclose(second.numpy(), 24 * x.detach().numpy())


@pytest.mark.gpu
def test_a_gradient_may_be_a_kernel_and_read_outputs(gpu: sg.Device) -> None:
    halves = "uint i = global_index; if (i < d_size) store(d, i, 0.5 * load(g, i) / load(y, i));"
    back = glsl_kernel("root_back", halves, ["g", "y"], ["d"])
    root = glsl_kernel(
        "root", "uint i = global_index; if (i < y_size) store(y, i, sqrt(load(x, i)));", ["x"], ["y"],
        grad=lambda grads, inputs, outputs: back(grads[0], outputs[0]),
    )  # fmt: skip
    x = sg.tensor([1.0, 4.0, 16.0], device=gpu, requires_grad=True)
    root(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [0.5, 0.25, 0.125])


@pytest.mark.gpu
def test_gradients_that_do_not_fit_are_errors(gpu: sg.Device) -> None:
    x = sg.ones(3, device=gpu, requires_grad=True)
    with pytest.raises(sg.LimitError, match=r"square: this kernel has no gradient; give glsl_kernel a grad="):
        square()(x).sum().backward()
    with pytest.raises(ValueError, match="2 gradients for 1 inputs"):
        square(grad=lambda g, i, o: (g[0], g[0]))(x).sum().backward()
    with pytest.raises(ValueError, match=r"shape \(\) for x"):
        square(grad=lambda g, i, o: g[0].sum())(x).sum().backward()


@pytest.mark.gpu
def test_a_mistake_is_raised_at_the_call_with_its_line(gpu: sg.Device) -> None:
    x = sg.ones(3, device=gpu)
    body = glsl_kernel("bad", "uint i = global_index;\n\n  store(y, i, q * load(x, i));\n", ["x"], ["y"])
    with pytest.raises(sg.KernelCompileError, match=r"bad: line 3: 'q' : undeclared.*`store\(y, i, q \* load\(x, i\)"):
        body(x)
    missing = "float f(float v) {\n  return v\n}\nvoid main() { store(y, 0, f(load(x, 0))); }"
    whole = glsl_kernel("bad", missing, ["x"], ["y"])
    with pytest.raises(sg.KernelCompileError, match=r"line 3: .*syntax error"):
        whole(x)
    assert square()(x).tolist() == [1.0, 1.0, 1.0], "what comes after is not touched"


@pytest.mark.gpu
def test_a_kernel_reads_sixteen_inputs(gpu: sg.Device) -> None:
    names = [f"a{i}" for i in range(16)]
    weigh = glsl_kernel(
        "weigh", f"store(y, 0, {' + '.join(f'{i}.0 * load({n}, 0)' for i, n in enumerate(names))});", names, ["y"]
    )
    leaf = sg.arange(16.0, device=gpu)
    assert weigh(*[leaf[i : i + 1] for i in range(16)]).item() == sum(i * i for i in range(16))
    assert weigh(*[leaf[i : i + 1] + i for i in range(16)]).item() == sum(2 * i * i for i in range(16))


@pytest.mark.gpu
def test_limits_are_named(gpu: sg.Device) -> None:
    x = sg.ones(3, device=gpu)
    with pytest.raises(sg.LimitError, match="local_size"):
        square(local_size=1 << 20)(x)
    with pytest.raises(sg.LimitError, match="groups"):
        square(groups=1 << 40)(x)
    many = glsl_kernel("many", "store(y, 0, load(a0, 0));", [f"a{i}" for i in range(17)], ["y"])
    with pytest.raises(sg.LimitError, match="17 inputs"):
        many(*[x] * 17)
    with pytest.raises(ValueError, match="different devices"):
        glsl_kernel("two", "store(y, 0, load(a, 0));", ["a", "b"], ["y"])(x, sg.ones(3))


@pytest.mark.gpu
def test_a_profile_shows_it_by_name(gpu: sg.Device) -> None:
    x = sg.ones(1000, device=gpu)
    square()(x).numpy()
    with sg.profiler.profile() as prof:
        square()(x).numpy()
    (event,) = [e for e in prof.events() if e.category == "kernel"]
    assert (event.name, event.bytes) == ("square", 8000)


def test_on_the_cpu_it_raises_or_uses_the_function() -> None:
    x = sg.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(sg.LimitError, match=r"square: a glsl_kernel runs on a GPU; move the inputs with .to\('gpu'\)"):
        square()(x)
    kernel = square(cpu=lambda x: x * x, grad=lambda g, i, o: g[0] * 2 * i[0])
    kernel(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 4.0]
    with pytest.raises(ValueError, match=r"cpu= returned float32 \(\) for y, which is float32 \(2,\)"):
        square(cpu=lambda x: x.sum())(x)


def test_definitions_are_checked() -> None:
    for arguments, message in [
        (("1st", SQUARE, ["x"], ["y"]), "not an identifier"),
        (("k", SQUARE, [], ["y"]), "at least one"),
        (("k", SQUARE, ["x"], ["x"]), "used twice"),
        (("k", SQUARE, ["gl_x"], ["y"]), "cannot be a name"),
        (("k", SQUARE, ["a__b"], ["y"]), "cannot be a name"),
        (("k", SQUARE, ["x"], [("y", (1,), sg.int32, 4)]), r"not \(name, shape, dtype\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            glsl_kernel(*arguments)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the constant N is a str"):
        square(constants={"N": "4"})
    with pytest.raises(ValueError, match="32 bits"):
        square(constants={"N": 1 << 40})
    with pytest.raises(TypeError, match="2 inputs given, it has 1: x"):
        square()(sg.ones(1), sg.ones(1))
    with pytest.raises(TypeError, match="a tensor is needed"):
        square()(3.0)  # type: ignore[arg-type]
