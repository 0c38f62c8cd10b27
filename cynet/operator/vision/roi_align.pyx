# cython: wraparound=True
"""ROIAlign: the mean of bilinear samples in each bin of regions (He et al., "Mask R-CNN", 2017).

data (N, C, H, W), rois (R, 5), out (R, C, *pooled_size), or (R, C / bins, *pooled_size) where each
bin has channels of its own.
"""

from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.vision.roi_align cimport (
    RoiAlignShape, empty_roi, roi_align, roi_align_backward, roi_align_bytes, roi_align_threads
)
from .._base cimport Operator, OpContext
from .regions cimport clear, require_regions

from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..parameters import Bool, Float, Int, Shape
from ..property import ResourceRequest
from .planes import zero_length
from .regions import RegionsProperty


class ROIAlignProperty(RegionsProperty):
    """Cut regions into bins, without rounding, and take the mean of samples of each.

    A sample is the bilinear interpolation of the four pixels around it; beyond one pixel outside
    the data it is 0. Samples form a lattice of sample_ratio x sample_ratio in each bin. Without
    `aligned` a region has a width and height of at least 1 pixel of the data. rois get no gradient.
    """

    pooled_size = Shape(doc="Bins (h, w) of a region.", low=1, length=2)
    spatial_scale = Float(doc="Size of the data over that of the image.", low=0, high=1)
    sample_ratio = Int(-1, doc="Samples of a bin along each axis; below 1: as many as it has "
                               "pixels, rounded up.", high=1 << 20)
    position_sensitive = Bool(False, doc="Whether each bin has channels of its own: output channel "
                                         "c reads channel c * h * w + bin.")
    aligned = Bool(False, doc="Whether pixels have their centre half a pixel from their place.")

    def output_channels(self, channels):
        bins = self.pooled_size[0] * self.pooled_size[1]
        if not self.position_sensitive or zero_length(channels):
            return channels
        if channels % bins:
            raise ShapeError(f"data has {channels} channels, not a multiple of the {bins} bins of "
                             f"pooled_size {self.pooled_size}, as position_sensitive needs")
        return channels // bins

    def input_channels(self, channels):
        bins = self.pooled_size[0] * self.pooled_size[1]
        return channels * bins if self.position_sensitive else channels

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return ROIAlignOperator(self, *in_shapes)


cdef class ROIAlignOperator(Operator):
    cdef RoiAlignShape shape
    cdef str name

    def __init__(self, prop, data, rois):
        cdef RoiAlignShape* s = &self.shape
        self.name = prop.op_name
        s.batch, s.channels, s.height, s.width = data
        s.rois, s.scale, s.ratio = rois[0], prop.spatial_scale, prop.sample_ratio
        s.pooled[0], s.pooled[1] = prop.pooled_size
        s.aligned, s.position_sensitive = prop.aligned, prop.position_sensitive

    cdef int _check(self, const TBlob* rois) except -1 nogil:
        cdef int64_t empty
        require_regions(self.name, rois, self.shape.scale, self.shape.batch)
        if self.shape.aligned:
            empty = empty_roi(rois.dtype, rois.data, self.shape.rois)
            if empty >= 0:
                with gil:
                    raise ArgumentError(f"operator {self.name}: row {empty} of rois has no width "
                                        "or no height, which aligned=True needs")
        return 0

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int dtype = in_data[0].dtype, threads = roi_align_threads(&self.shape)
        if req[0] == kNullOp:
            return 0
        self._check(&in_data[1])
        roi_align(dtype, &self.shape, in_data[0].data, in_data[1].data, out_data[0].data,
                  req[0] == kAddTo, threads,
                  get_space(&ctx.requested[0], roi_align_bytes(dtype, &self.shape, threads)))
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int dtype = out_grad[0].dtype, threads = roi_align_threads(&self.shape)
        clear(&in_grad[1], req[1])
        if req[0] == kNullOp:
            return 0
        self._check(&in_data[1])
        roi_align_backward(dtype, &self.shape, in_data[1].data, out_grad[0].data, in_grad[0].data,
                           req[0] == kAddTo, threads,
                           get_space(&ctx.requested[0],
                                     roi_align_bytes(dtype, &self.shape, threads)))
        return 0


register_operator("_contrib_ROIAlign", ROIAlignProperty)
