"""A convolution on row-major data by its channels-last form: data are brought into that order, out
and gradients back, in temporary space.

For imperative calls and for plans without the layout pass, which brings only what is not in that
order already.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ...._resource cimport get_space
from ...._typedefs cimport TBlob, kAddTo, kNullOp, kWriteTo
from ....kernels.parallel cimport parallel_ranges, threads_for
from ....kernels.movement.transpose cimport transpose_3d, transpose_2d
from ....kernels.conv.winograd cimport (
    PACKED, WinogradShape, winograd_forward, winograd_pack_w, winograd_packed_size, winograd_side,
    winograd_workspace_bytes
)
from ..._base cimport Operator, OpContext
from .winograd cimport WinogradConvolution
from ..fused_activation cimport aligned_float_bytes

from math import prod


cdef enum:
    PART_BYTES = 1 << 16  # bytes of data and out that a thread works on at a time


cdef struct AxesShape:  # an array (batch, channels, inner)
    int64_t batch, channels, inner


cdef AxesShape _axes_shape(tuple shape):
    cdef AxesShape order
    order.batch, order.channels, order.inner = shape[0], shape[1], prod(shape[2:])
    return order


cdef inline size_t _workspace_bytes(const AxesShape* order) noexcept nogil:  # of a reordered copy
    return aligned_float_bytes(order.batch * order.channels * order.inner)


cdef inline void _to_channels_last(const AxesShape* order, const void* x, void* y) noexcept nogil:
    transpose_3d(order.batch, order.channels, order.inner, <const float*>x, <float*>y, False)


cdef inline void _from_channels_last(const AxesShape* order, const void* x, void* y,
                                     bint add) noexcept nogil:
    transpose_3d(order.batch, order.inner, order.channels, <const float*>x, <float*>y, add)


cdef class ReorderedConvolution(Operator):  # channels-last form, row-major arrays
    """`form` on row-major arrays.

    form (Operator): Takes data and out (N, C, *size) in channels-last order and further inputs as
        they are; its backward reads the gradient of out, data and the second input, as
        Convolution's. It may use the first resource, the second is this operator's.
    data, out (tuple of int): Shapes.
    """

    cdef readonly Operator form
    cdef AxesShape data, out

    def __init__(self, form, data, out):
        self.form = form
        self.stateful = self.form.stateful
        self.data, self.out = _axes_shape(data), _axes_shape(out)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef TBlob given[3]
        cdef TBlob made
        cdef int write = kWriteTo
        cdef char* space
        if req[0] == kNullOp:
            return 0
        space = <char*>get_space(
            &ctx.requested[1], _workspace_bytes(&self.data) + _workspace_bytes(&self.out))
        memcpy(given, in_data, ctx.n_in * sizeof(TBlob))
        made = out_data[0]
        given[0].data, made.data = space, space + _workspace_bytes(&self.data)
        _to_channels_last(&self.data, in_data[0].data, given[0].data)
        self.form.forward(ctx, given, &write, &made, aux_states)
        _from_channels_last(&self.out, made.data, out_data[0].data, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef TBlob given[3]
        cdef TBlob wanted[3]
        cdef TBlob grad = out_grad[0]
        cdef int reqs[3]
        cdef char* space = <char*>get_space(
            &ctx.requested[1], 2 * _workspace_bytes(&self.data) + _workspace_bytes(&self.out))
        memcpy(given, in_data, ctx.n_in * sizeof(TBlob))
        memcpy(wanted, in_grad, ctx.n_in * sizeof(TBlob))
        memcpy(reqs, req, ctx.n_in * sizeof(int))
        grad.data = space
        given[0].data = space + _workspace_bytes(&self.out)
        wanted[0].data = <char*>given[0].data + _workspace_bytes(&self.data)
        _to_channels_last(&self.out, out_grad[0].data, grad.data)
        if req[1] != kNullOp or (ctx.n_in > 2 and req[2] != kNullOp):
            _to_channels_last(&self.data, in_data[0].data, given[0].data)
        if req[0] == kAddTo:
            reqs[0] = kWriteTo
        self.form.backward(ctx, &grad, given, out_data, reqs, wanted, aux_states)
        if req[0] != kNullOp:
            _from_channels_last(&self.data, wanted[0].data, in_grad[0].data, req[0] == kAddTo)
        return 0


def row_major_operator(form, data, out):
    """`form`, which takes channels-last data and out of these shapes, on row-major ones."""
    kind = ReorderedWinograd if isinstance(form, WinogradConvolution) else ReorderedConvolution
    return kind(form, data, out)


cdef struct Work:  # arguments of forward, shared by threads
    # The arguments of forward, shared by threads. Each thread has `each` images of its own;
    # of the remaining images, fewer than threads, it has `rows` rows of out. It takes `images` at a
    # time, or `strip` rows.
    WinogradShape shape
    int64_t height, width  # height and width of out
    const float* x
    const float* weights
    const float* bias
    float* y
    bint add
    int threads
    int64_t each, rows, images, strip
    size_t nbytes  # bytes of a thread's part of space
    char* space


cdef class ReorderedWinograd(ReorderedConvolution):
    """`ReorderedConvolution` by Winograd's products. In forward each thread reorders a few images,
    or rows of one image, at a time, which stay in its cache and need little temporary memory."""

    cdef WinogradShape shape
    cdef int64_t height, width, work
    cdef int64_t images, strip  # maximum number of images, and of rows, of a part

    def __init__(self, form, data, out):
        super().__init__(form, data, out)
        self.shape = (<WinogradConvolution>form).shape
        self.work = (<WinogradConvolution>form).work
        self.height, self.width = out[2:]
        # no less than the weights, which every part reads
        cdef size_t maximum = max(<size_t>PART_BYTES, self.packed_bytes())
        cdef size_t image = sizeof(float) * (prod(data[1:]) + prod(out[1:]))
        cdef int64_t side = winograd_side(self.shape)
        self.images = maximum // image
        self.strip = max(1, <int64_t>(maximum * self.height // image) // side) * side

    cdef size_t packed_bytes(self) noexcept nogil:  # bytes of the packed weight
        return aligned_float_bytes(winograd_packed_size(&self.shape))

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef Work work
        cdef int64_t side = winograd_side(self.shape)
        cdef size_t packed = self.packed_bytes()
        cdef char* space
        if req[0] == kNullOp:
            return 0
        work.shape, work.height, work.width = self.shape, self.height, self.width
        work.threads = threads_for(self.work)
        work.each = self.shape.batch // work.threads
        work.images, work.strip = min(self.images, work.each), self.strip
        work.rows = ((self.height + side - 1) // side + work.threads - 1) // work.threads * side
        work.nbytes = _max_scratch_bytes(&work)
        space = <char*>get_space(&ctx.requested[0], packed + work.threads * work.nbytes)
        winograd_pack_w(&self.shape, <const float*>in_data[1].data,
                        threads_for(in_data[1].size * 4), <float*>space)
        work.weights, work.space = <const float*>space, space + packed
        work.x, work.y = <const float*>in_data[0].data, <float*>out_data[0].data
        work.bias = <const float*>(in_data[2].data if ctx.n_in > 2 else NULL)
        work.add = req[0] == kAddTo
        parallel_ranges(work.threads, work.threads, _run_thread_shares, &work)
        return 0


cdef void _run_thread_shares(void* arg, int64_t begin, int64_t end) noexcept nogil:
    """Compute the images and rows of threads begin .. end."""
    cdef Work* work = <Work*>arg
    cdef int64_t thread, image, last, row
    cdef char* space
    for thread in range(begin, end):
        space = work.space + thread * work.nbytes
        image, last = thread * work.each, (thread + 1) * work.each
        while image < last:
            if work.images == 0:
                _convolve_rows(work, image, 0, work.height, space)
            else:
                _convolve_images(work, image, min(work.images, last - image), space)
            image += max(1, work.images)
        row = thread * work.rows
        for image in range(work.threads * work.each, work.shape.batch):
            _convolve_rows(work, image, row, min(row + work.rows, work.height), space)


cdef void _convolve_images(const Work* work, int64_t image, int64_t images,
                           char* space) noexcept nogil:
    cdef WinogradShape part = work.shape
    cdef int64_t pixels = part.height * part.width, made = work.height * work.width
    cdef float* x = <float*>space
    cdef float* y = <float*>(space + aligned_float_bytes(images * part.channels * pixels))
    space = <char*>y + aligned_float_bytes(images * part.filters * made)
    part.batch = images
    transpose_3d(images, part.channels, pixels, work.x + image * part.channels * pixels, x, False)
    winograd_forward(&part, x, work.weights, True, work.bias, False, y, False, 1, space)
    transpose_3d(images, made, part.filters, y, work.y + image * part.filters * made, work.add)


cdef WinogradShape _input_shape_of_rows(const Work* work, int64_t rows) noexcept nogil:
    # The rows of data, padding included, that `rows` rows of out read.
    cdef WinogradShape part = work.shape
    part.batch, part.height, part.pad_h = 1, (rows - 1) * part.stride + part.kernel, 0
    return part


cdef void _convolve_rows(const Work* work, int64_t image, int64_t row, int64_t end,
                         char* space) noexcept nogil:
    """Compute rows row .. end of an image's out."""
    while row < end:
        _convolve_strip(work, image, row, min(work.strip, end - row), space)
        row += work.strip


