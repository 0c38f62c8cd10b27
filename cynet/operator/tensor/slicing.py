"""Operators that take a part of an array: slice, slice_axis, slice_like."""

from ...base.errors import ArgumentError, ShapeError, UndefinedError
from ..graph_hooks import GraphHooks, Traits
from ..parameters import Int, IntOrNone, Shape
from ..property import infer_type_from_first, merge_shapes
from ..second_order import Linear
from ..sparse.rows import SLICE
from .axes import axes_of, axis_of
from .strided_moves import StridedCopyOperator, StridedPart, subview, whole_view
from .transpose import MoveProperty

_UNKNOWN_LENGTH = 1 << 40  # replaces an unknown length; every slice of it is nonempty


def slice_ranges(shape, begin, end, step, where="slice"):
    """Per axis (first index, step, count) of Python slices; axes beyond those given are whole.

    >>> slice_ranges((10, 3), (8,), (1,), (-2,))
    ((8, 0), (-2, 1), (4, 3))
    """
    if len(begin) != len(end) or len(begin) > len(shape) or (step and len(step) != len(begin)):
        raise ArgumentError(
            f"{where}: begin {begin}, end {end} and step {step} must have one length, at most the "
            f"{len(shape)} axes of {shape}"
        )
    firsts, steps, counts = [], [], []
    for i, n in enumerate(shape):
        if i >= len(begin):
            firsts.append(0)
            steps.append(1)
            counts.append(n)
            continue
        by = step[i] if step else None
        if by == 0:
            raise ArgumentError(f"{where}: parameter 'step' must not be 0, got {step}")
        first, stop, by = slice(begin[i], end[i], by).indices(n)
        count = len(range(first, stop, by))
        if count == 0 and int(n):
            raise ShapeError(
                f"{where}: begin {begin}, end {end}, step {step} leave nothing of axis {i} "
                f"of {shape}"
            )
        firsts.append(first)
        steps.append(by)
        counts.append(count or n)
    return tuple(firsts), tuple(steps), tuple(counts)


class SlicedHooks(GraphHooks):
    """Graph hooks of slices: the operator is a copy."""

    traits = Traits(bfloat16_loops=True)

    def is_memory_bound(self, prop, in_shapes):
        return True


class SlicedProperty(MoveProperty):
    """Base: one strided part of the input."""

    graph = SlicedHooks()

    def part_range(self, shape):
        """Return (first indices, steps, counts) of the slice of an array of `shape`."""
        raise UndefinedError(f"{type(self).__name__} defines no ranges")

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if shape is None:
            return [shape], [out_shapes[0]], []
        counts = self.part_range(tuple(n or _UNKNOWN_LENGTH for n in shape))[2]
        counts = tuple(count if n else 0 for n, count in zip(shape, counts))
        return [shape], [merge_shapes(counts, out_shapes[0])], []

    def create_operator(self, ctx, in_shapes, in_types):
        source = subview(whole_view(in_shapes[0]), *self.part_range(in_shapes[0]))
        part = source.shape != tuple(in_shapes[0])
        return StridedCopyOperator(
            in_types[0],
            [StridedPart(source, whole_view(source.shape))],
            uncovered=(0,) if part else (),
        )


class SliceProperty(SlicedProperty, operator="slice", aliases=("crop",)):
    """A part of the input, as ``data[begin[0]:end[0]:step[0], ...]`` of Python gives it."""

    begin = Shape(doc="First index of each axis; None for the outermost.", allow_none=True)
    end = Shape(doc="Index after the last of each axis; None for the end.", allow_none=True)
    step = Shape((), doc="Step of each axis, also negative; () for 1.", allow_none=True)
    second_order = Linear()
    sparse = SLICE
    methods = ("slice",)
    in_sparse = ("slice",)
    drawn_as = "shape"
    example = """
    >>> x = mx.nd.arange(6).reshape((2, 3))
    >>> mx.nd.slice(x, begin=(0, 1), end=(2, 3))
    [[1. 2.]
     [4. 5.]]
    <NDArray 2x2 @cpu(0)>
    >>> mx.nd.slice(x, begin=(None, None), end=(None, None), step=(1, -1))
    [[2. 1. 0.]
     [5. 4. 3.]]
    <NDArray 2x3 @cpu(0)>
    """

    def part_range(self, shape):
        return slice_ranges(shape, self.begin, self.end, self.step)


class SliceAxisProperty(SlicedProperty, operator="slice_axis"):
    """The part from `begin` up to `end` of one axis."""

    axis = Int(doc="The axis to slice along.")
    begin = Int(doc="First index; negative from the end.")
    end = IntOrNone(doc="Index after the last; negative from the end, None for the end.")
    second_order = Linear()
    methods = ("slice_axis",)
    drawn_as = "shape"
    example = """
    >>> x = mx.nd.arange(6).reshape((2, 3))
    >>> mx.nd.slice_axis(x, axis=1, begin=0, end=-1)
    [[0. 1.]
     [3. 4.]]
    <NDArray 2x2 @cpu(0)>
    """

    def part_range(self, shape):
        axis = axis_of(self.axis, len(shape))
        n = shape[axis]
        begin = self.begin + n if self.begin < 0 else self.begin
        end = n if self.end is None else self.end + n if self.end < 0 else self.end
        if not (0 <= begin < end <= n or (begin == 0 and end == n)):
            raise ArgumentError(
                f"slice_axis: begin {self.begin} and end {self.end} do not fit axis {axis} "
                f"of {shape}"
            )
        before = (None,) * axis
        return slice_ranges(shape, (*before, begin), (*before, end), (), "slice_axis")


class SliceLikeProperty(SlicedProperty, operator="slice_like"):
    """The leading part of the input that has the other input's lengths along some axes."""

    graph = SlicedHooks(shape_only=(1,))
    inputs_doc = {"data": "The input.", "shape_like": "The array whose lengths are taken."}
    axes = Shape((), doc="Axes to cut; () cuts all.")
    second_order = Linear()
    methods = ("slice_like",)
    example = """
    >>> x = mx.nd.arange(6).reshape((2, 3))
    >>> mx.nd.slice_like(x, mx.nd.zeros((1, 2)))
    [[0. 1.]]
    <NDArray 1x2 @cpu(0)>
    """

    def output_shape(self, data, like):
        """The output's shape."""
        if not self.axes:
            if len(data) != len(like):
                raise ShapeError(f"slice_like: shapes {data} and {like} differ in their axes")
            axes = range(len(data))
        else:
            axes = axes_of(self.axes, len(data))
        out = list(data)
        for i in axes:
            if i >= len(like) or (data[i] and like[i] > data[i]):
                raise ShapeError(f"slice_like: axis {i} of {data} cannot be cut like {like}")
            out[i] = like[i]
        return tuple(out)

    def infer_shape(self, in_shapes, out_shapes):
        data, like = in_shapes
        if data is None or like is None:
            return [data, like], [out_shapes[0]], []
        return [data, like], [merge_shapes(self.output_shape(data, like), out_shapes[0])], []

    infer_type = infer_type_from_first

    def create_operator(self, ctx, in_shapes, in_types):
        data, like = in_shapes
        counts = self.output_shape(data, like)
        source = subview(whole_view(data), (0,) * len(data), (1,) * len(data), counts)
        return StridedCopyOperator(
            in_types[0], [StridedPart(source, whole_view(counts))], uncovered=(0,)
        )
