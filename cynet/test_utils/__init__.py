"""mx.test_utils: helpers for tests and examples: comparisons, gradient checks, data sets."""

from ..operator.namespaces import guard_public_names as _guarded_names
from .arrays import *
from .check import *
from .compare import *
from .datasets import *
from .generators import *
from .hybrid import *
from .tolerances import *
from .tools import *
from . import sparse
from . import common_parameters  # first: inserts text into docstrings

__all__ = _guarded_names(globals())
from .sparse import *  # names that MXNet does not list
from ..numpy_extension.switches import use_np as use_np
from ..numpy_extension.switches import use_np_shape as use_np_shape
