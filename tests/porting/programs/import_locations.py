"""Where programs import names of PyTorch from, apart from its main modules, and what these do."""

import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._jit_internal import boolean_dispatch
from torch.cuda.amp.autocast_mode import autocast  # noqa: F401
from torch.cuda.streams import Event, Stream  # noqa: F401
from torch.distributed.elastic.multiprocessing.errors import record
from torch.distributed.optim import ZeroRedundancyOptimizer  # noqa: F401
from torch.nn.common_types import _size_2_t, _size_any_t  # noqa: F401
from torch.nn.grad import conv1d_weight, conv2d_input, conv2d_weight
from torch.nn.init import _no_grad_trunc_normal_
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.loss import _Loss, _WeightedLoss
from torch.nn.modules.padding import _ConstantPadNd, _ReflectionPadNd
from torch.nn.modules.pooling import _AvgPoolNd, _MaxPoolNd
from torch.nn.modules.utils import _list_with_default, _reverse_repeat_tuple
from torch.nn.parallel import parallel_apply  # noqa: F401
from torch.nn.parallel.data_parallel import DataParallel  # noqa: F401
from torch.nn.quantized import FloatFunctional
from torch.onnx.utils import export  # noqa: F401
from torch.quantization import DeQuantStub, QuantStub
from torch.utils.checkpoint import detach_variable
from torch.utils.collect_env import get_pretty_env_info
from torch.utils.data._utils.worker import get_worker_info

from checking import check


def test_base_classes_of_layers():
    check([isinstance(x, _Loss) for x in (nn.MSELoss(), nn.CrossEntropyLoss(), nn.ReLU())])
    check([isinstance(x, _WeightedLoss) for x in (nn.MSELoss(), nn.CrossEntropyLoss(), nn.NLLLoss())])
    check(isinstance(nn.Dropout2d(), _DropoutNd), isinstance(nn.MaxPool1d(2), _MaxPoolNd))
    check(isinstance(nn.AvgPool2d(2), _AvgPoolNd), isinstance(nn.ReflectionPad2d(1), _ReflectionPadNd))
    check(isinstance(nn.ZeroPad2d(1), _ConstantPadNd))


class Weighted(_WeightedLoss):
    def forward(self, x, y):
        return F.mse_loss(x, y, reduction=self.reduction) * self.weight


@pytest.mark.filterwarnings("ignore")
def test_a_loss_of_ones_own():
    own = Weighted(torch.tensor(2.0), size_average=False)
    check(own(torch.ones(3), torch.zeros(3)), isinstance(own, _Loss), own.reduction, list(own.state_dict()))


def test_helpers_of_functional():
    check(F._Reduction.legacy_get_string(False, None, emit_warning=False), F._Reduction.get_enum("sum"))
    check(F.has_torch_function((torch.ones(1),)), _reverse_repeat_tuple((1, 2), 2))
    check(_list_with_default((None, 3), (5, 6, 7)), _no_grad_trunc_normal_(torch.empty(3), 0.0, 1.0, -2.0, 2.0).shape)


def test_boolean_dispatch():
    either = boolean_dispatch(
        "double", 1, False, lambda x, double=True: 2 * x, lambda x, double=False: x, __name__, "either"
    )
    check(either(3), either(3, True), either(3, double=True))


def test_gradients_of_convolutions():
    x, weight = torch.sin(torch.arange(50.0)).reshape(1, 2, 5, 5), torch.cos(torch.arange(36.0)).reshape(2, 2, 3, 3)
    grad = torch.sin(torch.arange(18.0) * 0.3).reshape(1, 2, 3, 3)
    check(conv2d_input(x.shape, weight, grad), conv2d_weight(x, weight.shape, grad))
    check(conv2d_weight(x, (2, 1, 3, 3), grad, stride=2, padding=1, groups=2))
    check(conv1d_weight(x[0], (3, 5, 2), torch.ones(2, 3, 4)))


def test_float_functional():
    f, a, b = FloatFunctional(), torch.tensor([1.0, -2.0]), torch.tensor([0.5, 1.0])
    check(f.add(a, b), f.mul(a, b), f.add_relu(a, b), f.cat([a, b]), f.mul_scalar(a, 2.0), f.add_scalar(a, 1.0))
    check(nn.Sequential(QuantStub(), nn.ReLU(), DeQuantStub())(a))


def test_detach_variable():
    a = torch.tensor([1.0, -2.0])
    check([x.requires_grad for x in detach_variable((a.clone().requires_grad_() * 1, a))])


def test_processes_and_environments():
    check(get_worker_info(), "Python version" in get_pretty_env_info(), record(len)([1, 2]))


HUBCONF = """
dependencies = ['torch']
import torch

def small(size=2, pretrained=False):
    'A layer.'
    return torch.nn.Linear(size, 1)

def _hidden():
    pass
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(HUBCONF)
    return str(tmp_path)


def test_hub_of_a_folder(folder):
    check(torch.hub.load(folder, "small", source="local", size=3), folder in sys.path)


def test_hub_refuses(folder):
    with pytest.raises(RuntimeError):
        torch.hub.load(folder, "large", source="local")
    with pytest.raises(ValueError):
        torch.hub.load(folder, "small", source="x")
