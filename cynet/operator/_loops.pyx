"""Operators that are lists of elementwise loops (contract in _loops.pxd)."""

from libcpp.vector cimport vector

from .._typedefs cimport TBlob, kAddTo, kBool, kFloat64, kNullOp
from ..kernels.binary cimport find_binary
from ..kernels.binary_grad cimport find_binary_grad
from ..kernels.elementwise cimport Kernel, run_binary, run_cast, run_grad, run_unary
from ..kernels.unary cimport find_unary
from ..kernels.unary_grad cimport find_unary_grad
from ._base cimport Operator, OpContext

from ..dtype import dtype_flag
from ..errors import ArgumentError

cdef enum Source:
    NUMBER = 0
    IN_DATA = 1
    OUT_DATA = 2
    OUT_GRAD = 3


cdef int find_kernels(loop, int dtype, Kernel* write, Kernel* add) except -1:
    cdef bytes functor = loop.functor.encode()
    if loop.family == "unary":
        write[0], add[0] = find_unary(functor, dtype, False), find_unary(functor, dtype, True)
    elif loop.family == "binary":
        write[0], add[0] = find_binary(functor, dtype, False), find_binary(functor, dtype, True)
    elif loop.family == "unary_grad":
        write[0] = find_unary_grad(functor, dtype, False)
        add[0] = find_unary_grad(functor, dtype, True)
    else:
        write[0] = find_binary_grad(functor, dtype, False)
        add[0] = find_binary_grad(functor, dtype, True)
    if write.loop == NULL or add.loop == NULL:
        raise ArgumentError(f"there is no {loop.family} functor {loop.functor}")
    return 0


cdef class LoopsOperator(Operator):
    """Runs the loops that a property lists, each over whole arrays.

    Parameters
    ----------
    prop : OperatorProperty
        Its `forward_loops` and `backward_loops` say what is computed.
    dtype : str
        Of all arrays.
    """

    def __init__(self, prop, dtype):
        in_data = [(<int>IN_DATA, i) for i in range(len(prop.list_arguments()))]
        out_data = [(<int>OUT_DATA, i) for i in range(len(prop.list_outputs()))]
        out_grad = [(<int>OUT_GRAD, i) for i in range(len(out_data))]
        self.dtype = dtype_flag(dtype)
        if self.dtype == kBool and not prop.takes_bool:
            raise ArgumentError(
                f"operator {prop.op_name} does not take arrays of bool; cast them first")
        _add_loops(&self.forward_loops, prop.forward_loops(in_data, out_data), self.dtype)
        # in_grad is named by in_data's pairs: a loop only writes there
        loops = prop.backward_loops(out_grad, in_data, out_data, in_data)
        _add_loops(&self.backward_loops, loops, self.dtype)

    def with_scalar(self, double value):
        """The same operator for another number: what an imperative call with a new number needs."""
        cdef LoopsOperator out = LoopsOperator.__new__(LoopsOperator)
        cdef size_t i
        out.dtype = self.dtype
        out.forward_loops, out.backward_loops = self.forward_loops, self.backward_loops
        for i in range(out.forward_loops.size()):
            run_cast(kFloat64, self.dtype, &value, out.forward_loops[i].number, 1)
        for i in range(out.backward_loops.size()):
            run_cast(kFloat64, self.dtype, &value, out.backward_loops[i].number, 1)
        return out

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        _run(self.forward_loops, in_data, out_data, NULL, req, out_data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        _run(self.backward_loops, in_data, out_data, out_grad, req, in_grad)
        return 0


cdef int _add_loops(vector[NativeLoop]* loops, list described, int dtype) except -1:
    cdef NativeLoop native
    cdef double number = 0
    for loop in described:
        find_kernels(loop, dtype, &native.write, &native.add)
        native.reads, native.more = len(loop.reads), loop.more
        native.target = loop.target[1]
        for i, read in enumerate(loop.reads):
            if isinstance(read, float):
                native.source[i], native.index[i], number = NUMBER, 0, read
            else:
                native.source[i], native.index[i] = read
        run_cast(kFloat64, dtype, &number, native.number, 1)
        loops.push_back(native)
    return 0


cdef void _run(const vector[NativeLoop]& loops, const TBlob* in_data, const TBlob* out_data,
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
