"""PSROIPooling: the mean of each bin of regions, each bin from its own channels (Dai et al.,
"R-FCN", 2016, section 2).

data (N, output_dim * group_size^2, H, W), rois (R, 5), out (R, output_dim, pooled_size,
pooled_size).
"""

from ..kernel_property import Kernel
from ..parameters import Float, Int
from ..precision import WIDEST, Precision
from ..second_order import Linear
from .regions import RegionsProperty


class PSROIPoolingProperty(RegionsProperty, operator="_contrib_PSROIPooling"):
    """Cut regions into bins and take the mean of each, from channels that the bin has alone.

    Bin (i, j) of output channel d reads channel ``(d * g + i * g // p) * g + j * g // p`` of the
    data, g being group_size and p pooled_size. An empty bin gives 0. rois get no gradient.
    """

    spatial_scale = Float(doc="Size of the data over that of the image.", low=0, high=1)
    output_dim = Int(doc="Channels of the output.", low=1, high=1 << 30)
    pooled_size = Int(doc="Bins of a region along each axis.", low=1, high=1 << 30)
    group_size = Int(
        0, doc="Groups of channels along each axis; 0: pooled_size.", low=0, high=1 << 30
    )

    forward = Kernel("psroi_pool", ("data", "rois"))
    backward = Kernel("psroi_pool_grad", ("d_output", "rois"), ("d_data",))
    second_order = Linear({0: ()})
    amp = Precision(WIDEST, WIDEST)
    example = """
    >>> x = mx.nd.ones((1, 4, 4, 4))
    >>> rois = mx.nd.array([[0, 0, 0, 3, 3]])  # image, corners
    >>> mx.nd.contrib.PSROIPooling(x, rois, spatial_scale=1, output_dim=1, pooled_size=2)
    [[[[1. 1.]
       [1. 1.]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    """

    @property
    def groups_per_axis(self):
        """The number of groups of channels along each axis."""
        return self.group_size or self.pooled_size

    def pooled(self):  # (height, width) of a pooled region
        return self.pooled_size, self.pooled_size

    def output_channels(self, channels):
        return self.output_dim

    def input_channels(self, channels):
        return self.output_dim * self.groups_per_axis**2
