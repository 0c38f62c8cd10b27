"""Indexing of NDArray, x[key] and x[key] = value, as C slots; and conversion of host data."""

cimport numpy as cnp
from cpython.slice cimport PySlice_Check
from libc.stdint cimport int64_t, uint64_t

from ._arithmetic cimport NDArrayArithmetic
from ._index_rows cimport (
    elements_by_mask, key_has_bool, indices_of_arrays, rows_and_shape, is_mask, key_without_bools,
    indices_of_array, is_basic_index, is_full_slice, apply_bool_key, resolve_masks, rows_by_array)
from ._resolve cimport resolve_call
from ._tape cimport n_flagged, is_recording, record_view, refuse_part_write, refuse_write
from .bulk.note cimport defer_copy
from .._core.copy cimport Region, copy_from_host, push_copy, push_fill, copy_rows, whole_region
from .._core.sparse_kind cimport dense_of
from .._core.face cimport ND, Face
from ..engine.deferred cimport bulk_threads
from .._ndarray cimport NDArrayBase, blob_shape, new_array, new_view
from .._typedefs cimport (
    MAX_NDIM, dtype_size, kBfloat16, kBool, kFloat32, kFloat64, kGPU, kInt8, kInt32, kInt64, kUint8)

from math import prod

import numpy as np

from .._core.copy import last_position_per_row
from ..base.dtype import NAMES, DTYPES, is_bfloat16
from ..base.errors import (
    ArgumentError, ArgumentTypeError, BoundsError, ShapeError, shown, warn_user)
from ..operator._base import get_operator
from ._call import invoke
from ._tape import record_empty_part

cnp.import_array()

cdef extern from "Python.h":
    int PySlice_Unpack(object key, Py_ssize_t* start, Py_ssize_t* stop, Py_ssize_t* step) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t length, Py_ssize_t* start, Py_ssize_t* stop,
                                     Py_ssize_t step) noexcept

cdef enum:
    MAX_AXES = 16            # maximum number of axes of a Region, new axes included

cdef dict _NUMPY_DTYPES = {**DTYPES, kBfloat16: DTYPES[kFloat64]}  # by dtype flag
cdef object _asarray = np.asarray  # np.asarray, which refuses lists of different lengths


# --- host data ------------------------------------------------------------------------------------
cdef int _dtype_flag_of(cnp.ndarray array) noexcept:
    # The type flag of a NumPy array whose bytes can be read as they are, else -1.
    cdef int num = cnp.PyArray_TYPE(array)
    cdef Py_ssize_t size = cnp.PyArray_ITEMSIZE(array)
    if not cnp.PyArray_ISALIGNED(array) or not cnp.PyArray_ISNOTSWAPPED(array):
        return -1
    if num == cnp.NPY_FLOAT:
        return 0
    if num == cnp.NPY_DOUBLE:
        return 1
    if num == cnp.NPY_FLOAT16:
        return 2
    if num == cnp.NPY_UBYTE:
        return 3
    if num == cnp.NPY_BYTE:
        return 5
    if num == cnp.NPY_BOOL:
        return 7
    if num == cnp.NPY_INT or num == cnp.NPY_LONG or num == cnp.NPY_LONGLONG:
        return 6 if size == 8 else (4 if size == 4 else -1)
    if size == 2 and num >= cnp.NPY_VOID and is_bfloat16((<object>array).dtype):
        return kBfloat16
    return -1


cdef cnp.ndarray _host_array(object value, int dtype, str what):
    # `value` as a NumPy array whose bytes `copy_from_host` takes.
    cdef cnp.ndarray array
    if isinstance(value, np.ndarray):
        array = value
        if _dtype_flag_of(array) >= 0:
            return array
    elif isinstance(value, (str, bytes)) or value is None:
        raise ArgumentTypeError(
            f"{what} takes numbers or something like an array, got {shown(value)}")
    try:
        array = _asarray(value)
        if array.dtype.kind not in "fiubOSU":
            raise ArgumentTypeError(array.dtype)
        if _dtype_flag_of(array) < 0:  # objects that are numbers, and texts of numbers
            array = array.astype(_NUMPY_DTYPES[dtype])
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentTypeError(
            f"{what} takes numbers or something like an array, got {type(value).__name__} "
            f"{shown(value)} ({error})") from None
    return array


