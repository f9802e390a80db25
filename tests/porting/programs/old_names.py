"""Modules and names of older programs, and of the inside of PyTorch, that programs import."""

import io
import tempfile
import warnings

import pytest
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

from checking import check

warnings.simplefilter("ignore")


def test_the_version_is_compared_by_numbers():
    version = torch.__version__
    check(version >= "1.10", version > (1, 8), version < "2.0", isinstance(version, str), version >= (2, 0, 1))
    check(version > "1.13.1+cu117", version >= "2.0", version == str(version), version.split(".")[0])


def test_versions():
    check(TorchVersion("1.10.0") > "1.9", TorchVersion("1.10.0+cu111") == "1.10.0")
    check(TorchVersion("1.12.0a0+git") < (1, 12), {TorchVersion("2.1"): 1}["2.1"])
    check(TorchVersion("2.1.0") == "2.1", TorchVersion("2.1.0") != "2.1.1")


def linear():
    net = nn.Linear(2, 1)
    net.weight.data.fill_(0.5)
    net.bias.data.fill_(1.0)
    return net


def test_make_functional():
    f, p = make_functional(linear())
    check(f(p, torch.ones(2)), len(p), grad(lambda q, x: f(q, x).sum())(p, torch.ones(2)))


def test_make_functional_with_buffers():
    f, p, b = make_functional_with_buffers(nn.BatchNorm1d(2))
    check(f(p, b, torch.ones(3, 2)), len(b))


def test_combine_state_for_ensemble():
    net = linear()
    f, p, b = combine_state_for_ensemble([net, net])
    check(vmap(f, in_dims=(0, 0, None))(p, b, torch.ones(2)).detach(), [list(q.shape) for q in p])


def test_default_restore_location():
    file = io.BytesIO()
    torch.save({"a": torch.ones(2)}, file)
    file.seek(0)
    check(torch.load(file, map_location=lambda storage, place: default_restore_location(storage, "cpu")))


def test_parts_of_modules():
    check(repr(_addindent("a\nb", 2)), len(_get_clones(linear(), 3)), isinstance(nn.LSTM(1, 1), RNNBase))


def test_settings_of_compilers():
    config.coordinate_descent_tuning = True
    torch._dynamo.config.suppress_errors = True
    check(torch._dynamo.optimize("eager")(lambda x: x + 1)(torch.ones(1)), torch.xpu.is_available())


def test_a_group_of_one():
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/met", rank=0, world_size=1)
        x = torch.ones(2)
        torch.distributed.all_reduce(x)
        check(x, torch.distributed.get_rank(), torch.distributed.get_world_size())
        torch.distributed.destroy_process_group()


def test_register_kernel():
    torch.library.define("mine::twice", "(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError):
        torch.ops.mine.twice(torch.ones(1))

    @torch.library.register_kernel("mine::twice", "cpu")
    def _(x):
        return x * 2

    check(torch.ops.mine.twice(torch.ones(1)))


def test_impl():
    torch.library.define("mine::thrice", "(Tensor x) -> Tensor")

    @torch.library.impl("mine::thrice", "default")
    def _(x):
        return x * 3

    check(torch.ops.mine.thrice.default(torch.ones(1)))
