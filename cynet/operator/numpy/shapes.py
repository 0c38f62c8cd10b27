"""Shapes under NumPy's semantics, where 0 is a length and () a shape."""

from math import prod

from ...base.errors import ShapeError
from .._base import register_operator
from ..checks.shapes import known_shape, plain_shape
from ..parameters import Shape
from ..second_order import Linear
from ..tensor.reshape import SameBytesProperty
from .examples import example_of


class NumpyReshape(SameBytesProperty):
    """The input under another shape, in which one length may be -1."""

    no_axes = ()
    second_order = Linear()
    example = example_of("_np_reshape")
    newshape = Shape((), doc="The new shape; one length may be -1.")

    def shape_of_output(self, shape):
        own, sizes = prod(plain_shape(shape)), list(self.newshape)
        if sizes.count(-1) == 1:
            rest = prod(n for n in sizes if n != -1)
            if rest and own % rest == 0:
                sizes[sizes.index(-1)] = own // rest
        if any(n < 0 for n in sizes) or prod(sizes) != own:
            raise ShapeError(
                f"an array of shape {plain_shape(shape)} cannot take the shape {self.newshape}"
            )
        return known_shape(tuple(sizes))


RESHAPE = register_operator("_np_reshape", NumpyReshape)  # np.reshape as an operator