cdef bint _may_share_memory(NDArrayBase array, cnp.ndarray host) noexcept:
    # True if the host array may overlap the array's memory.
    cdef char* low = <char*>cnp.PyArray_DATA(host)
    cdef char* high = low + cnp.PyArray_ITEMSIZE(host)
    cdef char* first = <char*>array.blob.data
    cdef char* last = first + array.blob.size * <int64_t>dtype_size(array.blob.dtype)
    cdef Py_ssize_t reach
    cdef int i
    for i in range(cnp.PyArray_NDIM(host)):
        reach = (cnp.PyArray_DIM(host, i) - 1) * cnp.PyArray_STRIDE(host, i)
        if reach < 0:
            low += reach
        else:
            high += reach
    return low < last and first < high


cdef int _assign_host_array(NDArrayBase array, const Region* to, cnp.ndarray host) except -1:
    cdef int64_t strides[MAX_AXES]
    cdef int64_t item = cnp.PyArray_ITEMSIZE(host)
    cdef int ndim = cnp.PyArray_NDIM(host)
    cdef int extra = ndim - to.ndim
    cdef int i, k
    cdef bint odd = False
    for i in range(extra):
        if cnp.PyArray_DIM(host, i) != 1:
            _raise_shape_error(to, (<object>host).shape)
    for i in range(to.ndim):
        k = i + extra
        if k < 0 or (cnp.PyArray_DIM(host, k) == 1 and to.shape[i] != 1):
            strides[i] = 0
        elif cnp.PyArray_DIM(host, k) != to.shape[i]:
            _raise_shape_error(to, (<object>host).shape)
        else:
            strides[i] = cnp.PyArray_STRIDE(host, k) // item
            odd = odd or cnp.PyArray_STRIDE(host, k) % item != 0
    if odd or _may_share_memory(array, host):
        return _assign_host_array(array, to, host.copy())
    return copy_from_host(array, to, cnp.PyArray_DATA(host), _dtype_flag_of(host), strides)


cdef int _raise_shape_error(const Region* to, tuple shape) except -1:
    target = tuple([to.shape[i] for i in range(to.ndim)])
    raise ShapeError(f"a value of shape {shape} does not broadcast to the assigned shape {target}")


cdef bint _warned_of_rounding = False  # `_warn_of_rounding` warns once
cdef enum:
    MAX_EXACT_INT = 1 << 24  # integers up to here are exact in float32


cdef int _warn_of_rounding(cnp.ndarray host) except -1:
    # Warn once of integers that the default dtype float32 does not represent.
    global _warned_of_rounding
    cdef uint64_t outside = 0
    cdef const int64_t* numbers
    cdef Py_ssize_t i, n = cnp.PyArray_SIZE(host)
    if cnp.PyArray_TYPE(host) == cnp.NPY_INT64 and cnp.PyArray_IS_C_CONTIGUOUS(host):
        numbers = <const int64_t*>cnp.PyArray_DATA(host)
        for i in range(n):
            outside |= <uint64_t>numbers[i] + MAX_EXACT_INT
        if outside < 2 * MAX_EXACT_INT:  # all are in the exact range
            return 0
    values = host[np.abs(host.astype(np.float64)) > MAX_EXACT_INT]
    changed = values[values.astype(np.float32).astype(np.float64) != values.astype(np.float64)]
    if changed.size:
        _warned_of_rounding = True
        warn_user(f"array: {changed.flat[0]} becomes {float(np.float32(changed.flat[0])):.1f}, as "
                  "integers are float32 where no dtype is given; dtype='int64' (or int32, "
                  "float64) keeps them")
    return 0


