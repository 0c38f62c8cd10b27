"""Makes one batch of a dataset; errors name the sample."""

import numpy as np

from ... import ndarray as nd
from ...base.errors import describe_error, loop_error, shown
from ...ndarray import NDArray
from .batchify import default_batchify_fn, host_array, numpy_batchify
from .dataset import ArrayDataset, SimpleDataset


def fetch_samples(dataset, indices, batchify):
    """Make the batch of the samples at `indices`."""
    if batchify in (default_batchify_fn, numpy_batchify):
        whole = _fetch_from_arrays(dataset, indices, batchify)
        if whole is not None:
            return whole
    samples = []
    for index in indices:
        try:
            samples.append(dataset[index])
        except Exception as error:
            raise loop_error(
                error, f"{describe_error(error)} (DataLoader: in sample {shown(index)})"
            ) from error
    try:
        return batchify(samples)
    except Exception as error:
        where = f"in the batch of samples {shown(list(indices))}"
        raise loop_error(error, f"{describe_error(error)} (DataLoader: {where})") from error


def is_free_of_user_code(dataset, batchify):
    """Return whether batches are made without user code, so that no seed is needed."""
    if batchify not in (default_batchify_fn, numpy_batchify):
        return False
    if type(dataset) is ArrayDataset:
        parts = dataset._data
    else:
        parts = [dataset._data if type(dataset) is SimpleDataset else dataset]
    return all(type(each) in (list, tuple, np.ndarray, NDArray) for each in parts)


def _fetch_from_arrays(dataset, indices, batchify):
    """Make a batch by indexing each of a dataset's arrays once; None if that is not possible."""
    fields = getattr(dataset, "_array_fields", None)
    fields = fields() if callable(fields) else None
    if fields is None:
        return None
    rows = np.asarray(indices)
    if rows.dtype.kind not in "iu" or rows.ndim != 1 or not rows.size:
        return None
    arrays, several = fields
    if rows.min() < 0 or rows.max() >= len(arrays[0]):
        return None
    batch = []
    for array in arrays:
        if isinstance(array, NDArray):
            batch.append(nd.take(array, nd.array(rows, dtype="int64", ctx=array.context)))
        elif array.dtype.kind not in "biuf":
            return None
        else:
            values = array[rows]
            batch.append(values if batchify is numpy_batchify else host_array(values))
    return batch if several else batch[0]
