"""The rows that Python functions are made of."""

from __future__ import annotations

import spirograd as sg

# Under autocast: products in the half type, what adds up or grows in float32. All other rows take what comes.
NARROW = "matmul mm bmm mv addmm addmv addbmm baddbmm chain_matmul einsum conv1d conv2d conv3d "
NARROW += "conv_transpose1d conv_transpose2d _linear_cross_entropy"
WIDE = "sum mean prod var std var_mean std_mean nansum nanmean norm logsumexp cumsum cumprod logcumsumexp softmax "
WIDE += "log_softmax cross_entropy nll_loss exp exp2 expm1 log log10 log1p log2 pow power reciprocal rsqrt cosh sinh "
WIDE += "tan acos arccos asin arcsin softplus logsigmoid logaddexp cov corrcoef quantile nanquantile"


def test_what_autocast_does_to_each_row() -> None:
    assert sorted(sg._core._autocast_narrow) == sorted(NARROW.split())
    assert sorted(sg._core._autocast_wide) == sorted(WIDE.split())
