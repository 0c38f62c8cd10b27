"""Operators that repeat elements: tile, repeat, broadcast_to, broadcast_axis, broadcast_like.

Their gradient is the sum over the repetitions.
"""

from ...base.errors import ArgumentError, ShapeError, UndefinedError
from ..graph_hooks import GraphHooks
from ..parameters import Int, Shape
from ..property import ShapesFromInput, infer_type_from_first, merge_shapes
from ..second_order import Linear
from .axes import axis_of
from .strided_moves import StridedCopyOperator, StridedPart, View, whole_view
from .transpose import MoveProperty


def make_repeat_operator(dtype, lengths):
    """The StridedCopyOperator that repeats an input; `lengths`: (n, whether it is a repetition).

    The input has the lengths that are no repetition, in order; the output has all of them.
    """
    own = iter(whole_view([n for n, again in lengths if not again]).strides)
    strides = tuple(0 if again else next(own) for _, again in lengths)
    shape = tuple(n for n, _ in lengths)
    return StridedCopyOperator(dtype, [StridedPart(View(shape, strides), whole_view(shape))])


class TileProperty(ShapesFromInput, MoveProperty, operator="tile"):
    """The whole input repeated `reps` times along each axis."""

    reps = Shape(doc="Repetitions of each axis, aligned at the last.", low=1)
    second_order = Linear()
    methods = ("tile",)
    example = """
    >>> mx.nd.tile(mx.nd.array([[1, 2]]), reps=(2, 2))
    [[1. 2. 1. 2.]
     [1. 2. 1. 2.]]
    <NDArray 2x4 @cpu(0)>
    """

    def aligned_shape_and_reps(self, shape):
        """(shape, reps) with leading ones up to a common number of axes."""
        n = max(len(shape), len(self.reps))
        return (1,) * (n - len(shape)) + tuple(shape), (1,) * (n - len(self.reps)) + self.reps

    def shapes_from(self, shape):  # (input's shape, output's shape)
        return shape, tuple(n * r for n, r in zip(*self.aligned_shape_and_reps(shape)))

    def create_operator(self, ctx, in_shapes, in_types):
        lengths = []
        for n, r in zip(*self.aligned_shape_and_reps(in_shapes[0])):
            lengths += [(r, True), (n, False)]
        return make_repeat_operator(in_types[0], lengths)


class RepeatProperty(MoveProperty, operator="repeat"):
    """Each element repeated along an axis, or of the flattened input."""

    repeats = Int(doc="How often each element is repeated.", low=1)
    axis = Int(None, doc="The axis; None flattens the input.")
    second_order = Linear()
    methods = ("repeat",)
    example = """
    >>> mx.nd.repeat(mx.nd.array([[1, 2], [3, 4]]), repeats=2, axis=0)
    [[1. 2.]
     [1. 2.]
     [3. 4.]
     [3. 4.]]
    <NDArray 4x2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if shape is None:
            return [shape], [out_shapes[0]], []
        if self.axis is None:
            size = self.repeats
            for n in shape:
                size *= n
            out = (size,)
        else:
            axis = axis_of(self.axis, len(shape))
            out = (*shape[:axis], shape[axis] * self.repeats, *shape[axis + 1 :])
        return [shape], [merge_shapes(out, out_shapes[0])], []

    def create_operator(self, ctx, in_shapes, in_types):
        shape = in_shapes[0]
        axis = len(shape) - 1 if self.axis is None else axis_of(self.axis, len(shape))
        lengths = [(n, False) for n in shape]
        lengths.insert(axis + 1, (self.repeats, True))
        return make_repeat_operator(in_types[0], lengths)


class ExpandProperty(MoveProperty):  # base of broadcast_to, broadcast_like, ...
    """Base: axes of length 1 are repeated up to the output's lengths."""

    def out_shape(self, in_shapes):
        """The output's shape for shapes of the inputs, which may have unknown lengths."""
        raise UndefinedError(f"{type(self).__name__} defines no out_shape")

    def infer_shape(self, in_shapes, out_shapes):
        if any(shape is None for shape in in_shapes):
            return list(in_shapes), [out_shapes[0]], []
        out = merge_shapes(self.out_shape(in_shapes), out_shapes[0])
        return list(in_shapes), [out], []

    def create_operator(self, ctx, in_shapes, in_types):
        lengths = []
        for n, wanted in zip(in_shapes[0], self.out_shape(in_shapes)):
            lengths.append((wanted, n != wanted))
        return make_repeat_operator(in_types[0], lengths)