def from_host(source, int dtype, int dev_type, int dev_id, Face face=ND):
    """A new array with the values of `source` (anything NumPy reads), as type flag `dtype`; -1
    stands for the default, float32."""
    cdef bint default = dtype < 0
    if default:
        dtype = kFloat32
    cdef cnp.ndarray host = _host_array(source, dtype, "array"), given = host
    cdef char kind
    cdef int size
    if default and not _warned_of_rounding:
        if isinstance(source, cnp.ndarray):
            given = source  # `host` is converted already
        kind, size = (<cnp.dtype>cnp.PyArray_DESCR(given)).kind, cnp.PyArray_ITEMSIZE(given)
        if size >= 4 and (kind == c"i" or kind == c"u"):
            _warn_of_rounding(given)
    cdef int64_t shape[MAX_NDIM]
    cdef NDArrayBase out
    cdef Region to
    cdef int i, ndim = cnp.PyArray_NDIM(host)
    if ndim > MAX_NDIM:
        raise ShapeError(f"an NDArray has at most {MAX_NDIM} axes, got {ndim}")
    for i in range(ndim):
        shape[i] = cnp.PyArray_DIM(host, i)
    out = new_array(face, shape, ndim, dtype, dev_type, dev_id)
    to = whole_region(out)
    _assign_host_array(out, &to, host)
    return out


# --- assignment -----------------------------------------------------------------------------------
cdef int64_t _region_size(const Region* region) noexcept:
    cdef int64_t size = 1
    cdef int i
    for i in range(region.ndim):
        size *= region.shape[i]
    return size

cdef int _assign_array(NDArrayBase array, const Region* to, NDArrayBase value) except -1:
    cdef Region plain = whole_region(value)
    cdef Region source
    cdef int extra = plain.ndim - to.ndim, i, k
    if n_flagged:
        refuse_part_write(value)
    cdef bint same = value.chunk == array.chunk and value.blob.dtype == array.blob.dtype
    source.ndim = to.ndim
    source.offset = 0
    for i in range(extra):
        if plain.shape[i] != 1:
            _raise_shape_error(to, blob_shape(&value.blob))
    for i in range(to.ndim):
        k = i + extra
        source.shape[i] = to.shape[i]
        if k < 0 or (plain.shape[k] == 1 and to.shape[i] != 1):
            source.stride[i] = 0
        elif plain.shape[k] != to.shape[i]:
            _raise_shape_error(to, blob_shape(&value.blob))
        else:
            source.stride[i] = plain.stride[k]
        same = same and (source.stride[i] == to.stride[i] or to.shape[i] == 1)
    if same and value.blob.data == (
            <char*>array.blob.data + to.offset * <int64_t>dtype_size(array.blob.dtype)):
        return 0  # last step of `x[i] += y`: y was added to the view before
    if (bulk_threads and to.offset == 0 and _region_size(to) == array.blob.size
            and defer_copy(value, array)):
        return 0
    return push_copy(array, to, value, &source)


cdef int _refuse_large_ints(NDArrayBase array, cnp.ndarray host) except -1:
    # Refuse Python ints that the array's dtype does not hold, as NumPy does.
    if array.blob.dtype in (kUint8, kInt8, kInt32):
        from ..operator.numpy.promotion import check_int_ranges  # imported late: mx.np's family
        check_int_ranges(host, NAMES[array.blob.dtype], f"{array.face.name} x[...] = value")
    return 0


cdef int _assign_region(NDArrayBase array, const Region* to, object value) except -1:
    cdef double real
    cdef int64_t integer
    cdef char truth
    if isinstance(value, NDArrayBase):
        return _assign_array(array, to, dense_of(value))
    if isinstance(value, np.ndarray):
        return _assign_host_array(array, to, _host_array(value, array.blob.dtype, "x[...] = value"))
    if type(value) is float:
        real = value
        return push_fill(array, to, &real, kFloat64)
    if type(value) is bool or isinstance(value, np.bool_):
        truth = bool(value)
        return push_fill(array, to, &truth, kBool)
    if isinstance(value, (int, np.integer)):
        try:
            integer = value
        except OverflowError:
            raise ArgumentError(
                f"x[...] = value: {shown(value)} is more than 64 bits hold") from None
        if array.face is not ND and type(value) is int:
            _refuse_large_ints(array, np.asarray(value))
        return push_fill(array, to, &integer, kInt64)
    if isinstance(value, (float, np.floating)):
        real = value
        return push_fill(array, to, &real, kFloat64)
    host = _host_array(value, array.blob.dtype, "x[...] = value")
    if array.face is not ND:
        _refuse_large_ints(array, host)
    return _assign_host_array(array, to, host)


