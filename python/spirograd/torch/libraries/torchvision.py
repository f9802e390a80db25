"""Files of torchvision about its compiled operations."""

__all__ = ["_register_custom_op"]


def _register_custom_op() -> None:
    """Does nothing: the operations are not there."""
