"""Arithmetic and comparison operators of arrays as C slots: no Python code between `a + b` and the
engine (contract in the .pxd)."""

from cpython.object cimport PyObject
from cpython.list cimport PyList_GET_ITEM
from cpython.tuple cimport PyTuple_GET_ITEM
from libc.string cimport memcmp

from .._core.face cimport Face
from .._core.sparse_kind cimport is_sparse
from .._ndarray cimport NDArrayBase, blob_shape, same_shape
from ..operator._base cimport OpEntry
from .._typedefs cimport kBool
from ._dispatch cimport run_one_output
from ._resolve cimport Call, matches, resolve_call, sparse_call
from ._resolve cimport with_scalar as copy_call_with_scalar

import numpy as np

from ..base.dtype import dtype_flag
from ..base.errors import ArgumentError, ArgumentTypeError
from ..operator._base import get_operator

cdef extern from *:
    """
    // Cython hides the slots of binary operators behind methods of the same names, which a class
    // made by Python would look up at each call. The descriptors that CPython makes for the slots
    // of any C type take their place, so that subclasses have the slots themselves.
    static int cynet_show_slot(PyObject* type, const char* name, PyObject* like) {
        PyTypeObject* of = (PyTypeObject*)type;
        struct wrapperbase* base = ((PyWrapperDescrObject*)like)->d_base;
        void* slot = *(void**)((char*)of->tp_as_number + (base->offset
                                - offsetof(PyHeapTypeObject, as_number)));
        PyObject* made = slot ? PyDescr_NewWrapper(of, base, slot) : NULL;
        int failed = !made || PyDict_SetItemString(of->tp_dict, name, made);
        Py_XDECREF(made);
        PyType_Modified(of);
        return failed ? -1 : 0;
    }
    """
    int cynet_show_slot(object type, const char* name, object like) except -1

cdef tuple _NUMBER_TYPES = (int, float, np.generic)  # types of scalar operands

