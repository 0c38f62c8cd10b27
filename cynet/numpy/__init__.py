"""mx.np: arrays and functions with NumPy's semantics."""

from ..operator.namespaces import public_names as _public_names
from . import fallback, fallback_linalg, fft, linalg, random
from .dispatch import *
from .elementwise import *
from .creation import *
from .reductions import *
from .shapes import *
from .products import *
from .selection import *
from .statistics import *
from .order import *
from .sets import *
from .nans import *
from .padding import *
from .pieces import *
from .polynomials import *
from .polynomials import trapezoid as trapz
from .financial import *
from .constants import *
from .multiarray import ndarray
from ..numpy_extension import described as _described

__all__ = ["fft", "linalg", "random", *_public_names(globals())]
