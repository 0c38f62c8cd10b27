"""Operators that reorder axes: transpose, SwapAxis, depth_to_space, space_to_depth, reverse."""

from ...base.errors import ArgumentError, ShapeError, UndefinedError
from ..graph_hooks import GraphHooks
from ..parameters import Int, Shape
from ..property import OperatorProperty, merge_shapes
from ..second_order import Linear
from .axes import axes_of, axis_of
from .strided_moves import StridedCopyOperator, StridedPart, View, whole_view


class MoveProperty(OperatorProperty):  # base of operators that only move elements
    """Base of operators that move elements: the gradient reads out_grad alone."""

    inputs_doc = {"data": "The input, any shape."}
    graph = GraphHooks(bfloat16_loops=True)
    backward_reads = ("out_grad",)


def permute_view(view, order):
    """The View with its axes in `order`."""
    return View(
        tuple(view.shape[i] for i in order), tuple(view.strides[i] for i in order), view.offset
    )


class PermuteProperty(MoveProperty):
    """Base: the output's axes are the input's in another order."""

    def axis_order(self, ndim):
        """Axis of the input for each axis of the output."""
        raise UndefinedError(f"{type(self).__name__} defines no order")

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        known = data if data is not None else out
        if known is None:
            return [None], [None], []
        order = self.axis_order(len(known))
        if data is not None:
            out = merge_shapes(tuple(data[i] for i in order), out)
        back = [0] * len(order)
        for i, axis in enumerate(order):
            back[axis] = out[i]
        return [tuple(back)], [out], []

    def create_operator(self, ctx, in_shapes, in_types):
        source = permute_view(whole_view(in_shapes[0]), self.axis_order(len(in_shapes[0])))
        return StridedCopyOperator(in_types[0], [StridedPart(source, whole_view(source.shape))])


class TransposeProperty(PermuteProperty, operator="transpose"):
    """The input with its axes reordered: reversed, or in the order `axes`."""

    axes = Shape((), doc="Axis of the input for each axis of the output; () reverses them.")
    second_order = Linear()
    drawn_as = "shape"
    example = """
    >>> x = mx.nd.arange(6).reshape((2, 3))
    >>> mx.nd.transpose(x)
    [[0. 3.]
     [1. 4.]
     [2. 5.]]
    <NDArray 3x2 @cpu(0)>
    >>> mx.nd.transpose(mx.nd.zeros((2, 3, 4)), axes=(2, 0, 1)).shape
    (4, 2, 3)
    """

    def axis_order(self, ndim):
        if not self.axes:
            return tuple(range(ndim))[::-1]
        if sorted(self.axes) != list(range(ndim)):
            raise ArgumentError(
                f"transpose: parameter 'axes' takes each of 0 to {ndim - 1} once, got {self.axes}"
            )
        return self.axes


class SwapAxisProperty(PermuteProperty, operator="SwapAxis", aliases=("swapaxes",)):
    """The input with two axes exchanged."""

    dim1 = Int(0, doc="The one axis.")
    dim2 = Int(0, doc="The other axis.")
    second_order = Linear()
    methods = ("swapaxes",)
    drawn_as = "shape"
    example = """
    >>> mx.nd.swapaxes(mx.nd.zeros((2, 3, 4)), dim1=0, dim2=2).shape
    (4, 3, 2)
    """

    def axis_order(self, ndim):
        order = list(range(ndim))
        a, b = axis_of(self.dim1, ndim, "dim1"), axis_of(self.dim2, ndim, "dim2")
        order[a], order[b] = order[b], order[a]
        return tuple(order)


class ReversedProperty(MoveProperty):
    """Base: the input with the order along some axes reversed."""

    def reversed_axes(self, ndim):
        """Return the axes whose order is reversed."""
        raise UndefinedError(f"{type(self).__name__} defines no reversed_axes")

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        return [shape], [shape], []

    def create_operator(self, ctx, in_shapes, in_types):
        whole = whole_view(in_shapes[0])
        strides, offset = list(whole.strides), 0
        for i in self.reversed_axes(len(whole.shape)):
            offset += (whole.shape[i] - 1) * strides[i]
            strides[i] = -strides[i]
        return StridedCopyOperator(
            in_types[0], [StridedPart(View(whole.shape, tuple(strides), offset), whole)]
        )


