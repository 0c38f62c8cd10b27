"""Regions of interest: the common part of operators that pool them.

A region is a row (image, x1, y1, x2, y2) in pixels of the image whose features the data are.
"""

from ...base.errors import ArgumentError, ShapeError
from ..checks.index_dtype import IndexRead
from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import KernelProperty
from .planes import require_four_axes

REGIONS_DOC = {  # docs of the inputs
    "data": "Features (N, C, H, W).",
    "rois": "Regions (R, 5): the number of the image, then x1, y1, x2, y2 in its pixels. A "
    "negative number means no image: the region gives 0.",
}


class RegionsProperty(KernelProperty):  # base of poolings of regions of interest
    """Base of operators that pool regions: of data (N, C, H, W), by rois (R, columns)."""

    columns = 5
    zeros = ("d_rois",)
    graph = GraphHooks(float32_beside_half=())
    inputs_doc = REGIONS_DOC

    def list_arguments(self):
        return ["data", "rois"]

    def pooled(self):
        """The lengths of the output's last two axes."""
        return self.pooled_size

    def output_channels(self, channels):
        """Return the number of output channels for data with `channels` (0: unknown)."""
        return channels

    def input_channels(self, channels):
        """Return the number of data channels for an output with `channels` (0: unknown)."""
        return channels

    def arrays_read_by_index(self, in_shapes, in_types):
        return [IndexRead(("rois", in_types[1], in_shapes[0][0]))]

    def infer_shape(self, in_shapes, out_shapes):
        data, rois, out = require_four_axes("data", in_shapes[0]), in_shapes[1], out_shapes[0]
        if rois is not None and len(rois) != 2:
            raise ShapeError(f"rois has shape {tuple(rois)}, expected (R, {self.columns})")
        rois = unify_shapes("rois", rois, (0, self.columns))
        out = unify_shapes("output", out, (rois[0], self.output_channels(data[1]), *self.pooled()))
        data = unify_shapes("data", data, (0, self.input_channels(out[1]), 0, 0))
        rois = unify_shapes("rois", rois, (out[0], 0))
        return [data if in_shapes[0] is not None else None, rois], [out], []

    def kernel_error(self, item, values):
        row, fault = divmod(item, 3)  # ROI_FAULTS of kernels/vision/rois.h
        image, *corners, batch = values[: self.columns + 1]
        wrong = (
            f"is of image {image:g}, but data has {batch:g}",
            f"has coordinates {tuple(corners)}, expected finite ones below 1e9",
            "has no width or no height, which aligned=True needs",
        )[fault]
        return ArgumentError(f"operator {self.op_name}: row {row} of rois {wrong}")
