"""mx.gluon.contrib.data: IntervalSampler and the WikiText data sets."""

from . import sampler, text
from .sampler import IntervalSampler

__all__ = ["IntervalSampler", "sampler", "text"]
