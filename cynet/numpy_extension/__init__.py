"""mx.npx: functions for networks beyond NumPy, on arrays of mx.np; and the switches."""

from ..context import Context, cpu, cpu_pinned, current_context, gpu, gpu_memory_info, num_gpus
from ..context import current_context as current_device
from ..numpy.elementwise import erf, erfinv, gamma, gammaln, relu, sigmoid, softsign
from . import described, image, random
from ..ndarray.control_flow import foreach, while_loop
from .arrays import (
    from_dlpack,
    from_numpy,
    load,
    save,
    savez,
    to_dlpack_for_read,
    to_dlpack_for_write,
    waitall,
)
from .operators import *
from .switches import *

__all__ = [
    name
    for name in dir()
    if not name.startswith("_") and name not in ("arrays", "described", "operators", "switches")
]
