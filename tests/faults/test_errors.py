"""Error texts are part of the interface: `op: what is wrong, with the values; what to do`."""

from __future__ import annotations

import inspect
import re
import time
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn

F = nn.functional
NUMBERS = "use bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32 or float64"


def ones(*shape: int, **options: object) -> sg.Tensor:
    return sg.ones(*shape, **options)


def in_itself() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        # creation
        (lambda: sg.tensor(np.ones(2, np.uint16)), TypeError,
         f"tensor: dtype uint16 is not supported; {NUMBERS}, or pass dtype= to convert"),
        (lambda: sg.tensor(np.array([object()])), TypeError, f"tensor: dtype object is not supported; {NUMBERS}"),
        (lambda: sg.tensor("abc"), TypeError, f"tensor: dtype <U3 is not supported; {NUMBERS}"),
        (lambda: sg.tensor(np.array(["2020-01-01"], "M8[D]")), TypeError,
         f"tensor: dtype datetime64[D] is not supported; {NUMBERS}"),
        (lambda: sg.tensor(np.ones(1, "c16"), dtype=sg.float32), TypeError,
         "tensor: complex128 does not fit into float32; take its .real or .imag"),
        (lambda: sg.tensor(None), TypeError, f"tensor: dtype object is not supported; {NUMBERS}"),
        (lambda: sg.tensor(["a"], dtype=sg.float32), TypeError, f"tensor: dtype <U1 is not supported; {NUMBERS}"),
        (lambda: sg.tensor(2**70), OverflowError, "tensor: an integer does not fit into int64; use a float"),
        (lambda: sg.tensor([1, 2**70]), OverflowError, "tensor: an integer does not fit into int64; use a float"),
        (lambda: sg.tensor([2**63]), OverflowError, "tensor: an integer does not fit into int64; use a float"),
        (lambda: ones(2) + 2**70, OverflowError, "tensor: an integer does not fit into int64; use a float"),
        (lambda: sg.tensor([[1, 2], [3]]), ValueError,
         "tensor: the nested lists have different lengths; make them a rectangle"),
        (lambda: sg.tensor(in_itself()), ValueError,
         "tensor: the lists are nested deeper than the 8 dimensions of a tensor; flatten them first"),
        (lambda: sg.stack(in_itself()), TypeError, "stack: a tensor is needed, got list; make one with tensor()"),
        (lambda: sg.tensor([1], dtype="complex64"), TypeError, f"tensor: dtype complex64 is not supported; {NUMBERS}"),
        (lambda: sg.tensor([1], dtype="what"), TypeError, f"tensor: dtype 'what' is not supported; {NUMBERS}"),
        (lambda: sg.tensor([1], requires_grad=True), TypeError,
         "requires_grad: a tensor of int64 has no gradient; use float32 or float64"),
        (lambda: sg.zeros(2, shap=3), TypeError,
         "zeros: unknown keyword 'shap'; did you mean size?"),
        (lambda: sg.zeros(), TypeError, "zeros: argument size is missing; see help(spirograd.zeros)"),
        (lambda: ones(2).sum(axes=0), TypeError, "sum: unknown keyword 'axes'; did you mean dim?"),
        (lambda: ones(2).sum(colour=0), TypeError,
         "sum: unknown keyword 'colour'; its keywords are dim, keepdim, dtype"),
        (lambda: ones(2).sum(0, dim=0), TypeError, "sum: argument dim is given twice; give it once"),
        (lambda: ones(2) * [1, 2], TypeError,
         "mul: one operand is a tensor, the other a list; make a tensor of it with sg.tensor()"),
        (lambda: (1, 2) - ones(2), TypeError,
         "sub: one operand is a tensor, the other a tuple; make a tensor of it with sg.tensor()"),
        (lambda: sg.einsum("bij,bjk->bik", ones(2, 3, 4), ones(2, 5, 6)), ValueError,
         "einsum: 'j' is 4 and 5 in 'bij,bjk->bik', shapes [2, 3, 4], [2, 5, 6]; a letter has one size"),
        (lambda: ones(3).view(2, 2), ValueError,
         "view: [3] has 3 elements, [2, 2] does not; keep the number of elements"),
        (lambda: sg.nn.Linear("2", 2), TypeError, "Linear: in_features is '2', a str; give a whole number"),
        (lambda: sg.nn.Conv2d(1, 2.0, 3), TypeError, "Conv2d: out_channels is 2.0, a float; give a whole number"),
        (lambda: sg.optim.SGD(sg.nn.Linear(2, 2), lr=0.1), TypeError,
         "SGD: params is a Linear; pass its parameters()"),
        (lambda: sg.nn.functional.mse_loss(ones(2), 1.0), TypeError,
         "mse_loss: target is a float; a tensor is needed"),
        (lambda: sg.cuda, AttributeError,
         'cuda: GPUs are used through Vulkan; use .to("gpu") and sg.accelerator'),
        (lambda: sg.tensor(300, dtype=sg.uint8), ValueError,
         "tensor: 300 does not fit into uint8; use a wider type, or convert a tensor of int64"),
        (lambda: sg.tensor([[1, -129]], dtype=sg.int8), ValueError,
         "tensor: -129 does not fit into int8; use a wider type, or convert a tensor of int64"),
        (lambda: sg.zeros(-1), ValueError, "zeros: negative size in shape [-1]; use sizes of 0 or more"),
        (lambda: sg.zeros(2.0), TypeError, "zeros: sizes are needed, got float; give ints or a tuple of ints"),
        (lambda: sg.zeros("ab"), TypeError, "zeros: an integer is needed, got str; give an int"),
        (lambda: sg.zeros(*[1] * 9), ValueError, None),
        (lambda: sg.full((2,), "a"), TypeError, "full: a number is needed, got str; give a float or an int"),
        (lambda: sg.arange(), TypeError, "arange: argument end is missing; write arange(end) or arange(start, end)"),
        (lambda: sg.arange(0, 5, 0), ValueError, "arange: step 0 or a bound that is not finite; use a finite range"),
        (lambda: sg.arange(0, 5, -1), ValueError, None),
        (lambda: sg.rand(2, dtype=sg.int64), TypeError,
         "rand: dtype int64 has no such numbers; use a floating type"),
        # shapes
        (lambda: ones(2, 3) @ ones(4, 5), ValueError,
         "matmul: inner sizes differ, [2, 3] @ [4, 5] (3 vs 4); transpose one side?"),
        (lambda: ones(2) @ 3, TypeError, "matmul: a number is no matrix; multiply with *"),
        (lambda: ones(2, 3) + ones(4), ValueError, None),
        (lambda: ones(2, 3).reshape(5), ValueError,
         "reshape: [2, 3] has 6 elements, [5] does not; keep the number of elements"),
        (lambda: ones(2, 3).T.view(-1), ValueError,
         "view: [3, 2] with strides [1, 3] has no view of shape [-1]; use reshape()"),
        (lambda: ones(2, 3).sum(2), IndexError, None),
        (lambda: ones(2, 3).sum((0, 0)), ValueError, "sum: dimension 0 is given twice; name each once"),
        (lambda: ones(2, 3).sum(dim=0, axis=0), TypeError, "sum: both dim and axis are given; give one of them"),
        (lambda: ones(2, 3).sum(0, False, 1), TypeError, "sum: 1 argument(s) too many; see help(spirograd.sum)"),
        (lambda: ones(2, 3).sum("a"), TypeError, "sum: an integer is needed, got str; give an int"),
        (lambda: ones(0, 3).max(), ValueError,
         "max: no elements along dimension 0 of [0, 3]; check the shape first"),
        (lambda: ones(2, 3) + ones(4, 2), ValueError,
         "add: shapes do not broadcast, [2, 3] and [4, 2] (3 vs 2); reshape one side or insert a dimension of size 1"),
        (lambda: ones(2, 3) @ ones(4, 2), ValueError,
         "matmul: inner sizes differ, [2, 3] @ [4, 2] (3 vs 4); transpose one side?"),
        (lambda: ones(2).expand(3), ValueError,
         "expand: [2] does not expand to [3] (2 vs 3); only sizes of 1 can be repeated"),
        (lambda: ones(3).mT, ValueError, "mT: a tensor of shape [3] has no matrices; use two dimensions or more"),
        (lambda: sg.exp(2.0), TypeError, "exp: a tensor is needed, got float; make one with tensor()"),
        (lambda: sg.exp(), TypeError, "exp: argument input is missing; see help(spirograd.exp)"),
        (lambda: sg.maximum(1.0, 2.0), TypeError,
         "maximum: needs a tensor, got numbers only; make one of them a tensor"),
        (lambda: sg.maximum(ones(2), [1]), TypeError,
         "maximum: a tensor or a number is needed, got list; make a tensor with tensor()"),
        # indexing
        (lambda: ones(2)[2], IndexError, "getitem: index 2 out of range for dimension 0 of size 2; use -2 to 1"),
        (lambda: ones(2)[0, 0], IndexError, "getitem: 2 indices for shape [2]; use at most one a dimension"),
        (lambda: ones(())[0], IndexError, None),
        (lambda: ones(3)[::-1], ValueError, "getitem: a slice step of -1; use .flip(0)"),
        (lambda: ones(3)[::0], ValueError, "getitem: a slice step of 0; use steps of 1 or more"),
        (lambda: ones(3)[1.0], TypeError,
         "getitem: an index of type float is not supported; use integers, slices, None, ..., tensors, arrays and "
         "lists"),
        (lambda: ones(3)[[True, False]], IndexError,
         "getitem: a mask of shape [2] at dimension 0 of [3]; give the mask the sizes of the dimensions it stands for"),
        (lambda: ones(3)[sg.ones(1)], IndexError, "getitem: an index of float32; use integers or bool"),
        (lambda: ones(3)[..., ...], IndexError, "getitem: more than one ... in an index; use it once"),
        (lambda: ones(3).__setitem__(0, "a"), TypeError,
         "setitem: a tensor, an array or a number is needed, got str; make a tensor with tensor()"),
        (lambda: ones(3).__delitem__(0), TypeError,
         "delitem: elements of a tensor cannot be deleted; slice what you want to keep"),
        (lambda: ones(3).__setitem__(slice(None), ones(2)), ValueError, None),
        # numbers
        (lambda: ones(2).item(), ValueError,
         "item: the tensor has 2 elements, not one; index or reduce it first, or use tolist()"),
        (lambda: bool(ones(2)), ValueError,
         "bool: the truth of 2 elements is ambiguous; reduce to one element, or compare in NumPy"),
        (lambda: len(ones(())), TypeError, "len: a 0-d tensor has no length; use numel()"),
        (lambda: list(ones(())), TypeError, "iter: a 0-d tensor cannot be iterated over; use item()"),
        (lambda: range(10)[ones(())], TypeError,
         "index: a tensor of float32 is no index; convert it with .long()"),
        # in place
        (lambda: ones(2, requires_grad=True).add_(1), sg.Error,
         "add_: a leaf that requires grad cannot be written in place; write under no_grad(), or to a clone()"),
        (lambda: sg.tensor([1]).add_(0.5), TypeError,
         "add_: the result is float32, the tensor int64; convert the tensor first"),
        (lambda: ones(2).add_(ones(3, 2)), ValueError,
         "add_: the result has shape [3, 2], the tensor [2]; the other side must broadcast to the tensor"),
        # gradients
        (lambda: ones(2, requires_grad=True).numpy(), sg.Error,
         "numpy: the tensor is part of a gradient graph that NumPy does not see; call detach() first: "
         ".detach().numpy()"),
        (lambda: ones(2, requires_grad=True).backward(), ValueError,
         "backward: a gradient is needed for a tensor of shape [2]; reduce it to one element (sum, mean) or pass "
         "gradient="),
        (lambda: ones(1).backward(), sg.Error, None),
        (lambda: setattr(ones(2), "grad", ones(3)), ValueError,
         "grad: a gradient [3] float32 on cpu for a tensor [2] float32 on cpu; they must agree"),
        (lambda: setattr(ones(2), "grad", 1), TypeError, "grad: a tensor is needed, got int; make one with tensor()"),
        (lambda: sg.autograd.gradcheck(sg.exp, ones(2, requires_grad=True)), TypeError,
         "gradcheck: input 0 is float32; use float64, differences need it"),
        # models
        (lambda: F.cross_entropy(ones(2, 3), ones(3)), ValueError,
         "cross_entropy: logits [2, 3] and target [3] do not fit; give logits [n, classes, ...] and target [n, ...], "
         "or probabilities of the logits' shape"),
        (lambda: F.cross_entropy(ones(2, 3), ones(2)), TypeError,
         "cross_entropy: target is float32; give classes as int64"),
        (lambda: F.cross_entropy(ones(2, 3), sg.tensor([0, 1]), reduction="max"), ValueError,
         "cross_entropy: reduction 'max' is unknown; use mean, sum or none"),
        (lambda: F.mse_loss(ones(2), ones(2, 1)), ValueError,
         "mse_loss: input has shape [2], target [2, 1]; reshape one of them"),
        (lambda: nn.Sequential(1), TypeError, "Sequential: module 0 is a int; pass modules"),
        # devices
        (lambda: sg.device("cuda"), ValueError,
         "device: 'cuda' names no device: GPUs are used through Vulkan; use \"gpu\""),
        (lambda: sg.zeros(1, device=3), TypeError,
         "device: a Device or a string is needed, got int; use \"cpu\", \"gpu\" or \"gpu:1\""),
        (lambda: sg.device(3, 1), TypeError,
         "device: with a number a string is needed, got int; write device(\"gpu\", 1)"),
        (lambda: sg.Device.gpu(200), sg.DeviceUnavailableError, None),
    ],
)  # fmt: skip
def test_text(call: object, kind: type, text: str | None) -> None:
    with pytest.raises(kind) as caught:
        call()
    got = str(caught.value)
    assert "\n" not in got and re.match(r"[\w:]+: .+", got), got
    assert type(caught.value) is kind or issubclass(type(caught.value), kind)
    if text is not None:
        assert got == text


