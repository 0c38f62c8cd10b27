"""_contrib_box_encode and _contrib_box_decode: boxes seen from anchors, and back.

A code is ((x - ax) / aw, (y - ay) / ah, log(w / aw), log(h / ah)), less means, over stds (encode);
with (x, y) the middle of a box, (w, h) its size and a its anchor's.
"""

from ...base.errors import ArgumentError
from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Enum, Float
from .box_iou import FORMATS


class BoxEncodeProperty(KernelProperty, operator="_contrib_box_encode"):
    """The regression targets of anchors for the boxes matched with them, and their mask."""

    differentiable = False
    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {
        "samples": "1 for anchors with a box, (batch, n); others are 0 or -1.",
        "matches": "Which row of refs an anchor's box is, (batch, n).",
        "anchors": "Corners of the anchors, (batch, n, 4).",
        "refs": "Corners of the boxes, (batch, m, 4).",
        "means": "Is subtracted from each number of a code, (4,).",
        "stds": "What each is divided by, (4,).",
    }
    forward = Kernel("box_encode", tuple(inputs_doc), ("output0", "output1"), whole=True)
    output_names = ("output0", "output1")
    example = """
    >>> samples, matches = mx.nd.array([[1]]), mx.nd.array([[0]])
    >>> anchors, refs = mx.nd.array([[[0, 0, 2, 2]]]), mx.nd.array([[[1, 1, 3, 3]]])
    >>> means, stds = mx.nd.zeros(4), mx.nd.ones(4)
    >>> mx.nd.contrib.box_encode(samples, matches, anchors, refs, means, stds)[0]
    [[[0.5 0.5 0.  0. ]]]
    <NDArray 1x1x4 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        samples, matches, anchors, refs, means, stds = in_shapes
        batch, n = (0, 0)
        for name, shape, rank in (
            ("samples", samples, 2),
            ("matches", matches, 2),
            ("anchors", anchors, 3),
            ("output0", out_shapes[0], 3),
            ("output1", out_shapes[1], 3),
        ):
            if shape is not None:
                batch, n, *_ = unify_shapes(name, shape, (batch, n, 4)[:rank])
        if refs is not None:
            refs = unify_shapes("refs", refs, (batch, 0, 4))
            batch = refs[0]
        shapes = [
            unify_shapes("samples", samples, (batch, n)),
            unify_shapes("matches", matches, (batch, n)),
            unify_shapes("anchors", anchors, (batch, n, 4)),
            unify_shapes("refs", refs, (batch, 0, 4)),
            unify_shapes("means", means, (4,)),
            unify_shapes("stds", stds, (4,)),
        ]
        return shapes, [(batch, n, 4)] * 2, []

    def kernel_error(self, item, values):
        image, sample, boxes = map(int, values[:3])
        return ArgumentError(
            f"operator {self.op_name}: sample {sample} of image {image} is matched with none of "
            f"the {boxes} boxes of refs"
        )


class BoxDecodeProperty(KernelProperty, operator="_contrib_box_decode"):
    """The corners of boxes decoded from codes relative to anchors."""

    differentiable = False
    graph = GraphHooks(float32_beside_half=())

    std0 = Float(1.0, doc="Factor of the first number of a code.")
    std1 = Float(1.0, doc="Factor of the second one.")
    std2 = Float(1.0, doc="Factor of the third one.")
    std3 = Float(1.0, doc="Factor of the fourth one.")
    clip = Float(-1.0, doc="Most that the logarithm of a size may be; 0 or less: anything.")
    format = Enum(FORMATS, "center", doc="Format of the anchors, see box_iou.")
    inputs_doc = {"data": "Codes (batch, n, 4).", "anchors": "Anchors of all images, (1, n, 4)."}
    forward = Kernel("box_decode", ("data", "anchors"))
    example = """
    >>> moves, anchors = mx.nd.array([[[0.5, 0.5, 0, 0]]]), mx.nd.array([[[0, 0, 2, 2]]])
    >>> mx.nd.contrib.box_decode(moves, anchors, format="corner")
    [[[1. 1. 3. 3.]]]
    <NDArray 1x1x4 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        data, anchors = in_shapes
        shape = (0, 0, 4)
        for name, given in (("data", data), ("output", out_shapes[0])):
            if given is not None:
                shape = unify_shapes(name, given, shape)
        if anchors is not None:
            shape = (shape[0], unify_shapes("anchors", anchors, (1, shape[1], 4))[1], 4)
        return [shape, (1, shape[1], 4)], [shape], []

    def kernel_params(self, in_shapes):
        stds = self.std0, self.std1, self.std2, self.std3
        return {"stds": stds, "center": self.format == "center"}
