"""DeformablePSROIPooling: PSROIPooling of bins that are moved (Dai et al., "Deformable
convolutional networks", 2017, section 2.2).

data (N, output_dim * group_size^2, H, W), rois (R, 5), trans (R, 2 * classes, part_size,
part_size), out (R, output_dim, pooled_size, pooled_size).
"""

from ...base.errors import ShapeError
from ..checks.shapes import unify_shapes
from ..kernel_property import Kernel
from ..parameters import Bool, Float, Int
from ..precision import FLOAT32, Precision
from ..second_order import Refused
from .planes import has_zero_length, unify_planes
from .regions import RegionsProperty


class DeformablePSROIPoolingProperty(RegionsProperty, operator="_contrib_DeformablePSROIPooling"):
    """Move each bin of a region by a learned offset, then take the mean of samples of it.

    The bins of output channel d are moved by the offsets of its class, ``d // (output_dim //
    classes)``: trans holds x, then y, of each class and part, in widths and heights of the region
    times trans_std. Samples are bilinear; those more than half a pixel outside do not count. data
    and trans have a gradient, rois get none.
    """

    spatial_scale = Float(doc="Size of the data over that of the image.", low=0, high=1)
    output_dim = Int(doc="Channels of the output.", low=1, high=1 << 30)
    group_size = Int(doc="Groups of channels along each axis.", low=1, high=1 << 30)
    pooled_size = Int(doc="Bins of a region along each axis.", low=1, high=1 << 30)
    part_size = Int(
        0, doc="Offsets of a region along each axis; 0: pooled_size.", low=0, high=1 << 30
    )
    sample_per_part = Int(1, doc="Samples of a bin along each axis.", low=1, high=1 << 10)
    trans_std = Float(0.0, doc="Factor of the offsets.", low=0, high=1)
    no_trans = Bool(False, doc="Without trans: no bin is moved.")

    inputs_doc = {
        **RegionsProperty.inputs_doc,
        "trans": "Offsets (R, 2 * classes, part_size, part_size).",
    }
    forward = Kernel("deformed_psroi_pool", ("data", "rois", "trans?"))
    backward = Kernel(
        "deformed_psroi_pool_grad", ("d_output", "data", "rois", "trans?"), ("d_data", "d_trans?")
    )
    second_order = Refused("Samples come and go at the border of the data.")
    amp = Precision(FLOAT32)
    example = """
    >>> x = mx.nd.ones((1, 4, 4, 4))
    >>> rois = mx.nd.array([[0, 0, 0, 3, 3]])  # image, corners
    >>> mx.nd.contrib.DeformablePSROIPooling(x, rois, spatial_scale=1, output_dim=1, group_size=2,
    ...     pooled_size=2, no_trans=True)
    [[[[1. 1.]
       [1. 1.]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    """

    @property
    def n_parts(self):
        """The number of offsets along each axis."""
        return self.part_size or self.pooled_size

    def list_arguments(self):
        return ["data", "rois"] if self.no_trans else ["data", "rois", "trans"]

    def pooled(self):  # (height, width) of a pooled region
        return self.pooled_size, self.pooled_size

    def output_channels(self, channels):
        return self.output_dim

    def input_channels(self, channels):
        return self.output_dim * self.group_size**2

    def infer_shape(self, in_shapes, out_shapes):
        ins, outs, _ = super().infer_shape(in_shapes[:2], out_shapes)
        if self.no_trans:
            return ins, outs, []
        trans = in_shapes[2]
        if trans is not None:
            trans = unify_planes("trans", trans, (outs[0][0], 0, self.n_parts, self.n_parts))
            classes = trans[1] // 2 if not has_zero_length(trans[1]) else 0
            if trans[1] and (trans[1] % 2 or not classes or self.output_dim % classes):
                raise ShapeError(
                    f"trans has {trans[1]} channels, expected two for each class, "
                    f"whose number divides output_dim {self.output_dim}"
                )
            outs = [unify_shapes("output", outs[0], (trans[0], 0, 0, 0))]
            ins = [ins[0], unify_shapes("rois", ins[1], (trans[0], 0))]
        return [*ins, trans], outs, []
