"""Initializers: the values of parameters before training."""

from .base import INITIALIZERS, InitDesc, Initializer, Load, Mixed, alias, create, register
from .fills import Constant, MSRAPrelu, Normal, One, Orthogonal, Uniform, Xavier, Zero
from .layers import Bilinear, FusedRNN, LSTMBias

__all__ = [
    "INITIALIZERS",
    "Bilinear",
    "Constant",
    "FusedRNN",
    "InitDesc",
    "Initializer",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "Uniform",
    "Xavier",
    "Zero",
    "alias",
    "create",
    "register",
]
