# distutils: extra_compile_args = -O1
# cython: wraparound=True
"""softmax, log_softmax, softmin along an axis, and SoftmaxActivation; out has data's shape."""

from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat32, kNullOp
from ...kernels.reduce.softmax cimport softmax_backward, softmax_forward
from .._base cimport Operator, OpContext

from math import prod

from ...base.errors import ArgumentError, ArgumentTypeError, ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Double, Enum, Int
from ..out_dtype import OutDType
from ..property import OperatorProperty, merge_shapes
from ..checks.shapes import agree


class SoftmaxProperty(OutDType):
    """Softmax along `axis`: ``out = exp(data / temperature) / sum(exp(data / temperature))``.

    With `use_length` a second input says how many of the first entries along `axis` take part; the
    output of the others is 0.
    """

    axis = Int(-1, doc="The axis whose entries sum to 1.")
    temperature = Double(None, doc="Divides data first; 1 by default, and not 0.")
    dtype = Enum(("float16", "float32", "float64"), None, doc="Of the output: data's, the default.")
    use_length = Bool(False, doc="Whether there is an input `length`.")

    graph = GraphHooks(float32_beside_half=("length",))
    inputs_doc = {
        "data": "Input of any shape.",
        "length": "int32 or int64 of data's shape without `axis`.",
    }
    sign, log_of = 1.0, False

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.temperature == 0:
            raise ArgumentError(f"operator {self.op_name}: temperature must not be 0")

    def list_arguments(self):
        return ["data", "length"] if self.use_length else ["data"]

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        shapes = [data, *in_shapes[1:]]
        if data is not None:
            axis = self.position(data)
            if self.use_length:
                shapes[1] = agree("length", in_shapes[1], data[:axis] + data[axis + 1:])
        return shapes, [data], []

    def position(self, shape):
        """The axis counted from the front."""
        if not -len(shape) <= self.axis < len(shape):
            raise ShapeError(f"axis {self.axis} is out of range for data of shape {tuple(shape)}")
        return self.axis % len(shape)

    def infer_type(self, in_types, out_types):
        ins, outs, _ = super().infer_type(in_types, out_types)
        return [ins[0], *(t or "int32" for t in in_types[1:])], outs, []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        # of another dtype than the output, data says that of its gradient
        return [out_grad[0], *in_data[1 if self.dtype is None else 0:], out_data[0]]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])] if self.dtype is None else []

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])] if self.dtype is None else []

    def create_alike(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, ["data"], in_types[:1])
        wide = False
        if self.use_length:
            if in_types[1] not in ("int32", "int64"):
                raise ArgumentTypeError(f"operator {self.op_name}: length is {in_types[1]}, "
                                        "expected int32 or int64")
            wide = in_types[1] == "int64"
        shape, axis = in_shapes[0], self.position(in_shapes[0])
        return SoftmaxOperator(prod(shape[:axis]), shape[axis], prod(shape[axis + 1:]),
                               self.sign * (self.temperature or 1.0), self.log_of, self.use_length,
                               wide)


class LogSoftmaxProperty(SoftmaxProperty):
    """Logarithm of the softmax along `axis`, computed without losing small numbers."""

    log_of = True
    unlisted = ("length",)


class SoftminProperty(SoftmaxProperty):
    """Softmax of ``-data`` along `axis`: the smallest entry gets the most."""

    sign = -1.0
    unlisted = ("length",)


class SoftmaxActivationProperty(OperatorProperty):
    """Softmax along the last axis ('instance') or along axis 1 ('channel')."""

    mode = Enum(("channel", "instance"), "instance", doc="Which entries sum to 1.")

    graph = GraphHooks(float32_beside_half=("length",))
    inputs_doc = {"data": "Input, at least 2-d."}

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        if data is not None and len(data) < 2:
            raise ShapeError(f"data has shape {data}, expected at least 2 axes")
        return [data], [data], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], out_data[0]]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, ["data"], in_types)
        shape = in_shapes[0]
        if self.mode == "channel":
            lines = shape[0], shape[1], prod(shape[2:])
        else:
            lines = prod(shape[:-1]), shape[-1], 1
        return SoftmaxOperator(*lines, 1.0, False, False, False)


cdef class SoftmaxOperator(Operator):
    """Lines of n entries, `inner` apart."""

    cdef int64_t outer, n, inner
    cdef double temperature
    cdef bint log_of, has_length, wide

    def __init__(self, outer, n, inner, temperature, log_of, has_length, wide):
        self.outer, self.n, self.inner = outer, n, inner
        self.temperature = temperature
        self.log_of = log_of
        self.has_length = has_length
        self.wide = wide

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef const void* lengths = in_data[1].data if self.has_length else NULL
        cdef bint add = req[0] == kAddTo
        if req[0] == kNullOp:
            return 0
        if in_data[0].dtype == kFloat32:
            softmax_forward(<const float*>in_data[0].data, <float*>out_data[0].data, self.outer,
                            self.n,
                            self.inner, self.temperature, self.log_of, lengths, self.wide, add)
        else:
            softmax_forward(<const double*>in_data[0].data, <double*>out_data[0].data, self.outer,
                            self.n,
                            self.inner, self.temperature, self.log_of, lengths, self.wide, add)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef const void* lengths = in_data[1].data if self.has_length else NULL
        cdef bint add = req[0] == kAddTo
        if self.has_length and req[1] != kNullOp and req[1] != kAddTo:
            memset(in_grad[1].data, 0, in_grad[1].size * dtype_size(in_grad[1].dtype))
        if req[0] == kNullOp:
            return 0
        if out_data[0].dtype == kFloat32:
            softmax_backward(<const float*>out_grad[0].data, <const float*>out_data[0].data,
                             <float*>in_grad[0].data, self.outer, self.n, self.inner,
                             self.temperature, self.log_of, lengths, self.wide, add)
        else:
            softmax_backward(<const double*>out_grad[0].data, <const double*>out_data[0].data,
                             <double*>in_grad[0].data, self.outer, self.n, self.inner,
                             self.temperature, self.log_of, lengths, self.wide, add)
        return 0


register_operator("softmax", SoftmaxProperty)
register_operator("log_softmax", LogSoftmaxProperty)
register_operator("softmin", SoftminProperty)
register_operator("SoftmaxActivation", SoftmaxActivationProperty)
