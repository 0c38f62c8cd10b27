# cython: wraparound=True
"""Regions of interest (contract in regions.pxd): their property, and the check of their values.

A region is a row (image, x1, y1, x2, y2) in pixels of the image whose features the data are.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kFloat64, kNullOp
from ...kernels.vision.roi_pooling cimport ROI_GOOD, ROI_IMAGE, check_rois

from ...base.errors import ArgumentError, ShapeError
from ..checks.shapes import agree
from ..graph_hooks import GraphHooks
from ..property import OperatorProperty
from .planes import four_axes

REGIONS_DOC = {
    "data": "Features (N, C, H, W).",
    "rois": "Regions (R, 5): the number of the image, then x1, y1, x2, y2 in its pixels. A "
            "negative number means no image: the region gives 0.",
}


class RegionsProperty(OperatorProperty):
    """Base of the operators that pool regions: data (N, C, H, W) and rois (R, columns)."""

    columns = 5
    graph = GraphHooks(float32_beside_half=())
    inputs_doc = REGIONS_DOC

    def list_arguments(self):
        return ["data", "rois"]

    def pooled(self):
        """The lengths of the output's last two axes."""
        return self.pooled_size

    def output_channels(self, channels):
        """Channels of the output for data with so many (0: unknown)."""
        return channels

    def input_channels(self, channels):
        """Channels of the data for an output with so many (0: unknown)."""
        return channels

    def infer_shape(self, in_shapes, out_shapes):
        data, rois, out = four_axes("data", in_shapes[0]), in_shapes[1], out_shapes[0]
        if rois is not None and len(rois) != 2:
            raise ShapeError(f"rois has shape {tuple(rois)}, expected (R, {self.columns})")
        rois = agree("rois", rois, (0, self.columns))
        out = agree("output", out, (rois[0], self.output_channels(data[1]), *self.pooled()))
        data = agree("data", data, (0, self.input_channels(out[1]), 0, 0))
        rois = agree("rois", rois, (out[0], 0))
        return [data if in_shapes[0] is not None else None, rois], [out], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[1]]


cdef int require_regions(str where, const TBlob* rois, double scale,
                         int64_t batch) except -1 nogil:
    cdef int64_t row = 0, columns = rois.shape[1]
    cdef int wrong = check_rois(rois.dtype, rois.data, rois.size // columns, columns, scale, batch,
                                &row)
    if wrong == ROI_GOOD:
        return 0
    with gil:
        values = [_value(rois, row * columns + i) for i in range(columns)]
        if wrong == ROI_IMAGE:
            raise ArgumentError(f"operator {where}: row {row} of rois is of image {values[0]:g}, "
                                f"but data has {batch}")
        raise ArgumentError(f"operator {where}: row {row} of rois has coordinates "
                            f"{tuple(values[1:])}, expected finite ones below 1e9")


cdef double _value(const TBlob* blob, int64_t i):
    if blob.dtype == kFloat64:
        return (<const double*>blob.data)[i]
    return (<const float*>blob.data)[i]


cdef void clear(const TBlob* blob, int req) noexcept nogil:
    if req != kNullOp and req != kAddTo:
        memset(blob.data, 0, blob.size * dtype_size(blob.dtype))
