"""Helpers of tests and examples: comparing, checking gradients, generators, data sets."""

from ..operator.namespaces import public_names as _public_names
from .arrays import *
from .check import *
from .compare import *
from .datasets import *
from .generators import *
from .hybrid import *
from .tolerances import *
from .tools import *

__all__ = _public_names(globals())
from .sparse import *  # MXNet's, which are not listed
from ..numpy_extension.switches import use_np as use_np
from ..numpy_extension.switches import use_np_shape as use_np_shape
from . import common_parameters  # last: it puts text into docstrings
