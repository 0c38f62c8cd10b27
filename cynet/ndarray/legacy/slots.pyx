"""What ``mx.nd`` has of its own: results of the operands' dtype, NumPy arrays that are brought to
it, and comparisons that give numbers, which are known for masks by where they come from."""

from ..._core.face cimport ND
from ..._core.sparse_kind cimport refuse_sparse
from ..._ndarray cimport NDArrayBase, blob_shape, same_shape
from ..._typedefs cimport kBfloat16, kBool, kInt8, kInt32, kInt64, kUint8
from ...operator._base cimport OpEntry
from .._arithmetic cimport Slot
from .._resolve cimport Call, fits, resolve
from .._resolve cimport with_scalar as another_scalar
from .._tape cimport CallNode

import numpy as np

from ...base.dtype import name_of
from ...base.errors import ArgumentError, ArgumentTypeError
from ...operator.faces import BINARY, COMPARISONS
from .._arithmetic import OPERATORS, UNARY, set_operators

# --- masks ----------------------------------------------------------------------------------------
cdef bint _is_truth(NDArrayBase item):
    # A comparison made it.
    entry = item.grad_entry
    return item.truths or (
        type(entry) is CallNode and (<CallNode>entry).call.entry.name in COMPARISONS)


cdef object _mask(NDArrayBase array, NDArrayBase item):
    cdef int dtype = item.blob.dtype
    if dtype == kBool:
        return item.asnumpy()
    if dtype in (kInt32, kInt64, kInt8, kUint8) and not _is_truth(item):
        return item
    known = _is_truth(item)
    if not known and (not same_shape(&array.blob, &item.blob) or item.blob.size == 1):
        return item
    values = item.asnumpy()
    truths = values == 1
    if not (truths | (values == 0)).all():
        return item
    if known:
        if values.shape != blob_shape(&array.blob)[:values.ndim]:
            raise ArgumentError(
                f"x[mask]: what a comparison gave is a mask, and its shape {values.shape} is not "
                f"that of the first axes of x, {blob_shape(&array.blob)}; for numbers of rows "
                "write x[mask.astype('int32')]")
        return truths
    raise ArgumentError(
        f"x[index]: the index is an array of {name_of(item.dtype)} zeros and ones of x's shape "
        f"{values.shape}: write x[index.astype('bool')] where it is a mask, "
        "x[index.astype('int32')] where it holds numbers of rows")


def with_masks(NDArrayBase array, object key):
    """The key of ``array[key]`` with NumPy arrays of bool in place of the masks in it: arrays of
    bool, and what comparisons gave.

    Raises
    ------
    ArgumentError
        An array of numbers could be a mask as well as numbers of rows.
    """
    if isinstance(key, NDArrayBase):
        refuse_sparse(key, "x[index]")
        return _mask(array, key)
    if type(key) is tuple:
        for item in key:
            if isinstance(item, NDArrayBase):
                refuse_sparse(item, "x[index]")
                return tuple([
                    _mask_among(item) if isinstance(item, NDArrayBase) else item for item in key])
    return key


cdef object _mask_among(NDArrayBase item):
    # One of several keys.
    if item.blob.dtype == kBool or not _is_truth(item):
        return item.asnumpy() if item.blob.dtype == kBool else item
    values = item.asnumpy()
    truths = values == 1
    return truths if (truths | (values == 0)).all() else item


# --- operators ------------------------------------------------------------------------------------
cdef class LegacySlot(Slot):
    """A Slot of mx.nd."""

    cdef bint compares, joins  # gives truths; gives truths of truths
    cdef bint subtracts

    def __init__(self, sign, *names):
        super().__init__(ND, sign, *names)
        self.compares, self.joins = names[0] in COMPARISONS, sign in ("*", "multiply")
        self.subtracts = sign == "-"

    cdef NDArrayBase noted(self, NDArrayBase out, NDArrayBase lhs, NDArrayBase rhs):
        if self.compares or (self.joins and lhs.truths and rhs.truths):
            out.truths = True
        return out

    cdef NDArrayBase noted_number(self, NDArrayBase out):
        if self.compares:
            out.truths = True
        return out

    cdef NDArrayBase noted_reflected(self, NDArrayBase out, NDArrayBase array, object value):
        if self.compares or array.truths and self.subtracts and value == 1:
            out.truths = True  # 1 - mask is one, too
        return out

    cdef Call for_scalar(self, Call last, object before, OpEntry entry, NDArrayBase array,
                         object value):
        # Numbers change from call to call (a learning rate): the first one is resolved in full.
        cdef Call call = None
        if last is not None and fits(&last.arrays[0], &array.blob):
            call = another_scalar(last, value)
        if call is not None:
            return call
        return resolve(ND, entry, [array], (), {"scalar": value}, None)

    cdef object beside(self, NDArrayBase array, object other):
        # Of `array`'s dtype where it can be, or a number where it has no axes.
        refuse_sparse(array, f"NDArray {self.sign} NumPy array")
        from .._indexing import from_host  # which is made on top of this module
        if other.ndim == 0:
            return other[()]
        own = np.float32 if array.blob.dtype == kBfloat16 else array.dtype
        if not np.can_cast(other.dtype, own, "same_kind"):
            raise ArgumentTypeError(
                f"NDArray {self.sign} NumPy array: an array of {other.dtype} does not become one "
                f"of {name_of(array.dtype)} without loss; convert one of them with astype")
        return from_host(other, array.blob.dtype, array.blob.dev_type, array.blob.dev_id)


ND.set_key_of(with_masks)
set_operators(
    ND,
    {name: LegacySlot(BINARY[name].sign, *BINARY[name].operators)
     for name in OPERATORS if name in BINARY},
    dict(zip(UNARY, UNARY)))
