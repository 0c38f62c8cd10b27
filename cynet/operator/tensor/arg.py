"""Positions of extremes: argmax, argmin, argmax_channel.

The indices come in the input's dtype, as MXNet has it, but in float32 for dtypes that name few
places; the first of equal elements wins, and NaN is the extreme of any row that has one.
"""

from ...base.errors import ArgumentError
from ..checks.index_dtype import WIDER_DTYPES, IndexWrite
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Int
from ..property import ShapesFromInput
from .axes import axis_of, params_along_axis


class ArgExtremeProperty(KernelProperty):  # base of argmax and argmin
    """Base of argmax, argmin and argmax_channel."""

    differentiable = False
    floats = ()

    def infer_type(self, in_types, out_types):
        kind = in_types[0] or out_types[0]
        return [kind], [WIDER_DTYPES.get(kind, kind)], []

    def arrays_read_by_index(self, in_shapes, in_types):
        found = WIDER_DTYPES.get(in_types[0], in_types[0])
        return [IndexWrite(("output", found, self.kernel_params(in_shapes)["n"]))]


class ArgProperty(ShapesFromInput, ArgExtremeProperty):  # argmax or argmin along an axis
    """Base of argmax and argmin."""

    inputs_doc = {"data": "The input, any shape."}
    axis = Int(None, doc="Axis to search along; None searches the whole array.")
    keepdims = Bool(False, doc="Keep the searched axis with length 1.")

    def shapes_from(self, shape):
        if self.axis is None:
            out = (1,) * len(shape) if self.keepdims else self.no_axes
        else:
            axis = axis_of(self.axis, len(shape))
            middle = (1,) if self.keepdims else ()
            out = shape[:axis] + middle + shape[axis + 1 :] or self.no_axes
        return shape, out

    def kernel_params(self, in_shapes):
        return params_along_axis(in_shapes[0], self.axis)


class ArgmaxProperty(ArgProperty, operator="argmax"):
    """Index of the largest element along an axis."""

    forward = Kernel("argmax")
    methods = ("argmax",)
    example = """
    >>> x = mx.nd.array([[1, 5, 3], [4, 2, 6]])
    >>> mx.nd.argmax(x, axis=1)
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """


class ArgminProperty(ArgProperty, operator="argmin"):
    """Index of the smallest element along an axis."""

    forward = Kernel("argmin")
    methods = ("argmin",)
    example = """
    >>> x = mx.nd.array([[1, 5, 3], [4, 2, 6]])
    >>> mx.nd.argmin(x, axis=0)
    [0. 1. 0.]
    <NDArray 3 @cpu(0)>
    """


class ArgmaxChannelProperty(ShapesFromInput, ArgExtremeProperty, operator="argmax_channel"):
    """Index of the largest element of each row of a matrix."""

    inputs_doc = {"data": "Matrix of shape (rows, channels)."}
    forward = Kernel("argmax")
    methods = ("argmax_channel",)
    example = """
    >>> x = mx.nd.array([[1, 5, 3], [4, 2, 6]])
    >>> mx.nd.argmax_channel(x)
    [1. 2.]
    <NDArray 2 @cpu(0)>
    """

    def shapes_from(self, shape):
        if len(shape) < 2:
            raise ArgumentError(f"operator argmax_channel takes a matrix, got shape {shape}")
        return shape, (shape[0], *shape[2:])

    def kernel_params(self, in_shapes):
        return params_along_axis(in_shapes[0], 1)
