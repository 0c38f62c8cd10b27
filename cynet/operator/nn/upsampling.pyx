# cython: wraparound=True
"""UpSampling: data (N, C, H, W) enlarged to out (N, C, s H, s W), nearest or bilinear."""

from cython cimport floating
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from cython.parallel cimport prange

from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Enum, Int
from ..property import OperatorProperty, ResourceRequest
from ..checks.shapes import agree
from .convolution.im2col import UnrolledConvolution
from .convolution.select import ConvDesc

cdef enum:
    MOST = 64  # inputs


class UpSamplingHooks(GraphHooks):
    """A channels-last form of 'nearest'."""

    def channels_last(self, prop, in_shapes, in_types):
        if prop.sample_type != "nearest" or in_types[0] != "float32":
            return None
        return prop.changed(channels_last=True), list(range(len(in_shapes)))


class UpSamplingProperty(OperatorProperty):
    """Enlarge planes by `scale`: repeat elements ('nearest') or deconvolve ('bilinear').

    Nearest takes several inputs whose planes all become as large as those of the first times scale;
    their channels are concatenated or, with ``multi_input_mode='sum'``, added. Bilinear takes one,
    and a weight of shape (C, 1, k, k) with ``k = 2 * scale - scale % 2``, which the initializer
    Bilinear fills.
    """

    key_var_num_args = "num_args"

    scale = Int(doc="How many times larger.", low=1)
    num_filter = Int(0, doc="Number of channels, for 'bilinear'.", low=0)
    sample_type = Enum(("bilinear", "nearest"), doc="How elements are filled in.")
    multi_input_mode = Enum(("concat", "sum"), "concat", doc="How several inputs are joined.")
    num_args = Int(1, doc="Number of inputs.", low=1, high=MOST)
    workspace = Int(512, doc="Accepted and not needed.", low=0)

    channels_last = False  # a form the layout pass makes, of 'nearest'
    graph = UpSamplingHooks(float32_beside_half=())

    inputs_doc = {"data": "Input (N, C, H, W).", "weight": "Filters of 'bilinear'."}
    variable_attrs = {"weight": {"__init__": '["bilinear", {}]'}}

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.sample_type == "bilinear" and self.num_filter < 1:
            raise ArgumentError(f"operator {self.op_name}: sample_type 'bilinear' needs "
                                f"num_filter, the number of channels; got {self.num_filter}")

    def list_arguments(self):
        if self.sample_type == "bilinear":
            return ["data", "weight"]
        return ["data"] if self.num_args == 1 else [f"arg{i}" for i in range(self.num_args)]

    def infer_shape(self, in_shapes, out_shapes):
        for shape in (*in_shapes, *out_shapes):
            if shape is not None and len(shape) != 4:
                raise ShapeError(f"shape {tuple(shape)} is not (N, C, H, W)")
        scale, first, out = self.scale, in_shapes[0], out_shapes[0]
        if self.sample_type == "bilinear":
            k = 2 * scale - scale % 2
            weight = agree("weight", in_shapes[1], (self.num_filter, 1, k, k))
            if first is not None:
                first = agree("data", first, (0, self.num_filter, 0, 0))
                out = agree("output", out, (first[0], first[1], first[2] * scale, first[3] * scale))
            return [first, weight], [out], []
        if first is None:
            return in_shapes, [out], []
        height, width = first[2] * scale, first[3] * scale
        if len(in_shapes) == 1:
            return in_shapes, [agree("output", out, (first[0], first[1], height, width))], []
        channels = 0 if self.multi_input_mode == "concat" else first[1]
        for name, shape in zip(self.list_arguments(), in_shapes):
            if shape is None or not all(shape[1:]) or not all(first[1:]):
                return in_shapes, [out], []
            if shape[0] and first[0] and shape[0] != first[0]:
                raise ShapeError(f"{name} has {shape[0]} images, data has {first[0]}")
            if height % shape[2] or width % shape[3] or height // shape[2] != width // shape[3]:
                raise ShapeError(f"{name} has shape {tuple(shape)}: its planes do not become "
                                 f"{(height, width)} by one whole factor")
            if self.multi_input_mode == "concat":
                channels += shape[1]
            elif shape[1] != channels:
                raise ShapeError(f"{name} has {shape[1]} channels, to be added to {channels}")
        return in_shapes, [agree("output", out, (first[0], channels, height, width))], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space] if self.sample_type == "bilinear" else []

    def backward_resource(self, in_shapes):
        return self.forward_resource(in_shapes)

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], *in_data] if self.sample_type == "bilinear" else [out_grad[0]]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        (out,) = self.output_shapes(in_shapes)
        if self.sample_type == "nearest":
            return UpSamplingOperator(in_shapes, out, self.multi_input_mode == "sum",
                                      self.channels_last)
        k, pad = 2 * self.scale - self.scale % 2, self.scale // 2
        desc = ConvDesc(out, in_shapes[0], (k, k), (self.scale,) * 2, (1, 1), (pad, pad),
                        self.num_filter, in_types[0], bias=False, transposed=True)
        return UnrolledConvolution(desc, False)


