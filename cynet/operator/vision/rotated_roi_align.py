"""RROIAlign: ROIAlign of rotated regions (Ma et al., "Arbitrary-oriented scene text detection via
rotation proposals", 2018).

data (N, C, H, W), rois (R, 6) of (image, x, y, width, height, degrees), out (R, C, *pooled_size).
"""

from ..kernel_property import Kernel
from ..parameters import Float, Int, Shape
from ..second_order import Linear
from .regions import RegionsProperty


class RROIAlignProperty(RegionsProperty, operator="_contrib_RROIAlign"):
    """Cut rotated regions into bins and take the mean of bilinear samples of each.

    A region is (image, x, y, width, height, angle): its middle and size in the image's pixels, and
    degrees by which it is turned, counterclockwise where y points down. Width and height are at
    least 1 pixel of the data. rois get no gradient.
    """

    columns = 6
    pooled_size = Shape(doc="Bins (h, w) of a region.", low=1, length=2)
    spatial_scale = Float(doc="Size of the data over that of the image.", low=0, high=1)
    sampling_ratio = Int(
        -1,
        doc="Samples of a bin along each axis; below 1: as many as it has pixels, rounded up.",
        high=1 << 10,
    )

    inputs_doc = {
        **RegionsProperty.inputs_doc,
        "rois": "Regions (R, 6): the number of the image, x, y, width, height, degrees. A "
        "negative number means no image: the region gives 0.",
    }
    forward = Kernel("rotated_roi_align", ("data", "rois"))
    backward = Kernel("rotated_roi_align_grad", ("d_output", "rois"), ("d_data",))
    second_order = Linear({0: ()})
    example = """
    >>> x = mx.nd.arange(16).reshape((1, 1, 4, 4))
    >>> rois = mx.nd.array([[0, 1.5, 1.5, 2, 2, 0]])  # image, centre, width, height, degrees
    >>> mx.nd.contrib.RROIAlign(x, rois, pooled_size=(2, 2), spatial_scale=1, sampling_ratio=2)
    [[[[ 5.  6.]
       [ 9. 10.]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    """
