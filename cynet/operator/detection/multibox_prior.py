"""_contrib_MultiBoxPrior: the anchors of a feature map.

data (N, C, H, W) gives out (1, H W (sizes + ratios - 1), 4): corners as parts of the image's width
and height, around the middle of each position.
"""

from ...base.errors import ArgumentError, ShapeError, shown
from ..checks.dtypes import require_floats
from ..checks.shapes import check_elements, unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, FloatTuple
from ..precision import FLOAT32, WIDEST, Precision

MAX_SIZES = 4096  # sizes, and ratios


class MultiBoxPriorProperty(KernelProperty, operator="_contrib_MultiBoxPrior"):
    """Anchors around each position of a feature map: one for every size, with the first ratio, and
    one for every further ratio, with the first size."""

    differentiable = False
    graph = GraphHooks(shape_only=(0,))

    sizes = FloatTuple((1.0,), doc="Heights of anchors, as parts of the image.")
    ratios = FloatTuple((1.0,), doc="Widths over heights.")
    clip = Bool(False, doc="Cut anchors at the image's sides.")
    steps = FloatTuple(
        (-1.0, -1.0),
        doc="Distances (down, right) of anchors, as parts of the "
        "image; both below 0: one over the number of places.",
    )
    offsets = FloatTuple((0.5, 0.5), doc="Where (down, right) a place's middle is, from 0 to 1.")
    inputs_doc = {"data": "Feature map (N, C, H, W), of which only the shape counts."}
    forward = Kernel("multibox_prior")
    amp = Precision(FLOAT32, WIDEST)
    example = """
    >>> mx.nd.contrib.MultiBoxPrior(mx.nd.zeros((1, 3, 1, 2)), sizes=(0.5,), ratios=(1,))
    [[[0.125 0.25  0.375 0.75 ]
      [0.625 0.25  0.875 0.75 ]]]
    <NDArray 1x2x4 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        for name, ok, words in (
            (
                "sizes",
                0 < len(self.sizes) <= MAX_SIZES and all(s >= 0 for s in self.sizes),
                f"1 to {MAX_SIZES} sizes from 0 on",
            ),
            (
                "ratios",
                0 < len(self.ratios) <= MAX_SIZES and all(r > 0 for r in self.ratios),
                f"1 to {MAX_SIZES} ratios above 0",
            ),
            (
                "steps",
                len(self.steps) == 2 and self.steps[0] * self.steps[1] >= 0,
                "two numbers, of one sign",
            ),
            (
                "offsets",
                len(self.offsets) == 2 and all(0 <= o <= 1 for o in self.offsets),
                "two numbers from 0 to 1",
            ),
        ):
            if not ok:
                raise ArgumentError(
                    f"operator {self.op_name}: parameter '{name}' takes {words}, "
                    f"got {shown(getattr(self, name))}"
                )

    def infer_shape(self, in_shapes, out_shapes):
        data, each = in_shapes[0], len(self.sizes) + len(self.ratios) - 1
        n = 0
        if data is not None:
            if len(data) < 4:
                raise ShapeError(f"data has shape {tuple(data)}, expected (N, C, H, W)")
            if data[2] and data[3]:
                n = data[2] * data[3] * each
                check_elements((1, n, 4), "the output of _contrib_MultiBoxPrior")
        return [data], [unify_shapes("output", out_shapes[0], (1, n, 4))], []

    def create_operator(self, ctx, in_shapes, in_types):
        require_floats(self, ["data"], in_types, ("float32",))
        return super().create_operator(ctx, in_shapes, in_types)
