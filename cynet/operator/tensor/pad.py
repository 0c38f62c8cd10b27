"""Pad: borders around the axes after the first two; diag: a diagonal, or an array of one."""

from ...base.errors import ArgumentError, ShapeError
from ..checks.shapes import EMPTY
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Double, Enum, Int, Shape
from ..property import ShapesFromInput, is_known, merge_shapes
from ..second_order import Linear
from .axes import axis_of
from .strided_moves import StridedCopyOperator, StridedPart, View, subview, whole_view
from .transpose import MoveProperty


class PadHooks(GraphHooks):
    """Graph hooks of Pad: with constant borders it has a channels-last form."""

    def channels_last_form(self, prop, in_shapes, in_types):
        if prop.mode != "constant" or in_shapes[0] is None:
            return None
        return prop.changed(last=True), [0]


class PadProperty(ShapesFromInput, MoveProperty, KernelProperty, operator="Pad", aliases=("pad",)):
    """The input with borders around all axes but the first two."""

    graph = PadHooks(takes_empty=True)
    last = False  # True: channels-last memory order, set by the layout pass
    mode = Enum(
        ("constant", "edge", "reflect"),
        doc="Borders hold a constant, the nearest element, or the elements mirrored at the edge.",
    )
    pad_width = Shape(
        doc="Lengths before and after each axis, in turn; the first four are 0.", low=0
    )
    constant_value = Double(0.0, doc="Value of constant borders.")
    forward = Kernel("borders")
    backward = Kernel("borders_grad", ("d_output",), ("d_data",))
    floats = ()
    second_order = Linear(affine=True)
    methods = ("pad",)
    example = """
    >>> x = mx.nd.arange(4).reshape((1, 1, 2, 2))
    >>> mx.nd.pad(x, mode="constant", pad_width=(0, 0, 0, 0, 1, 0, 0, 1), constant_value=9)
    [[[[9. 9. 9.]
       [0. 1. 9.]
       [2. 3. 9.]]]]
    <NDArray 1x1x3x3 @cpu(0)>
    """

    def border_widths(self, ndim):
        """Return the widths (before, after) of the borders of each axis."""
        w = self.pad_width
        if len(w) != 2 * ndim or any(w[:4]):
            raise ArgumentError(
                f"Pad: parameter 'pad_width' takes {2 * ndim} lengths, the first four 0, got {w}"
            )
        return list(zip(w[::2], w[1::2]))

    def shapes_from(self, shape):
        if len(shape) < 3:
            raise ShapeError(f"Pad takes an array of at least 3 axes, got shape {shape}")
        widths = self.border_widths(len(shape))
        for i, (n, (before, after)) in enumerate(zip(shape, widths)):
            width = max(before, after)
            if self.mode == "reflect" and n and width >= max(n, 1):
                raise ShapeError(
                    f"Pad: axis {i} of {shape} is too short to reflect {self.pad_width}"
                )
            if self.mode == "edge" and n is EMPTY and width:
                raise ShapeError(f"Pad: axis {i} of {shape} has no element at its edge")
        return shape, tuple(n and n + a + b for n, (a, b) in zip(shape, widths))

    def create_operator(self, ctx, in_shapes, in_types):
        shape, widths = in_shapes[0], self.border_widths(len(in_shapes[0]))
        if self.mode == "constant":
            if self.last:
                shape, widths = ([v[0], *v[2:], v[1]] for v in (shape, widths))
            whole = whole_view([n + a + b for n, (a, b) in zip(shape, widths)])
            inside = subview(whole, [a for a, _ in widths], (1,) * len(shape), shape)
            return StridedCopyOperator(
                in_types[0], [StridedPart(whole_view(shape), inside)], fill=self.constant_value
            )
        return KernelProperty.create_operator(self, ctx, in_shapes, in_types)

    def kernel_params(self, in_shapes):
        """Parameters of the kernels whose borders repeat elements of the array."""
        shape = in_shapes[0]
        widths = self.border_widths(len(shape))
        return {
            "src": shape,
            "dst": tuple(before + n + after for n, (before, after) in zip(shape, widths)),
            "before": tuple(before for before, _ in widths),
            "reflect": self.mode == "reflect",
        }


class DiagProperty(MoveProperty, operator="diag"):
    """A diagonal of two or more axes, as the last axis; or a matrix with the input on one."""

    graph = GraphHooks(takes_empty=True)
    k = Int(0, doc="Which diagonal: above 0 to the right of the main one, below 0 to the left.")
    axis1 = Int(0, doc="The axis that counts rows.")
    axis2 = Int(1, doc="The axis that counts columns.")
    second_order = Linear()
    methods = ("diag",)
    example = """
    >>> mx.nd.diag(mx.nd.arange(9).reshape((3, 3)))
    [0. 4. 8.]
    <NDArray 3 @cpu(0)>
    >>> mx.nd.diag(mx.nd.array([1, 2]))
    [[1. 0.]
     [0. 2.]]
    <NDArray 2x2 @cpu(0)>
    """

    def locate_diagonal(self, shape):
        """Return (other axes, axis1, axis2, first row, first column, length) of the diagonal."""
        a, b = axis_of(self.axis1, len(shape), "axis1"), axis_of(self.axis2, len(shape), "axis2")
        if a == b:
            raise ArgumentError(f"diag: axis1 and axis2 are both axis {a}")
        row, column = max(-self.k, 0), max(self.k, 0)
        length = min(shape[a] - row, shape[b] - column)
        if length <= 0:
            raise ArgumentError(f"diag: shape {shape} has no diagonal {self.k}")
        others = [i for i in range(len(shape)) if i not in (a, b)]
        return others, a, b, row, column, length

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if not is_known(shape):
            return [shape], [out_shapes[0]], []
        if len(shape) == 1:
            out = (shape[0] + abs(self.k),) * 2
        else:
            others, *_, length = self.locate_diagonal(shape)
            out = (*(shape[i] for i in others), length)
        return [shape], [merge_shapes(out, out_shapes[0])], []

    def create_operator(self, ctx, in_shapes, in_types):
        shape = in_shapes[0]
        if len(shape) == 1:
            side = shape[0] + abs(self.k)
            first = max(self.k, 0) + max(-self.k, 0) * side
            target = View(shape, (side + 1,), first)
            return StridedCopyOperator(
                in_types[0], [StridedPart(whole_view(shape), target)], fill=0.0
            )
        others, a, b, row, column, length = self.locate_diagonal(shape)
        strides = whole_view(shape).strides
        source = View(
            (*(shape[i] for i in others), length),
            (*(strides[i] for i in others), strides[a] + strides[b]),
            row * strides[a] + column * strides[b],
        )
        return StridedCopyOperator(
            in_types[0], [StridedPart(source, whole_view(source.shape))], uncovered=(0,)
        )
