"""Elementwise functions from operands of any dtypes to a dtype of their own, in one pass.

Each operand is read in its dtype, computed in another and written in a third, part by part in the
first-level cache (kernels/elementwise/broadcast.h); no array is converted first.
"""

from libc.string cimport memcpy

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, dtype_size, kAddTo, kNullOp
from ...kernels.elementwise.elementwise cimport (
    Kernel, Space, broadcast_binary, broadcast_grad, make_space, run_binary, run_grad, run_unary)
from ...kernels.reduce.reduce cimport ReduceLoop, ReduceSpace, make_reduce_space, run_reduce
from ...kernels.table cimport (
    find_binary, find_binary_grad, find_reduce, find_unary, find_unary_grad)
from .._base cimport Operator, OpContext
from .._elementwise cimport MIXED, NUMBER_IS_WIDE, ElementwiseOperator, store_scalar

from ...base.dtype import dtype_flag
from ..elementwise_loop import can_represent


cdef Kernel _mark_mixed(Kernel found, list reads, int write, bint number=False) except *:
    """Return a kernel with operands of the dtypes `reads` and an output of dtype `write`. With
    `number` an operand that repeats is in the loop's dtype."""
    cdef int i, dtype
    cdef bint alike = write == found.dtype and not (number and found.compute != found.dtype)
    for dtype in reads:
        alike = alike and dtype == found.dtype
    if not alike:
        found.add |= MIXED | NUMBER_IS_WIDE if number else MIXED
        for i, dtype in enumerate(reads):
            found.add |= dtype << (8 + 4 * i)
        found.dtype = write
    return found


cdef list _dtype_flags(types):
    return [dtype_flag(each) for each in types]


cdef class UnaryOperator(ElementwiseOperator):  # a function of one array
    """Computes F of an array; `compute` is the dtype of the loop."""

    cdef Kernel write[2]
    cdef Kernel grad[2]
    cdef int reads  # the gradient's argument: 0 none, 1 data, 2 output

    def __init__(self, prop, data, out, compute):
        cdef int add, flag = dtype_flag(compute), grad
        # dtype of the gradient's loops, which may exist for floats alone
        grad = dtype_flag(out if out != "bool" else compute)
        known = data if prop.reads == "x" else out
        self.reads = ("", "x", "y").index(prop.reads)
        for add in range(2):
            self.write[add] = _mark_mixed(find_unary(prop.functor_for(compute).encode(), flag,
                                                     add), [dtype_flag(data)], dtype_flag(out))
            self.grad[add] = _mark_mixed(
                find_unary_grad((prop.gradient or "zero").encode(), grad, add),
                _dtype_flags([out, known]), dtype_flag(data))
        self.set_loop(self.write[0], self.write[1], 1, -1, NULL, prop.functor_for(compute))

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            run_unary(&self.write[req[0] == kAddTo], in_data[0].data, out_data[0].data,
                      out_data[0].size)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef const void* known = out_grad[0].data
        if req[0] == kNullOp:
            return 0
        if self.reads == 1:
            known = in_data[0].data
        elif self.reads == 2:
            known = out_data[0].data
        run_binary(&self.grad[req[0] == kAddTo], out_grad[0].data, 1, known, 1, in_grad[0].data,
                   in_grad[0].size)
        return 0