# --- basic keys -----------------------------------------------------------------------------------
cdef int64_t _normalize_index(object index, int64_t size, int axis) except -1:
    cdef int64_t i, given
    try:
        given = index.__index__()
    except OverflowError:
        raise BoundsError(
            f"index {shown(index)} is out of bounds for axis {axis} with size {size}") from None
    i = given + size if given < 0 else given
    if i < 0 or i >= size:
        raise BoundsError(f"index {given} is out of bounds for axis {axis} with size {size}")
    return i


cdef inline bint _is_basic_item(object item):
    return type(item) is int or PySlice_Check(item) or item is None or item is Ellipsis


cdef inline bint _is_basic_key(object key):
    # True for an int, a slice, None or ``...``, and for a tuple of these alone.
    if type(key) is tuple:
        for item in <tuple>key:
            if not _is_basic_item(item):
                return False
        return True
    return _is_basic_item(key)


cdef tuple _expand_key(NDArrayBase array, object key):
    # The key as a tuple without Ellipsis, with an item for every axis.
    cdef tuple items = key if type(key) is tuple else (key,)
    cdef int named = 0, new = 0, dots = 0
    for item in items:
        if item is Ellipsis:
            dots += 1
        elif item is None:
            new += 1
        elif is_mask(item):
            named += item.ndim
        else:
            named += 1
    if dots > 1:
        raise BoundsError("an index has at most one ellipsis (...)")
    if named > array.blob.ndim:
        raise BoundsError(f"too many indices ({named}) for an array of {array.blob.ndim} axes")
    if new + array.blob.ndim > MAX_AXES:
        raise BoundsError(f"at most {MAX_AXES} axes, new ones included")
    if named == array.blob.ndim and not dots:
        return items
    rest = (slice(None),) * (array.blob.ndim - named)
    if not dots:
        return items + rest
    out = ()
    for item in items:
        out += rest if item is Ellipsis else (item,)
    return out


cdef Region _basic_region(NDArrayBase array, tuple items) except *:
    # The region that ints, slices and None pick; `items` names every axis.
    cdef Region plain = whole_region(array)
    cdef Region out
    cdef Py_ssize_t start, stop, step
    cdef int axis = 0
    out.ndim = 0
    out.offset = 0
    for item in items:
        if item is None:
            out.shape[out.ndim] = 1
            out.stride[out.ndim] = 0
            out.ndim += 1
            continue
        if PySlice_Check(item):
            PySlice_Unpack(item, &start, &stop, &step)
            out.shape[out.ndim] = PySlice_AdjustIndices(plain.shape[axis], &start, &stop, step)
            out.stride[out.ndim] = plain.stride[axis] * step
            if out.shape[out.ndim]:
                out.offset += plain.stride[axis] * start
            out.ndim += 1
        else:
            out.offset += plain.stride[axis] * _normalize_index(item, plain.shape[axis], axis)
        axis += 1
    if out.ndim == 0 and not array.face.has_0d_results():
        out.ndim = 1
        out.shape[0] = out.stride[0] = 1
    return out


cdef bint _is_contiguous(const Region* region) noexcept:
    cdef int64_t stride = 1
    cdef int i
    for i in range(region.ndim - 1, -1, -1):
        if region.shape[i] == 0:
            return True
        if region.shape[i] != 1:
            if region.stride[i] != stride:
                return False
            stride *= region.shape[i]
    return True


cdef NDArrayBase _region_as_array(NDArrayBase array, const Region* region):
    cdef NDArrayBase out
    cdef Region to
    if _is_contiguous(region):
        return new_view(array, region.shape, region.ndim, region.offset)
    out = new_array(array.face, region.shape, region.ndim, array.blob.dtype, array.blob.dev_type,
                    array.blob.dev_id)
    out.chunk.written = out.blob.size == 0
    to = whole_region(out)
    push_copy(out, &to, array, region)
    return out


