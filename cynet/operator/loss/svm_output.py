"""SVMOutput: scores forward, the gradient of the hinge loss of their classes backward."""

from math import prod

from ...base.errors import ShapeError
from ..checks.index_dtype import IndexRead, infer_loss_dtypes
from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Float
from ..precision import FLOAT32, Precision
from ..property import merge_shapes
from ..second_order import Refused


class SVMOutputProperty(KernelProperty, operator="SVMOutput"):
    """Output of a support vector machine: ``out = data``; backward gives a hinge loss's gradient.

    With t = 1 for the class of the label and -1 for the others, the loss of a score x is
    ``max(0, margin - t * x)``, squared unless `use_linear`, times `regularization_coefficient`. The
    gradient of out is not looked at.
    """

    margin = Float(1.0, doc="Margin between a score and the boundary.")
    regularization_coefficient = Float(1.0, doc="Factor of the loss.")
    use_linear = Bool(False, doc="Linear loss in place of the squared one.")

    graph = GraphHooks(float32_beside_half=("label",), loss_labels=(1,))
    floats = ("data",)
    inputs_doc = {"data": "Scores (N, ..., classes).", "label": "Class of each row, (N, ...)."}
    forward = Kernel("identity", in_place=(("data", "output"),))
    backward = Kernel(
        "hinge_grad", ("output", "label"), ("d_data",), in_place=(("output", "d_data"),)
    )
    zeros = ("d_label",)
    second_order = Refused("What goes back is the loss's gradient, not that of the output.")
    amp = Precision(FLOAT32)
    label_names_classes = True
    example = """
    >>> x, label = mx.nd.array([[1, 2, 3], [0, 0, 0]]), mx.nd.array([2, 0])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.SVMOutput(x, label, use_linear=True)
    ...
    >>> y.backward()
    >>> x.grad
    [[ 1.  1. -0.]
     [-1.  1.  1.]]
    <NDArray 2x3 @cpu(0)>
    """

    def without_label(self, F, data, name):  # what a prediction gives
        return F.identity(data, name=name)

    def infer_shape(self, in_shapes, out_shapes):
        data, label = merge_shapes(in_shapes[0], out_shapes[0]), in_shapes[1]
        if data is not None:
            if len(data) < 2:
                raise ShapeError(f"data has shape {data}, expected at least 2 axes")
            label = unify_shapes("label", label, data[:-1])
        return [data, label], [data], []

    def infer_type(self, in_types, out_types):
        return infer_loss_dtypes(in_types, out_types)

    def arrays_read_by_index(self, in_shapes, in_types):
        return [IndexRead(("label", in_types[1], prod(in_shapes[0][1:])))]

    def kernel_params(self, in_shapes):
        return {
            "classes": prod(in_shapes[0][1:]),
            "margin": self.margin,
            "regularization": self.regularization_coefficient,
            "linear": self.use_linear,
        }