cdef void _enlarge(const floating* x, floating* y, int64_t height, int64_t width, int64_t scale,
                   bint add) noexcept nogil:
    """One plane; height and width are those of y."""
    cdef int64_t h, w, i, j, small = width // scale
    cdef floating* row
    for h in range(height // scale):
        row = y + h * scale * width
        if add:
            for i in range(scale):
                for w in range(small):
                    for j in range(w * scale, (w + 1) * scale):
                        row[i * width + j] += x[h * small + w]
            continue
        for w in range(small):
            for j in range(w * scale, (w + 1) * scale):
                row[j] = x[h * small + w]
        for i in range(1, scale):
            memcpy(row + i * width, row, width * sizeof(floating))


cdef void _reduce(const floating* dy, floating* dx, int64_t height, int64_t width, int64_t scale,
                  bint add) noexcept nogil:
    """Sums of the squares of dy that an element of x became."""
    cdef int64_t h, w, i, j
    cdef floating total
    for h in range(height // scale):
        for w in range(width // scale):
            total = 0
            for i in range(h * scale, (h + 1) * scale):
                for j in range(w * scale, (w + 1) * scale):
                    total += dy[i * width + j]
            if add:
                dx[h * (width // scale) + w] += total
            else:
                dx[h * (width // scale) + w] = total


cdef void _enlarge_row(const float* x, float* y, int64_t width, int64_t channels, int64_t step,
                       int64_t scale, bint add) noexcept nogil:
    """A row of pixels of x becomes one of `width` in y, whose pixels are `step` floats apart."""
    cdef int64_t w, c
    cdef const float* pixel
    for w in range(width):
        pixel = x + w // scale * channels
        if add:
            for c in range(channels):
                y[w * step + c] += pixel[c]
        else:
            memcpy(y + w * step, pixel, channels * sizeof(float))


cdef void _reduce_row(const float* dy, float* dx, int64_t width, int64_t channels, int64_t step,
                      int64_t scale, bint add) noexcept nogil:
    """The gradient of `scale` such rows, one after another, and of `width` pixels each."""
    cdef int64_t w, c, i
    cdef const float* pixel
    if not add:
        memset(dx, 0, width // scale * channels * sizeof(float))
    for i in range(scale):
        for w in range(width):
            pixel = dy + (i * width + w) * step
            for c in range(channels):
                dx[w // scale * channels + c] += pixel[c]


cdef class UpSamplingOperator(Operator):
    """Nearest: every input's planes, one by one, or its rows of pixels."""

    cdef int64_t batch, channels, height, width  # of out
    cdef int64_t in_channels[MOST]
    cdef int64_t scale[MOST]
    cdef int n
    cdef bint sums, channels_last

    def __init__(self, in_shapes, out, sums, channels_last):
        self.batch, self.channels, self.height, self.width = out
        self.n = len(in_shapes)
        self.sums, self.channels_last = sums, channels_last
        for i, shape in enumerate(in_shapes):
            self.in_channels[i] = shape[1]
            self.scale[i] = out[2] // shape[2]

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int i
        cdef int64_t offset = 0
        cdef bint add
        if req[0] == kNullOp:
            return 0
        for i in range(self.n):
            add = req[0] == kAddTo or (self.sums and i > 0)
            if in_data[0].dtype == kFloat32:
                self._walk(i, offset, <float*>in_data[i].data, <float*>out_data[0].data, add, False)
            else:
                self._walk(i, offset, <double*>in_data[i].data, <double*>out_data[0].data, add,
                           False)
            offset += 0 if self.sums else self.in_channels[i]
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int i
        cdef int64_t offset = 0
        cdef bint add
        for i in range(self.n):
            add = req[i] == kAddTo
            if req[i] != kNullOp:
                if out_grad[0].dtype == kFloat32:
                    self._walk(i, offset, <float*>in_grad[i].data, <float*>out_grad[0].data, add,
                               True)
                else:
                    self._walk(i, offset, <double*>in_grad[i].data, <double*>out_grad[0].data, add,
                               True)
            offset += 0 if self.sums else self.in_channels[i]
        return 0

    cdef void _walk(self, int i, int64_t offset, floating* x, floating* y, bint add,
                    bint back) noexcept nogil:
        """All planes of input i, which starts at channel `offset` of out."""
        cdef int64_t scale = self.scale[i], count = self.in_channels[i]
        cdef int64_t large = self.height * self.width
        cdef int64_t small = large // (scale * scale), plane
        cdef int threads = threads_for(self.batch * count * large)
        cdef floating* there
        if floating is float and self.channels_last:
            self._walk_rows(i, offset, x, y, add, back, threads)
            return
        for plane in prange(self.batch * count, num_threads=threads, schedule="static"):
            there = y + (plane // count * self.channels + offset + plane % count) * large
            if back:
                _reduce(there, x + plane * small, self.height, self.width, scale, add)
            else:
                _enlarge(x + plane * small, there, self.height, self.width, scale, add)

    cdef void _walk_rows(self, int i, int64_t offset, float* x, float* y, bint add, bint back,
                         int threads) noexcept nogil:
        """All pixels of input i."""
        cdef int64_t scale = self.scale[i], count = self.in_channels[i], row
        cdef int64_t small = self.width // scale * count
        cdef int64_t large = scale * self.width * self.channels
        cdef int64_t k
        for row in prange(self.batch * self.height // scale, num_threads=threads,
                          schedule="static"):
            if back:
                _reduce_row(y + row * large + offset, x + row * small, self.width, count,
                            self.channels, scale, add)
                continue
            for k in range(scale):
                _enlarge_row(x + row * small, y + row * large + offset + k * large // scale,
                             self.width, count, self.channels, scale, add)


register_operator("UpSampling", UpSamplingProperty)
