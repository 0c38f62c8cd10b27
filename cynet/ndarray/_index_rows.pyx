"""Indexing by integer arrays and masks (contract in the .pxd)."""

cimport numpy as cnp
from cpython.slice cimport PySlice_Check
from libc.stdint cimport int32_t, int64_t

from .._core.face cimport ND
from .._core.picked_rows cimport rows_by_mask, rows_by_index
from .._core.sparse_kind cimport refuse_sparse
from .._ndarray cimport NDArrayBase, blob_shape, is_on_host, new_array, same_shape
from .._typedefs cimport kBool, kFloat32, kFloat64, kInt32, kInt64
from ..kernels.movement.strided_copy cimport are_row_indices

from math import prod

import numpy as np

from ..base.dtype import NAMES
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..operator.checks.index_dtype import MAX_EXACT_INTS

MAX_EXACT = MAX_EXACT_INTS["float64"]  # largest integer that float64 holds exactly

cnp.import_array()

ctypedef fused number:
    int32_t
    int64_t
    float
    double


cdef bint is_full_slice(object item):
    return (PySlice_Check(item) and item.start is None and item.stop is None
            and item.step is None)


cdef bint is_basic_index(object item):
    if PySlice_Check(item) or item is None or item is Ellipsis or type(item) is int:
        return True
    if isinstance(item, (NDArrayBase, np.ndarray, list, range, tuple)):
        return False
    if hasattr(item, "__index__"):  # np.int64, bool and the like
        return True
    raise ArgumentTypeError(
        f"an NDArray is indexed by ints, slices, None, ..., arrays and lists; "
        f"got {shown(item)}")


cdef int _refuse_inexact_floats(cnp.ndarray item, object kind) except -1:
    # Refuse floats that are no indices: NaN, or beyond the integers that the dtype represents.
    cdef cnp.ndarray wide = np.ascontiguousarray(item, np.float64)
    cdef const double* indices = <const double*>cnp.PyArray_DATA(wide)
    cdef double largest = MAX_EXACT_INTS.get(kind, MAX_EXACT)
    cdef bint exact = True
    cdef int64_t i
    for i in range(wide.size):
        exact = exact and -largest <= indices[i] <= largest
    if not exact:
        raise ArgumentError(
            f"an index array of {kind} names places up to {MAX_EXACT_INTS.get(kind, MAX_EXACT)}, "
            f"got {item.flat[np.abs(item).argmax()]}; expected one of int32 or int64")
    return 0


cdef cnp.ndarray _ints_of_floats(NDArrayBase item):
    # Indices of float32 or float64 on the host as ints; None for other dtypes and fractions.
    cdef cnp.npy_intp sizes[32]
    cdef cnp.ndarray out
    cdef int64_t* numbers
    cdef int64_t i
    cdef bint narrow = item.blob.dtype == kFloat32
    if not (narrow or item.blob.dtype == kFloat64) or not is_on_host(&item.blob):
        return None
    item.wait_read()
    if not (_are_integral(<const float*>item.blob.data, item.blob.size) if narrow
            else _are_integral(<const double*>item.blob.data, item.blob.size)):
        return None
    for i in range(item.blob.ndim):
        sizes[i] = item.blob.shape[i]
    out = cnp.PyArray_SimpleNew(item.blob.ndim, sizes, cnp.NPY_INT64)
    numbers = <int64_t*>cnp.PyArray_DATA(out)
    for i in range(item.blob.size):
        numbers[i] = <int64_t>((<const float*>item.blob.data)[i] if narrow
                               else (<const double*>item.blob.data)[i])
    return out


cdef object index_array(object item):
    # A list, NumPy array or NDArray as NumPy indexes with it; whole floats count as ints.
    kind = None
    if isinstance(item, NDArrayBase):
        found = _ints_of_floats(item)
        if found is not None:
            return found
        kind, item = NAMES[(<NDArrayBase>item).blob.dtype], item.asnumpy()
    else:
        item = np.asarray(item)
    if item.dtype.kind == "f" or item.size == 0:
        if item.size:
            _refuse_inexact_floats(item, kind or item.dtype.name)  # `dtype.name` takes 2 us
        item = item.astype(np.int64)
    if item.dtype.kind not in "iub":
        raise ArgumentTypeError(f"an index array holds ints or bools, got {item.dtype}")
    return item


