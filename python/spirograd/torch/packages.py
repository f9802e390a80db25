"""What is known of packages around PyTorch, where spirograd stands in for it; docs/porting.md says what was tried."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, packages_distributions, version

from .libraries import COMPILED

__all__ = ["fault_of", "installed"]

# By what works of them: names as they are imported.
_WORKS = {
    "works": """
accelerate botorch captum diffusers e3nn einops fastai kornia lightning lightning_fabric nflows onnx peft pyro
pytorch_lightning pytorch_metric_learning pytorch_msssim safetensors segmentation_models_pytorch skorch
stable_baselines3 tiktoken timm tokenizers torchdiffeq torchinfo torchmetrics torchsde transformers vit_pytorch zuko
""",
    "works in part: see docs/porting.md": """
denoising_diffusion_pytorch gpytorch monai open_clip sentence_transformers torch_geometric ultralytics
vector_quantize_pytorch x_transformers
""",
    "works; its extension is skipped, and sg.regions has nms() and its like": "torchvision",
    "works; its extension is skipped, and sg.graphs has its operations": "torch_cluster torch_scatter",
    "works but for its extension, which is skipped": "torchaudio",
}
_FAILS = {
    "compiled for PyTorch: it counts as not installed, use the program's way without it": " ".join(COMPILED),
    "its operations are compiled for PyTorch: leave it out": """
bitsandbytes deepspeed detectron2 fairscale horovod mmcv pytorch3d torch_tensorrt torchao torchtext torch_xla vllm
""",
    "its tensors are PyTorch's inside: leave it out": "tensordict torchrl",
}
_STATUS = {name: status for table in (_WORKS, _FAILS) for status, names in table.items() for name in names.split()}
_FAULTS = {name: status for status, names in _FAILS.items() for name in names.split()}


def fault_of(package: str) -> str | None:
    """Why a package does not work, and what to do; None if that is not known of it."""
    return _FAULTS.get(package)


def installed() -> Iterator[tuple[str, str, bool, str]]:
    """The packages of the table that are there: name, version, whether it works, and how."""
    names = packages_distributions()
    for name in sorted(_STATUS):
        if "." not in name and PathFinder.find_spec(name) is not None:
            try:
                number = version(names.get(name, [name])[0])
            except PackageNotFoundError:  # a folder without metadata
                number = ""
            yield name, number, name not in _FAULTS, _STATUS[name]
