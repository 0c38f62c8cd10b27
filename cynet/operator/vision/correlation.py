"""Correlation: the similarity of patches of data1 to nearby patches of data2.

Both are (N, C, H, W). For a patch around each place of a lattice and each shift, out holds the mean
over the patch and all channels of ``data1 * data2``, or of ``|data1 - data2|`` (Fischer et al.,
"FlowNet", 2015, section 3).
"""

from ...base.errors import ArgumentError, ShapeError
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Int
from ..precision import WIDEST, Precision
from ..second_order import Linear, Rewrite
from .planes import unify_planes

MAX_SIZE = 1 << 30  # maximum of a size, so that offsets fit 64 bits


class CorrelationProperty(KernelProperty, operator="Correlation"):
    """Compare patches of data1 with shifted patches of data2.

    A patch has kernel_size x kernel_size pixels. Its middle goes over the padded image in steps of
    stride1, at least ``max_displacement + kernel_size // 2`` from its border; shifts go from
    -max_displacement to max_displacement along both axes in steps of stride2, with 0 among them.
    out (N, shifts, H', W') is the mean of ``data1 * data2`` over patch and channels, or of their
    absolute difference; the x of a shift changes fastest.
    """

    kernel_size = Int(1, doc="Pixels of a patch along each axis, odd.", low=1, high=MAX_SIZE)
    max_displacement = Int(1, doc="The largest shift.", low=0, high=MAX_SIZE)
    stride1 = Int(1, doc="Distance of patches.", low=1, high=MAX_SIZE)
    stride2 = Int(1, doc="Distance of shifts.", low=1, high=MAX_SIZE)
    pad_size = Int(0, doc="Zeros around both images.", low=0, high=MAX_SIZE)
    is_multiply = Bool(True, doc="Products; else absolute differences.")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data1": "First images (N, C, H, W).", "data2": "Second images, alike."}
    forward = Kernel("correlate", ("data1", "data2"))
    backward = Kernel("correlate_grad", ("data1", "data2", "d_output"), ("d_data1", "d_data2"))
    amp = Precision(WIDEST, WIDEST)
    example = """
    >>> x = mx.nd.ones((1, 2, 4, 4))
    >>> mx.nd.Correlation(x, x, kernel_size=1, max_displacement=1, pad_size=1).shape
    (1, 9, 4, 4)
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.kernel_size % 2 == 0:
            raise ArgumentError(
                f"operator {self.op_name}: kernel_size must be odd, got {self.kernel_size}"
            )

    @property
    def reach(self):
        """The number of shifts to each side."""
        return self.max_displacement // self.stride2

    def patch_count(self, size):
        """Return the number of patches along an axis of `size`; 0 if that is unknown."""
        if size == 0:
            return 0
        border = self.max_displacement + self.kernel_size // 2
        span = size + 2 * self.pad_size - 2 * border
        if span < 1:
            raise ShapeError(
                f"no patch fits: an axis of {size} + 2 * {self.pad_size} (pad_size) has borders of "
                f"{border} (max_displacement + kernel_size // 2) at both ends"
            )
        return (span - 1) // self.stride1 + 1

    def infer_shape(self, in_shapes, out_shapes):
        data = unify_planes("data1", in_shapes[0], (0, 0, 0, 0))
        data = unify_planes("data2", in_shapes[1], data)
        shifts = (2 * self.reach + 1) ** 2
        out = unify_planes(
            "output",
            out_shapes[0],
            (data[0], shifts, self.patch_count(data[2]), self.patch_count(data[3])),
        )
        data = unify_planes("data1", data, (out[0], 0, 0, 0))
        return [data, data], [out], []

    def compose_outputs(self, F, inputs, aux, training):
        """Compose the outputs of other operators: means of patches' differences for each shift."""
        pad = (0, 0, 0, 0, *[self.pad_size] * 4)
        one, two = (F.Pad(each, mode="constant", pad_width=pad) for each in inputs)
        border, outs = self.max_displacement, []
        height, width = (n - 2 * border for n in one.shape[2:])
        middle = F.slice(
            one,
            begin=(None, None, border, border),
            end=(None, None, border + height, border + width),
        )
        steps = [i * self.stride2 + border for i in range(-self.reach, self.reach + 1)]
        for y in steps:
            for x in steps:
                begin, end = (None, None, y, x), (None, None, y + height, x + width)
                gap = middle - F.slice(two, begin=begin, end=end)
                gap = F.where(gap >= 0, gap, -gap)  # absolute value with slope 0 at 0
                outs.append(F.mean(gap, axis=1, keepdims=True))
        size, stride = (self.kernel_size,) * 2, (self.stride1,) * 2
        return [F.Pooling(F.concat(*outs, dim=1), kernel=size, stride=stride, pool_type="avg")]

    @property
    def second_order(self):
        """Return the rule of the second order: products are linear in each of the two inputs."""
        return (
            Linear({0: (1,), 1: (0,)}) if self.is_multiply else Rewrite(type(self).compose_outputs)
        )
