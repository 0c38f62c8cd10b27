# cython: wraparound=True
"""LeakyReLU: rectifiers that let something of negative numbers through; out has data's shape."""

from cython cimport floating
from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.elementwise.leaky_relu cimport (
    kELU, kGELU, kLeaky, kSELU, rectifier_backward, rectifier_forward, sloped, slopes_backward
)
from ...kernels.rng.random cimport Draw, fill, kUniform
from .._base cimport Operator, OpContext

from math import prod

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Enum, Float
from ..property import OperatorProperty, ResourceRequest, merge_shapes

_TYPES = {"leaky": kLeaky, "elu": kELU, "selu": kSELU, "gelu": kGELU}
_ELEMENTWISE = GraphHooks(
    elementwise=True, float32_beside_half=(), draws_in_training_alone=True
)


class PReLUHooks(GraphHooks):
    """A channels-last form of prelu."""

    def channels_last(self, prop, in_shapes, in_types):
        learned = prop.act_type == "prelu" and len(in_shapes[1]) == 1
        return (prop.changed(channels_last=True), [0]) if learned else None


def check_slopes(data, gamma):
    """Refuse slopes of several axes that are not data's first ones, or whose axes of data's lengths
    are not side by side."""
    fits = len(gamma) <= len(data) and all(
        not n or g in (0, 1, n) for g, n in zip(gamma, data))
    own = [i for i, g in enumerate(gamma) if g > 1]
    inner = range(own[0], own[-1]) if own else ()
    if not fits or any(gamma[i] == 1 and data[i] > 1 for i in inner):
        raise ShapeError(f"gamma has shape {tuple(gamma)}, which is not data's {tuple(data)} with "
                         "1 for leading or trailing axes")


def slopes_of(data, gamma):
    """(number of slopes, elements in a row that one is for) of prelu."""
    if prod(gamma) == 1:
        return 1, prod(data)
    if len(gamma) == 1:
        return data[1], prod(data[2:])
    last = max(i for i, n in enumerate(gamma) if n != 1)
    return prod(gamma), prod(data[last + 1:])


class LeakyReLUProperty(OperatorProperty):
    """Rectifier with a slope for negative x, by `act_type`.

    - leaky: ``x if x > 0 else slope * x``
    - prelu: the same with a learned slope, the input gamma: one, or one a channel (axis 1); gamma
      of several axes stands before data's first ones, each of length 1 or of data's, and those of
      data's side by side
    - rrelu: the same with a random slope between `lower_bound` and `upper_bound` for each element
      in training, and their mean otherwise
    - elu: ``x if x > 0 else slope * (exp(x) - 1)``
    - selu: ``1.0507 * (x if x > 0 else 1.6733 * (exp(x) - 1))``
    - gelu: ``x`` times the normal distribution function of ``x``
    """

    act_type = Enum(("elu", "gelu", "leaky", "prelu", "rrelu", "selu"), "leaky",
                    doc="Which function.")
    slope = Float(0.25, doc="Of leaky and elu.")
    lower_bound = Float(0.125, doc="Of rrelu's slopes.")
    upper_bound = Float(0.334, doc="Of rrelu's slopes.")

    channels_last = False  # a form the layout pass makes, of prelu
    graph = PReLUHooks(float32_beside_half=(), draws_in_training_alone=True)

    inputs_doc = {"data": "Input of any shape.", "gamma": "Slopes of prelu: (1,), (C,), (N, C) ..."}
    variable_attrs = {"gamma": {"__init__": '["Constant", {"value": 0.25}]'}}

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.lower_bound > self.upper_bound:
            raise ArgumentError(f"operator {self.op_name}: lower_bound {self.lower_bound} is above "
                                f"upper_bound {self.upper_bound}")
        if self.act_type in _TYPES:
            self.graph = _ELEMENTWISE

    def list_arguments(self):
        return ["data", "gamma"] if self.act_type == "prelu" else ["data"]

    def list_outputs(self):
        return ["output", "mask"] if self.act_type == "rrelu" else ["output"]

    def num_visible_outputs(self):
        return 1

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], *out_shapes)
        shapes = [data]
        if self.act_type == "prelu":
            gamma = in_shapes[1]
            if gamma is not None and len(gamma) > 1:
                if data is not None:
                    check_slopes(data, gamma)
            elif gamma is not None and len(gamma) != 1:
                raise ShapeError(f"gamma has shape {tuple(gamma)}, expected an axis")
            elif data is not None:
                if len(data) < 2 and gamma != (1,):
                    raise ShapeError(f"data has shape {data}: it has no channels to give slopes to")
                if gamma is None or gamma == (0,):
                    gamma = data[1:2]
                elif gamma[0] != 1 and data[1] and gamma[0] != data[1]:
                    raise ShapeError(f"gamma has shape {tuple(gamma)}, expected (1,) or "
                                     f"({data[1]},)")
            shapes.append(gamma)
        return shapes, [data] * len(out_shapes), []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.random] if self.act_type == "rrelu" else []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], *in_data, *out_data[1:]]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        shape = in_shapes[0]
        if self.act_type == "rrelu":
            return RandomReLUOperator(self.lower_bound, self.upper_bound, in_types[0])
        if self.act_type == "prelu":
            if self.channels_last and prod(in_shapes[1]) > 1:
                return LearnedReLUOperator(shape[1], 1)
            return LearnedReLUOperator(*slopes_of(shape, in_shapes[1]))
        return RectifierOperator(_TYPES[self.act_type], self.slope)


