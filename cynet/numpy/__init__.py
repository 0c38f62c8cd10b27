"""mx.np: arrays and functions with NumPy's semantics."""

from . import fallback, fallback_linalg, fft, linalg, random
from .dispatch import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .creation import *  # noqa: F403
from .reductions import *  # noqa: F403
from .shapes import *  # noqa: F403
from .products import *  # noqa: F403
from .selection import *  # noqa: F403
from .quantiles import *  # noqa: F403
from .order import *  # noqa: F403
from .sets import *  # noqa: F403
from .histograms import *  # noqa: F403
from .nans import *  # noqa: F403
from .padding import *  # noqa: F403
from .pieces import *  # noqa: F403
from .polynomials import *  # noqa: F403
from .polynomials import trapezoid as trapz
from .financial import *  # noqa: F403
from .constants import *  # noqa: F403
from .multiarray import ndarray
from ..numpy_extension import described as _described

__all__ = [
    name
    for name, value in globals().items()
    if not name.startswith("_")
    and (name in ("fft", "linalg", "random") or type(value) is not type(linalg))
]
