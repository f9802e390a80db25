"""The rows that Python functions are made of: checked when the module is imported."""

from __future__ import annotations

import pytest

import spirograd as sg

# Under autocast: products in the half type, what adds up or grows in float32. All other rows take what comes.
NARROW = "matmul mm bmm mv addmm addmv addbmm baddbmm chain_matmul einsum conv1d conv2d conv3d "
NARROW += "conv_transpose1d conv_transpose2d"
WIDE = "sum mean prod var std var_mean std_mean nansum nanmean norm logsumexp cumsum cumprod logcumsumexp softmax "
WIDE += "log_softmax cross_entropy nll_loss exp exp2 expm1 log log10 log1p log2 pow power reciprocal rsqrt cosh sinh "
WIDE += "tan acos arccos asin arcsin softplus logsigmoid logaddexp cov corrcoef quantile nanquantile"


def test_what_autocast_does_to_each_row() -> None:
    assert sorted(sg._core._autocast_narrow) == sorted(NARROW.split())
    assert sorted(sg._core._autocast_wide) == sorted(WIDE.split())


def test_rows_that_fit_are_taken() -> None:
    sg._core._check_callable("f", "", "None", "Does nothing.", 0)
    sg._core._check_callable("f", "a: int, *, b: tuple[int, int] = (0, 1)", "Tensor", "Adds.", 2)
    sg._core._check_callable("f", "*sizes: int | Sequence[int]", "Tensor", "Adds.", 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("", "", "None", "Adds.", 0), "row '': its name is no identifier"),
        (("f g", "", "None", "Adds.", 0), "row f g: its name is no identifier"),
        (("f", "", "", "Adds.", 0), "row f: its result is missing"),
        (("f", "", "None", "", 0), "row f: it has no docstring"),
        (("f", "a: int", "None", "Adds.", 2), "row f: its text names 1 arguments, its function takes 2"),
        (("f", "a", "None", "Adds.", 1), "row f: the parameter 'a' is not of the form"),
        (("f", "a: int =", "None", "Adds.", 1), "row f: the parameter 'a: int =' is not of the form"),
        (("f", "1a: int", "None", "Adds.", 1), "row f: the parameter '1a: int' is not of the form"),
        (("f", "a: list[int", "None", "Adds.", 1), "row f: the brackets of 'a: list[int' do not match"),
        (("sum", "", "None", "Adds.", 0), "row sum: its name is taken"),
    ],
)
def test_a_wrong_row_is_refused(wrong: tuple[str, str, str, str, int], message: str) -> None:
    with pytest.raises(sg.Error) as error:
        sg._core._check_callable(*wrong)
    assert str(error.value).startswith(message)
