"""Data for FeedForward: iterators over arrays, and epochs of a fixed number of batches."""

import math

import numpy as np

from .. import ndarray as nd
from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ..base.kinds import to_count
from ..base.legacy import _as_list
from ..io import DataIter, NDArrayIter
from ..io.wrappers import restart_iterator
from ..module.inputs import is_array_like


def make_iterator(data, label, is_train, batch_size):
    """Convert `data` to an iterator; missing labels become 0."""
    if isinstance(data, DataIter):
        return data
    if not is_array_like(data):
        raise ArgumentTypeError(
            f"FeedForward takes a DataIter or an array, got {type(data).__name__}"
        )
    if not isinstance(data, (np.ndarray, nd.NDArray)):
        data = nd.array(data)
    if label is None:
        if is_train:
            raise ArgumentError("FeedForward.fit: y is missing")
        label = np.zeros(data.shape[0], np.float32)
    label = label.asnumpy() if isinstance(label, nd.NDArray) else np.asarray(label)
    if label.ndim == 2 and label.shape[1] == 1:
        label = label[:, 0]
    if label.ndim != 1 or len(label) != data.shape[0]:
        raise ShapeError(f"FeedForward: y has shape {label.shape}, X has shape {data.shape}")
    return NDArrayIter(
        data,
        label,
        min(data.shape[0], batch_size),
        shuffle=is_train,
        last_batch_handle="roll_over" if is_train else "pad",
    )


def is_label(name, data):
    """Return whether an argument that is neither data nor a parameter is a label."""
    return name.endswith("label") or name in dict(data.provide_label or ())


def count_batches_from_1(callbacks):
    """Wrap batch-end callbacks so that their ``nbatch`` counts from 1, as FeedForward does in
    MXNet; Module counts from 0."""

    def with_shifted_count(callback):
        if not callable(callback):
            return callback  # `fit` will refuse it
        return lambda param: callback(param._replace(nbatch=param.nbatch + 1))

    return None if callbacks is None else [with_shifted_count(each) for each in _as_list(callbacks)]


def round_up_batches(size):
    """Round `size` up to a number of batches: scripts compute samples / batch_size."""
    try:
        count = math.ceil(size)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(
            f"FeedForward: epoch_size must be a number of batches, got {shown(size)}"
        ) from None
    return to_count("FeedForward: epoch_size", count)


class LimitedIter(DataIter):  # `size` batches an epoch of another iterator
    """Yields `size` batches per epoch; restarts the inner iterator when it ends."""

    def __init__(self, inner, size):
        super().__init__(inner.batch_size)
        self.inner, self.size, self.count = inner, size, 0
        self.provide_data, self.provide_label = inner.provide_data, inner.provide_label
        if hasattr(inner, "default_bucket_key"):
            self.default_bucket_key = inner.default_bucket_key

    def reset(self):
        self.count = 0

    def next(self):
        if self.count == self.size:
            raise StopIteration
        self.count += 1
        try:
            return self.inner.next()
        except StopIteration:
            return restart_iterator(self.inner, "FeedForward")
