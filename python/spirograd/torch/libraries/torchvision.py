"""Files of torchvision about its compiled operations, of which torch.ops.torchvision has some."""

from . import skipped

__all__ = ["_has_ops", "_register_custom_op"]


def _register_custom_op() -> None:
    """Does nothing: these are no operations of PyTorch."""


def _has_ops() -> bool:
    """True: detectors ask before they call nms() and its like."""
    skipped("torchvision", "nms, roi_align, roi_pool and deform_conv2d are spirograd's")
    return True
