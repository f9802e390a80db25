"""What was below spirograd.torch is found there for one release, with a warning: pickles name classes by places."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable

import pytest

import spirograd as sg
from spirograd.torch.moved import MOVED

CLASSES = """
    functions.elementwise.Frexp functions.factors.LDLFactor functions.factors.LDLFactorInfo
    functions.factors.Reflections functions.factors.TriangularSolution functions.rare.Histogramdd
    functions.statistics.Aminmax functions.statistics.Histogram functions.statistics.Mode
    modules.autograd.forward_ad.UnpackedDualTensor modules.fx.passes.shape_prop.TensorMetadata modules.futures.Future
    modules.library.CustomOpDef modules.linalg.Factor modules.linalg.Factors modules.linalg.Inverse
    modules.linalg.LeastSquares modules.linalg.Solution modules.nested.NestedTensor
    modules.nn.attention.flex_attention.BlockMask modules.nn.linear_loss.LinearCrossEntropyLoss
    modules.nn.linear_loss.LinearCrossEntropyOptions modules.nn.parallel.DataParallel
    modules.nn.quantized.FloatFunctional modules.nn.rare.CrossMapLRN2d modules.nn.rare.FractionalMaxPool2d
    modules.nn.rare.FractionalMaxPool3d modules.nn.rare.TripletMarginWithDistanceLoss
    modules.nn.utils.old_norms.SpectralNorm modules.nn.utils.old_norms.WeightNorm
    modules.optim.sparse_adam.SparseAdam modules.quasirandom.SobolEngine modules.utils._pytree.TreeSpec
    modules.utils.benchmark.Measurement
"""
STAY = """
    modules.autograd.graph.GradientEdge modules.distributions.transforms.CatTransform
    modules.distributions.transforms.CorrCholeskyTransform modules.distributions.transforms.IndependentTransform
    modules.distributions.transforms.ReshapeTransform modules.distributions.transforms.StackTransform
"""


def by_name(place: str) -> type:
    """The class that a pickle names so."""
    module, _, name = f"spirograd.torch.{place}".rpartition(".")
    found: type = pickle.loads(f"c{module}\n{name}\n.".encode())
    return found


@pytest.mark.parametrize("place", CLASSES.split())
def test_pickles_find_moved_classes(place: str) -> None:
    with pytest.warns(DeprecationWarning, match="is now in spirograd"):
        found = by_name(place)
    assert found.__name__ == place.rpartition(".")[2] and "torch" not in found.__module__.replace("torch.functions", "")


@pytest.mark.parametrize("place", STAY.split())
def test_pickles_find_classes_beside_what_stayed(place: str) -> None:
    assert by_name(place).__module__.startswith(("spirograd.autograd", "spirograd.distributions"))


def test_a_pickled_object_of_the_release_before_loads() -> None:
    layer = sg.nn.CrossMapLRN2d(3, alpha=0.5)
    old = pickle.dumps(layer, 0).replace(b"cspirograd.nn.less_common\n", b"cspirograd.torch.modules.nn.rare\n")
    assert b"torch.modules" in old
    with pytest.warns(DeprecationWarning):
        again = pickle.loads(old)
    x = sg.rand(1, 4, 2, 2)
    assert sg.equal(again(x), layer(x))


OLD_MODULE = """
import io, torch
layer = torch.nn.Sequential(torch.nn.CrossMapLRN2d(3, alpha=0.5))
stream = io.BytesIO()
kind = torch.nn.CrossMapLRN2d
kind.__module__ = "spirograd.torch.modules.nn.rare"  # as the release before wrote it
try:
    torch.save(layer, stream)
finally:
    kind.__module__ = "torch.nn.modules.normalization"
assert b"spirograd.torch.modules.nn.rare" in stream.getvalue()
stream.seek(0)
again = torch.load(stream, weights_only=False)
x = torch.rand(1, 4, 2, 2)
assert torch.equal(again(x), layer(x))
"""


def test_a_whole_module_in_a_file_of_the_release_before_loads(run_python: Callable[..., str]) -> None:
    run_python("import spirograd.torch\nspirograd.torch.install()\n" + OLD_MODULE)


@pytest.mark.parametrize("old", MOVED)
def test_every_new_place_is_there(old: str) -> None:
    for place in MOVED[old].split():
        importlib.import_module(f"spirograd.{place}")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        importlib.import_module(f"spirograd.torch.{old}").nothing  # noqa: B018
