# cython: wraparound=True
"""PSROIPooling: the mean of each bin of regions, from channels of its own (Dai et al., "R-FCN",
2016, section 2).

data (N, output_dim * group_size^2, H, W), rois (R, 5), out (R, output_dim, pooled_size,
pooled_size).
"""

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.vision.psroi_pooling cimport PsroiShape, psroi_pool, psroi_pool_backward
from .._base cimport Operator, OpContext
from .regions cimport clear, require_regions

from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..parameters import Float, Int
from .regions import RegionsProperty


class PSROIPoolingProperty(RegionsProperty):
    """Cut regions into bins and take the mean of each, from channels that the bin has alone.

    Bin (i, j) of output channel d reads channel ``(d * g + i * g // p) * g + j * g // p`` of the
    data, g being group_size and p pooled_size. An empty bin gives 0. rois get no gradient.
    """

    spatial_scale = Float(doc="Size of the data over that of the image.", low=0, high=1)
    output_dim = Int(doc="Channels of the output.", low=1, high=1 << 30)
    pooled_size = Int(doc="Bins of a region along each axis.", low=1, high=1 << 30)
    group_size = Int(0, doc="Groups of channels along each axis; 0: pooled_size.", low=0,
                     high=1 << 30)

    @property
    def group(self):
        """Groups of channels along each axis."""
        return self.group_size or self.pooled_size

    def pooled(self):
        return self.pooled_size, self.pooled_size

    def output_channels(self, channels):
        return self.output_dim

    def input_channels(self, channels):
        return self.output_dim * self.group ** 2

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return PSROIPoolingOperator(self, *in_shapes)


cdef class PSROIPoolingOperator(Operator):
    cdef PsroiShape shape
    cdef str name

    def __init__(self, prop, data, rois):
        cdef PsroiShape* s = &self.shape
        self.name = prop.op_name
        s.batch, s.channels, s.height, s.width = data
        s.rois, s.scale = rois[0], prop.spatial_scale
        s.dim, s.pooled, s.group = prop.output_dim, prop.pooled_size, prop.group

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        require_regions(self.name, &in_data[1], self.shape.scale, self.shape.batch)
        psroi_pool(in_data[0].dtype, &self.shape, in_data[0].data, in_data[1].data,
                   out_data[0].data, req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        clear(&in_grad[1], req[1])
        if req[0] == kNullOp:
            return 0
        require_regions(self.name, &in_data[1], self.shape.scale, self.shape.batch)
        psroi_pool_backward(out_grad[0].dtype, &self.shape, in_data[1].data, out_grad[0].data,
                            in_grad[0].data, req[0] == kAddTo)
        return 0


register_operator("_contrib_PSROIPooling", PSROIPoolingProperty)
