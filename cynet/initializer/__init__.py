"""Initializers: the values of parameters before training."""

from ..operator.namespaces import guarded_names as _guarded_names
from .base import *
from .fills import *
from .layers import *

__all__ = _guarded_names(globals())
