"""Arithmetic and comparison operators of NDArray as C slots: no Python code between `a + b` and
the engine."""

from ._dispatch cimport run_small
from ._resolve cimport Call, fits, resolve, sparse_call
from ._resolve cimport with_scalar as another_scalar
from ._tape cimport CallNode, truth
from .._core.sparse_kind cimport is_sparse, refuse_sparse
from .._ndarray cimport NDArrayBase, blob_shape, same_shape
from .._typedefs cimport kBfloat16, kBool, kInt8, kInt32, kInt64, kUint8
from ..operator._base cimport OpEntry

import numpy as np

from ..base.dtype import name_of
from ..base.errors import ArgumentError, ArgumentTypeError
from ..operator._base import get_operator
from ..operator.faces import BINARY, COMPARISONS

cdef tuple _NUMBERS = (int, float, np.generic)


cdef Call _for_scalar(Call last, OpEntry entry, NDArrayBase array, object value):
    # Numbers change from call to call (a learning rate): only the first one is resolved in full.
    cdef Call call = None
    if last is not None and fits(&last.arrays[0], &array.blob):
        call = another_scalar(last, value)
    return call if call is not None else resolve(entry, [array], (), {"scalar": value}, None)


cdef object _beside(NDArrayBase array, object other, str sign):
    # A NumPy array as the other operand: an NDArray of `array`'s dtype where `array` is, or a
    # number where it has no axes.
    refuse_sparse(array, f"NDArray {sign} NumPy array")
    from ._indexing import from_host  # which is made on top of this module
    if other.ndim == 0:
        return other[()]
    own = np.float32 if array.blob.dtype == kBfloat16 else array.dtype
    if not np.can_cast(other.dtype, own, "same_kind"):
        raise ArgumentTypeError(
            f"NDArray {sign} NumPy array: an array of {other.dtype} does not become one of "
            f"{name_of(array.dtype)} without loss; convert one of them with astype")
    return from_host(other, array.blob.dtype, array.blob.dev_type, array.blob.dev_id)


