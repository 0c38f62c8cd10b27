"""Initializers: the values of parameters before training."""

from ..operator.namespaces import guard_public_names as _guarded_names
from .base import *
from .fills import *
from .layers import *

__all__ = _guarded_names(globals())
