"""ROIAlign: the mean of bilinear samples in each bin of regions (He et al., "Mask R-CNN", 2017).

data (N, C, H, W), rois (R, 5), out (R, C, *pooled_size), or (R, C / bins, *pooled_size) where each
bin has channels of its own.
"""

from ...base.errors import ShapeError
from ..kernel_property import Kernel
from ..parameters import Bool, Float, Int, Shape
from ..precision import WIDEST, Precision
from ..second_order import Linear
from .planes import has_zero_length
from .regions import RegionsProperty


class ROIAlignProperty(RegionsProperty, operator="_contrib_ROIAlign"):
    """Cut regions into bins, without rounding, and take the mean of samples of each.

    A sample is the bilinear interpolation of the four pixels around it; beyond one pixel outside
    the data it is 0. Samples form a lattice of sample_ratio x sample_ratio in each bin. Without
    `aligned` a region has a width and height of at least 1 pixel of the data. rois get no gradient.
    """

    pooled_size = Shape(doc="Bins (h, w) of a region.", low=1, length=2)
    spatial_scale = Float(doc="Size of the data over that of the image.", low=0, high=1)
    sample_ratio = Int(
        -1,
        doc="Samples of a bin along each axis; below 1: as many as it has pixels, rounded up.",
        high=1 << 20,
    )
    position_sensitive = Bool(
        False,
        doc="Whether each bin has channels of its own: output channel "
        "c reads channel c * h * w + bin.",
    )
    aligned = Bool(False, doc="Whether pixels have their centre half a pixel from their place.")

    forward = Kernel("roi_align", ("data", "rois"))
    backward = Kernel("roi_align_grad", ("d_output", "rois"), ("d_data",))
    second_order = Linear({0: ()})
    amp = Precision(WIDEST, WIDEST)
    example = """
    >>> x = mx.nd.arange(16).reshape((1, 1, 4, 4))
    >>> rois = mx.nd.array([[0, 0, 0, 3, 3]])  # image, corners
    >>> mx.nd.contrib.ROIAlign(x, rois, pooled_size=(2, 2), spatial_scale=1, sample_ratio=2)
    [[[[ 3.75  5.25]
       [ 9.75 11.25]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    """

    def output_channels(self, channels):
        bins = self.pooled_size[0] * self.pooled_size[1]
        if not self.position_sensitive or has_zero_length(channels):
            return channels
        if channels % bins:
            raise ShapeError(
                f"data has {channels} channels, not a multiple of the {bins} bins of "
                f"pooled_size {self.pooled_size}, as position_sensitive needs"
            )
        return channels // bins

    def input_channels(self, channels):
        bins = self.pooled_size[0] * self.pooled_size[1]
        return channels * bins if self.position_sensitive else channels
