"""mx.gluon.contrib.data: a sampler at intervals."""

from . import sampler
from .sampler import IntervalSampler

__all__ = ["IntervalSampler", "sampler"]
