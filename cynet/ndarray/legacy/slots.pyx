"""The rules of ``mx.nd`` alone: results have the operands' dtype, NumPy arrays are converted to it,
and comparisons give numbers, which are marked as masks."""

from ..._core.face cimport ND
from ..._core.sparse_kind cimport refuse_sparse
from ..._ndarray cimport NDArrayBase, blob_shape, same_shape
from ..._typedefs cimport kBfloat16, kBool, kInt8, kInt32, kInt64, kUint8
from ...operator._base cimport OpEntry
from .._arithmetic cimport OpSlot
from .._resolve cimport Call, matches, resolve_call
from .._resolve cimport with_scalar as copy_call_with_scalar
from .._tape cimport CallNode

import numpy as np

from ...base.dtype import name_of
from ...base.errors import ArgumentError, ArgumentTypeError, shown
from ...operator._base import get_operator
from ...operator.array_methods import BINARY, COMPARISONS
from ...operator.functions.numpy_rows import operators_of
from .._arithmetic import OPERATORS, UNARY, set_operators
from .._call import invoke

# --- masks ----------------------------------------------------------------------------------------
cdef bint _is_mask(NDArrayBase item):
    # True if a comparison computed the array.
    entry = item.grad_entry
    return item.is_mask or (
        type(entry) is CallNode and (<CallNode>entry).call.entry.name in COMPARISONS)


cdef object _convert_if_mask(NDArrayBase array, NDArrayBase item):
    cdef int dtype = item.blob.dtype
    if dtype == kBool:
        return item.asnumpy()
    if dtype in (kInt32, kInt64, kInt8, kUint8) and not _is_mask(item):
        return item
    known = _is_mask(item)
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


def resolve_masks(NDArrayBase array, object key):
    """The key of ``array[key]`` with its masks, arrays of bool and results of comparisons, as NumPy
    arrays of bool.

    Raises
    ------
    ArgumentError
        An array of numbers could be a mask as well as numbers of rows.
    """
    if isinstance(key, NDArrayBase):
        refuse_sparse(key, "x[index]")
        return _convert_if_mask(array, key)
    if type(key) is tuple:
        for item in key:
            if isinstance(item, NDArrayBase):
                refuse_sparse(item, "x[index]")
                return tuple([
                    _tuple_mask(item) if isinstance(item, NDArrayBase) else item for item in key])
    return key


cdef object _tuple_mask(NDArrayBase item):  # a mask in a tuple key, as NumPy's bools
    # A mask in a tuple key may have any shape.
    if item.blob.dtype == kBool or not _is_mask(item):
        return item.asnumpy() if item.blob.dtype == kBool else item
    values = item.asnumpy()
    truths = values == 1
    return truths if (truths | (values == 0)).all() else item


