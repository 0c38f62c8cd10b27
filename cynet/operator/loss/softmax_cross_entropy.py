"""softmax_cross_entropy: out (1,) = - sum_n log softmax(data[n])[label[n]], data (N, C)."""

from ...base.errors import ShapeError
from ..checks.index_dtype import IndexRead, infer_loss_dtypes
from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..nn.softmax import softmax_params
from ..precision import FLOAT32, Precision
from ..second_order import Rewrite


class SoftmaxCrossEntropyProperty(KernelProperty, operator="softmax_cross_entropy"):
    """Sum of the cross-entropies of softmax(data) with the labels' classes.

    ``out = - sum_n log(softmax(data[n])[label[n]])``, of shape (1,). A label outside the classes
    counts as the nearest of them.
    """

    graph = GraphHooks(float32_beside_half=("label",))
    floats = ("data",)
    inputs_doc = {"data": "Scores (N, C).", "label": "Class of each row, (N,)."}
    forward = Kernel("cross_entropy", ("data", "label"))
    backward = Kernel("cross_entropy_grad", ("data", "label", "d_output"), ("d_data",))
    zeros = ("d_label",)
    amp = Precision(FLOAT32)
    example = """
    >>> x = mx.nd.array([[1, 2, 3], [3, 2, 1]])
    >>> mx.nd.softmax_cross_entropy(x, mx.nd.array([2, 0]))
    [0.8152121]
    <NDArray 1 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        data, label = in_shapes
        if data is not None:
            if len(data) != 2:
                raise ShapeError(f"data has shape {tuple(data)}, expected (N, C)")
            label = unify_shapes("label", label, data[:1])
            data = (label[0], data[1])
        return [data, label], [unify_shapes("output", out_shapes[0], (1,))], []

    def infer_type(self, in_types, out_types):
        return infer_loss_dtypes(in_types, out_types)

    def arrays_read_by_index(self, in_shapes, in_types):
        return [IndexRead(("label", in_types[1], in_shapes[0][1]))]

    def kernel_params(self, in_shapes):
        return softmax_params(*in_shapes[0], 1)

    def compose_outputs(self, F, inputs, aux, training):
        data, label = inputs
        chosen = F.pick(F.log_softmax(data, axis=-1), label, axis=-1, mode="clip")
        return [-F.sum(chosen).reshape((1,))]

    second_order = Rewrite(compose_outputs)