def test_second_backward() -> None:
    y = (ones(2, requires_grad=True).exp()).sum()
    y.backward()
    with pytest.raises(sg.Error, match="freed by an earlier backward; pass retain_graph=True to the first one"):
        y.backward()
    z = ones(2, requires_grad=True).exp().sum()
    z.backward(retain_graph=True)
    z.backward()


def test_class_out_of_range(device: sg.Device) -> None:
    loss = F.cross_entropy(ones(2, 3, device=device), sg.tensor([0, 3], device=device))
    with pytest.raises(IndexError, match=r"cross_entropy: index 3 out of range \[0, 3\)"):
        loss.item()
    assert ones(2, device=device).tolist() == [1, 1], "work goes on"


def test_an_index_out_of_range_names_the_line_that_asked(device: sg.Device) -> None:
    table, index = sg.arange(6.0, device=device).reshape(3, 2), sg.tensor([0, 3], device=device)
    rows = table.index_select(0, index)  # this line
    line = inspect.getsourcelines(test_an_index_out_of_range_names_the_line_that_asked)[1] + 2
    with pytest.raises(
        IndexError, match=rf"index_select: index 3 out of range \[0, 3\) at .*test_errors.py:{line}, recorded 1 op"
    ):
        rows.sum().item()


def test_an_index_out_of_range_of_the_second_of_two_runs_names_its_line(device: sg.Device) -> None:
    table, wide = sg.arange(6.0, device=device).reshape(3, 2), sg.ones(600, 600, device=device)
    right, wrong = sg.tensor([0, 2], device=device), sg.tensor([0, 3], device=device)
    line = inspect.getsourcelines(test_an_index_out_of_range_of_the_second_of_two_runs_names_its_line)[1] + 7
    for index in (right, wrong):  # the second time, nothing is compiled between the two runs
        loss = F.cross_entropy(wide @ wide @ wide @ wide, sg.zeros(600, dtype=sg.int64, device=device))
        loss.realize()
        rows = table.index_select(0, index)  # this line
        rows.realize()
        if index is right:
            sg.synchronize(device)
    with pytest.raises(
        IndexError, match=rf"index_select: index 3 out of range \[0, 3\) at .*test_errors.py:{line}, recorded 1 op"
    ):
        rows.tolist()


