"""Operators that join arrays or part one: Concat, stack, SliceChannel (split)."""

import itertools

from ...base.errors import ArgumentError, ShapeError
from ..graph_hooks import GraphHooks, Traits
from ..parameters import MAX_ARRAYS, Bool, Int, Shape
from ..precision import EITHER, WIDEST, Precision
from ..property import OperatorProperty, merge_shapes
from ..second_order import Linear
from ..sparse.rows import CONCAT
from .axes import axis_of
from .strided_moves import StridedCopyOperator, StridedPart, subview, whole_view
from .transpose import MoveProperty


class JoinProperty(OperatorProperty):
    """Base class of operators that join any number of inputs."""

    key_var_num_args = "num_args"
    num_args = Int(doc="Number of inputs; filled in from the call.", low=1, high=MAX_ARRAYS)
    backward_reads = ("out_grad",)

    def list_arguments(self):
        return [f"arg{i}" for i in range(self.num_args)]

    def create_operator(self, ctx, in_shapes, in_types):
        return StridedCopyOperator(in_types[0], self.graph.moved_parts(self, in_shapes))


class ConcatHooks(GraphHooks):
    """The position of each input in the output."""

    traits = Traits(bfloat16_loops=True)

    def channels_last_form(self, prop, in_shapes, in_types):
        if len(in_shapes[0]) < 3:
            return None
        return prop.changed(channels_last=True), list(range(len(in_shapes)))

    def moved_parts(self, prop, in_shapes):
        axis = axis_of(prop.dim, len(in_shapes[0]), "dim")
        if prop.channels_last:
            in_shapes = [(s[0], *s[2:], s[1]) for s in in_shapes]
            axis = {0: 0, 1: len(in_shapes[0]) - 1}.get(axis, axis - 1)
        shape = list(in_shapes[0])
        shape[axis] = sum(s[axis] for s in in_shapes)
        whole = whole_view(shape)
        pieces, first = [], [0] * len(shape)
        for i, s in enumerate(in_shapes):
            pieces.append(
                StridedPart(whole_view(s), subview(whole, first, (1,) * len(s), s), index=i)
            )
            first[axis] += s[axis]
        return pieces


