"""Where programs import names of PyTorch from, apart from its main modules, and what these do."""

import os
import sys
import tempfile

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


def show(label, *values):
    print(label, *[v.detach() if isinstance(v, torch.Tensor) else v for v in values])


print([isinstance(x, _Loss) for x in (nn.MSELoss(), nn.CrossEntropyLoss(), nn.ReLU())])
print([isinstance(x, _WeightedLoss) for x in (nn.MSELoss(), nn.CrossEntropyLoss(), nn.NLLLoss())])
print(
    isinstance(nn.Dropout2d(), _DropoutNd),
    isinstance(nn.MaxPool1d(2), _MaxPoolNd),
    isinstance(nn.AvgPool2d(2), _AvgPoolNd),
)
print(isinstance(nn.ReflectionPad2d(1), _ReflectionPadNd), isinstance(nn.ZeroPad2d(1), _ConstantPadNd))


class Weighted(_WeightedLoss):
    def forward(self, x, y):
        return F.mse_loss(x, y, reduction=self.reduction) * self.weight


own = Weighted(torch.tensor(2.0), size_average=False)
show("own loss", own(torch.ones(3), torch.zeros(3)), isinstance(own, _Loss), own.reduction, list(own.state_dict()))
print(F._Reduction.legacy_get_string(False, None, emit_warning=False), F._Reduction.get_enum("sum"))
print(
    F.has_torch_function((torch.ones(1),)), _reverse_repeat_tuple((1, 2), 2), _list_with_default((None, 3), (5, 6, 7))
)
print(_no_grad_trunc_normal_(torch.empty(3), 0.0, 1.0, -2.0, 2.0).shape)
either = boolean_dispatch(
    "double", 1, False, lambda x, double=True: 2 * x, lambda x, double=False: x, __name__, "either"
)
print(either(3), either(3, True), either(3, double=True))

x, weight = torch.sin(torch.arange(50.0)).reshape(1, 2, 5, 5), torch.cos(torch.arange(36.0)).reshape(2, 2, 3, 3)
grad = torch.sin(torch.arange(18.0) * 0.3).reshape(1, 2, 3, 3)
with torch.no_grad():
    show("conv2d_input", conv2d_input(x.shape, weight, grad))
    show("conv2d_weight", conv2d_weight(x, weight.shape, grad))
    show("strided", conv2d_weight(x, (2, 1, 3, 3), grad, stride=2, padding=1, groups=2))
    show("conv1d_weight", conv1d_weight(x[0], (3, 5, 2), torch.ones(2, 3, 4)))

f = FloatFunctional()
a, b = torch.tensor([1.0, -2.0]), torch.tensor([0.5, 1.0])
show(
    "functional", f.add(a, b), f.mul(a, b), f.add_relu(a, b), f.cat([a, b]), f.mul_scalar(a, 2.0), f.add_scalar(a, 1.0)
)
show("stubs", nn.Sequential(QuantStub(), nn.ReLU(), DeQuantStub())(a))
show("detached", *[x.requires_grad for x in detach_variable((a.clone().requires_grad_() * 1, b))])
print(get_worker_info(), "Python version" in get_pretty_env_info(), record(len)([1, 2]))

folder = tempfile.mkdtemp()
with open(os.path.join(folder, "hubconf.py"), "w") as file:
    file.write("dependencies = ['torch']\nimport torch\n\ndef small(size=2, pretrained=False):\n    'A layer.'\n")
    file.write("    return torch.nn.Linear(size, 1)\n\ndef _hidden():\n    pass\n")
print(torch.hub.load(folder, "small", source="local", size=3), folder in sys.path)
for wrong in (
    lambda: torch.hub.load(folder, "large", source="local"),
    lambda: torch.hub.load(folder, "small", source="x"),
):
    try:
        wrong()
    except (RuntimeError, ValueError) as error:
        print(type(error).__name__)