cdef void _convolve_strip(const Work* work, int64_t image, int64_t row, int64_t rows,
                          char* space) noexcept nogil:
    cdef WinogradShape part = _input_shape_of_rows(work, rows)
    cdef int64_t pixels = work.shape.height * part.width, made = work.height * work.width
    cdef int64_t line = part.width * part.channels, first = row * part.stride - work.shape.pad_h
    cdef int64_t above = min(part.height, max(0, -first))
    cdef int64_t below = min(part.height - above, max(0, first + part.height - work.shape.height))
    cdef int64_t inside = part.height - above - below
    cdef float* x = <float*>space
    cdef float* y = <float*>(space + aligned_float_bytes(part.height * line))
    space = <char*>y + aligned_float_bytes(rows * work.width * part.filters)
    memset(x, 0, above * line * sizeof(float))
    transpose_2d(part.channels, inside * part.width,
                 work.x + image * part.channels * pixels + (first + above) * part.width, pixels,
                 x + above * line, part.channels, False)
    memset(x + (above + inside) * line, 0, below * line * sizeof(float))
    winograd_forward(&part, x, work.weights, True, work.bias, False, y, False, 1, space)
    transpose_2d(rows * work.width, part.filters, y, part.filters,
                 work.y + image * part.filters * made + row * work.width, made, work.add)


