"""mx.gluon.contrib.data: a sampler at intervals, texts."""

from . import sampler, text
from .sampler import IntervalSampler

__all__ = ["IntervalSampler", "sampler", "text"]
