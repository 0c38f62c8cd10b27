"""moments: mean and variance (of the whole population) over some axes."""

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.parallel cimport threads_for
from ...kernels.reduce.moments cimport MomentAxes, moments_backward, moments_forward
from .._base cimport Operator, OpContext

from ...base.dtype import dtype_flag
from ...base.errors import ArgumentError
from .._base import register_operator
from ..parameters import Bool, Shape
from ..property import OperatorProperty, merge_shapes
from .axes import axes_of
from .strided_moves import contiguous


class MomentsProperty(OperatorProperty):
    """Mean and variance over `axes`: two outputs, each as of `mean`."""

    inputs_doc = {"data": "The input, any shape."}
    axes = Shape(None, doc="Axes to take mean and variance over; required, all for global ones.")
    keepdims = Bool(False, doc="Keep the axes, with length 1.")

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if not self.axes:
            raise ArgumentError(f"operator {self.op_name}: parameter 'axes' must name at least one "
                                "axis; name all axes for moments of the whole array")

    def list_outputs(self):
        return ["output0", "output1"]

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if shape is None:
            return [None], list(out_shapes), []
        axes = axes_of(self.axes, len(shape))
        if self.keepdims:
            out = tuple([1 if i in axes else n for i, n in enumerate(shape)])
        else:
            out = tuple([n for i, n in enumerate(shape) if i not in axes]) or (1,)
        out = merge_shapes(out, *out_shapes)
        return [shape], [out, out], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, *in_data]

    def create_operator(self, ctx, in_shapes, in_types):
        if in_types[0] == "bool":
            raise ArgumentError(f"operator {self.op_name} does not take arrays of bool")
        return MomentsOperator(in_types[0], in_shapes[0], axes_of(self.axes, len(in_shapes[0])))


cdef class MomentsOperator(Operator):
    cdef MomentAxes axes
    cdef int dtype

    def __init__(self, dtype, shape, axes):
        self.dtype = dtype_flag(dtype)
        self.axes.n_kept = self.axes.n_folded = 0
        self.axes.outputs = self.axes.each = 1
        for i, (n, stride) in enumerate(zip(shape, contiguous(shape).strides)):
            if i in axes:
                self.axes.folded[self.axes.n_folded] = n
                self.axes.folded_strides[self.axes.n_folded] = stride
                self.axes.n_folded += 1
                self.axes.each *= n
            else:
                self.axes.kept[self.axes.n_kept] = n
                self.axes.kept_strides[self.axes.n_kept] = stride
                self.axes.n_kept += 1
                self.axes.outputs *= n

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef void* mean = out_data[0].data if req[0] != kNullOp else NULL
        cdef void* variance = out_data[1].data if req[1] != kNullOp else NULL
        if mean != NULL or variance != NULL:
            moments_forward(self.dtype, threads_for(in_data[0].size * 2), self.axes,
                            in_data[0].data, mean, variance, req[0] == kAddTo, req[1] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            moments_backward(self.dtype, threads_for(in_data[0].size * 4), self.axes,
                             out_grad[0].data, out_grad[1].data, in_data[0].data,
                             in_grad[0].data, req[0] == kAddTo)
        return 0


register_operator("moments", MomentsProperty)