class ConcatProperty(JoinProperty, operator="Concat", aliases=("concat", "_rnn_param_concat")):
    """The inputs joined along an existing axis; their other lengths must agree."""

    graph = ConcatHooks(takes_empty=True)
    dim = Int(1, doc="The axis along which they are joined.")
    channels_last = False  # the graph's layout pass sets it to True
    second_order = Linear()
    sparse = CONCAT
    amp = Precision(WIDEST, EITHER)
    in_sparse = ("concat",)
    drawn_as = "shape"
    example = """
    >>> x, y = mx.nd.array([[1, 2]]), mx.nd.array([[3, 4]])
    >>> mx.nd.concat(x, y, dim=0)
    [[1. 2.]
     [3. 4.]]
    <NDArray 2x2 @cpu(0)>
    >>> mx.nd.concat(x, y, dim=1)
    [[1. 2. 3. 4.]]
    <NDArray 1x4 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        known = [s for s in (*in_shapes, *out_shapes) if s is not None]
        if not known:
            return list(in_shapes), [None], []
        ndim = len(known[0])
        axis = axis_of(self.dim, ndim, "dim")
        for s in known:
            if len(s) != ndim:
                raise ShapeError(f"Concat: inputs {in_shapes} have different numbers of axes")
        # inputs may differ in length along the axis alone
        others = merge_shapes(*((*s[:axis], 0, *s[axis + 1 :]) for s in known))
        lengths = [0 if s is None else s[axis] for s in in_shapes]
        total = out_shapes[0][axis] if out_shapes[0] is not None else 0
        if all(lengths):
            if total and total != sum(lengths):
                raise ShapeError(f"Concat: lengths {lengths} do not sum to the output's {total}")
            total = sum(lengths)
        elif total and lengths.count(0) == 1:
            lengths[lengths.index(0)] = total - sum(lengths)

        def shape_with_length(n):
            return (*others[:axis], n, *others[axis + 1 :])

        return [shape_with_length(n) for n in lengths], [shape_with_length(total)], []


class StackHooks(GraphHooks):
    """The position of each input in the output."""

    traits = Traits(bfloat16_loops=True)

    def moved_parts(self, prop, in_shapes):
        shape = in_shapes[0]
        axis = axis_of(prop.axis, len(shape) + 1)
        whole = whole_view((*shape[:axis], prop.num_args, *shape[axis:]))
        one = (*shape[:axis], 1, *shape[axis:])
        pieces = []
        for i in range(prop.num_args):
            first = [i if k == axis else 0 for k in range(len(one))]
            pieces.append(
                StridedPart(whole_view(one), subview(whole, first, (1,) * len(one), one), index=i)
            )
        return pieces


class StackProperty(JoinProperty, operator="stack"):
    """The inputs, all of one shape, joined along a new axis."""

    graph = StackHooks()
    axis = Int(0, doc="Position of the new axis in the output; negative: from its end.")
    second_order = Linear()
    amp = Precision(WIDEST, WIDEST)
    example = """
    >>> x, y = mx.nd.array([1, 2]), mx.nd.array([3, 4])
    >>> mx.nd.stack(x, y)
    [[1. 2.]
     [3. 4.]]
    <NDArray 2x2 @cpu(0)>
    >>> mx.nd.stack(x, y, axis=1)
    [[1. 3.]
     [2. 4.]]
    <NDArray 2x2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        out = out_shapes[0]
        inner = merge_shapes(*in_shapes)
        if inner is None and out is None:
            return list(in_shapes), [None], []
        axis = axis_of(self.axis, len(out) if inner is None else len(inner) + 1)
        if out is not None:
            inner = merge_shapes(inner, out[:axis] + out[axis + 1 :])
        out = merge_shapes(out, (*inner[:axis], self.num_args, *inner[axis:]))
        return [inner] * self.num_args, [out], []


