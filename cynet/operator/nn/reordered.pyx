"""A convolution on row-major data by its channels-last form: data are brought into that order, out
and gradients back, in temporary space.

For imperative calls and for plans without the layout pass, which brings only what is not in that
order already.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kNullOp, kWriteTo
from ...kernels.swap cimport swap_axes
from .._base cimport Operator, OpContext
from .folded cimport aligned_floats

from math import prod


cdef struct Order:
    int64_t batch, channels, inner


cdef Order _order(tuple shape):
    cdef Order order
    order.batch, order.channels, order.inner = shape[0], shape[1], prod(shape[2:])
    return order


cdef inline size_t _room(const Order* order) noexcept nogil:
    return aligned_floats(order.batch * order.channels * order.inner)


cdef inline void _to_last(const Order* order, const void* x, void* y) noexcept nogil:
    swap_axes(order.batch, order.channels, order.inner, <const float*>x, <float*>y, False)


cdef inline void _from_last(const Order* order, const void* x, void* y, bint add) noexcept nogil:
    swap_axes(order.batch, order.inner, order.channels, <const float*>x, <float*>y, add)


cdef class Reordered(Operator):
    """`form` on row-major arrays.

    Parameters
    ----------
    form : Operator
        Takes data and out (N, C, *size) in channels-last order and further inputs as they are;
        its backward reads the gradient of out, data and the second input, as Convolution's. It may
        use the first resource, the second is this operator's.
    data, out : tuple of int
        Shapes.
    """

    cdef Operator form
    cdef Order data, out

    @staticmethod
    def by_own_kernels(prop, in_shapes, in_types, out):
        """The operator of a convolution or deconvolution whose channels-last form has kernels of
        our own for these shapes; else None."""
        form = prop.channels_last_form(in_shapes, in_types)
        own = None if form is None else form[0].own_operator(in_shapes[0], out)
        return None if own is None else Reordered(own, in_shapes[0], out)

    def __init__(self, form, data, out):
        self.form = form
        self.stateful = self.form.stateful
        self.data, self.out = _order(data), _order(out)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef TBlob given[3]
        cdef TBlob made
        cdef int write = kWriteTo
        cdef char* space
        if req[0] == kNullOp:
            return 0
        space = <char*>get_space(&ctx.requested[1], _room(&self.data) + _room(&self.out))
        memcpy(given, in_data, ctx.n_in * sizeof(TBlob))
        made = out_data[0]
        given[0].data, made.data = space, space + _room(&self.data)
        _to_last(&self.data, in_data[0].data, given[0].data)
        self.form.forward(ctx, given, &write, &made, aux_states)
        _from_last(&self.out, made.data, out_data[0].data, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef TBlob given[3]
        cdef TBlob wanted[3]
        cdef TBlob grad = out_grad[0]
        cdef int reqs[3]
        cdef char* space = <char*>get_space(
            &ctx.requested[1], 2 * _room(&self.data) + _room(&self.out))
        memcpy(given, in_data, ctx.n_in * sizeof(TBlob))
        memcpy(wanted, in_grad, ctx.n_in * sizeof(TBlob))
        memcpy(reqs, req, ctx.n_in * sizeof(int))
        grad.data = space
        given[0].data = space + _room(&self.out)
        wanted[0].data = <char*>given[0].data + _room(&self.data)
        _to_last(&self.out, out_grad[0].data, grad.data)
        if req[1] != kNullOp or (ctx.n_in > 2 and req[2] != kNullOp):
            _to_last(&self.data, in_data[0].data, given[0].data)
        if req[0] == kAddTo:
            reqs[0] = kWriteTo
        self.form.backward(ctx, &grad, given, out_data, reqs, wanted, aux_states)
        if req[0] != kNullOp:
            _from_last(&self.data, wanted[0].data, in_grad[0].data, req[0] == kAddTo)
        return 0
