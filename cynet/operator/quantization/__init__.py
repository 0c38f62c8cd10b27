"""Operators on arrays of 8 bits with a range each: `_contrib_quantize`, `_contrib_quantized_*`."""

from . import (
    batch_norm,
    combine,
    concat,
    conversions,
    embedding,
    entropy,
    layers,
    linear,
    pooling,
    shapes,
)
