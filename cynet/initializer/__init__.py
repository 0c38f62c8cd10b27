"""Initializers: the values of parameters before training."""

from ..operator.namespaces import public_names as _public_names
from .base import *
from .fills import *
from .layers import *

__all__ = _public_names(globals())
