"""Operators that give the same bytes another shape: Reshape, expand_dims, squeeze, reshape_like."""

from ...base.errors import ArgumentError, ShapeError, UndefinedError
from ..checks.shapes import EMPTY
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Int, Shape
from ..property import OperatorProperty, infer_type_from_first, is_known, merge_shapes
from ..second_order import Linear
from .axes import axes_of, axis_of
from .strided_moves import StridedCopyOperator, StridedPart, whole_view


class CopyProperty(OperatorProperty):  # base of copying operators
    """Base: the output has the elements of the first input, in their order."""

    backward_reads = ("out_grad",)
    computes_in_place = True

    def create_operator(self, ctx, in_shapes, in_types):
        whole = whole_view((_shape_size(in_shapes[0]),))
        return StridedCopyOperator(in_types[0], [StridedPart(whole, whole)])


class SameBytesProperty(CopyProperty):  # base of reshaping operators
    """Base: output 0 is input 0 under another shape, and so are their gradients."""

    inputs_doc = {"data": "The input, any shape."}
    graph = GraphHooks(view=True, bfloat16_loops=True)

    def shape_of_output(self, shape):
        """The output's shape for a known input shape."""
        raise UndefinedError(f"{type(self).__name__} defines no shape_of_output")

    def shape_of_input(self, shape):
        """The input's shape for a known output shape, or None if it is ambiguous."""
        return None

    def known_output_part(self, shape):
        """The known part of the output's shape for an input with unknown (0) dimensions."""
        return None

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        if is_known(data):
            out = merge_shapes(self.shape_of_output(data), out)
            if _shape_size(out) != _shape_size(data):
                raise ShapeError(f"an array of shape {data} cannot take the shape {out}")
            return [data], [out], []
        if is_known(out):
            data = merge_shapes(self.shape_of_input(out), data)
        if data is not None:
            out = merge_shapes(self.known_output_part(data), out)
            if is_known(out) and data.count(0) == 1:
                data = _fill_unknown_length(data, _shape_size(out))
        return [data], [out], []


