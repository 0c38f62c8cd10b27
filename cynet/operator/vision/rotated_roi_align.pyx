# cython: wraparound=True
"""RROIAlign: ROIAlign of rotated regions (Ma et al., "Arbitrary-oriented scene text detection via
rotation proposals", 2018).

data (N, C, H, W), rois (R, 6) of (image, x, y, width, height, degrees), out (R, C, *pooled_size).
"""

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.vision.rotated_roi_align cimport (
    RotatedRoiShape, rotated_roi_align, rotated_roi_align_backward
)
from .._base cimport Operator, OpContext
from .regions cimport clear, require_regions

from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..parameters import Float, Int, Shape
from .regions import RegionsProperty


class RROIAlignProperty(RegionsProperty):
    """Cut rotated regions into bins and take the mean of bilinear samples of each.

    A region is (image, x, y, width, height, angle): its middle and size in the image's pixels, and
    degrees by which it is turned, counter-clockwise where y points down. Width and height are at
    least 1 pixel of the data. rois get no gradient.
    """

    columns = 6
    pooled_size = Shape(doc="Bins (h, w) of a region.", low=1, length=2)
    spatial_scale = Float(doc="Size of the data over that of the image.", low=0, high=1)
    sampling_ratio = Int(-1, doc="Samples of a bin along each axis; below 1: as many as it has "
                                 "pixels, rounded up.", high=1 << 10)

    inputs_doc = {
        **RegionsProperty.inputs_doc,
        "rois": "Regions (R, 6): the number of the image, x, y, width, height, degrees. A "
                "negative number means no image: the region gives 0.",
    }

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return RROIAlignOperator(self, *in_shapes)


cdef class RROIAlignOperator(Operator):
    cdef RotatedRoiShape shape
    cdef str name

    def __init__(self, prop, data, rois):
        cdef RotatedRoiShape* s = &self.shape
        self.name = prop.op_name
        s.batch, s.channels, s.height, s.width = data
        s.rois, s.scale, s.ratio = rois[0], prop.spatial_scale, prop.sampling_ratio
        s.pooled[0], s.pooled[1] = prop.pooled_size

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        require_regions(self.name, &in_data[1], self.shape.scale, self.shape.batch)
        rotated_roi_align(in_data[0].dtype, &self.shape, in_data[0].data, in_data[1].data,
                          out_data[0].data, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        clear(&in_grad[1], req[1])
        if req[0] == kNullOp:
            return 0
        require_regions(self.name, &in_data[1], self.shape.scale, self.shape.batch)
        rotated_roi_align_backward(out_grad[0].dtype, &self.shape, in_data[1].data,
                                   out_grad[0].data, in_grad[0].data, req[0] == kAddTo)
        return 0


register_operator("_contrib_RROIAlign", RROIAlignProperty)
