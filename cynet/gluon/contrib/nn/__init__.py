"""mx.gluon.contrib.nn: parallel layers, pixel shuffles, SyncBatchNorm, SparseEmbedding."""

from ....operator.namespaces import public_names as _public_names
from . import basic_layers
from .basic_layers import *
from .sparse_embedding import *

__all__ = ["basic_layers", *_public_names(globals())]
