"""CSRNDArray and RowSparseNDArray: values as an NDArray of the engine, structure on the host.

The structure (indices, indptr) of an array is NumPy's, int64, and is never written once it is made;
so its consumers know how large their results are without waiting for values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.sparse_kind import new_sparse_array
from ...base.compat import optional
from ...base.dtype import dtype_flag
from ...base.errors import (
    ArgumentError,
    ArgumentTypeError,
    NotSupportedForSparseNDArray,
    ShapeError,
    shown,
)
from ...base.guard import guarded
from ...context import Context, read_context
from ...operator import get_operator
from .. import _tape
from .._call import invoke
from ..dlpack import from_numpy
from ..ndarray import NDArray
from . import convert, structure

__all__ = ["BaseSparseNDArray", "CSRNDArray", "RowSparseNDArray"]


def _refused_method(name):
    def method(self, *args, **kwargs):
        raise NotSupportedForSparseNDArray(
            f"{name} is for dense arrays, and this one is {self.stype}: "
            "tostype('default') makes a dense one"
        )

    method.__name__ = name
    method.__qualname__ = f"BaseSparseNDArray.{name}"
    method.__doc__ = "Refused: it needs the memory of a dense array."
    return method


class BaseSparseNDArray(NDArray):
    """The base of CSRNDArray and RowSparseNDArray.

    Only what is not zero is stored: values, and the numbers that say where they are.

    Examples
    --------
    >>> a = mx.nd.array([[0, 1, 0], [0, 0, 2]]).tostype("csr")
    >>> a.shape, a.data.asnumpy(), a.indices.asnumpy()
    ((2, 3), array([1., 2.], dtype=float32), array([1, 2]))
    >>> values, structure = a.parts()
    >>> values.asnumpy(), structure
    (array([1., 2.], dtype=float32), [array([0, 1, 2]), array([1, 2])])
    >>> a.as_canonical() is a
    True
    """

    __slots__ = ("_indices", "_indptr", "_ready", "_shape", "_transposed", "_values_array")

    def _set_contents(self, shape, values, indices, indptr, ready):
        """Set the arrays of a sparse array. `ready`: the structure is known to be canonical."""
        self._shape, self._values_array = shape, values
        self._indices, self._indptr, self._ready = indices, indptr, ready
        self._transposed = None
        return self

    # --- attributes -------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the dense array that the sparse array represents."""
        return self._shape

    @property
    def size(self) -> int:
        """Number of elements of the dense array that the sparse array represents."""
        return structure.product(self._shape)

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def context(self) -> Context:
        """The device the values are on."""
        return self._values_array.context

    ctx = context

    @property
    def data(self) -> NDArray:
        """A copy of the stored values."""
        return self._values_array.copy()

    @property
    def indices(self) -> NDArray:
        """A copy of the indices of columns (csr) or rows (row_sparse), int64."""
        return from_numpy(self._indices.copy())

    def __repr__(self):
        size = "x".join(map(str, self._shape))
        return f"\n<{type(self).__name__} {size} @{self.context}>"

    __str__ = __repr__

    def __len__(self):
        return self._shape[0]

    def __bool__(self):
        raise ArgumentError(f"the truth value of a {self.stype} array is ambiguous")

    def __reduce__(self):
        parts = self._values_array.host_copy(), self._indices, self._indptr
        return _restore, (type(self), self._shape, *parts, self.context)

    def parts(self):
        """Return the values and the index arrays, in the order of files.

        Returns
        -------
        (NDArray, list of numpy.ndarray)
            The values; ``[indptr, indices]`` of a csr matrix, ``[indices]`` of a row_sparse array.
            They are the array's own, not copies.
        """
        self.as_canonical()
        indptr = [] if self._indptr is None else [self._indptr]
        return self._values_array, [*indptr, self._indices]

    # --- waiting and values -----------------------------------------------------------------------
    def wait_to_read(self):
        """Wait until the values are computed; raise what failed on the way."""
        self._values_array.wait_to_read()

    def wait_to_write(self):
        """Wait until nothing reads or writes the values."""
        self._values_array.wait_to_write()

    def asnumpy(self) -> np.ndarray:
        """The array as a dense NumPy array; waits for the values."""
        return cast_storage(self, "default").asnumpy()

    host_copy = asnumpy

    def asscalar(self):
        """The one element, as a NumPy scalar of the array's dtype."""
        return cast_storage(self, "default").asscalar()

    def _single_number(self, what):
        return cast_storage(self, "default")._single_number(what)

    # --- copies -----------------------------------------------------------------------------------
    def _make_recorded(self, make):
        """The result of `make_sparse`, in the graph of autograd as a copy of the array."""
        if not _tape.wants_gradient([self]):
            return make()
        return make_and_record_cast(self, make)

    def _with_values(self, values):
        """An array of the same structure with other values."""
        out = new_sparse_array(type(self), dtype_flag(values.dtype))
        return out._set_contents(self._shape, values, self._indices, self._indptr, self._ready)

    def copy(self):
        return self._make_recorded(lambda: self._with_values(self._values_array.copy()))

    def detach(self):
        """An array of the same values, through which no gradient flows."""
        return self._with_values(self._values_array)

    def astype(self, dtype, copy=True):
        if not copy and np.dtype(self.dtype) == np.dtype(dtype):
            return self
        return self._make_recorded(lambda: self._with_values(self._values_array.astype(dtype)))

    def copyto(self, other):
        """Copy into an array of the same shape, sparse of the same storage type or dense, or to a
        new one on a device.

        Parameters
        ----------
        other : NDArray or Context

        Returns
        -------
        NDArray
            `other`, or the new array.
        """
        if isinstance(other, Context):
            return self._make_recorded(lambda: self._with_values(self._values_array.copyto(other)))
        if isinstance(other, BaseSparseNDArray):
            return other._assign_array(self)
        return cast_storage(self, "default").copyto(other)

    def assign_copy_of(self, source):
        """Copy another array into this one, as ``source.copyto(self)`` does.

        Parameters
        ----------
        source : NDArray
            Array of the same shape to copy.

        Returns
        -------
        BaseSparseNDArray
            The array itself.

        Raises
        ------
        ShapeError
            If the shapes differ.

        Examples
        --------
        >>> a = mx.nd.sparse.zeros("csr", (2, 2))
        >>> a.assign_copy_of(mx.nd.array([[0, 1], [2, 0]])).data.asnumpy()
        array([1., 2.], dtype=float32)
        """
        if not isinstance(source, NDArray):
            raise ArgumentTypeError(f"copy: expected an NDArray, got {shown(source)}")
        return self._assign_array(source)

    def _assign_array(self, source):
        """Copy `source`, an array of the same shape, into this array."""
        if source.shape != self._shape:
            raise ShapeError(f"copy: source has shape {source.shape}, target {self._shape}")
        if source.stype != self.stype:
            source = cast_storage(source, self.stype)
        _tape.check_writable(self)
        values = source._values_array.as_in_context(self.context).astype(self.dtype)
        self._set_contents(self._shape, values, source._indices, source._indptr, source._ready)
        return self

    def _share_contents(self, source):
        """Share the values and indices of `source`, of the same shape, dtype and storage type."""
        return self._set_contents(
            self._shape, source._values_array, source._indices, source._indptr, source._ready
        )

    def as_in_context(self, context):
        context = read_context(context)
        return self if context == self.context else self.copyto(context)

    as_in_ctx = as_in_context

    def tostype(self, stype):
        """A copy of the array in a storage type.

        Parameters
        ----------
        stype : str
            ``'default'``, or its own.

        Raises
        ------
        ArgumentError
            From csr to row_sparse or back, as in MXNet: go through ``'default'``.
        """
        return copy_as_stype(self, stype)

    def __setitem__(self, key, value):
        if not (isinstance(key, slice) and key == slice(None)):
            raise ArgumentError(f"a {self.stype} array is assigned whole: x[:] = value")
        if isinstance(value, NDArray):
            self._assign_array(value)
        elif isinstance(value, np.ndarray):
            self._assign_array(cast_storage(from_numpy(np.array(value, self.dtype)), self.stype))
        elif isinstance(value, (int, float, np.generic)) and value == 0:
            self._assign_array(convert.sparse_zeros(self.stype, self._shape, self._values_array))
        elif isinstance(value, (int, float, np.generic)) and self.stype == "row_sparse":
            values = convert.zero_values(self._values_array, self._shape)
            values[:] = value
            self._assign_array(convert.as_row_sparse(values))
        else:
            raise ArgumentTypeError(
                f"a csr matrix takes arrays and 0, got {shown(value)}: a number would fill all of"
                " it"
                if self.stype == "csr"
                else f"a row_sparse array takes arrays and numbers, got {shown(value)}"
            )

    def __iter__(self):
        for i in range(len(self)):
            yield self[i]

    def __neg__(self):
        return invoke(get_operator("negative"), (self,), {})

    def __abs__(self):
        return invoke(get_operator("abs"), (self,), {})

    def as_canonical(self):
        """The array itself, after a check that its indices are sorted, in range and unique.

        Raises
        ------
        ArgumentError
            Naming what is wrong with the structure.
        """
        if not self._ready:
            self._make_canonical()
            self._ready = True
        return self


