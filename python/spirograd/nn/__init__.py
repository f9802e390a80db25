"""Building blocks of models."""

from . import functional
from .layers import Flatten, Linear, ReLU, Sequential, Sigmoid, Tanh
from .module import Module, Parameter

__all__ = ["Flatten", "Linear", "Module", "Parameter", "ReLU", "Sequential", "Sigmoid", "Tanh", "functional"]
