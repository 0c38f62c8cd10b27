"""BlockGrad, make_loss, MakeLoss: the output is the data, the gradient is a constant."""

from math import prod

from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Enum, Float
from ..precision import FLOAT32, Precision
from ..second_order import Refused
from ..storage_types import elementwise_rule


class BlockGradProperty(KernelProperty, operator="BlockGrad", aliases=("stop_gradient",)):
    """The input unchanged; no gradient flows back through it."""

    inputs_doc = {"data": "Input of any shape."}
    differentiable = False
    graph = GraphHooks(view=True)
    forward = Kernel("identity", in_place=(("data", "output"),))
    zeros = ("d_data",)
    floats = ()
    sparse = elementwise_rule()
    in_sparse = ("stop_gradient",)
    example = """
    >>> x = mx.nd.array([[1, 2], [3, 4]])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = x * mx.nd.BlockGrad(x)
    ...
    >>> y.backward()
    >>> x.grad
    [[1. 2.]
     [3. 4.]]
    <NDArray 2x2 @cpu(0)>
    """


class PlainLossProperty(KernelProperty, operator="make_loss"):
    """Makes data a loss: out is data, and its gradient is 1 everywhere."""

    inputs_doc = {"data": "Input of any shape."}
    graph = GraphHooks(float32_beside_half=())
    forward = Kernel("identity", writes=("loss",), in_place=(("data", "loss"),))
    backward = Kernel("constant_grad", (), ("d_data",))
    second_order = Refused("What goes back is ones, whatever comes back.")
    sparse = elementwise_rule()
    amp = Precision(FLOAT32)
    in_sparse = ("make_loss",)
    drawn_as = "loss"
    output_names = ("loss",)
    example = """
    >>> x = mx.nd.array([[1, 2], [3, 4]])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.make_loss(x * x)
    ...
    >>> y.backward()
    >>> x.grad
    [[2. 4.]
     [6. 8.]]
    <NDArray 2x2 @cpu(0)>
    """

    def kernel_params(self, in_shapes):
        return {"scale": 1.0, "valid": False, "threshold": 0.0}


class MakeLossProperty(KernelProperty, operator="MakeLoss"):
    """Makes data a loss: out is data, and its gradient is `grad_scale`, normalized.

    With ``normalization='batch'`` the gradient is divided, as in MXNet, by the number of rows: the
    lengths of all axes but the last (of a vector by nothing). With ``'valid'`` it is divided by the
    number of elements above `valid_thresh` (at least 1).
    """

    grad_scale = Float(1.0, doc="The gradient, before normalization.")
    valid_thresh = Float(0.0, doc="Elements above it count as valid.")
    normalization = Enum(("null", "batch", "valid"), "null", doc="What the gradient is divided by.")

    graph = GraphHooks(float32_beside_half=())

    inputs_doc = {"data": "Input of any shape."}
    forward = Kernel("identity", in_place=(("data", "output"),))
    second_order = Refused("What goes back is a constant, whatever comes back.")
    amp = Precision(FLOAT32)
    drawn_as = "loss"
    example = """
    >>> x = mx.nd.array([[1, 2], [3, 4]])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.MakeLoss(x * x, grad_scale=0.5)
    ...
    >>> y.backward()
    >>> x.grad
    [[1. 2.]
     [3. 4.]]
    <NDArray 2x2 @cpu(0)>
    """

    @property
    def backward(self):  # the kernel of the gradient
        return Kernel(
            "constant_grad", ("data",) if self.normalization == "valid" else (), ("d_data",)
        )

    def kernel_params(self, in_shapes):
        divisor = prod(in_shapes[0][:-1]) if self.normalization == "batch" else 1
        return {
            "scale": self.grad_scale / divisor,
            "valid": self.normalization == "valid",
            "threshold": self.valid_thresh,
        }
