"""mx.npx: what networks need beyond NumPy, on arrays of mx.np; and the switches."""

from ..context import Context, cpu, cpu_pinned, current_context, gpu, num_gpus
from ..context import current_context as current_device
from ..numpy.elementwise import erf, erfinv, gamma, gammaln, relu, sigmoid, softsign
from . import random
from .arrays import load, save, waitall
from .operators import *  # noqa: F403
from .switches import *  # noqa: F403