def test_a_run_after_one_that_reported_and_was_not_asked_raises_too(device: sg.Device) -> None:
    x = sg.arange(6.0, device=device).realize()
    for index in (5, 6):  # the second time, nothing is compiled
        at = sg.tensor([index], device=device)
        first, second = x.take(at).realize(), (x * 2).index_select(0, at).realize()
        time.sleep(0.2)
        third = (x * 3).gather(0, at).realize()
        if index == 5:
            sg.synchronize(device)
    for y in (first, second, third):
        with pytest.raises(IndexError, match="index 6 out of range"):
            y.tolist()
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


def test_what_depends_on_an_index_out_of_range_raises_each_time(device: sg.Device) -> None:
    x = sg.arange(6.0, device=device).realize()
    wrong, beside = x.take(sg.tensor([6], device=device)), x * 2
    for _ in range(2):
        with pytest.raises(IndexError, match=r"take: index 6 out of range \[0, 6\)"):
            wrong.item()
    with pytest.raises(IndexError, match="take: index 6"):
        (wrong + 1).tolist()
    assert (beside + 1).tolist() == [1, 3, 5, 7, 9, 11] and x.tolist() == [0, 1, 2, 3, 4, 5]


def test_what_is_told_later_names_what_it_was(device: sg.Device) -> None:
    drawn = sg.bernoulli(sg.tensor([1.5], device=device))
    with pytest.raises(ValueError, match=r"^bernoulli: a probability is not in \[0, 1\]"):
        drawn.tolist()
    with pytest.raises(ValueError, match=r"^bernoulli: a probability is not in \[0, 1\]"):
        (drawn + 1).sum().item()