cdef NDArrayBase rows_by_array(NDArrayBase array, object key):  # None for another key
    cdef NDArrayBase item, numbers
    cdef int64_t size, n
    cdef bint inside
    if not isinstance(key, NDArrayBase) or array.blob.ndim == 0:
        return None
    item = key
    size, n = array.blob.shape[0], item.blob.size
    if not _has_index_dtype(item) or n == 0 or not is_on_host(&item.blob) or (
            not is_on_host(&array.blob)):
        return None
    item.wait_read()
    if item.blob.dtype == kInt64 and not item.chunk.exposed.load():  # not exposed
        with nogil:
            inside = are_row_indices(<const int64_t*>item.blob.data, n, size)
        if inside:
            return rows_by_index(array, item)
    numbers = new_array(ND, item.blob.shape, item.blob.ndim, kInt64, item.blob.dev_type,
                        item.blob.dev_id)
    with nogil:
        inside = _append_axis(item, <int64_t*>numbers.blob.data, size, True)
    return rows_by_index(array, numbers) if inside else None


cdef cnp.ndarray indices_of_array(NDArrayBase array, object item):  # row indices
    # As `_flat_indices` of one array, in half the time.
    cdef cnp.ndarray rows
    cdef int64_t* numbers
    cdef int64_t i, n = array.blob.shape[0], lowest = 0, highest = -1
    if isinstance(item, NDArrayBase):
        rows = indices_of_arrays(array, (item,))  # row indices in the memory of `item`
        if rows is not None:
            return rows
    index = index_array(item)
    if index.dtype.kind == "b":
        return None
    rows = np.array(index, dtype=np.int64, order="C")
    numbers = <int64_t*>cnp.PyArray_DATA(rows)
    for i in range(rows.size):
        lowest = min(lowest, numbers[i])
        highest = max(highest, numbers[i])
        numbers[i] += n if numbers[i] < 0 else 0
    return rows if lowest >= -n and highest < n else None


cdef inline bint _has_index_dtype(NDArrayBase item) noexcept:
    cdef int dtype = item.blob.dtype
    return dtype == kInt32 or dtype == kInt64 or dtype == kFloat32 or dtype == kFloat64


cdef bint _are_integral(const number* index, int64_t n) noexcept nogil:
    cdef int64_t i, exact = <int64_t>1 << (24 if number is float else 53)  # MAX_EXACT_INTS
    cdef bint are = True
    for i in range(n):
        are = are and -exact <= index[i] <= exact and index[i] == <number><int64_t>index[i]
    return are


cdef bint _append_axis(NDArrayBase item, int64_t* numbers, int64_t size, bint first) noexcept nogil:
    cdef void* data = item.blob.data
    cdef int64_t n = item.blob.size
    if item.blob.dtype == kInt32:
        return _append_axis_index(<const int32_t*>data, numbers, n, size, first)
    if item.blob.dtype == kInt64:
        return _append_axis_index(<const int64_t*>data, numbers, n, size, first)
    if item.blob.dtype == kFloat32:
        return _append_axis_index(<const float*>data, numbers, n, size, first)
    return _append_axis_index(<const double*>data, numbers, n, size, first)


cdef bint _append_axis_index(const number* index, int64_t* numbers, int64_t n, int64_t size,
                             bint first) noexcept nogil:
    # Add an axis to row-major indices; False if an index is out of bounds or a fraction.
    cdef int64_t i, place
    cdef bint inside = True
    if (number is float or number is double) and not _are_integral(index, n):
        return False
    for i in range(n):
        place = <int64_t>index[i]
        inside = inside and -size <= place < size
        place += size if place < 0 else 0
        numbers[i] = place if first else numbers[i] * size + place
    return inside


