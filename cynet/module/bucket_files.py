"""Files of the symbols of buckets, in the format of MXNet 1.9.1."""

import logging
import os
from contextlib import suppress

import numpy as np

from .. import ndarray as nd
from .. import symbol as sym
from ..base.errors import FormatError, shown


def save_buckets(prefix, symbols, remove_amp_cast):
    """Write ``prefix-KEY-symbol.json`` for each bucket, and their keys to ``prefix.buckets``.

    Keys that no array of ints can hold are written nowhere: MXNet has no form for them.
    """
    keys = _bucket_keys_array(list(symbols))
    if keys is None:
        logging.info("%s.buckets: no file holds keys as %s", prefix, shown(next(iter(symbols))))
        with suppress(FileNotFoundError):  # remove a file of an earlier save
            os.unlink(f"{prefix}.buckets")
        return
    for key, symbol in symbols.items():
        symbol.save(f"{prefix}-{key}-symbol.json", remove_amp_cast=remove_amp_cast)
    nd.save(f"{prefix}.buckets", [nd.array(keys, dtype="int32")])


def _bucket_keys_array(keys):
    """Convert bucket keys to MXNet's int32 array, or return None."""
    try:
        array = np.array(keys)
    except ValueError:  # keys may have different lengths
        return None
    fits = array.dtype.kind in "iu" and array.size > 0 and array.ndim <= 2
    if not fits or (array != array.astype(np.int32)).any():
        return None
    return array.astype(np.int32)


def load_buckets(prefix):
    """Load the symbols by bucket key from a file of `save_buckets`; empty without the file."""
    path = f"{prefix}.buckets"
    if not os.path.exists(path):
        return {}
    arrays = nd.load(path)
    if not (isinstance(arrays, list) and len(arrays) == 1 and arrays[0].ndim <= 2):
        raise FormatError(f"{path} must hold one array of bucket keys")
    keys = arrays[0].asnumpy().tolist()
    keys = [tuple(key) if isinstance(key, list) else key for key in keys]
    return {key: sym.load(f"{prefix}-{key}-symbol.json") for key in keys}
