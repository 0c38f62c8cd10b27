"""ROIPooling: the maximum in each bin of regions (Girshick, "Fast R-CNN", 2015).

data (N, C, H, W), rois (R, 5), out (R, C, *pooled_size). A region's corners are rounded to pixels
of the data; its bins overlap where they do not fit.
"""

import numpy as np

from ..kernel_property import Kernel
from ..parameters import Float, Shape
from ..second_order import Rewrite
from .regions import RegionsProperty


class ROIPoolingProperty(RegionsProperty, operator="ROIPooling"):
    """Cut regions into bins and take the maximum of each.

    A region ``(x1, y1, x2, y2) * spatial_scale``, rounded, includes its last pixel. An empty bin
    gives 0. The gradient goes to the first of equal maxima; rois get none.
    """

    pooled_size = Shape(doc="Bins (h, w) of a region.", low=1, length=2)
    spatial_scale = Float(doc="Size of the data over that of the image.", low=0, high=1)

    forward = Kernel("roi_pool", ("data", "rois"), ("output", "argmax"))
    # only second gradients read data; the previous layer usually saves it anyway
    backward = Kernel("roi_pool_grad", ("d_output", "data", "rois", "argmax"), ("d_data",))
    drawn_as = "pooling"
    output_names = ("output", "argmax")  # offsets of the maxima in their planes, -1: none
    example = """
    >>> x = mx.nd.arange(16).reshape((1, 1, 4, 4))
    >>> rois = mx.nd.array([[0, 0, 0, 3, 3]])  # image, corners
    >>> mx.nd.ROIPooling(x, rois, pooled_size=(2, 2), spatial_scale=1)
    [[[[ 5.  7.]
       [13. 15.]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    """

    def num_visible_outputs(self):
        return 1

    def infer_shape(self, in_shapes, out_shapes):
        ins, (out,), _ = super().infer_shape(in_shapes, out_shapes[:1])
        return ins, [out, out], []

    def infer_type(self, in_types, out_types):
        ins, (out,), _ = super().infer_type(in_types, out_types[:1])
        return ins, [out, "int32"], []

    def compose_outputs(self, F, inputs, aux, training):
        data, rois = inputs
        values, regions = data.asnumpy(), rois.asnumpy()
        out = np.zeros((len(regions), values.shape[1], *self.pooled_size), np.int64)
        found = np.zeros(out.shape, values.dtype)
        for r, region in enumerate(regions):
            if region[0] <= -1:
                continue
            planes = values[int(region[0])]
            corners = region[1:] * np.asarray(self.spatial_scale, values.dtype)
            corners = np.sign(corners) * np.floor(np.abs(corners) + 0.5)
            for i, j in np.ndindex(*self.pooled_size):
                bounds = []
                for axis, at in enumerate((i, j)):
                    start, end, bins = corners[1 - axis], corners[3 - axis], self.pooled_size[axis]
                    length = np.maximum(end - start + 1, 1) / bins
                    ends = np.floor(at * length) + start, np.ceil((at + 1) * length) + start
                    bounds.append(np.clip(ends, 0, values.shape[2 + axis]).astype(np.int64))
                (h0, h1), (w0, w1) = bounds
                if h0 >= h1 or w0 >= w1:
                    continue
                best = planes[:, h0:h1, w0:w1].reshape(len(planes), -1).argmax(-1)
                row, column = h0 + best // (w1 - w0), w0 + best % (w1 - w0)
                plane = int(region[0]) * len(planes) + np.arange(len(planes))
                out[r, :, i, j] = (plane * values.shape[2] + row) * values.shape[3] + column
                found[r, :, i, j] = 1
        index = F.array(out.reshape(-1), ctx=data.ctx, dtype="int64")
        taken = F.take(data.reshape((-1,)), index, axis=0).reshape(out.shape)
        return [taken * F.array(found, ctx=data.ctx, dtype=data.dtype)]

    second_order = Rewrite(compose_outputs)
