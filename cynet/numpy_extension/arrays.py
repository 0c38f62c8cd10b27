"""Files of arrays of mx.np, memory shared with other packages, and waiting."""

import numpy as onp

from .._ndarray import waitall as _waitall
from ..base.errors import ArgumentTypeError
from ..ndarray import dlpack, serialization
from ..numpy._call import array_of
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
    """Load a file of `save` or `savez`: a list or a dict of arrays of mx.np."""
    if _is_zip(file):
        with onp.load(file, allow_pickle=False) as found:
            return {name: array_of(found[name], "npx.load") for name in found.files}
    found = serialization.load(file)
    if isinstance(found, dict):
        return {name: each.as_np_ndarray() for name, each in found.items()}
    return [each.as_np_ndarray() for each in found]


def _is_zip(file):
    try:
        with open(file, "rb") as opened:
            return opened.read(2) == b"PK"
    except (OSError, TypeError):
        return False  # the error of `serialization` is better


def savez(file, *args, **kwargs):
    """Write arrays to a .npz file that NumPy reads, by their names or as arr_0, arr_1 and so on.

    Raises
    ------
    ArgumentTypeError
        Something is no array of mx.np.
    """
    for name, each in (*enumerate(args), *kwargs.items()):
        if not isinstance(each, ndarray):
            raise ArgumentTypeError(
                f"npx.savez: {name!r} is a {type(each).__name__}, expected an mx.np.ndarray"
            )
    onp.savez(file, *(e.asnumpy() for e in args), **{k: v.asnumpy() for k, v in kwargs.items()})


def from_numpy(ndarray, zero_copy=True):
    """An array of mx.np over the memory of a NumPy array, or with a copy of it."""
    return dlpack.from_numpy(ndarray, zero_copy).as_np_ndarray()


def from_dlpack(dlpack_):
    """An array of mx.np over the memory of another package's array, or of its capsule."""
    return dlpack.from_dlpack(dlpack_).as_np_ndarray()


def to_dlpack_for_read(data):
    """A DLPack capsule over the memory of an array, once it is computed."""
    return dlpack.to_dlpack_for_read(array_of(data, "npx.to_dlpack_for_read"))


def to_dlpack_for_write(data):
    """A DLPack capsule over the memory of an array, whose owner may write it."""
    return dlpack.to_dlpack_for_write(array_of(data, "npx.to_dlpack_for_write"))
