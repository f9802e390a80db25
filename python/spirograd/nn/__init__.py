"""Building blocks of models."""

from ..scalar import MLP, Layer, Neuron
from . import functional
from .activation import ReLU, Sigmoid, Tanh
from .containers import Sequential
from .linear import Flatten, Linear
from .module import Module, Parameter

__all__ = [
    "MLP",
    "Flatten",
    "Layer",
    "Linear",
    "Module",
    "Neuron",
    "Parameter",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Tanh",
    "functional",
]