# --- rows by index --------------------------------------------------------------------------------
cdef int _gather_or_scatter(NDArrayBase array, NDArrayBase picked, cnp.ndarray rows, tuple row,
                            bint scatter) except -1:
    cdef int64_t nbytes = dtype_size(array.blob.dtype)
    cdef NDArrayBase unique
    cdef cnp.ndarray last
    for size in row:
        nbytes *= <int64_t>size
    if scatter and array.blob.dev_type == kGPU:  # GPU threads write in any order
        last = last_position_per_row(rows.reshape(-1))
        if last.size < rows.size:
            unique = _new_rows_array(array, last, row)
            copy_rows(picked, unique, <int64_t*>cnp.PyArray_DATA(last), last.size, nbytes, False)
            picked, rows = unique, rows.reshape(-1)[last]
    return copy_rows(array, picked, <int64_t*>cnp.PyArray_DATA(rows), rows.size, nbytes, scatter)


cdef NDArrayBase _new_rows_array(NDArrayBase array, cnp.ndarray rows, tuple row):
    cdef int64_t shape[MAX_NDIM]
    cdef NDArrayBase out
    cdef int i
    sizes = (<object>rows).shape + row or array.face.no_axes
    if len(sizes) > MAX_NDIM:
        raise ShapeError(f"an NDArray has at most {MAX_NDIM} axes, the index gives {len(sizes)}")
    for i in range(len(sizes)):
        shape[i] = sizes[i]
    out = new_array(array.face, shape, len(sizes), array.blob.dtype, array.blob.dev_type,
                    array.blob.dev_id)
    out.chunk.written = out.blob.size == 0
    return out


# --- where autograd records -----------------------------------------------------------------------
def recorded_reshape(NDArrayBase array, tuple shape):
    """A recorded view of the array with shape `shape`."""
    view = array._view(shape)
    entry, parameter = get_operator("Reshape"), "shape"
    if not shape:  # Reshape takes an empty shape for a missing one
        from ..operator.numpy.shapes import RESHAPE
        entry, parameter = RESHAPE, "newshape"
    call = resolve_call(array.face, entry, [array], (), {parameter: shape}, None)
    record_view(call, array, view)
    return view