# Python's operators, in the order of a face's slots.
OPERATORS = ("add", "subtract", "multiply", "divide", "modulo", "power", "equal", "not_equal",
             "greater", "greater_equal", "lesser", "lesser_equal", "floor_divide", "bitwise_and",
             "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
UNARY = ("negative", "abs")  # Python's unary operators

cdef enum:
    ADD = 0  # index of the operator in Face.slots
    SUBTRACT = 1  # index of the operator in Face.slots
    MULTIPLY = 2  # index of the operator in Face.slots
    DIVIDE = 3  # index of the operator in Face.slots
    MODULO = 4  # index of the operator in Face.slots
    POWER = 5  # index of the operator in Face.slots
    EQUAL = 6  # index of the operator in Face.slots
    NOT_EQUAL = 7  # index of the operator in Face.slots
    GREATER = 8  # index of the operator in Face.slots
    GREATER_EQUAL = 9  # index of the operator in Face.slots
    LESSER = 10  # index of the operator in Face.slots
    LESSER_EQUAL = 11  # index of the operator in Face.slots
    FLOOR_DIVIDE = 12  # index of the operator in Face.slots
    AND = 13  # index of the operator in Face.slots
    OR = 14  # index of the operator in Face.slots
    XOR = 15  # index of the operator in Face.slots
    LEFT_SHIFT = 16  # index of the operator in Face.slots
    RIGHT_SHIFT = 17  # index of the operator in Face.slots
    NEGATIVE = 18  # index of the operator in Face.slots
    ABS = 19  # index of the operator in Face.slots


def set_operators(Face face not None, dict slots, dict unary):
    """Set what Python's operators call for a Face: `slots` maps names of OPERATORS to a OpSlot,
    `unary` names of UNARY to an operator's name."""
    face.slots = (*[slots.get(name) for name in OPERATORS],
                  *[get_operator(unary[name]) for name in UNARY])


# --- operators ------------------------------------------------------------------------------------
cdef inline bint _is_bool_operand(NDArrayBase array, object other):
    # True if NumPy's rules keep Python's True or False a bool beside an array of bools.
    return (array.blob.dtype == kBool and array.face.has_0d_results()
            and isinstance(other, (bool, np.bool_)))


cdef enum:
    MAX_RECENT_CALLS = 12  # maximum number of calls that a CallCache keeps


cdef inline bint _are_same_number(object a, object b) noexcept:
    # True if one Call serves both numbers; 1, 1.0 and True differ, and so do 0.0 and -0.0.
    cdef double x, y
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is float:
        x, y = <float>a, <float>b
        return memcmp(&x, &y, sizeof(double)) == 0
    return type(a) is int and a == b


cdef class CallCache:  # the last Calls of one operator
    """A cache of a function's last Calls, with the scalar operand of each (None for two arrays)."""

    def __init__(self):
        self.values, self.calls, self.oldest = [], [], 0

    cdef Call find_cached_call(self, object value, NDArrayBase lhs, NDArrayBase rhs):
        # The Call for `value` and these arrays (`rhs` or None), or None.
        cdef Py_ssize_t i
        cdef Call call
        for i in range(len(self.calls)):
            call = <Call>PyList_GET_ITEM(self.calls, i)
            if (matches(&call.arrays[0], &lhs.blob)
                    and (rhs is None or matches(&call.arrays[1], &rhs.blob))
                    and _are_same_number(<object>PyList_GET_ITEM(self.values, i), value)):
                return call
        return None

    cdef int add_call(self, object value, Call call) except -1:
        if len(self.calls) < MAX_RECENT_CALLS:
            self.values.append(value)
            self.calls.append(call)
            return 0
        self.values[self.oldest], self.calls[self.oldest] = value, call
        self.oldest = (self.oldest + 1) % MAX_RECENT_CALLS
        return 0


cdef class OpSlot:  # a binary operator of one Face, with its last Calls
    """A binary operator of one Face (mx.nd or mx.np).

    face (Face): Of the arrays.
    sign (str): What an error calls the function.
    same, broadcast, scalar, reflected (str): The operators of two arrays of one shape, of two
        arrays, of an array and a number, and of a number and an array.
    """

    def __init__(self, Face face not None, sign, *names):
        self.face, self.sign, self.names = face, sign, names
        self.recent_same, self.recent_broadcast = CallCache(), CallCache()
        self.recent_scalar, self.recent_reflected = CallCache(), CallCache()

    cdef NDArrayBase apply_to_arrays(self, NDArrayBase lhs, NDArrayBase rhs, NDArrayBase out):
        # Arrays of one shape may have an operator of their own, which may write in place.
        cdef Call call = self.last_same
        if lhs.face is not self.face or rhs.face is not self.face:
            self.refuse_mixture(lhs, rhs)
        if (call is not None and matches(&call.arrays[0], &lhs.blob)
                and matches(&call.arrays[1], &rhs.blob)):
            return self.mark_mask_of_arrays(run_one_output(call, lhs, rhs, out), lhs, rhs)
        if self.same_entry is None:
            self.same_entry = get_operator(self.names[0])
            self.broadcast_entry = get_operator(self.names[1])
        if is_sparse(&lhs.blob) or is_sparse(&rhs.blob):
            return sparse_call(self.broadcast_entry, [lhs, rhs], (), {}, out)
        if same_shape(&lhs.blob, &rhs.blob):
            call = self.recent_same.find_cached_call(None, lhs, rhs)
            if call is None:
                call = resolve_call(self.face, self.same_entry, [lhs, rhs], (), {}, None)
                self.recent_same.add_call(None, call)
            self.last_same = call
            return self.mark_mask_of_arrays(run_one_output(call, lhs, rhs, out), lhs, rhs)
        call = self.last_broadcast
        if call is None or not (
                matches(&call.arrays[0], &lhs.blob) and matches(&call.arrays[1], &rhs.blob)):
            call = self.recent_broadcast.find_cached_call(None, lhs, rhs)
            if call is None:
                call = resolve_call(self.face, self.broadcast_entry, [lhs, rhs], (), {}, None)
                self.recent_broadcast.add_call(None, call)
            self.last_broadcast = call
        return self.mark_mask_of_arrays(run_one_output(call, lhs, rhs, out), lhs, rhs)

    cdef NDArrayBase mark_mask_of_arrays(self, NDArrayBase out, NDArrayBase lhs, NDArrayBase rhs):
        return out

    cdef NDArrayBase mark_mask_of_scalar(self, NDArrayBase out):
        return out

    cdef NDArrayBase mark_mask_of_reflected(self, NDArrayBase out, NDArrayBase array, object value):
        return out

    cdef Call scalar_call(self, Call last, object before, OpEntry entry, NDArrayBase array,
                          object value):
        cdef Call call = None
        # an int and a float beside an array of ints may give different dtypes
        if last is not None and type(value) is type(before) and (
                matches(&last.arrays[0], &array.blob)):
            call = copy_call_with_scalar(last, value)
        if call is not None:
            return call
        params = {"scalar": value, "is_int": isinstance(value, (int, np.integer, np.bool_))}
        return resolve_call(self.face, entry, [array], (), params, None)

    cdef NDArrayBase apply_to_scalar(self, NDArrayBase array, object value, NDArrayBase out):
        cdef Call call = self.last_scalar, known
        if call is None or value is not self.scalar or not matches(&call.arrays[0], &array.blob):
            if self.scalar_entry is None:
                self.scalar_entry = get_operator(self.names[2])
            if is_sparse(&array.blob):
                return sparse_call(self.scalar_entry, [array], (), {"scalar": value}, out)
            known = self.recent_scalar.find_cached_call(value, array, None)
            if known is None:
                call = self.scalar_call(call, self.scalar, self.scalar_entry, array, value)
                self.recent_scalar.add_call(value, call)
            else:
                call = known
            self.last_scalar, self.scalar = call, value
        return self.mark_mask_of_scalar(run_one_output(call, array, None, out))

    cdef NDArrayBase apply_reflected_scalar(self, NDArrayBase array, object value):
        cdef Call call = self.last_reflected, known
        if call is None or value is not self.reflected or not matches(&call.arrays[0], &array.blob):
            if self.reflected_entry is None:
                self.reflected_entry = get_operator(self.names[3])
            if is_sparse(&array.blob):
                return sparse_call(self.reflected_entry, [array], (), {"scalar": value}, None)
            known = self.recent_reflected.find_cached_call(value, array, None)
            if known is None:
                call = self.scalar_call(call, self.reflected, self.reflected_entry, array, value)
                self.recent_reflected.add_call(value, call)
            else:
                call = known
            self.last_reflected, self.reflected = call, value
        return self.mark_mask_of_reflected(run_one_output(call, array, None, None), array, value)

    cdef object operand_from_numpy(self, NDArrayBase array, object other):
        from ._indexing import from_host  # _indexing imports this module
        return from_host(other, dtype_flag(other.dtype), array.blob.dev_type, array.blob.dev_id,
                         self.face)

    cdef object apply(self, NDArrayBase array, object other, NDArrayBase out):
        if isinstance(other, NDArrayBase):
            return self.apply_to_arrays(array, other, out)
        if isinstance(other, _NUMBER_TYPES):
            if _is_bool_operand(array, other):
                return self.apply_to_arrays(
                    array, self.operand_from_numpy(array, np.asarray(other)), out)
            return self.apply_to_scalar(array, other, out)
        if isinstance(other, np.ndarray):
            return self.apply(array, self.operand_from_numpy(array, other), out)
        return self.refuse_value(other)

    cdef object apply_reflected(self, NDArrayBase array, object other):
        if isinstance(other, _NUMBER_TYPES):
            if _is_bool_operand(array, other):
                return self.apply_to_arrays(
                    self.operand_from_numpy(array, np.asarray(other)), array, None)
            return self.apply_reflected_scalar(array, other)
        if isinstance(other, np.ndarray):
            other = self.operand_from_numpy(array, other)
            if isinstance(other, NDArrayBase):
                return self.apply_to_arrays(other, array, None)
            return self.apply_reflected_scalar(array, other)
        return self.refuse_value(other)

    def apply_or_none(self, lhs, rhs, NDArrayBase out=None):
        """The result for an array and another array or a number; None for other operands."""
        if isinstance(lhs, NDArrayBase):
            if isinstance(rhs, NDArrayBase):
                return self.apply_to_arrays(lhs, rhs, out)
            if isinstance(rhs, _NUMBER_TYPES):
                return self.apply_to_scalar(lhs, rhs, out)
        elif isinstance(rhs, NDArrayBase) and isinstance(lhs, _NUMBER_TYPES):
            return self.apply_reflected_scalar(rhs, lhs)
        return None

    def refuse_mixture(self, NDArrayBase lhs, NDArrayBase rhs):
        if lhs.face is rhs.face:
            raise ArgumentTypeError(
                f"{self.face.name} {self.sign}: the operands are arrays of {lhs.face.name}; "
                "as_nd_ndarray() and as_np_ndarray() make one of the other, of the same memory")
        raise ArgumentTypeError(
            f"{self.face.name} {self.sign}: the operands are an array of {lhs.face.name} and one of"
            f" {rhs.face.name}; as_nd_ndarray() and as_np_ndarray() make one of the other, of the "
            "same memory")

    cdef object refuse_value(self, object other):
        # Comparing with None or a str is a mistake.
        if self.sign in ("==", "!="):
            raise ArgumentTypeError(
                f"NDArray {self.sign} {type(other).__name__}: the other side must be an NDArray or "
                "a number; "
                f"mx.nd.array makes one of a NumPy array or list")
        return NotImplemented


cdef inline OpSlot _slot_of(NDArrayBase array, int number):
    return <OpSlot><object><PyObject*>PyTuple_GET_ITEM(array.face.slots, number)


cdef object _apply_binary(NDArrayBase array, int number, object other, NDArrayBase out):
    # Not every Face has each of these operators.
    slot = array.face.slots[number]
    return NotImplemented if slot is None else (<OpSlot>slot).apply(array, other, out)


cdef object _apply_reflected(NDArrayBase array, int number, object other):
    slot = array.face.slots[number]
    return NotImplemented if slot is None else (<OpSlot>slot).apply_reflected(array, other)


cdef NDArrayBase _apply_unary(NDArrayBase array, int number):
    cdef OpEntry entry = <OpEntry><object>PyTuple_GET_ITEM(array.face.slots, number)
    return run_one_output(resolve_call(array.face, entry, [array], (), {}, None), array, None, None)


cdef class NDArrayArithmetic(NDArrayBase):
    """NDArrayBase with Python's arithmetic and comparison operators."""

    def __add__(self, other):
        return _slot_of(self, ADD).apply(self, other, None)

    def __radd__(self, other):
        return _slot_of(self, ADD).apply_reflected(self, other)

    def __iadd__(self, other):
        # CPython also tries `+=` of sequences, and uses NotImplemented from there as the result.
        out = _slot_of(self, ADD).apply(self, other, self)
        return self + other if out is NotImplemented else out

    def __sub__(self, other):
        return _slot_of(self, SUBTRACT).apply(self, other, None)

    def __rsub__(self, other):
        return _slot_of(self, SUBTRACT).apply_reflected(self, other)

    def __isub__(self, other):
        return _slot_of(self, SUBTRACT).apply(self, other, self)

    def __mul__(self, other):
        return _slot_of(self, MULTIPLY).apply(self, other, None)

    def __rmul__(self, other):
        return _slot_of(self, MULTIPLY).apply_reflected(self, other)

    def __imul__(self, other):
        return _slot_of(self, MULTIPLY).apply(self, other, self)

    def __truediv__(self, other):
        return _slot_of(self, DIVIDE).apply(self, other, None)

    def __rtruediv__(self, other):
        return _slot_of(self, DIVIDE).apply_reflected(self, other)

    def __itruediv__(self, other):
        return _slot_of(self, DIVIDE).apply(self, other, self)

    def __mod__(self, other):
        return _slot_of(self, MODULO).apply(self, other, None)

    def __rmod__(self, other):
        return _slot_of(self, MODULO).apply_reflected(self, other)

    def __imod__(self, other):
        return _slot_of(self, MODULO).apply(self, other, self)

    def __pow__(self, other, modulo):
        if modulo is not None:
            raise ArgumentTypeError("pow of an NDArray: expected modulo=None")
        return _slot_of(self, POWER).apply(self, other, None)

    def __rpow__(self, other, modulo):
        return _slot_of(self, POWER).apply_reflected(self, other)

    def __floordiv__(self, other):
        return _apply_binary(self, FLOOR_DIVIDE, other, None)

    def __rfloordiv__(self, other):
        return _apply_reflected(self, FLOOR_DIVIDE, other)

    def __ifloordiv__(self, other):
        return _apply_binary(self, FLOOR_DIVIDE, other, self)

    def __and__(self, other):
        return _apply_binary(self, AND, other, None)

    def __rand__(self, other):
        return _apply_reflected(self, AND, other)

    def __iand__(self, other):
        return _apply_binary(self, AND, other, self)

    def __or__(self, other):
        return _apply_binary(self, OR, other, None)

    def __ror__(self, other):
        return _apply_reflected(self, OR, other)

    def __ior__(self, other):
        return _apply_binary(self, OR, other, self)

    def __xor__(self, other):
        return _apply_binary(self, XOR, other, None)

    def __rxor__(self, other):
        return _apply_reflected(self, XOR, other)

    def __ixor__(self, other):
        return _apply_binary(self, XOR, other, self)

    def __lshift__(self, other):
        return _apply_binary(self, LEFT_SHIFT, other, None)

    def __rlshift__(self, other):
        return _apply_reflected(self, LEFT_SHIFT, other)

    def __ilshift__(self, other):
        return _apply_binary(self, LEFT_SHIFT, other, self)

    def __rshift__(self, other):
        return _apply_binary(self, RIGHT_SHIFT, other, None)

    def __rrshift__(self, other):
        return _apply_reflected(self, RIGHT_SHIFT, other)

    def __irshift__(self, other):
        return _apply_binary(self, RIGHT_SHIFT, other, self)

    def __neg__(self):
        return _apply_unary(self, NEGATIVE)

    def __abs__(self):
        return _apply_unary(self, ABS)

    def __eq__(self, other):
        return _slot_of(self, EQUAL).apply(self, other, None)

    def __ne__(self, other):
        return _slot_of(self, NOT_EQUAL).apply(self, other, None)

    def __gt__(self, other):
        return _slot_of(self, GREATER).apply(self, other, None)

    def __ge__(self, other):
        return _slot_of(self, GREATER_EQUAL).apply(self, other, None)

    def __lt__(self, other):
        return _slot_of(self, LESSER).apply(self, other, None)

    def __le__(self, other):
        return _slot_of(self, LESSER_EQUAL).apply(self, other, None)

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
        return float(self._single_number("float"))

    def __int__(self):
        return int(self._single_number("int"))

    def __index__(self):
        number = self._single_number("index")
        if not isinstance(number, np.integer):
            raise ArgumentTypeError(
                f"only an integer array can be an index, this one is {number.dtype}")
        return int(number)

    def _single_number(self, what):
        if self.blob.size != 1:
            raise ArgumentTypeError(f"{what}() takes an array of one element, this one has shape "
                                    f"{blob_shape(&self.blob)}")
        return self.asscalar()


for _name, _with_values in list(vars(int).items()):
    if type(vars(NDArrayArithmetic).get(_name)) is type(list.append):  # a method instead of a slot
        cynet_show_slot(NDArrayArithmetic, _name.encode(), _with_values)
