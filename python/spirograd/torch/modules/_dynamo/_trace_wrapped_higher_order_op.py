"""A file of PyTorch's compiler, as far as libraries import it."""

import contextlib

__all__ = ["TransformGetItemToIndex"]

TransformGetItemToIndex = contextlib.nullcontext