cdef cnp.ndarray indices_of_arrays(NDArrayBase array, object key):  # row indices, or None
    cdef NDArrayBase item, one
    cdef cnp.ndarray out
    cdef cnp.npy_intp sizes[32]
    cdef int64_t* numbers
    cdef int k
    cdef bint inside = True
    if type(key) is not tuple or not 0 < len(<tuple>key) <= array.blob.ndim or (
            not isinstance((<tuple>key)[0], NDArrayBase)):
        return None
    one = (<tuple>key)[0]
    for each in <tuple>key:
        if not isinstance(each, NDArrayBase):
            return None
        item = each
        if not _has_index_dtype(item) or not is_on_host(&item.blob) or (
                item.blob.size == 0 or not same_shape(&item.blob, &one.blob)):
            return None
    for k in range(one.blob.ndim):
        sizes[k] = one.blob.shape[k]
    out = cnp.PyArray_SimpleNew(one.blob.ndim, sizes, cnp.NPY_INT64)
    numbers = <int64_t*>cnp.PyArray_DATA(out)
    for k in range(len(<tuple>key)):
        item = (<tuple>key)[k]
        item.wait_read()
        inside = inside and _append_axis(item, numbers, array.blob.shape[k], k == 0)
    return out if inside else None


cdef inline bint _has_int_elements(cnp.ndarray array):
    # True if the array has elements, of an integer dtype that fits int64.
    cdef int num = cnp.PyArray_TYPE(array)
    return array.size > 0 and (
        cnp.PyTypeNum_ISSIGNED(num) and cnp.PyTypeNum_ISINTEGER(num)
        or cnp.PyTypeNum_ISUNSIGNED(num) and cnp.PyArray_ITEMSIZE(array) < 8)


cdef cnp.ndarray _flat_indices(list items, tuple shape):
    # Flat indices of what ints and int arrays of one shape select, or one array and slices; None
    # for another key, or an index out of bounds.
    cdef int arrays = 0, slices = 0
    cdef tuple sizes = ()
    cdef cnp.ndarray index, out
    cdef int64_t* numbers
    cdef int64_t* indices
    cdef int64_t n, m, i, j, place, size, before
    cdef list wide = [], lengths = []
    for item, length in zip(items, shape):
        if isinstance(item, np.ndarray):
            if (arrays and item.shape != sizes) or not _has_int_elements(item):
                return None
            sizes = item.shape
            arrays += 1
            lengths.extend(sizes)
        elif PySlice_Check(item):
            item = np.arange(*item.indices(length), dtype=np.int64)
            slices += 1
            lengths.append(item.size)
        elif type(item) is not int:
            return None
        wide.append(item)
    if slices and (arrays != 1 or arrays + slices != len(items)):
        return None
    out = np.zeros(lengths if slices else sizes, np.int64)
    numbers = <int64_t*>cnp.PyArray_DATA(out)
    n = 1 if slices else out.size  # with slices: how many are written so far
    for item, length in zip(wide, shape):
        size = length
        index = np.ascontiguousarray(item, np.int64)
        indices = <int64_t*>cnp.PyArray_DATA(index)
        m = index.size
        for j in range(m):
            if not -size <= indices[j] < size:
                return None
        if slices and out.size:
            for i in range(n - 1, -1, -1):
                before = numbers[i] * size
                for j in range(m - 1, -1, -1):
                    place = indices[j]
                    numbers[i * m + j] = before + (place + size if place < 0 else place)
            n *= m
        elif not slices:
            for i in range(n):
                place = indices[i if m > 1 else 0]
                numbers[i] = numbers[i] * size + (place + size if place < 0 else place)
    return out


cdef tuple rows_and_shape(NDArrayBase array, tuple items):
    # (row indices in NumPy's order, shape of a row): rows span the axes after the indexed ones.
    cdef int lead = 0, axis = 0
    cdef bint new = False
    arrays = []
    for item in items:
        if not is_basic_index(item):
            item = index_array(item)
            axis += item.ndim if item.dtype.kind == "b" else 1
            lead = axis
        elif item is not None:
            axis += 1
            if not is_full_slice(item):
                lead = axis
        else:
            lead = axis
            new = True
        arrays.append(item)
    shape = blob_shape(&array.blob)
    sizes = shape[:lead]
    if not new:
        numbers = _flat_indices(arrays[:lead], shape)
        if numbers is not None:
            return numbers, shape[lead:]
    while arrays and is_full_slice(arrays[len(arrays) - 1]):
        arrays.pop()
    numbers = np.arange(prod(sizes), dtype=np.int64).reshape(sizes)
    return np.ascontiguousarray(numbers[tuple(arrays)]), shape[lead:]


