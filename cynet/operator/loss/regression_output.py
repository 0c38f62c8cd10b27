"""Regression outputs: an estimate forward, its loss's gradient backward; shapes are data's.

out = data, or sigmoid(data) for the logistic one; grad = grad_scale / m * (out - label), or its
sign for the absolute error, with m numbers in each label.
"""

from math import prod

from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Float
from ..precision import FLOAT32, Precision
from ..property import merge_shapes
from ..second_order import Refused
from ..sparse.elementwise import NEEDS_DENSE


class RegressionOutputProperty(KernelProperty):
    """Base of the three operators of regression outputs."""

    grad_scale = Float(1.0, doc="Factor of the gradient.")

    graph = GraphHooks(float32_beside_half=(), loss_labels=(1,))
    inputs_doc = {
        "data": "Estimates (N, ...).",
        "label": "Targets of data's shape; (N,) fits data of shape (N, 1).",
    }
    forward = Kernel("identity", in_place=(("data", "output"),))
    backward = Kernel(
        "difference", ("output", "label"), ("d_data",), in_place=(("output", "d_data"),)
    )
    zeros = ("d_label",)
    absolute = False
    second_order = Refused("What goes back is the loss's gradient, not that of the output.")
    sparse = NEEDS_DENSE
    amp = Precision(FLOAT32, loss=True)
    drawn_as = "loss"

    def infer_shape(self, in_shapes, out_shapes):
        data, label = merge_shapes(in_shapes[0], out_shapes[0]), in_shapes[1]
        if data is None:
            return [None, label], [None], []
        if len(data) == 2 and data[1] == 1:
            flat = data[:1]
            if label is None or len(label) == 1:
                return [data, unify_shapes("label", label, flat)], [data], []
        label = unify_shapes("label", label, data)
        return [merge_shapes(data, label), label], [merge_shapes(data, label)], []

    def without_label(self, F, data, name):  # what a prediction gives
        return F.identity(data, name=name)

    def kernel_params(self, in_shapes):
        return {"scale": self.grad_scale / prod(in_shapes[1][1:]), "absolute": self.absolute}


class LinearRegressionOutputProperty(RegressionOutputProperty, operator="LinearRegressionOutput"):
    """Output of a regression with squared error: ``out = data``, gradient ``out - label``.

    The gradient is multiplied by `grad_scale` and divided by the number of elements of one label;
    the gradient of out is not looked at.
    """

    in_sparse = ("LinearRegressionOutput",)
    example = """
    >>> x, label = mx.nd.array([[1], [2]]), mx.nd.array([[0], [4]])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.LinearRegressionOutput(x, label)
    ...
    >>> y.backward()
    >>> y
    [[1.]
     [2.]]
    <NDArray 2x1 @cpu(0)>
    >>> x.grad
    [[ 1.]
     [-2.]]
    <NDArray 2x1 @cpu(0)>
    """


class LogisticRegressionOutputProperty(
    RegressionOutputProperty, operator="LogisticRegressionOutput"
):
    """Output of a logistic regression: ``out = sigmoid(data)``, gradient ``out - label``.

    The gradient is multiplied by `grad_scale` and divided by the number of elements of one label;
    the gradient of out is not looked at.
    """

    forward = Kernel("sigmoid", in_place=(("data", "output"),))
    in_sparse = ("LogisticRegressionOutput",)
    example = """
    >>> x, label = mx.nd.array([[0], [2]]), mx.nd.array([[0], [1]])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.LogisticRegressionOutput(x, label)
    ...
    >>> y.backward()
    >>> y
    [[0.5     ]
     [0.880797]]
    <NDArray 2x1 @cpu(0)>
    >>> x.grad
    [[ 0.5       ]
     [-0.11920297]]
    <NDArray 2x1 @cpu(0)>
    """

    def without_label(self, F, data, name):  # what a prediction gives
        return F.sigmoid(data, name=name)


class MAERegressionOutputProperty(RegressionOutputProperty, operator="MAERegressionOutput"):
    """Output of a regression with absolute error: ``out = data``, gradient ``sign(out - label)``.

    The gradient is multiplied by `grad_scale` and divided by the number of elements of one label;
    the gradient of out is not looked at.
    """

    absolute = True
    in_sparse = ("MAERegressionOutput",)
    example = """
    >>> x, label = mx.nd.array([[1], [2]]), mx.nd.array([[0], [4]])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.MAERegressionOutput(x, label)
    ...
    >>> y.backward()
    >>> y
    [[1.]
     [2.]]
    <NDArray 2x1 @cpu(0)>
    >>> x.grad
    [[ 1.]
     [-1.]]
    <NDArray 2x1 @cpu(0)>
    """
