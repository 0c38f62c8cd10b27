"""Operators that are lists of elementwise loops (contract in _elementwise.pxd)."""

from libc.stdint cimport int64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from .._typedefs cimport (
    TBlob, kAddTo, kBfloat16, kBool, kFloat16, kFloat32, kFloat64, kInt64, kNullOp
)
from ..kernels.elementwise.elementwise cimport Kernel, run_binary, run_cast, run_grad, run_unary
from ..kernels.table cimport find_binary, find_binary_grad, find_unary, find_unary_grad
from ._base cimport Operator, OpContext

from ..base.dtype import NAMES, dtype_flag
from ..base.errors import ArgumentError
from .elementwise_loop import CHEAP_FUNCTORS, loop_dtype, can_represent, fold_out_of_range_scalar
from .parameters import LargeInt

_MAX_EXACT = 2.0 ** 53  # integers up to this are exact in float64


cdef enum:
    COSTLY = 6  # cost of a functor that is not in CHEAP_FUNCTORS, in additions


cdef Kernel _require_kernel(loop, bytes functor, int dtype, bint add) except *:
    if loop.family == "unary":
        return find_unary(functor, dtype, add)
    if loop.family == "binary":
        return find_binary(functor, dtype, add)
    if loop.family == "unary_grad":
        return find_unary_grad(functor, dtype, add)
    return find_binary_grad(functor, dtype, add)


cdef int find_kernels(loop, int dtype, Kernel* write, Kernel* add) except -1:
    cdef bytes functor = loop.functor.encode()
    cdef int wide = dtype_flag(loop_dtype(loop, NAMES[dtype]))
    write[0] = _require_kernel(loop, functor, wide, False)
    if wide == dtype:
        add[0] = _require_kernel(loop, functor, dtype, True)
        return dtype
    write.dtype, write.add = dtype, NUMBER_IS_WIDE
    add[0] = write[0]
    add.add = ADDS | NUMBER_IS_WIDE
    return write.compute


cdef class ElementwiseOperator(Operator):  # base: loops over whole arrays
    """Base of operators that run loops over whole arrays."""

    cdef int set_loop(self, Kernel write, Kernel add, int reads, int place, const char* number,
                      functor) except -1:
        cdef NativeLoop loop
        cdef int i
        self.forward_loops.clear()
        if write.add & MIXED or write.dtype == kBool:
            return 0
        loop.write, loop.add, loop.reads, loop.target, loop.more = write, add, reads, 0, False
        for i in range(reads):
            loop.source[i], loop.index[i] = IN_DATA, i
        if place >= 0:
            loop.source[place], loop.index[1 - place] = NUMBER, 0
            memcpy(loop.number, number, 8)
        self.forward_loops.push_back(loop)
        self.work = 1 if functor in CHEAP_FUNCTORS else COSTLY
        return 0


cdef class LoopsOperator(ElementwiseOperator):  # runs the loops that hooks list
    """Runs the loops that a property lists, each over whole arrays.

    prop (OperatorProperty): The loops of its `graph` (GraphHooks) say what is computed.
    dtype (str): Of all arrays.
    """

    def __init__(self, prop, dtype):
        in_data = [(<int>IN_DATA, i) for i in range(len(prop.list_arguments()))]
        out_data = [(<int>OUT_DATA, i) for i in range(len(prop.list_outputs()))]
        out_grad = [(<int>OUT_GRAD, i) for i in range(len(out_data))]
        self.dtype = dtype_flag(dtype)
        if self.dtype == kBool and not prop.graph.traits.takes_bool:
            raise ArgumentError(
                f"operator {prop.op_name} does not take arrays of bool; cast them first")
        loops = prop.graph.forward_loops(prop, in_data, out_data)
        _append_loops(self, &self.forward_loops, loops)
        self.work = sum([1 if loop.functor in CHEAP_FUNCTORS else COSTLY for loop in loops])
        # in_data stands for in_grad, too: loops only write to gradients
        loops = prop.graph.backward_loops(prop, out_grad, in_data, out_data, in_data)
        _append_loops(self, &self.backward_loops, loops)

    def with_scalar(self, double value):
        """Return the same operator with another scalar; None if that number may need other
        loops."""
        cdef LoopsOperator out
        cdef size_t i
        if self.dtype not in (kFloat32, kFloat64, kFloat16, kBfloat16) and (
                self.is_settled or not -_MAX_EXACT < value < _MAX_EXACT
                or not can_represent(NAMES[self.dtype], value)):
            return None
        out = LoopsOperator.__new__(LoopsOperator)
        out.dtype, out.work = self.dtype, self.work
        out.forward_loops, out.backward_loops = self.forward_loops, self.backward_loops
        for i in range(out.forward_loops.size()):
            run_cast(kFloat64, self.dtype, &value, out.forward_loops[i].number, 1)
        for i in range(out.backward_loops.size()):
            run_cast(kFloat64, self.dtype, &value, out.backward_loops[i].number, 1)
        return out

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        _run_loops(self.forward_loops, in_data, out_data, NULL, req, out_data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        _run_loops(self.backward_loops, in_data, out_data, out_grad, req, in_grad)
        return 0


cdef int store_scalar(object number, int dtype, void* out) except -1:
    cdef double real
    cdef int64_t whole
    if isinstance(number, LargeInt):
        whole = number.exact
        run_cast(kInt64, dtype, &whole, out, 1)
    else:
        real = number
        run_cast(kFloat64, dtype, &real, out, 1)
    return 0


cdef int _append_loops(LoopsOperator self, vector[NativeLoop]* loops, list described) except -1:
    cdef NativeLoop native
    cdef int kind
    for each in described:
        loop = fold_out_of_range_scalar(each, NAMES[self.dtype])
        number = 0.0
        kind = find_kernels(loop, self.dtype, &native.write, &native.add)
        self.is_settled = self.is_settled or loop is not each or kind != self.dtype
        native.reads, native.more = len(loop.reads), loop.more
        native.target = loop.target[1]
        for i, read in enumerate(loop.reads):
            if isinstance(read, float):
                native.source[i], native.index[i], number = NUMBER, 0, read
            else:
                native.source[i], native.index[i] = read
        store_scalar(number, kind, native.number)
        loops.push_back(native)
    return 0


cdef void _run_loops(const vector[NativeLoop]& loops, const TBlob* in_data, const TBlob* out_data,
                     const TBlob* out_grad, const int* req, TBlob* targets) noexcept nogil:
    cdef const NativeLoop* loop
    cdef const Kernel* kernel
    cdef const void* at[3]
    cdef int stride[3]
    cdef int i, index
    cdef size_t k
    cdef TBlob* target
    for k in range(loops.size()):
        loop = &loops[k]
        if req[loop.target] == kNullOp:
            continue
        kernel = &loop.add if loop.more or req[loop.target] == kAddTo else &loop.write
        target = &targets[loop.target]
        for i in range(loop.reads):
            index, stride[i] = loop.index[i], loop.source[i] != NUMBER
            if loop.source[i] == IN_DATA:
                at[i] = in_data[index].data
            elif loop.source[i] == OUT_DATA:
                at[i] = out_data[index].data
            elif loop.source[i] == OUT_GRAD:
                at[i] = out_grad[index].data
            else:
                at[i] = <const void*>&loop.number[0]
        if loop.reads == 1:
            run_unary(kernel, at[0], target.data, target.size)
        elif loop.reads == 2:
            run_binary(kernel, at[0], stride[0], at[1], stride[1], target.data, target.size)
        else:
            run_grad(kernel, at[0], stride[0], at[1], stride[1], at[2], stride[2], target.data,
                     target.size)