for _name in (
    "_view",
    "_plain_reshape",
    "__dlpack__",
    "__dlpack_device__",
    "reshape",
    "shares_memory",
    "slice_assign",
    "slice_assign_scalar",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
):
    setattr(BaseSparseNDArray, _name, _refused_method(_name))
BaseSparseNDArray.data_ptr = property(_refused_method("data_ptr"))
BaseSparseNDArray._reshape_to = BaseSparseNDArray.reshape


class CSRNDArray(BaseSparseNDArray):
    """A matrix that stores its nonzero elements, row by row.

    Row i has the values ``data[indptr[i]:indptr[i + 1]]`` in the columns
    ``indices[indptr[i]:indptr[i + 1]]``, which rise. `csr_matrix` makes one.

    Examples
    --------
    >>> a = mx.nd.sparse.csr_matrix(([1, 2, 3], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 4))
    >>> a.asnumpy().tolist()
    [[1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0]]
    >>> a[2].indices.asnumpy().tolist()
    [1]
    """

    __slots__ = ()
    stype = "csr"
    _aux_types = (np.int64, np.int64)

    @property
    def indptr(self) -> NDArray:
        """A copy of the indices at which rows begin among the values, and of the end: int64.

        Examples
        --------
        >>> a = mx.nd.array([[0, 1, 0], [0, 0, 0], [3, 0, 2]]).tostype("csr")
        >>> a.indptr.asnumpy(), a.indices.asnumpy(), a.data.asnumpy()
        (array([0, 1, 1, 3]), array([1, 0, 2]), array([1., 3., 2.], dtype=float32))
        """
        return from_numpy(self._indptr.copy())

    def __getitem__(self, key):
        """Row `key`, or the rows of a slice without a step, as a csr matrix."""
        if isinstance(key, (int, np.integer)):
            if not -len(self) <= key < len(self):
                raise ArgumentError(f"row {key} of a csr matrix of {len(self)} rows")
            key = slice(key, key + 1 or None)
        if not isinstance(key, slice):
            raise ArgumentError(f"a csr matrix is indexed by a row or a slice of rows, got {key!r}")
        if key.step not in (None, 1):
            raise ArgumentError(f"a slice of a csr matrix: expected step 1, got {key.step}")
        if key == slice(None):
            return self
        if _tape.wants_gradient([self]):
            params = {"begin": (key.start,), "end": (key.stop,)}
            return invoke(get_operator("slice"), (self,), params)
        begin, end, _ = key.indices(len(self))
        return convert.slice_rows(self.as_canonical(), begin, max(begin, end))

    def asscipy(self) -> Any:
        """Copy the array as a matrix of SciPy; waits for the values.

        Returns
        -------
        scipy.sparse.csr_matrix

        Raises
        ------
        CynetError
            If SciPy is not installed.

        Examples
        --------
        >>> a = mx.nd.array([[0, 1, 0], [3, 0, 2]]).tostype("csr").asscipy()
        >>> type(a).__name__, a.nnz, a.toarray()
        ('csr_matrix', 3, array([[0., 1., 0.],
               [3., 0., 2.]], dtype=float32))
        """
        sparse = optional("scipy.sparse", "asscipy")
        parts = self._values_array.asnumpy(), self._indices.copy(), self._indptr.copy()
        return sparse.csr_matrix(parts, shape=self._shape)

    @guarded
    def check_format(self, full_check: bool = True) -> None:
        """Raise if the structure is not that of a csr matrix.

        Raises
        ------
        ArgumentError
            Naming what is wrong.

        Examples
        --------
        >>> a = mx.nd.sparse.csr_matrix(([1, 2], [0, 5], [0, 1, 2]), shape=(2, 3))
        >>> a.check_format(full_check=False)
        >>> a.check_format()
        Traceback (most recent call last):
            ...
        cynet.errors.ArgumentError: csr indices: expected numbers from 0 to 2, found 5
        """
        structure.check_csr(
            self._indices, self._indptr, self._shape, len(self._values_array), full_check
        )

    def _make_canonical(self):
        indices, order = structure.sorted_csr(
            self._indices, self._indptr, self._shape, len(self._values_array)
        )
        if order is not None:
            self._indices, self._values_array = (
                indices,
                convert.take_rows(self._values_array, order),
            )