class BroadcastToProperty(ExpandProperty, operator="broadcast_to"):
    """The input with axes of length 1 repeated up to `shape`."""

    shape = Shape((), doc="The output's shape; 0 keeps the input's length.")
    second_order = Linear()
    example = """
    >>> mx.nd.broadcast_to(mx.nd.array([[1], [2]]), shape=(2, 3))
    [[1. 1. 1.]
     [2. 2. 2.]]
    <NDArray 2x3 @cpu(0)>
    """

    def out_shape(self, in_shapes):
        return _broadcast_shape(in_shapes[0], self.shape, "broadcast_to")


def _broadcast_shape(shape, wanted, where):
    if len(shape) != len(wanted):
        raise ShapeError(f"{where}: shape {shape} cannot be broadcast to {wanted}")
    out = tuple(w or n for n, w in zip(shape, wanted))
    if any(n and w and n not in (1, w) for n, w in zip(shape, out)):
        raise ShapeError(f"{where}: shape {shape} cannot be broadcast to {wanted}")
    return out


def _broadcast_shape_like(shape, wanted):
    """`_broadcast_shape` if `wanted` has unknown lengths (0), which are known only if n > 1."""
    out = _broadcast_shape(shape, wanted, "broadcast_like")
    return tuple(n if w or n > 1 else 0 for n, w in zip(out, wanted))


class BroadcastAxisProperty(ExpandProperty, operator="broadcast_axis", aliases=("broadcast_axes",)):
    """The input with some axes of length 1 repeated."""

    axis = Shape((), doc="Axis or axes of length 1.")
    size = Shape((), doc="New length of each of these axes.", low=1)
    second_order = Linear()
    methods = ("broadcast_axes",)
    example = """
    >>> mx.nd.broadcast_axis(mx.nd.array([[1], [2]]), axis=1, size=3)
    [[1. 1. 1.]
     [2. 2. 2.]]
    <NDArray 2x3 @cpu(0)>
    """

    def out_shape(self, in_shapes):
        shape = in_shapes[0]
        if len(self.axis) != len(self.size):
            raise ArgumentError(
                f"broadcast_axis: axis {self.axis} and size {self.size} must have one length"
            )
        out = list(shape)
        for axis, size in zip(self.axis, self.size):
            i = axis_of(axis, len(shape))
            if shape[i] not in (0, 1):
                raise ShapeError(
                    f"broadcast_axis: expected length 1 at axis {axis}, got shape {shape}"
                )
            out[i] = size
        return tuple(out)


class BroadcastLikeProperty(ExpandProperty, operator="broadcast_like"):
    """The left input with axes of length 1 repeated up to the right input's lengths."""

    graph = GraphHooks(shape_only=(1,), bfloat16_loops=True)
    inputs_doc = {"lhs": "The array that is repeated.", "rhs": "The array whose shape is taken."}
    lhs_axes = Shape(None, doc="Axes of lhs that are matched; None matches all.")
    rhs_axes = Shape(None, doc="Axes of rhs they are matched with.")
    second_order = Linear()
    methods = ("broadcast_like",)
    example = """
    >>> mx.nd.broadcast_like(mx.nd.array([[1, 2]]), mx.nd.zeros((2, 2)))
    [[1. 2.]
     [1. 2.]]
    <NDArray 2x2 @cpu(0)>
    """

    infer_type = infer_type_from_first

    def out_shape(self, in_shapes):
        lhs, rhs = in_shapes
        if self.lhs_axes is None and self.rhs_axes is None:
            return _broadcast_shape_like(lhs, rhs)
        if (
            self.lhs_axes is None
            or self.rhs_axes is None
            or len(self.lhs_axes) != len(self.rhs_axes)
        ):
            raise ArgumentError(
                f"broadcast_like: lhs_axes {self.lhs_axes} and rhs_axes {self.rhs_axes} must have "
                "one length"
            )
        wanted = list(lhs)
        for a, b in zip(self.lhs_axes, self.rhs_axes):
            wanted[axis_of(a, len(lhs), "lhs_axes")] = rhs[axis_of(b, len(rhs), "rhs_axes")]
        return _broadcast_shape_like(lhs, tuple(wanted))