class SliceChannelHooks(GraphHooks):
    """The position of each output in the input."""

    traits = Traits(bfloat16_loops=True)

    def moved_parts(self, prop, in_shapes):
        shape, n = in_shapes[0], prop.num_outputs
        axis = axis_of(prop.axis, len(shape))
        part = (*shape[:axis], shape[axis] // n, *shape[axis + 1 :])
        pieces = []
        for i in range(n):
            first = [i * part[axis] if k == axis else 0 for k in range(len(shape))]
            source = subview(whole_view(shape), first, (1,) * len(shape), part)
            pieces.append(StridedPart(source, whole_view(part), to=i))
        return pieces


class SliceChannelProperty(MoveProperty, operator="SliceChannel", aliases=("split",)):
    """The input parted into equal pieces along an axis, one output each."""

    graph = SliceChannelHooks()
    num_outputs = Int(doc="Number of pieces; must divide the axis.", low=1, high=MAX_ARRAYS)
    axis = Int(1, doc="The axis to split along.")
    squeeze_axis = Bool(False, doc="Drop the axis, which must then have length `num_outputs`.")
    second_order = Linear()
    methods = ("split",)
    drawn_as = "shape"
    example = """
    >>> x = mx.nd.arange(6).reshape((2, 3))
    >>> left, middle, right = mx.nd.split(x, num_outputs=3, axis=1, squeeze_axis=True)
    >>> middle
    [1. 4.]
    <NDArray 2 @cpu(0)>
    """

    def list_outputs(self):
        if self.num_outputs == 1:
            return ["output"]
        return [f"output{i}" for i in range(self.num_outputs)]

    def infer_shape(self, in_shapes, out_shapes):
        data, n = in_shapes[0], self.num_outputs
        out = merge_shapes(*out_shapes)
        if out is not None and (data is None or 0 in data):
            axis = axis_of(self.axis, len(out) + self.squeeze_axis)
            if self.squeeze_axis:
                whole = (*out[:axis], n, *out[axis:])
            else:
                whole = (*out[:axis], out[axis] * n, *out[axis + 1 :])
            data = merge_shapes(data, whole)
        if data is None:
            return [None], list(out_shapes), []
        axis = axis_of(self.axis, len(data))
        if data[axis] % n:
            raise ShapeError(
                f"SliceChannel: axis {axis} of {data} has {data[axis]} elements, which do not part "
                f"into {n}"
            )
        if self.squeeze_axis:
            if data[axis] not in (0, n):
                raise ShapeError(
                    f"SliceChannel: squeeze_axis needs axis {axis} of length {n}, got {data}"
                )
            shape = data[:axis] + data[axis + 1 :] or self.no_axes
        else:
            shape = (*data[:axis], data[axis] // n, *data[axis + 1 :])
        return [data], [merge_shapes(shape, out)] * n, []

    def create_operator(self, ctx, in_shapes, in_types):
        return StridedCopyOperator(in_types[0], self.graph.moved_parts(self, in_shapes))


class SplitV2Hooks(GraphHooks):
    """The position of each output in the input."""

    traits = Traits(bfloat16_loops=True)

    def moved_parts(self, prop, in_shapes):
        shape = in_shapes[0]
        axis, parts = prop.piece_shapes(shape)
        pieces = []
        for i, (first, part) in enumerate(parts):
            begin = [first if k == axis else 0 for k in range(len(shape))]
            source = subview(whole_view(shape), begin, (1,) * len(shape), part)
            pieces.append(StridedPart(source, whole_view(part), to=i))
        return pieces


class SplitV2Property(MoveProperty, operator="_split_v2"):
    """The input parted along an axis at given indices, or into equal sections."""

    graph = SplitV2Hooks()
    indices = Shape(
        (), doc="First index of each piece; the first is 0. Unless `sections` is given."
    )
    axis = Int(1, doc="The axis to split along.")
    squeeze_axis = Bool(False, doc="Drop the axis, which each piece must then have with length 1.")
    sections = Int(0, doc="Number of equal parts; 0: `indices` is used.", low=0, high=MAX_ARRAYS)
    second_order = Linear()
    example = """
    >>> x = mx.nd.arange(6).reshape((2, 3))
    >>> [part.shape for part in mx.nd.split_v2(x, (1,), axis=1)]
    [(2, 1), (2, 2)]
    """

    def list_outputs(self):
        n = self.sections or len(self.indices)
        return ["output"] if n == 1 else [f"output{i}" for i in range(n)]

    def piece_bounds(self, length):
        """Return the first index of each piece, and the end of the last piece."""
        if self.sections:
            if length % self.sections:
                raise ArgumentError(
                    f"_split_v2: expected a multiple of {self.sections} as the length, got {length}"
                )
            return [i * length // self.sections for i in range(self.sections)] + [length]
        marks = [*self.indices, length] if length else list(self.indices)
        if marks[:1] != [0] or any(a >= b for a, b in itertools.pairwise(marks)):
            raise ArgumentError(
                f"_split_v2: indices {self.indices} must rise from 0 and stay below {length}"
            )
        # if a length is unknown, the last piece's end is unknown, too
        return [*self.indices, length or self.indices[-1]]

    def piece_shapes(self, shape):
        """Return the split axis, and (first index, shape) of each piece."""
        axis = axis_of(self.axis, len(shape))
        marks = self.piece_bounds(shape[axis])
        return axis, [
            (a, (*shape[:axis], b - a, *shape[axis + 1 :])) for a, b in itertools.pairwise(marks)
        ]

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if shape is None:
            return [shape], list(out_shapes), []
        axis, parts = self.piece_shapes(shape)
        outs = [s for _, s in parts]
        if self.squeeze_axis:
            if any(s[axis] not in (0, 1) for s in outs):
                raise ShapeError(f"_split_v2: squeeze_axis needs pieces of length 1, got {outs}")
            outs = [s[:axis] + s[axis + 1 :] or self.no_axes for s in outs]
        return [shape], [merge_shapes(a, b) for a, b in zip(outs, out_shapes)], []

    def create_operator(self, ctx, in_shapes, in_types):
        return StridedCopyOperator(in_types[0], self.graph.moved_parts(self, in_shapes))
