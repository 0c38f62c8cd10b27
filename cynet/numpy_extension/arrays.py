"""Files of arrays of mx.np, and waiting."""

from .._ndarray import waitall as _waitall
from ..ndarray import serialization
from ..numpy.multiarray import ndarray


def waitall():
    """Wait until everything that was pushed is done."""
    _waitall()


def save(file, arr):
    """Write an array, a list of them or a dict with names to a file, as ``mx.nd.save`` does."""
    if isinstance(arr, ndarray):
        arr = [arr]
    if isinstance(arr, dict):
        legacy = {name: each.as_nd_ndarray() for name, each in arr.items()}
    else:
        legacy = [each.as_nd_ndarray() for each in arr]
    serialization.save(file, legacy)


def load(file):
    """Read what `save` wrote: a list or a dict of arrays of mx.np."""
    found = serialization.load(file)
    if isinstance(found, dict):
        return {name: each.as_np_ndarray() for name, each in found.items()}
    return [each.as_np_ndarray() for each in found]