class ReverseProperty(ReversedProperty, operator="reverse", aliases=("flip",)):
    """The input with the order along some axes reversed."""

    axis = Shape(doc="Axis or axes to reverse.")
    second_order = Linear()
    methods = ("flip",)
    example = """
    >>> x = mx.nd.arange(6).reshape((2, 3))
    >>> mx.nd.flip(x, axis=1)
    [[2. 1. 0.]
     [5. 4. 3.]]
    <NDArray 2x3 @cpu(0)>
    """

    def reversed_axes(self, ndim):
        return axes_of(self.axis, ndim)


class BlocksProperty(MoveProperty):  # base of depth_to_space and space_to_depth
    """Base of depth_to_space and space_to_depth, on (batch, channel, height, width)."""

    block_size = Int(doc="Side of the blocks.", low=1)

    def require_block_shape(self, shape, ok, what):
        """Raise ShapeError unless `shape` is 4-D and `ok`; `what` describes the required shape."""
        if len(shape) != 4 or not ok:
            raise ShapeError(
                f"{self.op_name} with block_size {self.block_size} takes a 4-D array whose {what}, "
                f"got shape {shape}"
            )


class DepthToSpaceProperty(BlocksProperty, operator="depth_to_space"):
    """Channels rearranged into blocks: (n, c, h, w) becomes (n, c / b ** 2, h * b, w * b)."""

    second_order = Linear()
    methods = ("depth_to_space",)
    example = """
    >>> x = mx.nd.arange(4).reshape((1, 4, 1, 1))
    >>> mx.nd.depth_to_space(x, block_size=2)
    [[[[0. 1.]
       [2. 3.]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if shape is None:
            return [shape], [out_shapes[0]], []
        b = self.block_size
        self.require_block_shape(
            shape, len(shape) == 4 and shape[1] % (b * b) == 0, "channels divide by block_size ** 2"
        )
        n, c, h, w = shape
        return [shape], [merge_shapes((n, c // (b * b), h * b, w * b), out_shapes[0])], []

    def create_operator(self, ctx, in_shapes, in_types):
        n, c, h, w = in_shapes[0]
        b = self.block_size
        source = permute_view(whole_view((n, b, b, c // (b * b), h, w)), (0, 3, 4, 1, 5, 2))
        return StridedCopyOperator(in_types[0], [StridedPart(source, whole_view(source.shape))])


class SpaceToDepthProperty(BlocksProperty, operator="space_to_depth"):
    """Blocks rearranged into channels: (n, c, h, w) becomes (n, c * b ** 2, h / b, w / b)."""

    second_order = Linear()
    methods = ("space_to_depth",)
    example = """
    >>> x = mx.nd.arange(4).reshape((1, 1, 2, 2))
    >>> mx.nd.space_to_depth(x, block_size=2).reshape((4,))
    [0. 1. 2. 3.]
    <NDArray 4 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if shape is None:
            return [shape], [out_shapes[0]], []
        b = self.block_size
        fits = len(shape) == 4 and shape[2] % b == 0 and shape[3] % b == 0
        self.require_block_shape(shape, fits, "height and width divide by block_size")
        n, c, h, w = shape
        return [shape], [merge_shapes((n, c * b * b, h // b, w // b), out_shapes[0])], []

    def create_operator(self, ctx, in_shapes, in_types):
        n, c, h, w = in_shapes[0]
        b = self.block_size
        source = permute_view(whole_view((n, c, h // b, b, w // b, b)), (0, 3, 5, 1, 2, 4))
        return StridedCopyOperator(in_types[0], [StridedPart(source, whole_view(source.shape))])