def _fill_unknown_length(shape, size):
    """Compute the one unknown dimension of `shape` from its `size`, the number of elements."""
    rest = _shape_size(n for n in shape if n)
    if size % rest:
        raise ShapeError(f"{size} elements do not fill an array of shape {shape} (0 is unknown)")
    return tuple(n or size // rest for n in shape)


def _shape_size(shape):
    size = 1
    for n in shape:
        size *= n
    return size


def resolve_shape(shape, codes, where="Reshape"):
    """The shape that MXNet's special codes describe for an input of `shape`.

    0 keeps a dimension, -1 infers one from the rest, -2 keeps all that remain, -3 joins two, -4
    splits one into the next two values (one of which may be -1). A dimension of `shape` that is 0
    is unknown, and so is what follows from it.

    >>> resolve_shape((2, 3, 4), (0, -1))
    (2, 12)
    >>> resolve_shape((2, 3, 4), (-3, -4, 2, -1))
    (6, 2, 2)
    >>> resolve_shape((0, 3), (-1, 3, 1))
    (0, 3, 1)
    """
    out, at, unknown = [], 0, None

    def consume_length(code):
        nonlocal at
        if at >= len(shape):
            raise ArgumentError(
                f"{where}: code {code} in {codes} finds no dimension left of {shape}"
            )
        at += 1
        return shape[at - 1]

    i = 0
    while i < len(codes):
        code = codes[i]
        if code > 0:
            out.append(code)
            at += 1
        elif code == 0:
            out.append(consume_length(0))
        elif code == -1:
            if unknown is not None:
                raise ArgumentError(f"{where}: more than one -1 in {codes}")
            unknown = len(out)
            out.append(1)
            at += 1
        elif code == -2:
            out.extend(shape[at:])
            at = len(shape)
        elif code == -3:
            out.append(consume_length(-3) * consume_length(-3))
        elif code == -4:
            if i + 2 >= len(codes):
                raise ArgumentError(f"{where}: code -4 in {codes} needs two values after it")
            out.extend(_split_axis(consume_length(-4), codes[i + 1], codes[i + 2], codes, where))
            i += 2
        else:
            raise ArgumentError(
                f"{where}: expected lengths or codes from 0 to -4, got {code} in {codes}"
            )
        i += 1
    if 0 in shape:
        if unknown is not None:
            out[unknown] = 0
        return tuple(out)
    if unknown is not None:
        rest, size = _shape_size(out), _shape_size(shape)
        if rest is EMPTY:
            raise ShapeError(f"{where}: shape {shape} does not say what -1 in {codes} is")
        if size % rest:
            raise ShapeError(f"{where}: {size} elements of {shape} do not divide into {codes}")
        out[unknown] = size // rest
    if _shape_size(out) != _shape_size(shape):
        raise ShapeError(f"{where}: shape {shape} cannot become {tuple(out)} (asked for {codes})")
    return tuple(out)


def _split_axis(length, first, second, codes, where):
    if first == -1 and second == -1:
        raise ArgumentError(f"{where}: the two values after -4 in {codes} cannot both be -1")
    if length == 0:
        return max(first, 0), max(second, 0)
    if first == -1:
        first = length // second if second > 0 else 0
    if second == -1:
        second = length // first if first > 0 else 0
    if first * second != length:
        raise ShapeError(f"{where}: length {length} does not split into {first} x {second}")
    return first, second


class ReshapeProperty(SameBytesProperty, operator="Reshape", aliases=("reshape",)):
    """The input under another shape.

    `shape` may hold codes: 0 keeps the dimension, -1 infers one from the others, -2 keeps all that
    remain, -3 joins two, -4 splits one into the two values that follow. With `reverse` they are
    matched from the right, and the two values of a -4 stand before it.
    """

    shape = Shape((), doc="The new shape, with codes.")
    reverse = Bool(False, doc="Match codes and dimensions from the right.")
    target_shape = Shape((), doc="Older form of `shape`, where 0 infers a dimension.")
    keep_highest = Bool(False, doc="With `target_shape`: keep the first dimension.")
    second_order = Linear()
    drawn_as = "shape"
    example = """
    >>> x = mx.nd.arange(6).reshape((2, 3))
    >>> mx.nd.reshape(x, shape=(3, 2))
    [[0. 1.]
     [2. 3.]
     [4. 5.]]
    <NDArray 3x2 @cpu(0)>
    >>> mx.nd.reshape(mx.nd.zeros((2, 3, 4)), shape=(0, -1)).shape
    (2, 12)
    >>> mx.nd.reshape(mx.nd.zeros((2, 3, 4)), shape=(-3, 0)).shape
    (6, 4)
    """

    def known_output_part(self, shape):
        return self.shape_of_output(shape)

    def shape_of_output(self, shape):
        if self.shape:
            if self.reverse:  # in reverse the two values of a -4 come before it
                return resolve_shape(shape[::-1], self.shape[::-1])[::-1]
            return resolve_shape(shape, self.shape)
        if self.target_shape:
            codes = [n or -1 for n in self.target_shape]
            if self.keep_highest:
                codes[0] = 0
            return resolve_shape(shape, tuple(codes))
        raise ArgumentError("Reshape: parameter 'shape' is missing")


class ExpandDimsProperty(SameBytesProperty, operator="expand_dims"):
    """The input with an axis of length 1 inserted."""

    axis = Int(doc="Position of the new axis in the output; negative: from its end.")
    second_order = Linear()
    drawn_as = "shape"
    example = """
    >>> mx.nd.expand_dims(mx.nd.zeros((2, 3)), axis=1).shape
    (2, 1, 3)
    """

    def shape_of_output(self, shape):
        axis = axis_of(self.axis, len(shape) + 1)
        return shape[:axis] + (1,) + shape[axis:]

    def known_output_part(self, shape):
        return self.shape_of_output(shape)

    def shape_of_input(self, shape):
        axis = axis_of(self.axis, len(shape))
        return shape[:axis] + shape[axis + 1 :] or self.no_axes


class SqueezeProperty(SameBytesProperty, operator="squeeze"):
    """The input without axes of length 1."""

    axis = Shape(None, doc="Axis or axes to drop; None drops all of length 1.")
    second_order = Linear()
    example = """
    >>> mx.nd.squeeze(mx.nd.zeros((1, 2, 1, 3))).shape
    (2, 3)
    >>> mx.nd.squeeze(mx.nd.zeros((1, 2, 1, 3)), axis=0).shape
    (2, 1, 3)
    """

    def shape_of_output(self, shape):
        if self.axis is None:
            return tuple(n for n in shape if n != 1) or self.no_axes
        gone = axes_of(self.axis, len(shape))
        for i in gone:
            if shape[i] != 1:
                raise ShapeError(f"squeeze: axis {i} of shape {shape} has length {shape[i]}, not 1")
        return tuple(n for i, n in enumerate(shape) if i not in gone) or self.no_axes


class ShapeOfSecondProperty(CopyProperty):  # takes the second input's shape
    """Base: the output has the shape of the second input, whose values are not read."""

    infer_type = infer_type_from_first


class ReshapeLikeProperty(ShapeOfSecondProperty, operator="reshape_like"):
    """The left input with the shape of the right input, or with a range of its axes replaced."""

    inputs_doc = {"lhs": "The array that is reshaped.", "rhs": "The array whose shape is taken."}
    lhs_begin = Int(None, doc="First axis of lhs that is replaced.")
    lhs_end = Int(None, doc="Axis of lhs after the last one replaced.")
    rhs_begin = Int(None, doc="First axis of rhs that is taken.")
    rhs_end = Int(None, doc="Axis of rhs after the last one taken.")
    graph = GraphHooks(view=True, shape_only=(1,), bfloat16_loops=True)
    second_order = Linear()
    methods = ("reshape_like",)
    example = """
    >>> mx.nd.reshape_like(mx.nd.arange(6), mx.nd.zeros((3, 2)))
    [[0. 1.]
     [2. 3.]
     [4. 5.]]
    <NDArray 3x2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        lhs, rhs = in_shapes
        if not (is_known(lhs) and is_known(rhs)):
            return [lhs, rhs], [out_shapes[0]], []
        begin, end = _resolve_axis_range(self.lhs_begin, self.lhs_end, len(lhs))
        start, stop = _resolve_axis_range(self.rhs_begin, self.rhs_end, len(rhs))
        out = lhs[:begin] + rhs[start:stop] + lhs[end:]
        if _shape_size(out) != _shape_size(lhs):
            raise ShapeError(f"reshape_like: shape {lhs} cannot become {out}")
        return [lhs, rhs], [merge_shapes(out, out_shapes[0])], []


class IdentityLikeProperty(ShapeOfSecondProperty, operator="_identity_with_attr_like_rhs"):
    """The first input itself; the second one has its shape, and no gradient."""

    graph = GraphHooks(shape_only=(1,), bfloat16_loops=True)
    inputs_doc = {"lhs": "The array that is given back.", "rhs": "An array of its shape."}
    second_order = Linear({0: ()})
    example = """
    >>> mx.nd.op._identity_with_attr_like_rhs(mx.nd.array([1, 2]), mx.nd.zeros((2,)))
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """


def _resolve_axis_range(begin, end, ndim):
    begin = 0 if begin is None else begin + ndim if begin < 0 else begin
    end = ndim if end is None else end + ndim if end < 0 else end
    if not 0 <= begin <= end <= ndim:
        raise ArgumentError(f"reshape_like: axes {begin} to {end} do not fit {ndim} axes")
    return begin, end