# --- masks ----------------------------------------------------------------------------------------
cdef bint is_mask(object item):
    return isinstance(item, np.ndarray) and cnp.PyArray_TYPE(item) == cnp.NPY_BOOL


cdef NDArrayBase elements_by_mask(NDArrayBase array, object key):  # None for another key
    cdef NDArrayBase mask
    cdef cnp.ndarray host
    cdef int i, axes
    if not is_on_host(&array.blob):
        return None
    if isinstance(key, NDArrayBase):
        mask = key
        axes = mask.blob.ndim
        if mask.blob.dtype != kBool or not 0 < axes <= array.blob.ndim or (
                not is_on_host(&mask.blob)):
            return None
        for i in range(axes):
            if mask.blob.shape[i] != array.blob.shape[i]:
                return None
        refuse_sparse(mask, "x[index]")
        return rows_by_mask(array, axes, mask, <const char*>mask.blob.data)
    if not is_mask(key):
        return None
    host = key
    axes = cnp.PyArray_NDIM(host)
    if not 0 < axes <= array.blob.ndim:
        return None
    for i in range(axes):
        if cnp.PyArray_DIM(host, i) != array.blob.shape[i]:
            return None
    if not cnp.PyArray_IS_C_CONTIGUOUS(host):
        host = np.ascontiguousarray(host)
    return rows_by_mask(array, axes, None, <const char*>cnp.PyArray_DATA(host))


cdef object resolve_masks(NDArrayBase array, object key):  # masks as NumPy arrays
    if array.face.read_masks is not None:
        return array.face.read_masks(array, key)
    if isinstance(key, NDArrayBase):
        return key.asnumpy() if (<NDArrayBase>key).blob.dtype == kBool else key
    if type(key) is tuple:
        return tuple([resolve_masks(array, item) if isinstance(item, NDArrayBase) else item
                      for item in <tuple>key])
    return key


# --- bools as keys --------------------------------------------------------------------------------
cdef bint _is_bool(object item):
    if item is None or item is Ellipsis or PySlice_Check(item) or type(item) is int:
        return False
    if isinstance(item, NDArrayBase):
        return (<NDArrayBase>item).blob.ndim == 0 and (<NDArrayBase>item).blob.dtype == kBool
    return isinstance(item, (bool, np.bool_)) or (is_mask(item) and item.ndim == 0)


cdef bint key_has_bool(object key):
    if type(key) is tuple:
        for item in <tuple>key:
            if _is_bool(item):
                return True
        return False
    return _is_bool(key)


cdef object apply_bool_key(NDArrayBase array, object key):
    # All bools of a key are one new axis, of length 1, or 0 if one of them is False.
    cdef tuple keys = key if type(key) is tuple else (key,)
    cdef list positions = [i for i, item in enumerate(keys) if _is_bool(item)]
    first = positions[0]
    out = array[tuple([None if i == first else item for i, item in enumerate(keys)
                       if i == first or i not in positions])]
    for i in positions:
        if not bool(keys[i]):
            return _empty_along_axis(out, keys, first)
    return out


cdef object _empty_along_axis(object out, tuple keys, int place):  # an empty view
    # Select nothing along the new axis of a False.
    cdef int axis = 0, behind = 0
    cdef bint dots = False
    for i, item in enumerate(keys):
        dots = dots or (i < place and item is Ellipsis)
        if PySlice_Check(item) or item is None:
            axis += i < place
            behind += i > place
    if dots:
        axis = out.ndim - 1 - behind
    return out[(slice(None),) * axis + (slice(0, 0),)]


cdef object key_without_bools(object key):  # a new axis instead
    cdef tuple items = key if type(key) is tuple else (key,)
    cdef list remaining = []
    cdef int truths = 0
    for item in items:
        if _is_bool(item):
            if not item:
                return None
            truths += 1
            if truths > 1:
                continue
            item = None
        remaining.append(item)
    return tuple(remaining) if truths else key
