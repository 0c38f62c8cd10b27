"""The array API standard, 2024.12, of mx.np's arrays: its names, signatures and defaults.

``x.__array_namespace__()`` gives this module. Python's ints become int64 and its floats float32,
which is the default dtype of ``zeros`` and its kin as well; sums of integers are int64.
"""

from math import e, inf, nan, pi

from . import linalg
from ..constants import newaxis
from .creation import *
from .dtypes import *
from .dtypes import VERSIONS, __array_api_version__
from .elementwise import *
from .linalg import matmul, matrix_transpose, tensordot, vecdot
from .reductions import *
from .sets import *
from .shapes import *
