"""Regression outputs: an estimate forward, its loss's gradient backward; shapes are data's.

out = data, or sigmoid(data) for the logistic one; grad = grad_scale / m * (out - label), or its
sign for the absolute error, with m numbers in each label.
"""

from math import prod

from .._base import register_operator
from ..checks.shapes import agree
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Float
from ..property import merge_shapes


class RegressionOutputProperty(KernelProperty):
    """Base of the three outputs below."""

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

    def infer_shape(self, in_shapes, out_shapes):
        data, label = merge_shapes(in_shapes[0], out_shapes[0]), in_shapes[1]
        if data is None:
            return [None, label], [None], []
        if len(data) == 2 and data[1] == 1:
            flat = data[:1]
            if label is None or len(label) == 1:
                return [data, agree("label", label, flat)], [data], []
        label = agree("label", label, data)
        return [merge_shapes(data, label), label], [merge_shapes(data, label)], []

    def kernel_params(self, in_shapes):
        return {"scale": self.grad_scale / prod(in_shapes[1][1:]), "absolute": self.absolute}


class LinearRegressionOutputProperty(RegressionOutputProperty):
    """Output of a regression with squared error: ``out = data``, gradient ``out - label``.

    The gradient is multiplied by `grad_scale` and divided by the number of elements of one label;
    the gradient of out is not looked at.
    """


class LogisticRegressionOutputProperty(RegressionOutputProperty):
    """Output of a logistic regression: ``out = sigmoid(data)``, gradient ``out - label``.

    The gradient is multiplied by `grad_scale` and divided by the number of elements of one label;
    the gradient of out is not looked at.
    """

    forward = Kernel("sigmoid", in_place=(("data", "output"),))


class MAERegressionOutputProperty(RegressionOutputProperty):
    """Output of a regression with absolute error: ``out = data``, gradient ``sign(out - label)``.

    The gradient is multiplied by `grad_scale` and divided by the number of elements of one label;
    the gradient of out is not looked at.
    """

    absolute = True


register_operator("LinearRegressionOutput", LinearRegressionOutputProperty)
register_operator("LogisticRegressionOutput", LogisticRegressionOutputProperty)
register_operator("MAERegressionOutput", MAERegressionOutputProperty)