cdef object recorded_item(NDArrayBase array, object key):
    # array[key] by operators that have gradients: slice for a basic key, take for rows.
    cdef Region region
    cdef tuple items
    cdef NDArrayBase picked
    if is_full_slice(key) or type(key) is tuple and not key:
        return array
    if key_has_bool(key) and array.face.has_0d_results():
        return apply_bool_key(array, key)
    key = resolve_masks(array, key)
    if array.blob.size == 0:
        return record_empty_part(array, array._view(blob_shape(&array.blob))[key])
    items = _expand_key(array, key)
    for item in items:
        if not is_basic_index(item):
            rows, row = rows_and_shape(array, items)
            sizes = rows.shape + row or array.face.no_axes
            if 0 in sizes:
                return record_empty_part(array, _new_rows_array(array, rows, row))
            length = prod(row)
            table = recorded_reshape(array, (array.blob.size // length, length))
            index = from_host(rows.reshape(-1), kInt64, array.blob.dev_type, array.blob.dev_id,
                              array.face)
            picked = invoke(get_operator("take"), (table, index), {"axis": 0, "mode": "clip"})
            return recorded_reshape(picked, sizes)
    region = _basic_region(array, items)
    picked = _region_as_array(array, &region)
    if picked.blob.size == 0:
        return record_empty_part(array, picked)
    begin, end, step = [], [], []
    for item, size in zip([i for i in items if i is not None], blob_shape(&array.blob)):
        if PySlice_Check(item):
            start, stop, by = item.indices(size)
            begin.append(start)
            end.append(None if stop < 0 else stop)
            step.append(by)
        else:
            begin.append(_normalize_index(item, size, 0))
            end.append(begin[len(begin) - 1] + 1)
            step.append(1)
    call = resolve_call(array.face, get_operator("slice"), [array], (),
                        {"begin": tuple(begin), "end": tuple(end), "step": tuple(step)}, None)
    record_view(call, array, picked)
    return picked


# --- the class ------------------------------------------------------------------------------------
cdef class NDArrayIndexing(NDArrayArithmetic):
    """NDArrayArithmetic with ``x[key]`` and ``x[key] = value``; the public NDArray's base."""

    def __getitem__(self, key):
        cdef Region region
        cdef NDArrayBase picked
        cdef int64_t stride, one
        if n_flagged and self.grad_entry is not None and is_recording():
            return recorded_item(self, key)
        if type(key) is int and self.blob.ndim > 0:
            stride = self.blob.size // self.blob.shape[0] if self.blob.shape[0] else 0
            stride *= _normalize_index(key, self.blob.shape[0], 0)
            if self.blob.ndim > 1 or self.face.has_0d_results():
                return new_view(self, self.blob.shape + 1, self.blob.ndim - 1, stride)
            one = 1
            return new_view(self, &one, 1, stride)
        if is_full_slice(key) or type(key) is tuple and not key:
            return self
        if _is_basic_key(key):
            region = _basic_region(self, _expand_key(self, key))
            return _region_as_array(self, &region)
        rows = indices_of_arrays(self, key)
        if rows is not None:
            row = blob_shape(&self.blob)[len(key):]
            picked = _new_rows_array(self, rows, row)
            _gather_or_scatter(self, picked, rows, row, False)
            return picked
        picked = elements_by_mask(self, key)
        if picked is not None:
            return picked
        if key_has_bool(key) and self.face.has_0d_results():
            return apply_bool_key(self, key)
        key = resolve_masks(self, key)
        picked = elements_by_mask(self, key)
        if picked is None:
            picked = rows_by_array(self, key)
        if picked is not None:
            return picked
        if isinstance(key, (list, np.ndarray, NDArrayBase)) and self.blob.ndim > 0:
            rows = indices_of_array(self, key)
            if rows is not None:
                row = blob_shape(&self.blob)[1:]
                picked = _new_rows_array(self, rows, row)
                _gather_or_scatter(self, picked, rows, row, False)
                return picked
        items = _expand_key(self, key)
        for item in items:
            if not is_basic_index(item):
                rows, row = rows_and_shape(self, items)
                picked = _new_rows_array(self, rows, row)
                _gather_or_scatter(self, picked, rows, row, False)
                return picked
        region = _basic_region(self, items)
        return _region_as_array(self, &region)

    cdef int _assign_rows(self, cnp.ndarray rows, tuple row, object value) except -1:
        cdef NDArrayBase picked
        cdef Region region
        if self.blob.dev_type != kGPU and isinstance(value, (int, float, np.number, np.bool_)):
            picked = _new_rows_array(self, np.zeros(1, np.int64), row)  # one row, broadcast to all
        else:
            picked = _new_rows_array(self, rows, row)
        region = whole_region(picked)
        _assign_region(picked, &region, value)
        return _gather_or_scatter(self, picked, rows, row, True)

    def __setitem__(self, key, value):
        cdef Region region
        if n_flagged:
            refuse_write(self)
        if is_full_slice(key):
            region = whole_region(self)
            _assign_region(self, &region, value)
            return
        if _is_basic_key(key):
            region = _basic_region(self, _expand_key(self, key))
            _assign_region(self, &region, value)
            return
        key = resolve_masks(self, key)
        if key_has_bool(key) and self.face.has_0d_results():
            key = key_without_bools(key)
            if key is None:
                return
        if isinstance(key, (list, np.ndarray, NDArrayBase)) and self.blob.ndim > 0:
            rows = indices_of_array(self, key)
            if rows is not None:
                self._assign_rows(rows, blob_shape(&self.blob)[1:], value)
                return
        rows = indices_of_arrays(self, key)
        if rows is not None:
            self._assign_rows(rows, blob_shape(&self.blob)[len(key):], value)
            return
        items = _expand_key(self, key)
        for item in items:
            if not is_basic_index(item):
                rows, row = rows_and_shape(self, items)
                self._assign_rows(rows, row, value)
                return
        region = _basic_region(self, items)
        _assign_region(self, &region, value)
