"""Options and states have PyTorch's names, so that state dicts go both ways."""

from __future__ import annotations

import numpy as np
import pytest

import spirograd as sg

# Options of PyTorch's optimisers, in version 2.13, besides "params".
KEYS = {
    "ASGD": "alpha capturable differentiable foreach lambd lr maximize t0 weight_decay",
    "Adadelta": "capturable differentiable eps foreach lr maximize rho weight_decay",
    "Adafactor": "beta2_decay d eps foreach lr maximize weight_decay",
    "Adagrad": "differentiable eps foreach fused initial_accumulator_value lr lr_decay maximize weight_decay",
    "Adam": "amsgrad betas capturable decoupled_weight_decay differentiable eps foreach fused lr maximize weight_decay",
    "Adamax": "betas capturable differentiable eps foreach lr maximize weight_decay",
    "LBFGS": "history_size line_search_fn lr max_eval max_iter tolerance_change tolerance_grad",
    "Muon": "adjust_lr_fn eps lr momentum nesterov ns_coefficients ns_steps weight_decay",
    "NAdam": "betas capturable decoupled_weight_decay differentiable eps foreach lr maximize momentum_decay "
    "weight_decay",
    "RAdam": "betas capturable decoupled_weight_decay differentiable eps foreach lr maximize weight_decay",
    "RMSprop": "alpha capturable centered differentiable eps foreach lr maximize momentum weight_decay",
    "Rprop": "capturable differentiable etas foreach lr maximize step_sizes",
    "SGD": "dampening differentiable foreach fused lr maximize momentum nesterov weight_decay",
    "SparseAdam": "betas eps lr maximize",
}
KEYS["AdamW"] = KEYS["Adam"]


@pytest.mark.parametrize("name", KEYS)
def test_groups_have_the_keys_of_pytorch(name: str) -> None:
    make = getattr(sg.optim, name)
    opt = make([sg.ones(2, 2, requires_grad=True)])
    assert sorted(opt.defaults) == KEYS[name].split()
    assert sorted(opt.state_dict()["param_groups"][0]) == sorted([*KEYS[name].split(), "params"])
    if "foreach" in KEYS[name]:
        assert make([sg.ones(2, requires_grad=True)], foreach=True).param_groups[0]["foreach"] is True
        with pytest.raises(TypeError, match=f"{name}: there is no option foreech"):
            make([sg.ones(2, requires_grad=True)], foreech=True)


def test_lbfgs_has_the_state_of_pytorch() -> None:
    """The names of 2.13; `al` holds the factors of the first loop of the last direction."""
    w = sg.tensor([3.0, -2.0], requires_grad=True)
    opt = sg.optim.LBFGS([w], lr=0.1, max_iter=4)

    def closure() -> sg.Tensor:
        opt.zero_grad()
        loss = (w**2 * sg.tensor([1.0, 3.0])).sum()
        loss.backward()
        return loss

    opt.step(closure)
    state = opt.state_dict()["state"][0]
    names = "H_diag al d func_evals n_iter old_dirs old_stps prev_flat_grad prev_loss ro t"
    assert sorted(state) == names.split()
    np.testing.assert_allclose(state["al"], [-0.9276, -0.1908, 9.2003], rtol=1e-3)