def test_wrong_devices() -> None:
    if not sg.Device.is_gpu_available():
        with pytest.raises(sg.DeviceUnavailableError):
            ones(2, device="gpu")
        return
    with pytest.raises(
        ValueError, match=r"add: inputs are on different devices, cpu and gpu:0; move the one on the CPU with .to\("
    ):
        ones(2) + ones(2, device="gpu")
    target = sg.zeros(2, dtype=sg.int64)
    with pytest.raises(ValueError, match=r"^cross_entropy: inputs .*; move the one on the CPU with .to\(\"gpu:0\"\)$"):
        sg.cross_entropy(ones(2, 3, device="gpu"), target)
    f = sg.nn.functional
    for loss in (f.mse_loss, f.huber_loss, f.kl_div, f.binary_cross_entropy_with_logits, f.hinge_loss):
        with pytest.raises(ValueError, match=f"^{loss.__name__}: inputs are on different devices"):
            loss(ones(2, device="gpu"), ones(2))
    with pytest.raises(ValueError, match=r"^MSELoss: inputs are on different devices"):
        sg.nn.MSELoss()(ones(2), ones(2, device="gpu"))
    for layer, shape in ((sg.nn.BatchNorm1d(3), (2, 3)), (sg.nn.LSTM(3, 3), (2, 2, 3)), (sg.nn.Linear(3, 3), (2, 3))):
        for model in (layer.to("gpu"), sg.nn.Sequential(layer)):
            with pytest.raises(ValueError, match=f"^({type(layer).__name__}|linear): inputs are on different devices"):
                model(ones(*shape))