class RowSparseNDArray(BaseSparseNDArray):
    """An array that stores its nonzero rows.

    ``data[i]`` is row ``indices[i]``, and these rise. `row_sparse_array` makes one.

    Examples
    --------
    >>> a = mx.nd.sparse.row_sparse_array(([[1, 2]], [1]), shape=(3, 2))
    >>> a.asnumpy().tolist()
    [[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]
    """

    __slots__ = ()
    stype = "row_sparse"
    _aux_types = (np.int64,)

    def __getitem__(self, key):
        """The array itself for ``[:]``; a row_sparse array has no other indexing."""
        if isinstance(key, slice) and key == slice(None):
            return self
        raise ArgumentError(f"a row_sparse array is indexed by [:] alone, got {key!r}")

    def retain(self, *args, **kwargs):
        """``mx.nd.sparse.retain`` of this array."""
        return invoke(get_operator("_sparse_retain"), (self, *args), kwargs)

    @guarded
    def check_format(self, full_check: bool = True) -> None:
        """Raise if the structure is not that of a row_sparse array.

        Raises
        ------
        ArgumentError
            Naming what is wrong.

        Examples
        --------
        >>> a = mx.nd.sparse.row_sparse_array(([[1], [2]], [0, 5]), shape=(3, 1))
        >>> a.check_format()
        Traceback (most recent call last):
            ...
        cynet.errors.ArgumentError: row_sparse indices: expected numbers from 0 to 2, found 5
        """
        structure.check_row_indices(self._indices, self._shape, len(self._values_array), full_check)

    def _make_canonical(self):
        indices, order = structure.sorted_rows(self._indices, self._shape, len(self._values_array))
        if order is not None:
            self._indices, self._values_array = (
                indices,
                convert.take_rows(self._values_array, order),
            )