cdef class RectifierOperator(Operator):
    """leaky, elu, selu, gelu: nothing but data."""

    cdef int type
    cdef double slope

    def __init__(self, type, slope):
        self.type, self.slope = type, slope

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if in_data[0].dtype == kFloat32:
            rectifier_forward(self.type, <const float*>in_data[0].data, <float*>out_data[0].data,
                              in_data[0].size, self.slope, req[0] == kAddTo)
        else:
            rectifier_forward(self.type, <const double*>in_data[0].data, <double*>out_data[0].data,
                              in_data[0].size, self.slope, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if in_data[0].dtype == kFloat32:
            rectifier_backward(self.type, <const float*>out_grad[0].data,
                               <const float*>in_data[0].data,
                               <float*>in_grad[0].data, in_data[0].size, self.slope,
                               req[0] == kAddTo)
        else:
            rectifier_backward(self.type, <const double*>out_grad[0].data,
                               <const double*>in_data[0].data, <double*>in_grad[0].data,
                               in_data[0].size, self.slope, req[0] == kAddTo)
        return 0


cdef class LearnedReLUOperator(Operator):
    """prelu: slopes are an input."""

    cdef int64_t channels, inner

    def __init__(self, channels, inner):
        self.channels, self.inner = channels, inner

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if in_data[0].dtype == kFloat32:
            sloped(<const float*>in_data[0].data, <const float*>in_data[0].data,
                   <const float*>in_data[1].data, <float*>out_data[0].data, in_data[0].size,
                   self.channels, self.inner, req[0] == kAddTo)
        else:
            sloped(<const double*>in_data[0].data, <const double*>in_data[0].data,
                   <const double*>in_data[1].data, <double*>out_data[0].data, in_data[0].size,
                   self.channels, self.inner, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if in_data[0].dtype == kFloat32:
            self._backward(<const float*>out_grad[0].data, in_data, req, in_grad)
        else:
            self._backward(<const double*>out_grad[0].data, in_data, req, in_grad)
        return 0

    cdef void _backward(self, const floating* dy, const TBlob* in_data, const int* req,
                        TBlob* in_grad) noexcept nogil:
        cdef const floating* x = <const floating*>in_data[0].data
        if req[1] != kNullOp:  # first: the gradient of data may take the place of dy
            slopes_backward(dy, x, <floating*>in_grad[1].data, in_data[0].size, self.channels,
                            self.inner, req[1] == kAddTo)
        if req[0] != kNullOp:
            sloped(dy, x, <const floating*>in_data[1].data, <floating*>in_grad[0].data,
                   in_data[0].size, self.channels, self.inner, req[0] == kAddTo)


cdef class RandomReLUOperator(Operator):
    """rrelu: the hidden output holds the slope of each element."""

    cdef double low, high
    cdef int dtype

    def __init__(self, low, high, dtype):
        self.low, self.high, self.dtype = low, high, dtype_flag(dtype)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int64_t n = in_data[0].size
        cdef Draw draw
        if ctx.is_train:
            draw.distribution = kUniform
            draw.seed, draw.stream = ctx.requested[0].seed, ctx.requested[0].stream
            draw.a, draw.b = self.low, self.high
            draw.a_data = draw.b_data = NULL
            draw.param_dtype, draw.each = self.dtype, 1
            fill(&draw, out_data[1].data, self.dtype, n, False)
        elif self.dtype == kFloat32:
            self._forward(<const float*>in_data[0].data, out_data, req, n)
            return 0
        else:
            self._forward(<const double*>in_data[0].data, out_data, req, n)
            return 0
        if req[0] == kNullOp:
            return 0
        if self.dtype == kFloat32:
            sloped(<const float*>in_data[0].data, <const float*>in_data[0].data,
                   <const float*>out_data[1].data, <float*>out_data[0].data, n, n, 1,
                   req[0] == kAddTo)
        else:
            sloped(<const double*>in_data[0].data, <const double*>in_data[0].data,
                   <const double*>out_data[1].data, <double*>out_data[0].data, n, n, 1,
                   req[0] == kAddTo)
        return 0

    cdef void _forward(self, const floating* x, TBlob* out_data, const int* req,
                       int64_t n) noexcept nogil:
        """Prediction: one slope for all."""
        cdef floating* mask = <floating*>out_data[1].data
        cdef floating slope = <floating>((self.low + self.high) / 2)
        cdef int64_t i
        if req[0] != kNullOp:
            rectifier_forward(kLeaky, x, <floating*>out_data[0].data, n, slope, req[0] == kAddTo)
        if req[1] != kNullOp:
            for i in range(n):
                mask[i] = mask[i] + slope if req[1] == kAddTo else slope

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int64_t n = in_data[0].size
        if req[0] == kNullOp:
            return 0
        if self.dtype == kFloat32:
            sloped(<const float*>out_grad[0].data, <const float*>in_data[0].data,
                   <const float*>out_data[1].data, <float*>in_grad[0].data, n, n, 1,
                   req[0] == kAddTo)
        else:
            sloped(<const double*>out_grad[0].data, <const double*>in_data[0].data,
                   <const double*>out_data[1].data, <double*>in_grad[0].data, n, n, 1,
                   req[0] == kAddTo)
        return 0


register_operator("LeakyReLU", LeakyReLUProperty)