# --- operators ------------------------------------------------------------------------------------
cdef class LegacySlot(OpSlot):  # an operator with the rules of mx.nd
    """A OpSlot with the rules of mx.nd."""

    cdef bint compares, keeps_masks  # the result is a mask; it is one of two masks
    cdef bint subtracts

    def __init__(self, sign, *names):
        super().__init__(ND, sign, *names)
        self.compares, self.keeps_masks = names[0] in COMPARISONS, sign in ("*", "multiply")
        self.subtracts = sign == "-"

    cdef NDArrayBase mark_mask_of_arrays(self, NDArrayBase out, NDArrayBase lhs, NDArrayBase rhs):
        if self.compares or (self.keeps_masks and lhs.is_mask and rhs.is_mask):
            out.is_mask = True
        return out

    cdef NDArrayBase mark_mask_of_scalar(self, NDArrayBase out):
        if self.compares:
            out.is_mask = True
        return out

    cdef NDArrayBase mark_mask_of_reflected(self, NDArrayBase out, NDArrayBase array, object value):
        if self.compares or array.is_mask and self.subtracts and value == 1:
            out.is_mask = True  # 1 - mask is also a mask
        return out

    cdef Call scalar_call(self, Call last, object before, OpEntry entry, NDArrayBase array,
                          object value):
        # Numbers change from call to call (a learning rate): the first one is resolved in full.
        cdef Call call = None
        if last is not None and matches(&last.arrays[0], &array.blob):
            call = copy_call_with_scalar(last, value)
        if call is not None:
            return call
        return resolve_call(ND, entry, [array], (), {"scalar": value}, None)

    cdef object operand_from_numpy(self, NDArrayBase array, object other):
        # The other operand as an array of `array`'s dtype where it can be, or as a number if it has
        # no axes.
        refuse_sparse(array, f"NDArray {self.sign} NumPy array")
        from .._indexing import from_host  # _indexing imports this module
        if other.ndim == 0:
            return other[()]
        own = np.float32 if array.blob.dtype == kBfloat16 else array.dtype
        if not np.can_cast(other.dtype, own, "same_kind"):
            raise ArgumentTypeError(
                f"NDArray {self.sign} NumPy array: an array of {other.dtype} does not become one "
                f"of {name_of(array.dtype)} without loss; convert one of them with astype")
        return from_host(other, array.blob.dtype, array.blob.dev_type, array.blob.dev_id)


cdef class QuotientSlot(LegacySlot):  # ``//``
    """``//``, whose result is of floats where a float stands beside integers."""

    cdef Call scalar_call(self, Call last, object before, OpEntry entry, NDArrayBase array,
                          object value):
        return OpSlot.scalar_call(self, last, before, entry, array, value)