@pytest.mark.parametrize(
    ("kind", "bases"),
    [
        (sg.Error, (RuntimeError,)),
        (sg.OutOfMemoryError, (sg.Error, MemoryError)),
        (sg.DeviceLostError, (sg.Error,)),
        (sg.DeviceTimeoutError, (sg.Error, TimeoutError)),
        (sg.DeviceUnavailableError, (sg.Error,)),
        (sg.LimitError, (sg.Error, ValueError)),
        (sg.KernelCompileError, (sg.Error,)),
        (sg.ForkError, (sg.Error,)),
        (sg.DistributedError, (sg.Error,)),
        (sg.FileFormatError, (sg.Error, ValueError)),
        (sg.FallbackWarning, (UserWarning,)),
        (sg.CacheWarning, (UserWarning,)),
    ],
)
def test_classes(kind: type, bases: tuple[type, ...]) -> None:
    assert kind.__bases__ == bases and kind.__module__ == "spirograd" and kind.__doc__


def test_out_of_memory(run_python: object) -> None:
    out = run_python(
        "import spirograd as sg\n"
        "try:\n    sg.ones(1 << 28).numpy()\n"
        "except sg.OutOfMemoryError as e:\n    assert isinstance(e, MemoryError); print('caught')\n"
        "print(sg.ones(3).tolist())",
        SPIROGRAD_MEMORY_LIMIT=str(1 << 24),
    )
    assert out == "caught\n[1.0, 1.0, 1.0]\n"


@pytest.mark.parametrize(("limit", "fits"), [("16MiB", True), ("16M", True), ("16384KB", True), ("15MiB", False)])
def test_a_memory_limit_may_have_a_unit(run_python: object, limit: str, fits: bool) -> None:
    code = "import spirograd as sg\ntry:\n    sg.ones(1 << 22).numpy()\nexcept MemoryError:\n    print('no')"
    assert run_python(code, SPIROGRAD_MEMORY_LIMIT=limit) == ("" if fits else "no\n")


