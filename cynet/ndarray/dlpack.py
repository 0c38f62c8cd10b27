"""Arrays that share memory with NumPy and, by DLPack, with other frameworks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.sparse_kind import is_dense
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.guard import guarded
from . import _dlpack
from ._call import is_array
from .creation import array

if TYPE_CHECKING:
    from ..typing import NDArray, NumpyArray


@guarded
def from_numpy(
    ndarray: NumpyArray, zero_copy: bool = True, array_cls: type[NDArray] | None = None
) -> NDArray:
    """An NDArray over a NumPy array's memory, or with a copy of its values.

    With `zero_copy` the NumPy array becomes read-only: the engine may read and write its memory at
    any time. Of an array that is read-only already its values are copied. `array_cls` is the class
    of the result: mx.nd.NDArray, the default, as there is no other.

    Parameters
    ----------
    ndarray : numpy.ndarray
        The array; C-contiguous if its memory is to be shared.
    zero_copy : bool
        Share the memory; the NumPy array becomes read-only.
    array_cls : type, optional
        Class of the result; only mx.nd.NDArray.

    Raises
    ------
    ArgumentError
        When `zero_copy` is True and an array is not C-contiguous.
    ArgumentTypeError
        When `ndarray` is not a NumPy array, or `array_cls` another class.

    Examples
    --------
    >>> mx.nd.from_numpy(np.arange(3, dtype="float32"))
    [0. 1. 2.]
    <NDArray 3 @cpu(0)>
    """
    if not isinstance(ndarray, np.ndarray):
        raise ArgumentTypeError(f"from_numpy takes a NumPy array, got {type(ndarray).__name__}")
    shared = zero_copy and ndarray.flags.writeable
    if shared and not ndarray.flags.c_contiguous:
        raise ArgumentError(
            "from_numpy: this array is not C-contiguous, so its memory cannot be shared; copy its "
            "values with zero_copy=False"
        )
    out = from_dlpack(ndarray) if shared else array(ndarray, dtype=ndarray.dtype)
    if array_cls not in (None, type(out)):
        raise ArgumentTypeError(
            f"from_numpy: array_cls must be mx.nd.NDArray, got {shown(array_cls)}"
        )
    if shared:
        ndarray.flags.writeable = False
    return out


@guarded
def from_dlpack(dlpack: Any) -> NDArray:
    """An NDArray over the memory of a DLPack capsule or of an object with ``__dlpack__``; nothing
    is copied.

    Parameters
    ----------
    dlpack : capsule or object
        A capsule, or an object with ``__dlpack__``: an array of NumPy, PyTorch and others.

    Examples
    --------
    >>> values = np.zeros(2, "float32")
    >>> mx.nd.from_dlpack(values)[:] = 3
    >>> mx.nd.waitall(); values.tolist()
    [3.0, 3.0]
    """
    return _dlpack.import_memory(dlpack)


@guarded
def to_dlpack_for_read(data: NDArray) -> Any:
    """A DLPack capsule over the array's memory, after waiting for it.

    Parameters
    ----------
    data : NDArray
        The array whose memory is shared.

    Returns
    -------
    capsule

    Raises
    ------
    ArgumentTypeError
        It is not an NDArray.

    Examples
    --------
    >>> capsule = mx.nd.to_dlpack_for_read(mx.nd.array([1, 2]))
    >>> mx.nd.from_dlpack(capsule)
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """
    return _export_capsule("to_dlpack_for_read", data)


@guarded
def to_dlpack_for_write(data: NDArray) -> Any:
    """A DLPack capsule over the array's memory, after waiting for everything that uses it.

    Parameters
    ----------
    data : NDArray
        The array whose memory is shared.

    Returns
    -------
    capsule

    Raises
    ------
    ArgumentTypeError
        It is not an NDArray.

    Examples
    --------
    >>> x = mx.nd.array([1, 2])
    >>> y = mx.nd.from_dlpack(mx.nd.to_dlpack_for_write(x))
    >>> y[0] = 9  # x, too
    >>> x
    [9. 2.]
    <NDArray 2 @cpu(0)>
    """
    return _export_capsule("to_dlpack_for_write", data)


def _export_capsule(where, data):
    if not is_array(data):
        raise ArgumentTypeError(f"{where} takes an NDArray, got {shown(data)}")
    if not is_dense(data):
        raise ArgumentError(f"{where}: expected a dense array, got {data.stype}")
    return _dlpack.export_capsule(data)