cdef class BitSlot(LegacySlot):  # ``&``, ``|``, ``^``, ``<<``, ``>>``
    """``&``, ``|``, ``^``, ``<<``, ``>>``: of bits, where both operands are integers or bools;
    ``&``, ``|``, ``^`` of a mask of floats are logical, and give a mask of that dtype."""

    cdef str logical  # the operator of masks, None for shifts

    def __init__(self, name, sign):
        super().__init__(sign, *operators_of(name))
        row = BINARY.get(name.replace("bitwise", "logical"))
        self.logical = None if row is None else row.broadcast

    cdef object apply(self, NDArrayBase array, object other, NDArrayBase out):
        found = self.combine_operands(array, other, False)
        return found if out is None or found is NotImplemented else found.copyto(out)

    cdef object apply_reflected(self, NDArrayBase array, object other):
        return self.combine_operands(array, other, True)

    cdef object combine_operands(self, NDArrayBase array, object other, bint is_reflected):
        cdef NDArrayBase out
        refuse_sparse(array, f"NDArray {self.sign}")
        if isinstance(other, np.ndarray):
            other = self.operand_from_numpy(array, other)
        if isinstance(other, NDArrayBase):
            if (<NDArrayBase>other).face is not ND:
                self.refuse_mixture(array, other)
            refuse_sparse(other, f"NDArray {self.sign}")
        elif not isinstance(other, (int, np.integer, np.bool_)):
            return self.refuse_operand(other)
        if self.has_integers(array) and (
                not isinstance(other, NDArrayBase) or self.has_integers(other)):
            return self.apply_to_bits(array, other, is_reflected)
        if self.logical is None:
            raise ArgumentTypeError(
                f"NDArray {self.sign} takes integers, got an array of {name_of(array.dtype)} and "
                f"{_operand_text(other)}")
        left = self.require_mask(array, self.sign)
        if isinstance(other, NDArrayBase):
            right = self.require_mask(other, self.sign)
            kind = array.dtype if not self.has_integers(array) else other.dtype
            left, right = (e if e.dtype == kind else e.astype(kind) for e in (left, right))
            out = invoke(self.logical_operator(), (left, right), {})
        else:
            if other not in (0, 1):
                raise ArgumentTypeError(
                    f"NDArray {self.sign} {other}: a mask of {name_of(array.dtype)} takes True or "
                    "False beside it; for bits convert it to an integer dtype with astype")
            out = invoke(self.logical_operator(), (left, left * 0 + int(other)), {})
        out.is_mask = True
        return out

    cdef object logical_operator(self):
        return get_operator(self.logical)

    cdef bint has_integers(self, NDArrayBase array):
        return array.blob.dtype in (kBool, kInt8, kInt32, kInt64, kUint8)

    cdef object apply_to_bits(self, NDArrayBase array, object other, bint is_reflected):
        cdef NDArrayBase out
        if isinstance(other, NDArrayBase):
            pair = (other, array) if is_reflected else (array, other)
            out = OpSlot.apply_to_arrays(self, pair[0], pair[1], None)
            out.is_mask = self.logical is not None and _is_mask(array) and _is_mask(other)
        else:
            value = int(other)
            if array.blob.dtype == kBool and isinstance(other, (bool, np.bool_)):
                return self.apply_to_bits(
                    array, OpSlot.operand_from_numpy(self, array, np.asarray(other)), is_reflected)
            out = (OpSlot.apply_reflected_scalar(self, array, value) if is_reflected
                   else OpSlot.apply_to_scalar(self, array, value, None))
            out.is_mask = self.logical is not None and _is_mask(array) and value in (0, 1)
        return out

    cdef Call scalar_call(self, Call last, object before, OpEntry entry, NDArrayBase array,
                          object value):
        return OpSlot.scalar_call(self, last, before, entry, array, value)

    cdef object require_mask(self, NDArrayBase array, str sign):
        # Check the values of floats that no comparison computed.
        if array.blob.dtype == kBool or _is_mask(array):
            return array
        values = array.asnumpy()
        wrong = values[(values != 0) & (values != 1)]
        if wrong.size:
            raise ArgumentTypeError(
                f"NDArray {sign}: an operand, of {name_of(array.dtype)}, is no mask of zeros and"
                f" ones, it holds {wrong[0]}: compare it first (x != 0), or convert to an integer"
                " dtype for bits")
        return array

    cdef object refuse_operand(self, object other):
        if isinstance(other, (float, np.floating)):
            raise ArgumentTypeError(
                f"NDArray {self.sign} {other}: expected a mask, integers or a bool beside it")
        return NotImplemented


cdef str _operand_text(object other):
    if isinstance(other, NDArrayBase):
        return f"one of {name_of(other.dtype)}"
    return shown(other)


def invert(NDArrayBase array):
    """``~array``: 0 where a mask is 1 and 1 where it is 0; the inverted bits of integers.

    Raises
    ------
    ArgumentTypeError
        It is neither a mask nor of integers.
    """
    cdef NDArrayBase out
    cdef BitSlot slot = ND.slots[OPERATORS.index("bitwise_xor")]
    refuse_sparse(array, "~ NDArray")
    if array.blob.dtype == kBool:
        return invoke(get_operator("_npi_logical_not"), (array,), {})
    if slot.has_integers(array) and not _is_mask(array):
        return invoke(get_operator("_npi_bitwise_not"), (array,), {})
    out = 1 - slot.require_mask(array, "~")
    out.is_mask = True
    return out


_BIT_SIGNS = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "left_shift": "<<",
              "right_shift": ">>"}


cdef dict _make_slots():
    slots = {name: LegacySlot(BINARY[name].sign, *BINARY[name].operators)
             for name in OPERATORS if name in BINARY}
    slots["floor_divide"] = QuotientSlot("//", *operators_of("floor_divide"))
    for name, sign in _BIT_SIGNS.items():
        slots[name] = BitSlot(f"bitwise_{name}" if "shift" in name else name, sign)
    return slots


ND.set_mask_key_converter(resolve_masks)
set_operators(ND, _make_slots(), dict(zip(UNARY, UNARY)))
