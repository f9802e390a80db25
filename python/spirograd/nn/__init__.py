"""Building blocks of models."""

from ..scalar import MLP, Layer, Neuron
from . import functional
from .layers import Flatten, Linear, ReLU, Sequential, Sigmoid, Tanh
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
