"""The modules in which PyTorch has its classes: programs compare `type(x).__module__`, and pickles name them."""

from __future__ import annotations

__all__ = ["module_of", "rename"]

_FILES = {
    "attention": "activation",
    "containers": "container",
    "convolution": "conv",
    "embedding": "sparse",
    "less_common": "loss",
    "recurrent": "rnn",
    "sync_batch_norm": "batchnorm",
}
# By the name of the class, without Lazy and the number of dimensions.
_CLASSES = {
    **dict.fromkeys(("Fold", "Unfold"), "fold"),
    **dict.fromkeys(("Flatten", "Unflatten"), "flatten"),
    **dict.fromkeys(("PixelShuffle", "PixelUnshuffle"), "pixelshuffle"),
    **dict.fromkeys(("Conv", "ConvTranspose"), "conv"),
    **dict.fromkeys(("CrossMapLRN",), "normalization"),
    **dict.fromkeys(("FractionalMaxPool",), "pooling"),
    **{name: name.lower() for name in ("BatchNorm", "ChannelShuffle", "InstanceNorm", "Linear")},
}


def module_of(kind: type) -> str:
    """PyTorch's module for a class; its present one where spirograd says no other."""
    place, name = kind.__module__, kind.__name__
    package, _, file = place.rpartition(".")
    if package == "spirograd.nn" and file != "parameter":
        bare = name.removeprefix("Lazy").rstrip("123d")
        return f"torch.nn.modules.{_CLASSES.get(bare) or _FILES.get(file, file)}"
    if place.startswith("spirograd.optim.lr_scheduler."):
        return "torch.optim.lr_scheduler"
    if package == "spirograd.optim" and file not in ("optimizer", "swa_utils"):
        found = "sparse_adam" if file == "sparse_adam" else name.lower()
        return "torch.optim" if name in ("Adafactor", "Muon") else f"torch.optim.{found}"
    if place.startswith(("spirograd.nn.", "spirograd.optim.", "spirograd.utils.data.")):
        return (
            "torch.utils.data.distributed"
            if name == "DistributedSampler"
            else f"torch{place.removeprefix('spirograd')}"
        )
    return "torch" if place == "spirograd.torch.layouts" else place


def rename(kind: type) -> None:
    """Puts a class into PyTorch's module."""
    place = module_of(kind)
    if place != kind.__module__:
        kind.__module__ = place
        kind.__annotations__ = {}  # they are words, which only the file that the class is from can read
