"""Helpers of tests and examples: comparing, checking gradients, generators, data sets."""

from ..operator.namespaces import guarded_names as _guarded_names
from .arrays import *
from .check import *
from .compare import *
from .datasets import *
from .generators import *
from .hybrid import *
from .tolerances import *
from .tools import *
from . import sparse
from . import common_parameters  # it puts text into docstrings, which guarded functions copy

__all__ = _guarded_names(globals())
from .sparse import *  # MXNet's, which are not listed
from ..numpy_extension.switches import use_np as use_np
from ..numpy_extension.switches import use_np_shape as use_np_shape
