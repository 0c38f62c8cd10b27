"""The array API standard, 2024.12, of mx.np's arrays: its names, signatures and defaults.

``x.__array_namespace__()`` gives this module. Python's ints become int64 and its floats float32,
which is the default dtype of ``zeros`` and its kin as well; sums of integers are int64.
"""

from math import e, inf, nan, pi

from . import linalg
from ..constants import newaxis
from .creation import *  # noqa: F403
from .dtypes import *  # noqa: F403
from .dtypes import VERSIONS, __array_api_version__
from .elementwise import *  # noqa: F403
from .linalg import matmul, matrix_transpose, tensordot, vecdot
from .reductions import *  # noqa: F403
from .sets import *  # noqa: F403
from .shapes import *  # noqa: F403
