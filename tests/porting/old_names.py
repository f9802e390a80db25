"""Modules and names of older programs, and of the inside of PyTorch, that programs import."""

import io
import tempfile
import warnings

import torch
import torch._dynamo.config
import torch._inductor.config as config
import torch.distributed
from functorch import combine_state_for_ensemble, grad, make_functional, make_functional_with_buffers, vmap
from torch import nn
from torch.nn.modules.module import _addindent
from torch.nn.modules.rnn import RNNBase
from torch.nn.modules.transformer import _get_clones
from torch.serialization import default_restore_location
from torch.torch_version import TorchVersion

warnings.simplefilter("ignore")
version = torch.__version__
print(version >= "1.10", version > (1, 8), version < "2.0", isinstance(version, str), version >= (2, 0, 1))
print(version > "1.13.1+cu117", version >= "2.0", version == str(version), version.split(".")[0])
print(TorchVersion("1.10.0") > "1.9", TorchVersion("1.10.0+cu111") == "1.10.0", TorchVersion("1.12.0a0+git") < (1, 12))
print(TorchVersion("2.1.0") == "2.1", TorchVersion("2.1.0") != "2.1.1", {TorchVersion("2.1"): 1}["2.1"])

net = nn.Linear(2, 1)
net.weight.data.fill_(0.5)
net.bias.data.fill_(1.0)
f, p = make_functional(net)
print(f(p, torch.ones(2)).tolist(), len(p), [g.tolist() for g in grad(lambda q, x: f(q, x).sum())(p, torch.ones(2))])
f, p, b = make_functional_with_buffers(nn.BatchNorm1d(2))
print(f(p, b, torch.ones(3, 2)).tolist(), len(b))
f, p, b = combine_state_for_ensemble([net, net])
print(vmap(f, in_dims=(0, 0, None))(p, b, torch.ones(2)).tolist(), [list(q.shape) for q in p])

file = io.BytesIO()
torch.save({"a": torch.ones(2)}, file)
file.seek(0)
print(torch.load(file, map_location=lambda storage, place: default_restore_location(storage, "cpu")))
print(repr(_addindent("a\nb", 2)), len(_get_clones(net, 3)), isinstance(nn.LSTM(1, 1), RNNBase))
config.coordinate_descent_tuning = True
torch._dynamo.config.suppress_errors = True
print(torch._dynamo.optimize("eager")(lambda x: x + 1)(torch.ones(1)), torch.xpu.is_available())

with tempfile.TemporaryDirectory() as folder:
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/met", rank=0, world_size=1)
    x = torch.ones(2)
    torch.distributed.all_reduce(x)
    print(x, torch.distributed.get_rank(), torch.distributed.get_world_size())
    torch.distributed.destroy_process_group()

torch.library.define("mine::twice", "(Tensor x) -> Tensor")
try:
    torch.ops.mine.twice(torch.ones(1))
except NotImplementedError:
    print("no kernel")


@torch.library.register_kernel("mine::twice", "cpu")
def _(x):
    return x * 2


torch.library.define("mine::thrice", "(Tensor x) -> Tensor")


@torch.library.impl("mine::thrice", "default")
def _(x):
    return x * 3


print(torch.ops.mine.twice(torch.ones(1)), torch.ops.mine.thrice.default(torch.ones(1)))