# --- masks ----------------------------------------------------------------------------------------
cdef bint _is_truth(NDArrayBase item):
    # A comparison made it.
    entry = item.grad_entry
    return entry is truth or (
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


cdef object with_masks(NDArrayBase array, object key):
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
cdef class Slot:
    """One Python operator: the registry's entries behind it and the last call of each."""

    cdef str sign, same_name, broadcast_name, scalar_name, reflected_name
    cdef OpEntry same_entry, broadcast_entry, scalar_entry, reflected_entry
    cdef Call last_same, last_broadcast, last_scalar, last_reflected
    cdef object scalar, reflected  # what the last calls were made for
    cdef bint compares, joins  # gives truths; gives truths of truths

    def __init__(self, sign, same_name, broadcast_name, scalar_name, reflected_name):
        self.sign = sign
        self.compares, self.joins = same_name in COMPARISONS, sign in ("*", "multiply")
        self.same_name, self.broadcast_name = same_name, broadcast_name
        self.scalar_name, self.reflected_name = scalar_name, reflected_name

    cdef NDArrayBase with_array(self, NDArrayBase lhs, NDArrayBase rhs, NDArrayBase out):
        # Arrays of one shape have an operator of their own, which may write in place.
        cdef Call call = self.last_same
        if (call is not None and fits(&call.arrays[0], &lhs.blob)
                and fits(&call.arrays[1], &rhs.blob)):
            return self.told(run_small(call, lhs, rhs, out), lhs, rhs)
        if self.same_entry is None:
            self.same_entry = get_operator(self.same_name)
            self.broadcast_entry = get_operator(self.broadcast_name)
        if is_sparse(&lhs.blob) or is_sparse(&rhs.blob):
            return sparse_call(self.broadcast_entry, [lhs, rhs], (), {}, out)
        if same_shape(&lhs.blob, &rhs.blob):
            call = self.last_same = resolve(self.same_entry, [lhs, rhs], (), {}, None)
            return self.told(run_small(call, lhs, rhs, out), lhs, rhs)
        call = self.last_broadcast
        if call is None or not (
                fits(&call.arrays[0], &lhs.blob) and fits(&call.arrays[1], &rhs.blob)):
            call = self.last_broadcast = resolve(self.broadcast_entry, [lhs, rhs], (), {}, None)
        return self.told(run_small(call, lhs, rhs, out), lhs, rhs)

    cdef NDArrayBase told(self, NDArrayBase out, NDArrayBase lhs, NDArrayBase rhs):
        # The result, which says of itself that it is a mask.
        if self.compares or (
                self.joins and lhs.grad_entry is truth and rhs.grad_entry is truth):
            if out.grad_entry is None:
                out.grad_entry = truth
        return out

    cdef NDArrayBase with_scalar(self, NDArrayBase array, object value, NDArrayBase out):
        cdef Call call = self.last_scalar
        if call is None or value is not self.scalar or not fits(&call.arrays[0], &array.blob):
            if self.scalar_entry is None:
                self.scalar_entry = get_operator(self.scalar_name)
            if is_sparse(&array.blob):
                return sparse_call(self.scalar_entry, [array], (), {"scalar": value}, out)
            call = _for_scalar(call, self.scalar_entry, array, value)
            self.last_scalar, self.scalar = call, value
        out = run_small(call, array, None, out)
        return self.told(out, array, array) if self.compares else out

    cdef NDArrayBase with_reflected(self, NDArrayBase array, object value):
        cdef Call call = self.last_reflected
        cdef NDArrayBase out
        if call is None or value is not self.reflected or not fits(&call.arrays[0], &array.blob):
            if self.reflected_entry is None:
                self.reflected_entry = get_operator(self.reflected_name)
            if is_sparse(&array.blob):
                return sparse_call(self.reflected_entry, [array], (), {"scalar": value}, None)
            call = _for_scalar(call, self.reflected_entry, array, value)
            self.last_reflected, self.reflected = call, value
        out = run_small(call, array, None, None)
        if self.compares or array.grad_entry is truth and self is _sub and value == 1:
            if out.grad_entry is None:  # 1 - mask is one, too
                out.grad_entry = truth
        return out

    cdef object forward(self, NDArrayBase array, object other, NDArrayBase out):
        if isinstance(other, NDArrayBase):
            return self.with_array(array, other, out)
        if isinstance(other, _NUMBERS):
            return self.with_scalar(array, other, out)
        if isinstance(other, np.ndarray):
            return self.forward(array, _beside(array, other, self.sign), out)
        return self.refuse(other)

    cdef object backward(self, NDArrayBase array, object other):
        if isinstance(other, _NUMBERS):
            return self.with_reflected(array, other)
        if isinstance(other, np.ndarray):
            other = _beside(array, other, self.sign)
            if isinstance(other, NDArrayBase):
                return self.with_array(other, array, None)
            return self.with_reflected(array, other)
        return self.refuse(other)

    def call(self, lhs, rhs):
        """The operator on two operands one of which is an array and the other an array or a number;
        None where they are not."""
        if isinstance(lhs, NDArrayBase):
            if isinstance(rhs, NDArrayBase):
                return self.with_array(lhs, rhs, None)
            if isinstance(rhs, _NUMBERS):
                return self.with_scalar(lhs, rhs, None)
        elif isinstance(rhs, NDArrayBase) and isinstance(lhs, _NUMBERS):
            return self.with_reflected(rhs, lhs)
        return None

    cdef object refuse(self, object other):
        # Comparing with None or a str is a mistake.
        if self.sign in ("==", "!="):
            raise ArgumentTypeError(
                f"NDArray {self.sign} {type(other).__name__}: the other side must be an NDArray or "
                "a number; "
                f"mx.nd.array makes one of a NumPy array or list")
        return NotImplemented


cdef Slot _python_slot(str name):
    row = BINARY[name]
    return Slot(row.sign, *row.operators)


cdef Slot _add = _python_slot("add")
cdef Slot _sub = _python_slot("subtract")
cdef Slot _mul = _python_slot("multiply")
cdef Slot _div = _python_slot("divide")
cdef Slot _mod = _python_slot("modulo")
cdef Slot _pow = _python_slot("power")
cdef Slot _eq = _python_slot("equal")
cdef Slot _ne = _python_slot("not_equal")
cdef Slot _gt = _python_slot("greater")
cdef Slot _ge = _python_slot("greater_equal")
cdef Slot _lt = _python_slot("lesser")
cdef Slot _le = _python_slot("lesser_equal")
cdef OpEntry _negative = None
cdef OpEntry _abs = None


cdef class NDArrayArithmetic(NDArrayBase):
    """NDArrayBase with Python's operators; the public NDArray's direct base."""

    def __add__(self, other):
        return _add.forward(self, other, None)

    def __radd__(self, other):
        return _add.backward(self, other)

    def __iadd__(self, other):
        return _add.forward(self, other, self)

    def __sub__(self, other):
        return _sub.forward(self, other, None)

    def __rsub__(self, other):
        return _sub.backward(self, other)

    def __isub__(self, other):
        return _sub.forward(self, other, self)

    def __mul__(self, other):
        return _mul.forward(self, other, None)

    def __rmul__(self, other):
        return _mul.backward(self, other)

    def __imul__(self, other):
        return _mul.forward(self, other, self)

    def __truediv__(self, other):
        return _div.forward(self, other, None)

    def __rtruediv__(self, other):
        return _div.backward(self, other)

    def __itruediv__(self, other):
        return _div.forward(self, other, self)

    def __mod__(self, other):
        return _mod.forward(self, other, None)

    def __rmod__(self, other):
        return _mod.backward(self, other)

    def __imod__(self, other):
        return _mod.forward(self, other, self)

    def __pow__(self, other, modulo):
        if modulo is not None:
            raise ArgumentTypeError("pow of an NDArray: expected modulo=None")
        return _pow.forward(self, other, None)

    def __rpow__(self, other, modulo):
        return _pow.backward(self, other)

    def __neg__(self):
        global _negative
        if _negative is None:
            _negative = get_operator("negative")
        return run_small(resolve(_negative, [self], (), {}, None), self, None, None)

    def __abs__(self):
        global _abs
        if _abs is None:
            _abs = get_operator("abs")
        return run_small(resolve(_abs, [self], (), {}, None), self, None, None)

    def __eq__(self, other):
        return _eq.forward(self, other, None)

    def __ne__(self, other):
        return _ne.forward(self, other, None)

    def __gt__(self, other):
        return _gt.forward(self, other, None)

    def __ge__(self, other):
        return _ge.forward(self, other, None)

    def __lt__(self, other):
        return _lt.forward(self, other, None)

    def __le__(self, other):
        return _le.forward(self, other, None)

    def __hash__(self):
        return (<size_t><void*>self) >> 4

    def __bool__(self):
        if self.blob.size == 0:
            return False
        if self.blob.size == 1:
            return bool(self.asscalar())
        raise ArgumentError(
            f"the truth value of an array of shape {blob_shape(&self.blob)} is ambiguous: "
            "reduce it first")

    def __float__(self):
        return float(self._number("float"))

    def __int__(self):
        return int(self._number("int"))

    def __index__(self):
        number = self._number("index")
        if not isinstance(number, np.integer):
            raise ArgumentTypeError(
                f"only an integer array can be an index, this one is {number.dtype}")
        return int(number)

    def _number(self, what):
        if self.blob.size != 1:
            raise ArgumentTypeError(f"{what}() takes an array of one element, this one has shape "
                                    f"{blob_shape(&self.blob)}")
        return self.asscalar()
