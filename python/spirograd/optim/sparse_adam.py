"""Adam that leaves rows alone which have no gradient."""

from __future__ import annotations

from typing import Any

from .._core import Tensor, tensor, where, zeros_like
from ..base.grad_mode import enable_grad, no_grad
from .optimizer import Optimizer

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for tables of which each step uses a few rows: the others, and their moments, stay as they are.

    PyTorch knows the rows from the indices of a sparse gradient. Gradients are dense here, and the rows are those
    whose gradient is not 0.

    Args:
        params: tensors, or groups of them.
        lr: the learning rate, a number or a 0-d tensor.
        betas: decay of the running mean and of the running square.
        eps: added to the denominator.
        maximize: go up, not down.

    Raises:
        ValueError: lr or eps is not above 0, or a beta is not in [0, 1).

    Example:
        >>> table = sg.nn.Embedding(3, 2)
        >>> optimizer, before = sg.optim.SparseAdam(table.parameters()), table.weight.detach().clone()
        >>> table(sg.tensor([1])).sum().backward()
        >>> optimizer.step()
        >>> (table.weight != before).any(1).tolist()
        [False, True, False]
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        for name, value in (("lr", lr), ("eps", eps)):
            if not isinstance(value, Tensor) and not value > 0:
                raise ValueError(f"SparseAdam: {name} is {value}; use a number above 0")
        for beta in betas:
            if not 0 <= beta < 1:
                raise ValueError(f"SparseAdam: beta is {beta}; use a number in [0, 1)")
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "eps": eps, "maximize": maximize})

    def step(self, closure: Any = None) -> Any:
        """One step.

        Args:
            closure: computes the loss and its gradients.

        Returns:
            What the closure returned.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._change_rows(p, p.grad, group)
        return loss

    def _change_rows(self, p: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[p]
        if not state:
            state.update(step=0, exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
        state["step"] += 1
        if group["maximize"]:
            gradient = -gradient
        used = gradient != 0
        for dim in range(1, p.ndim):
            used = used.any(dim, keepdim=True)
        (beta1, beta2), step = group["betas"], state["step"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.copy_(where(used, mean + (gradient - mean) * (1 - beta1), mean))
        square.copy_(where(used, square + (gradient * gradient - square) * (1 - beta2), square))
        size = group["lr"] * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        change = mean / (square.sqrt() + group["eps"]) * size
        p.sub_(where(used, change, tensor(0.0, dtype=p.dtype, device=p.device)))