CLASS_BY_STYPE = {"csr": CSRNDArray, "row_sparse": RowSparseNDArray}  # storage type -> class


def make_sparse(stype, shape, values, indices, indptr=None, ready=True):
    """Make a sparse array from values (NDArray) and index arrays (NumPy, int64)."""
    out = new_sparse_array(CLASS_BY_STYPE[stype], dtype_flag(values.dtype))
    return out._set_contents(tuple(shape), values, indices, indptr, ready)


def any_sparse(arrays: list[Any]) -> bool:
    """Return whether any of the arrays is sparse; items may be None."""
    return any(isinstance(each, BaseSparseNDArray) for each in arrays)


def check_stype(stype):
    """Raise unless `stype` is the name of a storage type."""
    if not isinstance(stype, str) or stype not in ("default", *CLASS_BY_STYPE):
        raise ArgumentError(
            f"storage type {shown(stype)} is not one of 'default', 'row_sparse' and 'csr'"
        )


def cast_storage(array, stype):
    """Return `array` in storage type `stype`; the array itself if it has that type."""
    check_stype(stype)
    if array.stype == stype:
        return array
    if _tape.wants_gradient([array]):
        return make_and_record_cast(array, lambda: _cast_by_operator(array, stype))
    return _cast_by_operator(array, stype)


def copy_as_stype(array, stype):
    """A copy of `array` in storage type `stype`."""
    out = cast_storage(array, stype)
    return out.copy() if out is array else out


def make_and_record_cast(source, make):
    """The result of `make_sparse`, in the graph of autograd as a copy of `source`."""
    from .gradients import CastNode

    flags = _tape.set_state(_tape.get_state() & ~1)
    try:
        result = make()
    finally:
        _tape.set_state(flags)
    CastNode(source).attach([source], [result])
    return result


def _cast_by_operator(array, stype):
    if array.stype != "default":
        if stype != "default":
            raise ArgumentError(f"{array.stype} does not become {stype}: go through 'default'")
        return convert.to_dense(array.as_canonical())
    if stype == "csr" and array.ndim != 2:
        raise ArgumentError(f"a csr matrix has 2 axes, this array has shape {array.shape}")
    if array.ndim < 1:
        raise ArgumentError("a row_sparse array has an axis at least")
    return convert.from_dense(array, stype)


def _restore(cls, shape, values, indices, indptr, context):
    held = from_numpy(values).as_in_context(context)
    out = new_sparse_array(cls, dtype_flag(held.dtype))
    return out._set_contents(shape, held, indices, indptr, False)
