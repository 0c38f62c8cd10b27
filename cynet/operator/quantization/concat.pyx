# distutils: extra_compile_args = -O3
# cython: wraparound=True
"""quantized_concat: quantized arrays joined along an axis, and rescaled to one range."""

from libc.math cimport fabs, isnan
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kNullOp, kUint8
from ...kernels.common.by_dtype cimport add_elements
from ...kernels.isa.dispatch cimport cpu_level
from ...kernels.parallel cimport threads_for
from ...kernels.quantization.concat cimport ConcatPart, concat_bytes
from .._base cimport Operator, OpContext

from math import nan, prod

from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..parameters import MAX_ARRAYS, Int
from ..precision import Precision
from ..property import ResourceRequest
from ..tensor.axes import axis_of
from ..tensor.concat import ConcatProperty
from .int8_form import Int8Form
from .ranges import ONE, nan_error, range_input_shapes, require_byte_dtype
from .shapes import OUTPUTS


class QuantizedConcatHooks(GraphHooks):
    """A channels-last form."""

    def channels_last_form(self, prop, in_shapes, in_types):
        if len(in_shapes[0]) < 3:
            return None
        return prop.changed(channels_last=True), list(range(prop.num_args))


class QuantizedConcatProperty(ConcatProperty, operator="_contrib_quantized_concat"):
    """Quantized arrays joined along an existing axis.

    The range of the output is that from the least to the largest value of all; it is uint8 where
    all inputs are.
    """

    num_args = Int(doc="Number of arrays, each with a range.", low=1, high=MAX_ARRAYS)
    key_var_num_args, many_inputs = None, True
    differentiable = False
    graph = QuantizedConcatHooks()
    second_order, amp, sparse = None, Precision(), None
    int8_form = Int8Form(ConcatProperty)
    example = """
    >>> a, a_low, a_high = mx.nd.contrib.quantize_v2(mx.nd.array([[1, 2]]))
    >>> b, b_low, b_high = mx.nd.contrib.quantize_v2(mx.nd.array([[4]]))
    >>> mx.nd.contrib.quantized_concat(a, b, a_low, a_high, b_low, b_high, num_args=2)[0]
    [[ 32  64 127]]
    <NDArray 1x3 @cpu(0)>
    """

    def list_arguments(self):
        names = [f"arg{i}" for i in range(self.num_args)]
        return names + [f"{name}_{end}" for name in names for end in ("min", "max")]

    def list_outputs(self):
        return list(OUTPUTS)

    def infer_shape(self, in_shapes, out_shapes):
        n = self.num_args
        data, (out,), _ = super().infer_shape(in_shapes[:n], out_shapes[:1])
        ends = [unify_shapes(name, s, ONE) for name, s in zip(OUTPUTS[1:], out_shapes[1:])]
        return [*data, *range_input_shapes(self, in_shapes, n)], [out, *ends], []

    def infer_type(self, in_types, out_types):
        n = self.num_args
        for i, dtype in enumerate(in_types[:n]):
            require_byte_dtype(self, dtype, f"arg{i}")
        out = None
        if None not in in_types[:n]:
            out = "uint8" if set(in_types[:n]) == {"uint8"} else "int8"
        return [*in_types[:n], *["float32"] * (2 * n)], [out, "float32", "float32"], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def create_operator(self, ctx, in_shapes, in_types):
        shapes = in_shapes[: self.num_args]
        axis = axis_of(self.dim, len(shapes[0]), "dim")
        if self.channels_last:
            shapes = [(s[0], *s[2:], s[1]) for s in shapes]
            axis = {0: 0, 1: len(shapes[0]) - 1}.get(axis, axis - 1)
        lengths = [prod(s[axis:]) for s in shapes]
        return QuantizedConcatOperator(prod(shapes[0][:axis]), lengths, self.list_arguments())


cdef class QuantizedConcatOperator(Operator):
    """`outer` lines of each input, which have the given lengths, side by side."""

    cdef int64_t outer
    cdef int n
    cdef list names
    cdef vector[ConcatPart] parts

    def __init__(self, outer, lengths, names):
        cdef ConcatPart part
        self.outer, self.n, self.names = outer, len(lengths), names
        for length in lengths:
            part.length = length
            self.parts.push_back(part)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef float low = (<float*>in_data[self.n].data)[0]
        cdef float high = (<float*>in_data[self.n + 1].data)[0]
        cdef float steps = _max_integer(out_data[0].dtype), reach, own
        cdef void* to = out_data[0].data
        cdef int64_t size = out_data[0].size
        cdef vector[ConcatPart] parts = self.parts
        cdef int i
        for i in range(self.n, 3 * self.n):
            if isnan((<float*>in_data[i].data)[0]):
                with gil:
                    raise nan_error("operator _contrib_quantized_concat", self.names[i], 0, nan)
        for i in range(1, self.n):
            low = min(low, (<float*>in_data[self.n + 2 * i].data)[0])
            high = max(high, (<float*>in_data[self.n + 2 * i + 1].data)[0])
        reach = max(fabs(low), fabs(high))
        _write_value(low, req[1], &out_data[1])
        _write_value(high, req[2], &out_data[2])
        if req[0] == kNullOp:
            return 0
        if req[0] == kAddTo:
            to = get_space(&ctx.requested[0], size)
        for i in range(self.n):
            own = max(fabs((<float*>in_data[self.n + 2 * i].data)[0]),
                      fabs((<float*>in_data[self.n + 2 * i + 1].data)[0]))
            parts[i].data, parts[i].is_signed = in_data[i].data, in_data[i].dtype != kUint8
            parts[i].scale = 0 if reach == 0 else <float>(
                <double>own / reach * (<double>steps / _max_integer(in_data[i].dtype)))
        concat_bytes(cpu_level(), max(threads_for(size), 1), parts.data(), self.n, self.outer, to,
                     out_data[0].dtype != kUint8)
        if req[0] == kAddTo:
            add_elements(out_data[0].dtype, to, out_data[0].data, size)
        return 0


cdef inline float _max_integer(int dtype) noexcept nogil:  # largest integer of a symmetric range
    return 255 if dtype == kUint8 else 127


cdef inline void _write_value(float value, int req, TBlob* to) noexcept nogil:  # write, add or skip
    if req == kNullOp:
        return
    (<float*>to.data)[0] = value + ((<float*>to.data)[0] if req == kAddTo else 0)
