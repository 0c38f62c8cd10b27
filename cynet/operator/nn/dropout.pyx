# distutils: extra_compile_args = -O1
# cython: wraparound=True
"""Dropout: out = data * mask / (1 - p), mask random ones and zeros; out has data's shape."""

from cython cimport floating
from libc.stdint cimport int64_t
from libc.string cimport memset
from libcpp cimport bool as cbool

from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.elementwise.dropout cimport (
    dropout_apply, dropout_forward, dropout_mask, dropout_spread
)
from ...kernels.elementwise.elementwise cimport Kernel, run_unary
from ...kernels.table cimport find_unary
from .._base cimport Operator, OpContext

from ...base.dtype import dtype_flag
from ...base.errors import ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Enum, Float, Shape
from ..property import OperatorProperty, ResourceRequest, merge_shapes


class DropoutHooks(GraphHooks):

    def draws_in_prediction(self, prop):
        return prop.mode == "always"


class DropoutProperty(OperatorProperty):
    """Set each element to 0 with probability `p`, and divide the others by ``1 - p``.

    Done in training only, unless ``mode='always'``; otherwise out is data. Along `axes` all
    elements share one fate.
    """

    p = Float(0.5, doc="Probability of an element to be dropped.", low=0.0, high=1.0)
    mode = Enum(("training", "always"), "training", doc="When elements are dropped.")
    axes = Shape((), doc="Axes along which the mask repeats.", low=0)
    cudnn_off = Bool(False, doc="Accepted and not needed.")

    graph = DropoutHooks(float32_beside_half=())
    inputs_doc = {"data": "Input of any shape."}

    def list_outputs(self):
        return ["output", "mask"]

    def num_visible_outputs(self):
        return 1

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        mask = data
        if data is not None:
            if any(axis >= len(data) for axis in self.axes):
                raise ShapeError(f"axes {self.axes} are out of range for data of shape {data}")
            mask = tuple(1 if axis in self.axes else size for axis, size in enumerate(data))
        return [data], [data, mask], []

    def infer_type(self, in_types, out_types):
        known = in_types[0] or out_types[0]
        return [known], [known, "bool"], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.random]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], out_data[1]]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return DropoutOperator(self, in_shapes[0], in_types[0])


cdef class DropoutOperator(Operator):
    """The hidden output is the mask."""

    cdef Kernel write, add
    cdef double p
    cdef bint always, repeats
    cdef int ndim
    cdef int64_t shape[8]
    cdef int64_t stride[8]  # of the mask

    def __init__(self, prop, shape, dtype):
        cdef int64_t step = 1
        self.write = find_unary(b"identity", dtype_flag(dtype), False)
        self.add = find_unary(b"identity", dtype_flag(dtype), True)
        self.p = prop.p
        self.always = prop.mode == "always"
        self.repeats = bool(prop.axes)
        self.ndim = len(shape)
        for axis in range(len(shape) - 1, -1, -1):
            self.shape[axis] = shape[axis]
            self.stride[axis] = 0 if axis in prop.axes else step
            step *= 1 if axis in prop.axes else shape[axis]

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef cbool* keep = <cbool*>out_data[1].data
        if not (ctx.is_train or self.always):
            memset(keep, 1, out_data[1].size)
            if req[0] != kNullOp:
                run_unary(&self.add if req[0] == kAddTo else &self.write, in_data[0].data,
                          out_data[0].data, in_data[0].size)
            return 0
        self._apply(ctx, &in_data[0], keep, &out_data[0], req[0], out_data[1].size)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if ctx.is_train or self.always:
            self._apply(ctx, &out_grad[0], <cbool*>out_data[1].data, &in_grad[0], req[0], 0)
        elif req[0] != kNullOp:
            run_unary(&self.add if req[0] == kAddTo else &self.write, out_grad[0].data,
                      in_grad[0].data, in_grad[0].size)
        return 0

    cdef void _apply(self, OpContext* ctx, const TBlob* x, cbool* keep, TBlob* y, int req,
                     int64_t drawn) noexcept nogil:
        """Apply the mask, of which `drawn` elements are drawn before."""
        if x.dtype == kFloat32:
            self._masked(ctx, <const float*>x.data, keep, <float*>y.data, x.size, req, drawn)
        else:
            self._masked(ctx, <const double*>x.data, keep, <double*>y.data, x.size, req, drawn)

    cdef void _masked(self, OpContext* ctx, const floating* x, cbool* keep, floating* y, int64_t n,
                      int req, int64_t drawn) noexcept nogil:
        cdef bint add = req == kAddTo
        if drawn and not self.repeats and req != kNullOp:
            dropout_forward(ctx.requested[0].seed, ctx.requested[0].stream, self.p, keep, x, y, n,
                            add)
            return
        if drawn:
            dropout_mask(ctx.requested[0].seed, ctx.requested[0].stream, self.p, keep, drawn)
        if req == kNullOp:
            return
        if self.repeats:
            dropout_spread(x, keep, self.p, y, self.ndim, self.shape, self.stride, add)
        else:
            dropout_apply(x, keep, self.p, y, n, add)


register_operator("Dropout", DropoutProperty)