cdef size_t _part_bytes(const Work* work, const WinogradShape* part, int64_t rows) noexcept nogil:
    """Bytes for a part with this many rows of out."""
    return (aligned_float_bytes(part.batch * part.height * part.width * part.channels)
            + aligned_float_bytes(part.batch * rows * work.width * part.filters)
            + winograd_workspace_bytes(part, 1, PACKED))


cdef size_t _scratch_bytes_of_images(const Work* work, int64_t images) noexcept nogil:
    cdef WinogradShape part = work.shape
    part.batch = images
    return _part_bytes(work, &part, work.height) if images else 0


cdef size_t _scratch_bytes_of_strip(const Work* work, int64_t rows) noexcept nogil:
    cdef WinogradShape part = _input_shape_of_rows(work, rows)
    return _part_bytes(work, &part, rows) if rows else 0


cdef size_t _scratch_bytes_of_rows(const Work* work, int64_t rows) noexcept nogil:
    return max(_scratch_bytes_of_strip(work, min(work.strip, rows)),
               _scratch_bytes_of_strip(work, rows % work.strip))


cdef size_t _max_scratch_bytes(const Work* work) noexcept nogil:
    """Bytes of scratch for any part of a thread; a smaller part does not always need less."""
    cdef size_t maximum = 0
    if work.images:
        maximum = max(_scratch_bytes_of_images(work, work.images),
                      _scratch_bytes_of_images(work, work.each % work.images))
    elif work.each:
        maximum = _scratch_bytes_of_rows(work, work.height)
    if work.threads * work.each < work.shape.batch:
        maximum = max(maximum, _scratch_bytes_of_rows(work, min(work.rows, work.height)))
        maximum = max(maximum, _scratch_bytes_of_rows(work, work.height % work.rows))
    return maximum
