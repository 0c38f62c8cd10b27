"""cumsum: running sums along an axis; the gradient is the running sum from the end."""

from math import prod

from ...base.dtype import FLAGS
from ...base.errors import ArgumentError
from ..kernel_property import Kernel, KernelProperty
from ..out_dtype import OutDType
from ..parameters import DType, Int
from ..property import is_known, merge_shapes
from ..second_order import Linear
from .axes import params_along_axis


class CumSumProperty(OutDType, KernelProperty, operator="_np_cumsum", aliases=("cumsum",)):
    """Running sums along an axis, or of the flattened array."""

    inputs_doc = {"a": "The input, any shape."}
    axis = Int(None, doc="The axis; None flattens the input.")
    dtype = DType(None, doc="Type of the output and of the sums; by default that of the input.")
    second_order = Linear()
    example = """
    >>> x = mx.nd.array([[1, 5, 3], [4, 2, 6]])
    >>> mx.nd.cumsum(x, axis=1)
    [[ 1.  6.  9.]
     [ 4.  6. 12.]]
    <NDArray 2x3 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if not is_known(shape):
            return [shape], [out_shapes[0]], []
        out = shape
        if self.axis is None:
            out = (prod(shape),)
        return [shape], [merge_shapes(out, out_shapes[0])], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return out_grad if self.dtype is None else [*out_grad, *in_data]

    forward = Kernel("cumsum", ("a",))
    backward = Kernel("cumsum_grad", ("d_output",), ("d_a",))
    floats = ()
    converted = tuple(FLAGS)

    def compute_dtype(self, data, out):
        return out

    def create_without_cast(self, ctx, in_shapes, in_types):
        if in_types[0] == "bool":
            raise ArgumentError(
                f"operator {self.op_name}: an array of bool cannot be summed as bool; say in which "
                "dtype"
            )
        return KernelProperty.create_operator(self, ctx, in_shapes, in_types)

    def kernel_params(self, in_shapes):
        return params_along_axis(in_shapes[0], self.axis)
