"""Flatten: data (N, d1, d2, ...) as out (N, d1*d2*...), the same bytes."""

from math import prod

from ..checks.shapes import unify_shapes
from ..second_order import Linear
from ..tensor.unary import UnaryHooks, UnaryProperty


class FlattenProperty(UnaryProperty, operator="Flatten", aliases=("flatten",)):
    """Collapse all axes but the first: (N, d1, d2, ...) becomes (N, d1*d2*...)."""

    inputs_doc = {"data": "Input, at least 1-d."}
    graph = UnaryHooks(view=True, takes_bool=True)
    functor, gradient = "identity", "one"
    second_order = Linear()
    drawn_as = "shape"
    example = """
    >>> mx.nd.Flatten(mx.nd.zeros((2, 3, 4))).shape
    (2, 12)
    """

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        if data is not None:
            out = unify_shapes("output", out, (data[0], prod(data[1:])))
            data = (out[0], *data[1:])
        return [data], [out], []
