"""The rows that index arrays and masks pick, as numbers (contract in the .pxd)."""

cimport numpy as cnp
from cpython.slice cimport PySlice_Check
from libc.stdint cimport int32_t, int64_t

from .._ndarray cimport NDArrayBase, blob_shape, on_host, same_shape
from .._typedefs cimport kInt32, kInt64

from math import prod

import numpy as np

from ..base.dtype import name_of
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..operator.checks.index_dtype import LARGEST_EXACT

EXACT = LARGEST_EXACT["float64"]

cnp.import_array()

ctypedef fused whole_number:
    int32_t
    int64_t


cdef bint is_whole(object item):
    return (PySlice_Check(item) and item.start is None and item.stop is None
            and item.step is None)


cdef bint is_basic(object item):
    if PySlice_Check(item) or item is None or item is Ellipsis or type(item) is int:
        return True
    if isinstance(item, (NDArrayBase, np.ndarray, list, range, tuple)):
        return False
    if hasattr(item, "__index__"):  # np.int64, bool and the like
        return True
    raise ArgumentTypeError(
        f"an NDArray is indexed by ints, slices, None, ..., arrays and lists; "
        f"got {shown(item)}")


cdef object index_array(object item):
    # A list, NumPy array or NDArray as NumPy indexes with it; whole floats count as ints, as in
    # MXNet.
    if isinstance(item, NDArrayBase):
        kind, item = name_of(item.dtype), item.asnumpy()
    else:
        item = np.asarray(item)
        kind = item.dtype.name
    if item.dtype.kind == "f" or item.size == 0:
        largest = LARGEST_EXACT.get(kind, EXACT)
        if item.size and not np.abs(item).max() <= largest:  # NaN, too
            raise ArgumentError(
                f"an index array of {kind} names places up to {largest}, got "
                f"{item.flat[np.abs(item).argmax()]}; expected one of int32 or int64")
        item = item.astype(np.int64)
    if item.dtype.kind not in "iub":
        raise ArgumentTypeError(f"an index array holds ints or bools, got {item.dtype}")
    return item


cdef cnp.ndarray rows_of_one(NDArrayBase array, object item):
    # Row numbers along the first axis by one array of ints within bounds; None: by `_rows`. As
    # `_numbers` of one array, in half the time.
    cdef cnp.ndarray rows
    cdef int64_t* numbers
    cdef int64_t i, n = array.blob.shape[0], lowest = 0, highest = -1
    if isinstance(item, NDArrayBase):
        rows = rows_of_many(array, (item,))  # as they lie, without copies
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


cdef bint _add_axis(const whole_number* index, int64_t* numbers, int64_t n, int64_t size,
                    bint first) noexcept nogil:
    # Row-major numbers with one more axis; False where an index is out of bounds.
    cdef int64_t i, place
    cdef bint inside = True
    for i in range(n):
        place = index[i]
        inside = inside and -size <= place < size
        place += size if place < 0 else 0
        numbers[i] = place if first else numbers[i] * size + place
    return inside


cdef cnp.ndarray rows_of_many(NDArrayBase array, object key):
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
        if item.blob.dtype not in (kInt32, kInt64) or not on_host(&item.blob) or (
                item.blob.size == 0 or not same_shape(&item.blob, &one.blob)):
            return None
    for k in range(one.blob.ndim):
        sizes[k] = one.blob.shape[k]
    out = cnp.PyArray_SimpleNew(one.blob.ndim, sizes, cnp.NPY_INT64)
    numbers = <int64_t*>cnp.PyArray_DATA(out)
    for k in range(len(<tuple>key)):
        item = (<tuple>key)[k]
        item.wait_read()
        if item.blob.dtype == kInt32:
            inside = inside and _add_axis(<const int32_t*>item.blob.data, numbers, item.blob.size,
                                          array.blob.shape[k], k == 0)
        else:
            inside = inside and _add_axis(<const int64_t*>item.blob.data, numbers, item.blob.size,
                                          array.blob.shape[k], k == 0)
    return out if inside else None


cdef inline bint _holds_ints(cnp.ndarray array):
    # at least one; those that 64 bits with a sign hold
    cdef int num = cnp.PyArray_TYPE(array)
    return array.size > 0 and (
        cnp.PyTypeNum_ISSIGNED(num) and cnp.PyTypeNum_ISINTEGER(num)
        or cnp.PyTypeNum_ISUNSIGNED(num) and cnp.PyArray_ITEMSIZE(array) < 8)


cdef cnp.ndarray _numbers(list items, tuple shape):
    # Row-major numbers of what arrays of ints (of one shape) and ints pick, or one array among
    # slices, all within bounds; None for any other key.
    cdef int arrays = 0, slices = 0
    cdef tuple sizes = ()
    cdef cnp.ndarray index, out
    cdef int64_t* numbers
    cdef int64_t* places
    cdef int64_t n, m, i, j, place, size, before
    cdef list wide = [], lengths = []
    for item, length in zip(items, shape):
        if isinstance(item, np.ndarray):
            if (arrays and item.shape != sizes) or not _holds_ints(item):
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
    n = 1 if slices else out.size  # numbers so far: all at once, or one more axis at a time
    for item, length in zip(wide, shape):
        size = length
        index = np.ascontiguousarray(item, np.int64)
        places = <int64_t*>cnp.PyArray_DATA(index)
        m = index.size
        for j in range(m):
            if not -size <= places[j] < size:
                return None
        if slices and out.size:
            for i in range(n - 1, -1, -1):
                before = numbers[i] * size
                for j in range(m - 1, -1, -1):
                    place = places[j]
                    numbers[i * m + j] = before + (place + size if place < 0 else place)
            n *= m
        elif not slices:
            for i in range(n):
                place = places[i if m > 1 else 0]
                numbers[i] = numbers[i] * size + (place + size if place < 0 else place)
    return out


cdef tuple rows_by_number(NDArrayBase array, tuple items):
    # (row numbers as NumPy picks them, sizes of one row): rows are the axes after the last one
    # indexed.
    cdef int lead = 0, axis = 0
    cdef bint new = False
    arrays = []
    for item in items:
        if not is_basic(item):
            item = index_array(item)
            axis += item.ndim if item.dtype.kind == "b" else 1
            lead = axis
        elif item is not None:
            axis += 1
            if not is_whole(item):
                lead = axis
        else:
            lead = axis
            new = True
        arrays.append(item)
    shape = blob_shape(&array.blob)
    sizes = shape[:lead]
    if not new:
        numbers = _numbers(arrays[:lead], shape)
        if numbers is not None:
            return numbers, shape[lead:]
    while arrays and is_whole(arrays[len(arrays) - 1]):
        arrays.pop()
    numbers = np.arange(prod(sizes), dtype=np.int64).reshape(sizes)
    return np.ascontiguousarray(numbers[tuple(arrays)]), shape[lead:]
