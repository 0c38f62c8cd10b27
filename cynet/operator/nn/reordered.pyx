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
from ...kernels.parallel cimport parallel_ranges, threads_for
from .._base cimport Operator, OpContext
from .convolution_own cimport OwnConvolution
from .folded cimport aligned_floats

from math import prod


cdef enum:
    PART_BYTES = 1 << 17  # of data and out that a thread works on at a time


cdef struct Order:
    int64_t batch, channels, inner


cdef Order _order(tuple shape):
    cdef Order order
    order.batch, order.channels, order.inner = shape[0], shape[1], prod(shape[2:])
    return order


cdef inline int64_t _image(const Order* order) noexcept nogil:
    return order.channels * order.inner


cdef inline size_t _room(const Order* order) noexcept nogil:
    return aligned_floats(order.batch * _image(order))


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
        if own is None:
            return None
        parts = isinstance(own, OwnConvolution) and (<OwnConvolution>own).prepared()
        return (ReorderedImages if parts else Reordered)(own, in_shapes[0], out)

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


cdef struct Images:
    # What forward works on. Each thread has `each` images, and all together the `rest` behind them.
    void* operator
    const float* x
    const char* weights
    const float* bias
    float* y
    bint add
    int64_t each, rest, images
    size_t part  # bytes of `space` for `images` at a time
    char* space


cdef class ReorderedImages(Reordered):
    """The same of a convolution that can work on a part of the batch. In forward each thread takes
    images of its own and reorders a few at a time, which then come from its cache; temporary space
    is for no more than these."""

    cdef OwnConvolution convolution
    cdef int64_t images

    def __init__(self, form, data, out):
        super().__init__(form, data, out)
        self.convolution = form
        # no less than the weights, which every part reads
        cdef size_t most = max(<size_t>PART_BYTES, self.convolution.prepared())
        cdef size_t image = sizeof(float) * (_image(&self.data) + _image(&self.out))
        self.images = max(1, <int64_t>(most // image))

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef Images todo
        cdef int threads = threads_for(self.convolution.work)
        cdef int64_t batch = self.data.batch
        cdef size_t prepared = self.convolution.prepared(), rest
        cdef char* space
        if req[0] == kNullOp:
            return 0
        todo.operator = <void*>self
        todo.add = req[0] == kAddTo
        todo.each, todo.rest = batch // threads, batch % threads
        todo.images = min(self.images, todo.each)
        todo.part = self.part_space(todo.images, 1)
        rest = self.part_space(todo.rest, threads)
        space = <char*>get_space(&ctx.requested[0],
                                 prepared + max(<size_t>threads * todo.part, rest))
        self.convolution.prepare(<const float*>in_data[1].data, threads, space)
        todo.weights, todo.space = space, space + prepared
        todo.x, todo.y = <const float*>in_data[0].data, <float*>out_data[0].data
        todo.bias = <const float*>(in_data[2].data if ctx.n_in > 2 else NULL)
        if todo.each:
            parallel_ranges(threads, threads, _run_shares, &todo)
        if todo.rest:
            self.run_part(&todo, batch - todo.rest, todo.rest, threads, todo.space)
        return 0

    cdef size_t part_space(self, int64_t images, int threads) noexcept nogil:
        if images == 0:
            return 0
        return (aligned_floats(images * _image(&self.data))
                + aligned_floats(images * _image(&self.out))
                + self.convolution.scratch_of(images, threads))

    cdef void run_part(self, const Images* todo, int64_t first, int64_t images, int threads,
                       char* space) noexcept nogil:
        cdef Order data = self.data, out = self.out
        cdef float* x = <float*>space
        cdef float* y
        data.batch = out.batch = images
        y = <float*>(space + _room(&data))
        _to_last(&data, todo.x + first * _image(&data), x)
        self.convolution.run_images(images, x, todo.weights, todo.bias, y, threads,
                                    <char*>y + _room(&out))
        _from_last(&out, y, todo.y + first * _image(&out), todo.add)


cdef void _run_shares(void* arg, int64_t begin, int64_t end) noexcept nogil:
    """The images of threads begin .. end."""
    cdef Images* todo = <Images*>arg
    cdef int64_t share, first, last
    for share in range(begin, end):
        first, last = share * todo.each, (share + 1) * todo.each
        while first < last:
            (<ReorderedImages>todo.operator).run_part(
                todo, first, min(todo.images, last - first), 1, todo.space + share * todo.part)
            first += todo.images
