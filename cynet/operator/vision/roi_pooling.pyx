# cython: wraparound=True
"""ROIPooling: the maximum in each bin of regions (Girshick, "Fast R-CNN", 2015).

data (N, C, H, W), rois (R, 5), out (R, C, *pooled_size). A region's corners are rounded to pixels
of the data; its bins overlap where they do not fit.
"""

from libc.stdint cimport int32_t

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.vision.roi_pooling cimport RoiPoolShape, roi_pool, roi_pool_backward
from .._base cimport Operator, OpContext
from .regions cimport clear, require_regions

from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..parameters import Float, Shape
from .regions import RegionsProperty


class ROIPoolingProperty(RegionsProperty):
    """Cut regions into bins and take the maximum of each.

    A region ``(x1, y1, x2, y2) * spatial_scale``, rounded, includes its last pixel. An empty bin
    gives 0. The gradient goes to the first of equal maxima; rois get none.
    """

    pooled_size = Shape(doc="Bins (h, w) of a region.", low=1, length=2)
    spatial_scale = Float(doc="Size of the data over that of the image.", low=0, high=1)

    def list_outputs(self):
        return ["output", "places"]  # of the maxima in their planes, -1: none

    def num_visible_outputs(self):
        return 1

    def infer_shape(self, in_shapes, out_shapes):
        ins, (out,), _ = super().infer_shape(in_shapes, out_shapes[:1])
        return ins, [out, out], []

    def infer_type(self, in_types, out_types):
        ins, (out,), _ = super().infer_type(in_types, out_types[:1])
        return ins, [out, "int32"], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        # data for gradients of gradients alone; the layer before it keeps it, as a rule
        return [out_grad[0], *in_data, out_data[1]]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return ROIPoolingOperator(self, *in_shapes)


cdef class ROIPoolingOperator(Operator):
    cdef RoiPoolShape shape
    cdef str name

    def __init__(self, prop, data, rois):
        cdef RoiPoolShape* s = &self.shape
        self.name = prop.op_name
        s.batch, s.channels, s.height, s.width = data
        s.rois, s.scale = rois[0], prop.spatial_scale
        s.pooled[0], s.pooled[1] = prop.pooled_size

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int32_t* places = <int32_t*>(out_data[1].data if req[1] != kNullOp else NULL)
        if req[0] == kNullOp and req[1] == kNullOp:
            return 0
        require_regions(self.name, &in_data[1], self.shape.scale, self.shape.batch)
        roi_pool(in_data[0].dtype, &self.shape, in_data[0].data, in_data[1].data,
                 out_data[0].data, places, req[0] != kNullOp, req[0] == kAddTo,
                 req[1] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        clear(&in_grad[1], req[1])
        if req[0] != kNullOp:
            roi_pool_backward(out_grad[0].dtype, &self.shape, in_data[1].data,
                              <const int32_t*>out_data[1].data, out_grad[0].data,
                              in_grad[0].data, req[0] == kAddTo)
        return 0


register_operator("ROIPooling", ROIPoolingProperty)
