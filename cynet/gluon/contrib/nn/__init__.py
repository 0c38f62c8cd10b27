"""mx.gluon.contrib.nn: layers side by side, pixel shuffles, SyncBatchNorm, SparseEmbedding."""

from . import basic_layers
from .basic_layers import (
    Concurrent,
    HybridConcurrent,
    Identity,
    PixelShuffle1D,
    PixelShuffle2D,
    PixelShuffle3D,
    SyncBatchNorm,
)
from .sparse_embedding import SparseEmbedding

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SparseEmbedding",
    "SyncBatchNorm",
    "basic_layers",
]