cdef class BinaryOperator(ElementwiseOperator):  # a function of two arrays
    """Computes F of two arrays that broadcast."""

    cdef Kernel write[2]
    cdef Kernel grads[2][2]
    cdef Kernel zeros[2]   # kernels that write zeros for an operand without gradient
    cdef ReduceLoop sums[2]
    cdef bint reads
    cdef bint flat[2]

    def __init__(self, prop, list types, out, compute):
        cdef int side, add, flag = dtype_flag(compute)
        gradient = prop.gradients
        reads = [out, *types] if gradient.reads else [out, out, out]
        # `out_grad * G(a, b)` in a dtype that holds the output and the operands
        inner = prop.gradient_dtype(types, out)
        self.reads = gradient.reads
        for add in range(2):
            self.write[add] = _mark_mixed(find_binary(prop.functor_for(compute).encode(), flag,
                                                      add), _dtype_flags(types), dtype_flag(out))
            for side in range(2):
                name = gradient.rhs if side else gradient.lhs
                self.flat[side] = name is None
                if self.flat[side]:
                    self.zeros[side] = find_unary(b"zero", dtype_flag(types[side]), False)
                    continue
                self.grads[side][add] = _mark_mixed(
                    find_binary_grad(name.encode(), dtype_flag(inner), add), _dtype_flags(reads),
                    dtype_flag(types[side]))
        for side in range(2):
            self.sums[side] = find_reduce(b"sum", dtype_flag(types[side]))
        self.set_loop(self.write[0], self.write[1], 2, -1, NULL, prop.functor_for(compute))

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef Space space
        cdef const TBlob* operands[3]
        cdef const Kernel* kernel = &self.write[req[0] == kAddTo]
        if req[0] == kNullOp:
            return 0
        operands[0], operands[1], operands[2] = &out_data[0], &in_data[0], &in_data[1]
        make_space(&space, operands, 3)
        if space.ndim == 1 and space.stride[1][0] <= 1 and space.stride[2][0] <= 1:
            run_binary(kernel, in_data[0].data, <int>space.stride[1][0], in_data[1].data,
                       <int>space.stride[2][0], out_data[0].data, space.size)
        else:
            broadcast_binary(kernel, &space, in_data[0].data, in_data[1].data, out_data[0].data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef Space space
        cdef const TBlob* operands[4]
        cdef ReduceSpace folded
        cdef bint repeated[8]
        cdef const void* a = out_grad.data
        cdef const void* b = out_grad.data
        cdef void* source
        cdef int side, i, own
        cdef bint reduces
        cdef int ndim = out_grad.ndim
        operands[0] = operands[1] = operands[2] = operands[3] = &out_grad[0]
        if self.reads:
            operands[2], operands[3] = &in_data[0], &in_data[1]
            a, b = in_data[0].data, in_data[1].data
        make_space(&space, operands, 4)
        for side in range(2):
            if req[side] == kNullOp or (self.flat[side] and req[side] == kAddTo):
                continue
            if self.flat[side]:
                run_unary(&self.zeros[side], in_grad[side].data, in_grad[side].data,
                          in_grad[side].size)
                continue
            reduces = False
            for i in range(ndim):
                own = i - (ndim - in_grad[side].ndim)
                repeated[i] = (own < 0 or in_grad[side].shape[own] == 1) and out_grad.shape[i] != 1
                reduces = reduces or repeated[i]
            if not reduces:
                broadcast_grad(&self.grads[side][req[side] == kAddTo], &space, out_grad.data, a, b,
                               in_grad[side].data)
                continue
            make_reduce_space(&folded, ndim, out_grad.shape, repeated)
            source = get_space(&ctx.requested[0], out_grad.size * dtype_size(in_grad[side].dtype))
            broadcast_grad(&self.grads[side][0], &space, out_grad.data, a, b, source)
            run_reduce(self.sums[side], &folded, source, in_grad[side].data, req[side] == kAddTo,
                       1.0)
        return 0


cdef class ScalarOperator(ElementwiseOperator):  # a function of an array and a number
    """Computes F of an array and a number, which is in the loop's dtype."""

    cdef Kernel write[2]
    cdef Kernel grad[2]
    cdef Kernel zero
    cdef char number[8]
    cdef char grad_number[8]
    cdef bint reversed, reads, flat
    cdef object compute, inner

    def __init__(self, prop, data, out, compute):
        cdef int add
        cdef int flag = dtype_flag(compute), own = dtype_flag(data)
        gradient = prop.gradients
        self.reversed, self.reads = prop.reverse, gradient.reads
        self.compute, self.inner = compute, prop.gradient_dtype([data], out)
        inner = dtype_flag(self.inner)
        name = gradient.rhs if prop.reverse else gradient.lhs
        self.flat = name is None
        self.zero = find_unary(b"zero", own, False)
        name = name or "grad_one"
        known = data if gradient.reads else out
        for add in range(2):
            self.write[add] = _mark_mixed(find_binary(prop.functor_for(compute).encode(), flag,
                                                      add), [own, own], dtype_flag(out), True)
            self.grad[add] = _mark_mixed(find_binary_grad(name.encode(), inner, add),
                                         _dtype_flags([out, known, known]), own, True)
        store_scalar(prop.scalar, self.write[0].compute, self.number)
        self.set_loop(self.write[0], self.write[1], 2, 0 if prop.reverse else 1, self.number,
                      prop.functor_for(compute))
        self._set_scalar(prop.scalar)

    cdef int _set_scalar(self, value) except -1:
        store_scalar(value, self.write[0].compute, self.number)
        store_scalar(value, self.grad[0].compute, self.grad_number)
        if self.forward_loops.size():
            memcpy(self.forward_loops[0].number, self.number, 8)
        return 0

    def with_scalar(self, double value):
        """Return the operator with another number; None if that number may need other loops."""
        cdef ScalarOperator out
        if not -2.0 ** 53 < value < 2.0 ** 53 or not can_represent(self.compute, value):
            return None
        out = ScalarOperator.__new__(ScalarOperator)
        out.reversed, out.reads, out.flat = self.reversed, self.reads, self.flat
        out.zero = self.zero
        out.compute, out.inner, out.work = self.compute, self.inner, self.work
        out.forward_loops = self.forward_loops
        out.write, out.grad = self.write, self.grad
        out._set_scalar(value)
        return out

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef const Kernel* kernel = &self.write[req[0] == kAddTo]
        if req[0] == kNullOp:
            return 0
        if self.reversed:
            run_binary(kernel, self.number, 0, in_data[0].data, 1, out_data[0].data,
                       out_data[0].size)
        else:
            run_binary(kernel, in_data[0].data, 1, self.number, 0, out_data[0].data,
                       out_data[0].size)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef const Kernel* kernel = &self.grad[req[0] == kAddTo]
        cdef const void* known = in_data[0].data if self.reads else out_grad[0].data
        if req[0] == kNullOp or (self.flat and req[0] == kAddTo):
            return 0
        if self.flat:
            run_unary(&self.zero, in_grad[0].data, in_grad[0].data, in_grad[0].size)
            return 0
        if self.reversed:
            run_grad(kernel, out_grad[0].data, 1, self.grad_number, 0, known, 1, in_grad[0].data,
                     in_grad[0].size)
        else:
            run_grad(kernel, out_grad[0].data, 1, known, 1, self.grad_number, 0, in_grad[0].data,
                     in_grad[0].size)
        return 0


cdef class WideReduceOperator(Operator):  # reduces integers or bools to a wider dtype
    """A reduction of integers or bools to another dtype."""

    cdef ReduceLoop loop
    cdef ReduceSpace space
    cdef Space spread
    cdef Kernel grad[2]
    cdef double divisor
    cdef bint reads
    cdef char weight[8]

    def __init__(self, prop, shape, data, out, str name):
        cdef int own = dtype_flag(data), to = dtype_flag(out), i, add, ndim = len(shape)
        cdef bint gone[8]
        cdef TBlob full, result
        cdef const TBlob* operands[4]
        full.ndim = result.ndim = ndim
        reduced = prop.reduced_axes(ndim)
        for i in range(ndim):
            gone[i] = i in reduced
            full.shape[i] = shape[i]
            result.shape[i] = 1 if gone[i] else shape[i]
        make_reduce_space(&self.space, ndim, full.shape, gone)
        operands[0] = operands[2] = &full
        operands[1] = operands[3] = &result
        make_space(&self.spread, operands, 4)
        self.loop = find_reduce(name.encode(), own)
        self.divisor = self.space.reduced_size if prop.mean else 1.0
        self.reads = prop.reads
        for add in range(2):
            self.grad[add] = _mark_mixed(find_binary_grad(prop.gradient.encode(), to, add),
                                         [to, own if prop.reads else to, to], own, not prop.reads)
        store_scalar(1.0 / self.divisor if self.divisor else 1.0, self.grad[0].compute, self.weight)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            run_reduce(self.loop, &self.space, in_data[0].data, out_data[0].data,
                       req[0] == kAddTo, self.divisor)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef Space space = self.spread
        cdef const void* data = self.weight
        cdef const void* output = self.weight
        cdef int i
        if req[0] == kNullOp:
            return 0
        if self.reads:
            data, output = in_data[0].data, out_data[0].data
        else:
            for i in range(space.ndim):
                space.stride[2][i] = space.stride[3][i] = 0
        broadcast_grad(&self.grad[req[0] == kAddTo], &space, out_grad[0].data, data, output,
                       in_grad[0].data)
        return 0
