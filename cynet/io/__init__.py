"""Data iterators and what they give."""

from .array_iter import NDArrayIter
from .base import DataBatch, DataDesc, DataIter
from .csv_iter import CSVIter
from .mnist import MNISTIter, read_idx
from .wrappers import PrefetchingIter, ResizeIter

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "MNISTIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
    "read_idx",
]
