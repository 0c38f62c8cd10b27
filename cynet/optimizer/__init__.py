"""Optimizers: rules that change weights along gradients, by name or by class."""

from .adaptive import FTML, AdaDelta, AdaGrad, Adam, Adamax, Ftrl, Nadam, RMSProp
from .base import Optimizer, Test, create, register
from .sgd import DCASGD, NAG, SGD, SGLD, Signum
from .updater import Updater, get_updater

__all__ = [
    "DCASGD",
    "FTML",
    "NAG",
    "SGD",
    "SGLD",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "Adamax",
    "Ftrl",
    "Nadam",
    "Optimizer",
    "RMSProp",
    "Signum",
    "Test",
    "Updater",
    "create",
    "get_updater",
    "register",
]
