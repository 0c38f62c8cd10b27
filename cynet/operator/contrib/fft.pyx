# distutils: extra_compile_args = -O3
"""fft: transforms of real lines, real and imaginary parts in turn; ifft: back, unscaled.

``fft(x)[..., 2 k] + i fft(x)[..., 2 k + 1] = sum over j of x[..., j] exp(-2 pi i j k / d)``, of x
(..., d); ``ifft`` of (..., 2 d) gives the real parts (..., d) of the sums with exp(2 pi i j k / d),
so ``ifft(fft(x)) = d x``. The gradient of each is the other.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.contrib.fft cimport Complex, FourierTable, transform_lines
from ...kernels.parallel cimport parallel_ranges, threads_for
from .._base cimport Operator, OpContext

from ...base.errors import OutOfMemoryError, ShapeError
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Int
from ..precision import FLOAT32, Precision
from ..property import OperatorProperty, ResourceRequest, merge_shapes
from ..second_order import Linear


class FftProperty(OperatorProperty, operator="_contrib_fft"):
    """Fourier transforms along the last axis: (..., d) real gives (..., 2 d).

    Real and imaginary parts stand in turn.
    """

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Real lines in the last axis."}
    compute_size = Int(128, doc="Part of MXNet's signature; not used.", low=1)
    back = False
    backward_reads = ("out_grad",)
    second_order = Linear()
    amp = Precision(FLOAT32)
    example = """
    >>> mx.nd.contrib.fft(mx.nd.array([[1, 0, 0, 0]]))  # real, imaginary, real, ...
    [[1. 0. 1. 0. 1. 0. 1. 0.]]
    <NDArray 1x8 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        shape, out = in_shapes[0], out_shapes[0]
        if shape is not None:
            out = merge_shapes((*shape[:len(shape) - 1], 2 * shape[len(shape) - 1]), out)
        if out is not None:
            if out[len(out) - 1] % 2:
                raise ShapeError(f"operator {self.op_name}: its output has an even last length, "
                                 f"not {out}")
            shape = merge_shapes((*out[:len(out) - 1], out[len(out) - 1] // 2), shape)
        return [shape], [out], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        n = in_shapes[0][len(in_shapes[0]) - 1]
        return FftOperator(n // 2 if self.back else n, self.back)


class IfftProperty(FftProperty, operator="_contrib_ifft"):
    """Inverse Fourier transforms along the last axis, unscaled: (..., 2 d) gives (..., d).

    Only real parts are given; ``ifft(fft(x))`` is x times d.
    """

    inputs_doc = {"data": "Real and imaginary parts in turn, in the last axis."}
    back = True
    second_order = Linear()
    amp = Precision()
    example = """
    >>> x = mx.nd.contrib.fft(mx.nd.array([[1, 2, 3, 4]]))
    >>> mx.nd.contrib.ifft(x) / 4  # ifft does not divide by the length
    [[1. 2. 3. 4.]]
    <NDArray 1x4 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        shape, out = in_shapes[0], out_shapes[0]
        if shape is not None:
            if shape[len(shape) - 1] % 2:
                raise ShapeError(f"operator {self.op_name}: 'data' has shape {tuple(shape)}, "
                                 "expected an even last length: real and imaginary parts in turn")
            out = merge_shapes((*shape[:len(shape) - 1], shape[len(shape) - 1] // 2), out)
        if out is not None:
            shape = merge_shapes((*out[:len(out) - 1], 2 * out[len(out) - 1]), shape)
        return [shape], [out], []


cdef struct Lines:  # arguments of a transform of many lines, shared by threads
    const FourierTable* table
    bint back, add, single
    const void* x
    void* y
    Complex* space
    int64_t lines
    int parts


cdef class FftOperator(Operator):  # fft or ifft of lines
    """Lines of n numbers; `back`: forward is ifft."""

    cdef FourierTable table
    cdef Complex* memory
    cdef bint back
    cdef int64_t n

    def __cinit__(self, n, back):
        self.n, self.back = n, back
        self.table = FourierTable(self.n)
        self.memory = <Complex*>malloc(self.table.table_size() * sizeof(Complex))
        if self.memory == NULL:
            raise OutOfMemoryError(f"operator fft: no memory for the tables of length {n}")
        self.table.fill_tables(self.memory)

    def __dealloc__(self):
        free(self.memory)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        return _transform_lines(self, ctx, self.back, req[0], &in_data[0], &out_data[0])

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        return _transform_lines(self, ctx, not self.back, req[0], &out_grad[0], &in_grad[0])


cdef int _transform_lines(FftOperator self, OpContext* ctx, bint back, int req, const TBlob* x,
                          TBlob* y) except -1 nogil:
    cdef Lines lines
    cdef int64_t count = y.size // self.n if back else x.size // self.n
    if req == kNullOp:
        return 0
    lines.table, lines.back, lines.add = &self.table, back, req == kAddTo
    lines.single = x.dtype == kFloat32
    lines.x, lines.y, lines.lines = x.data, y.data, count
    lines.parts = threads_for(count * self.table.padded * 32)
    if lines.parts > count:
        lines.parts = <int>count
    lines.space = <Complex*>get_space(&ctx.requested[0],
                                      lines.parts * self.table.padded * sizeof(Complex))
    parallel_ranges(lines.parts, lines.parts, _transform_line_range, &lines)
    return 0


cdef void _transform_line_range(void* arg, int64_t begin, int64_t end) noexcept nogil:
    cdef Lines* s = <Lines*>arg
    cdef int64_t part, first, last
    cdef Complex* space
    for part in range(begin, end):
        first, last = s.lines * part // s.parts, s.lines * (part + 1) // s.parts
        space = s.space + part * s.table.padded
        if s.single:
            transform_lines[float](s.table[0], s.back, <const float*>s.x, <float*>s.y, first, last,
                                   space, s.add)
        else:
            transform_lines[double](s.table[0], s.back, <const double*>s.x, <double*>s.y, first,
                                    last, space, s.add)
