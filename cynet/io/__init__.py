"""Data iterators and their batches."""

from typing import TYPE_CHECKING

from .array_iter import NDArrayIter
from .array_iter import _init_data as _init_data  # scripts import it from here
from .base import DataBatch, DataDesc, DataIter
from .csv_iter import CSVIter
from .libsvm_iter import LibSVMIter
from .mx_data_iter import MXDataIter
from .mix_iter import MixIter
from .mnist import MNISTIter, read_idx
from .wrappers import PrefetchingIter, ResizeIter
from . import common_parameters  # imported last: inserts text into docstrings

if TYPE_CHECKING:  # modules are imported at first use: see libinfo.py
    from ..image.record_boxes import ImageDetRecordIter as ImageDetRecordIter
    from ..image.record_iter import ImageRecordInt8Iter as ImageRecordInt8Iter
    from ..image.record_iter import ImageRecordIter as ImageRecordIter
    from ..image.record_iter import ImageRecordIter as ImageRecordIter_v1
    from ..image.record_iter import ImageRecordUInt8Iter as ImageRecordUInt8Iter
    from ..image.record_iter import ImageRecordUInt8Iter as ImageRecordUInt8Iter_v1

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "LibSVMIter",
    "MNISTIter",
    "MXDataIter",
    "MixIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
    "read_idx",
]
