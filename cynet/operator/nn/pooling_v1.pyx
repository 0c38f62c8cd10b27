# cython: wraparound=True
"""Pooling_v1: Pooling of old scripts, whose windows see the zeros of the padding.

data (N, C, H, W), out (N, C, H', W') with size' = (size + 2 pad - kernel) / stride + 1, rounded
down ('valid') or up ('full').
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..checks.shapes import agree
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Enum, Shape
from ..property import OperatorProperty
from .spatial_window import check_window, window_room


class PoolingV1Property(OperatorProperty):
    """Reduce every window over the planes of (N, C, H, W), padded with zeros, to one number.

    It is there for old networks; they differ from `Pooling` in that ``'max'`` takes the zeros of
    the padding for data, that ``'avg'`` divides by all of kernel in windows that reach beyond the
    padding, too, and that all elements that are equal to the maximum get its gradient.
    """

    kernel = Shape((), doc="Size of the window: (h, w).")
    pool_type = Enum(("avg", "max", "sum"), "max", doc="How a window is reduced.")
    global_pool = Bool(False, doc="One window over everything; kernel, stride and pad are unused.")
    pooling_convention = Enum(("full", "valid"), "valid", doc="How the output size is rounded.")
    stride = Shape((), doc="Step of the window; all 1 by default.")
    pad = Shape((), doc="Zeros at both ends; none by default.")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Input (N, C, H, W)."}

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        where = f"operator {self.op_name}"
        if self.global_pool:
            return
        if len(self.kernel) != 2:
            raise ArgumentError(f"{where}: kernel {self.kernel} must have 2 numbers (h, w)")
        # further numbers of stride and pad are not read, as in MXNet
        self.window = check_window(where, self.kernel, None, stride=(self.stride[:2], 1, 1),
                                   pad=(self.pad[:2], 0, 0))

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        if data is None and out is None:
            return [None], [None], []
        for name, shape in (("data", data), ("output", out)):
            if shape is not None and len(shape) != 4:
                raise ShapeError(f"{name} has shape {tuple(shape)}, expected 4 axes (NCHW)")
        data = (0,) * 4 if data is None else data
        sizes = [self.geometry(axis, size)[0] for axis, size in enumerate(data[2:])]
        out = agree("output", out, (*data[:2], *sizes))
        return [agree("data", data, (*out[:2], 0, 0))], [out], []

    def geometry(self, axis, size):
        """(output size, kernel, stride, pad) along a spatial axis."""
        if self.global_pool:
            return 1, size, 1, 0
        kernel, stride, pad = self.kernel[axis], self.window[0][axis], self.window[1][axis]
        if size == 0:
            return 0, kernel, stride, pad
        room = window_room(self.kernel, axis, size, pad)
        full = self.pooling_convention == "full"
        return (-(-room // stride) if full else room // stride) + 1, kernel, stride, pad

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[0], out_data[0]] if self.pool_type == "max" else [out_grad[0]]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return PoolingV1Operator(self, in_shapes[0])


cdef struct Axis:
    int64_t size, out, kernel, stride, pad


cdef struct Window:
    Axis rows, columns
    int64_t planes
    bint maximum
    double divisor


cdef void _describe(Axis* axis, prop, int number, int64_t size) except *:
    axis.size = size
    axis.out, axis.kernel, axis.stride, axis.pad = prop.geometry(number, size)


cdef class PoolingV1Operator(Operator):
    """Every window by itself, a plane after another."""

    cdef Window window

    def __init__(self, prop, data):
        cdef Window* w = &self.window
        _describe(&w.rows, prop, 0, data[2])
        _describe(&w.columns, prop, 1, data[3])
        w.planes = data[0] * data[1]
        w.maximum = prop.pool_type == "max"
        w.divisor = w.rows.kernel * w.columns.kernel if prop.pool_type == "avg" else 1

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if in_data[0].dtype == kFloat32:
            _pool(&self.window, <const float*>in_data[0].data, <float*>out_data[0].data,
                  req[0] == kAddTo)
        else:
            _pool(&self.window, <const double*>in_data[0].data, <double*>out_data[0].data,
                  req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if out_grad[0].dtype == kFloat32:
            _unpool(&self.window, <const float*>out_grad[0].data, <const float*>in_data[0].data,
                    <const float*>out_data[0].data, <float*>in_grad[0].data, req[0] == kAddTo)
        else:
            _unpool(&self.window, <const double*>out_grad[0].data, <const double*>in_data[0].data,
                    <const double*>out_data[0].data, <double*>in_grad[0].data, req[0] == kAddTo)
        return 0


cdef struct Span:
    int64_t begin, end  # of a window in the data
    bint zeros          # whether it sees zeros of the padding
    bint nothing        # or begins behind them


cdef inline Span _span(const Axis* axis, int64_t at) noexcept nogil:
    cdef Span span
    cdef int64_t first = at * axis.stride - axis.pad
    cdef int64_t last = min(first + axis.kernel, axis.size + axis.pad)
    span.begin, span.end = max(first, <int64_t>0), min(last, axis.size)
    span.zeros = first < span.begin or last > span.end
    span.nothing = first >= last
    return span


cdef void _pool(const Window* w, const floating* x, floating* y, bint add) noexcept nogil:
    cdef int64_t plane
    cdef int threads = threads_for(
        w.planes * w.rows.out * w.columns.out * w.rows.kernel * w.columns.kernel)
    for plane in prange(w.planes, num_threads=threads, schedule="static"):
        _pool_plane(w, x + plane * w.rows.size * w.columns.size,
                    y + plane * w.rows.out * w.columns.out, add)


cdef void _pool_plane(const Window* w, const floating* x, floating* y, bint add) noexcept nogil:
    cdef int64_t i, j, r, c
    cdef Span down, across
    cdef floating value, element
    for i in range(w.rows.out):
        down = _span(&w.rows, i)
        for j in range(w.columns.out):
            across = _span(&w.columns, j)
            value = 0
            if w.maximum and (down.nothing or across.nothing or not (down.zeros or across.zeros)):
                value = -INFINITY
            for r in range(down.begin, down.end):
                for c in range(across.begin, across.end):
                    element = x[r * w.columns.size + c]
                    if not w.maximum:
                        value += element
                    elif element > value or element != element:
                        value = element
            value = <floating>(value / w.divisor)
            y[i * w.columns.out + j] = y[i * w.columns.out + j] + value if add else value


cdef void _unpool(const Window* w, const floating* dy, const floating* x, const floating* y,
                  floating* dx, bint add) noexcept nogil:
    cdef int64_t plane, inside = w.rows.size * w.columns.size, outside = w.rows.out * w.columns.out
    cdef int threads = threads_for(w.planes * outside * w.rows.kernel * w.columns.kernel)
    if not add:
        memset(dx, 0, w.planes * inside * sizeof(floating))
    for plane in prange(w.planes, num_threads=threads, schedule="static"):
        _unpool_plane(w, dy + plane * outside, x + plane * inside if w.maximum else x,
                      y + plane * outside if w.maximum else y, dx + plane * inside)


cdef void _unpool_plane(const Window* w, const floating* dy, const floating* x, const floating* y,
                        floating* dx) noexcept nogil:
    cdef int64_t i, j, r, c, at
    cdef Span down, across
    cdef floating value
    for i in range(w.rows.out):
        down = _span(&w.rows, i)
        for j in range(w.columns.out):
            across = _span(&w.columns, j)
            value = <floating>(dy[i * w.columns.out + j] / w.divisor)
            for r in range(down.begin, down.end):
                for c in range(across.begin, across.end):
                    at = r * w.columns.size + c
                    if not w.maximum or x[at] == y[i * w.columns.out + j]:
                        dx[at] += value


register_operator("Pooling_v1", PoolingV1Property)