NO_NUMBERS = ["abc", "-5", "4x", "1e3", "99999999999999999999", "4 4", "\u0664", "0x4", "nan", "inf"]


@pytest.mark.parametrize("value", NO_NUMBERS)
@pytest.mark.parametrize("name", ["SPIROGRAD_THREADS", "SPIROGRAD_DEBUG", "SPIROGRAD_COLLECTIVE_TIMEOUT"])
def test_a_variable_that_is_no_number_is_refused(run_python: object, name: str, value: str) -> None:
    if name.endswith("TIMEOUT") and value in ("1e3", "99999999999999999999", "\u0664"):
        pytest.skip("a number of seconds")
    code = "import spirograd as sg\ntry:\n    sg.ones(3).numpy(); sg.distributed.init_process_group()\n"
    said = run_python(code + "except ValueError as e:\n    print(ascii(str(e)))", **{name: value})
    assert name in said and "is no" in said and "\\n" not in said, said


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["SPIROGRAD_TIMEOUT", "SPIROGRAD_SPECIALIZE", "SPIROGRAD_SUBMISSION_COST"])
def test_a_variable_of_the_gpu_that_is_no_number_is_refused(run_python: object, name: str) -> None:
    code = "import spirograd as sg\ntry:\n    for _ in range(3): (sg.ones(3, 4, device='gpu') + 1).sum(1).numpy()\n"
    said = run_python(code + "except ValueError as e:\n    print(e)", **{name: "abc"})
    assert said.startswith(f"{name}: 'abc' is no "), said


@pytest.mark.parametrize("limit", ["much", "-5", "12 apples", "9000000000T"])
def test_a_memory_limit_that_is_none_is_refused(run_python: object, limit: str) -> None:
    code = "import spirograd as sg\ntry:\n    sg.ones(3).numpy()\nexcept ValueError as e:\n    print(e)"
    assert f"SPIROGRAD_MEMORY_LIMIT: '{limit}' is no number of bytes" in run_python(code, SPIROGRAD_MEMORY_LIMIT=limit)


NUMBER_CALLS: list[Any] = [
    lambda: sg.isclose(sg.tensor([1, 2]), 1),
    lambda: sg.allclose(sg.tensor([1, 2]), 1),
    lambda: sg.masked_select(sg.ones(2), True),
    lambda: sg.ones(2).masked_scatter(True, sg.ones(2)),
    lambda: sg.searchsorted(2.5, 1),
    lambda: F.avg_pool1d(1, 2),
    lambda: F.avg_pool2d(1, 2),
    lambda: F.lp_pool1d(1, 2, 2),
]


@pytest.mark.parametrize("call", NUMBER_CALLS)
def test_a_number_where_a_tensor_is_needed_is_an_error_and_no_crash(call: Any) -> None:
    with pytest.raises(TypeError, match=r": a number where a tensor is needed; make it one with sg\.tensor\(\)"):
        call()


EMPTY_CALLS: list[Any] = [
    lambda: sg.zeros(0).take(sg.tensor([1, 2])),
    lambda: sg.zeros(0).gather(0, sg.tensor([0])),
    lambda: sg.zeros(0, 3)[sg.tensor([1, 2])],
    lambda: sg.zeros(0, 3).index_select(0, sg.tensor([0])),
    lambda: F.embedding(sg.tensor([1]), sg.zeros(0, 3)),
    lambda: sg.zeros(0).index_add(0, sg.tensor([1]), sg.ones(1)),
    lambda: sg.zeros(0).scatter(0, sg.tensor([1]), sg.ones(1)),
]


@pytest.mark.parametrize("call", EMPTY_CALLS)
def test_an_index_into_nothing_is_an_error_and_no_crash(call: Any) -> None:
    with pytest.raises(IndexError, match="an index into a dimension of size 0"):
        call()


def test_no_index_into_nothing_is_nothing() -> None:
    assert sg.zeros(0, 3)[sg.zeros(0, dtype=sg.int64)].shape == (0, 3)
    with pytest.raises(TypeError, match="isin: two numbers"):
        sg.isin(1, 2)
