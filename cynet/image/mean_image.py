"""The mean image of records, computed when an iterator names a file that does not exist."""

import logging
import os

import numpy as np

from .. import ndarray as nd
from .record_options import NORMALIZE_OPTIONS

_ARRAY_NAME = "mean_img"  # as in MXNet's files


def write_mean_image(iterator_class, options):
    """Write the mean image of a record iterator to its file ``mean_img``, unless the file exists.

    It is that of the pixels as they are before they are mirrored, scaled and normalized. With a
    scale or a mirror image MXNet's is of what comes behind those, which they then change again.

    iterator_class (class): Of the iterator.
    options (dict): What it was told, read.
    """
    path = options.get("mean_img")
    if not path or os.path.exists(path):
        return
    logging.getLogger("cynet").info("%s is not there: the mean of all images is made", path)
    plain = {key: value for key, value in options.items() if key not in NORMALIZE_OPTIONS}
    plain.update(shuffle=False, round_batch=False, verbose=False, dtype=None)
    plain = {key: value for key, value in plain.items() if value is not None}
    total, count = 0.0, 0
    batches = iterator_class(**plain)
    for batch in batches:
        found = batch.data[0].asnumpy()[: batches.batch_size - batch.pad]
        total, count = total + found.sum(0, dtype=np.float64), count + len(found)
    batches.close()
    nd.save(path, {_ARRAY_NAME: nd.array((total / count).astype(np.float32))})
