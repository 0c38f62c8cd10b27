"""Optimizers: rules that update weights by gradients, created by name or class."""

from .adafactor import Adafactor
from .adaptive import FTML, AdaDelta, AdaGrad, Adam, Adamax, AdamW, Ftrl, Nadam, RMSProp
from . import contrib
from .base import Optimizer, create, register
from .large_batch import LAMB, LARS, LBSGD
from .muon import Muon
from .sgd import DCASGD, NAG, SGD, SGLD, Lion, Signum, ccSGD
from .testing import Test
from .updater import Updater, get_updater
from . import common_parameters  # imported last: adds shared paragraphs to the docstrings above

__all__ = [
    "DCASGD",
    "FTML",
    "LAMB",
    "LARS",
    "LBSGD",
    "NAG",
    "SGD",
    "SGLD",
    "AdaDelta",
    "AdaGrad",
    "Adafactor",
    "Adam",
    "AdamW",
    "Adamax",
    "Ftrl",
    "Lion",
    "Muon",
    "Nadam",
    "Optimizer",
    "RMSProp",
    "Signum",
    "Test",
    "Updater",
    "ccSGD",
    "contrib",
    "create",
    "get_updater",
    "register",
]
