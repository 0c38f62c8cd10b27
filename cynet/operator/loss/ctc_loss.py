"""CTCLoss: out (N,) = - log of the probability of each label sequence under softmax(data).

data (T, N, C), label (N, L), data_lengths (N,), label_lengths (N,).
"""

from ...base.errors import ArgumentError, ShapeError
from ..checks.index_dtype import IndexRead
from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Enum
from ..precision import FLOAT32, Precision
from ..property import infer_type_from_first


class CTCLossProperty(
    KernelProperty,
    operator="CTCLoss",
    aliases=("ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss"),
):
    """Connectionist temporal classification (Graves et al., 2006).

    ``out[n] = - log p(label[n] | softmax(data[:, n]))``, where the probability of a label sequence
    is the sum over all sequences of T classes from which it is left when repeated classes are
    merged and then blanks are taken out. The softmax is part of the operator; the gradient is that
    of ``data``.

    With ``blank_label='first'`` class 0 is the blank, labels are 1 to C - 1 and 0 ends a sequence;
    with ``'last'`` class C - 1 is, labels are 0 to C - 2 and -1 ends a sequence. With
    `label_lengths` nothing ends a sequence but its length. A sequence that does not fit into its
    steps (a label each, and a blank between two that are equal) has loss 0 and no gradient.
    """

    use_data_lengths = Bool(False, doc="Whether `data_lengths` is given; else all have T steps.")
    use_label_lengths = Bool(False, doc="Whether `label_lengths` is given.")
    blank_label = Enum(["first", "last"], "first", doc="Which class is the blank.")

    graph = GraphHooks(float32_beside_half=("label", "data_lengths", "label_lengths"))
    inputs_doc = {
        "data": "Scores before the softmax (T, N, C).",
        "label": "Label sequences (N, L), L at most T, of any dtype.",
        "data_lengths": "Number of steps of each sample (N,); only with use_data_lengths.",
        "label_lengths": "Number of labels of each sample (N,); only with use_label_lengths.",
    }

    forward = Kernel("ctc_loss", ("data", "label", "data_lengths?", "label_lengths?"), ("output0",))
    backward = Kernel(
        "ctc_loss_grad",
        ("d_output0", "data", "label", "data_lengths?", "label_lengths?"),
        ("d_data",),
    )
    zeros = ("d_label", "d_data_lengths?", "d_label_lengths?")
    floats = ("data",)
    amp = Precision(FLOAT32)
    output_names = ("output0",)  # MXNet's output has another name, which it never shows
    example = """
    >>> scores = mx.nd.zeros((4, 1, 3))  # 4 steps, one sequence, 3 letters (0 is the blank)
    >>> mx.nd.CTCLoss(scores, mx.nd.array([[1, 2]]))
    [1.686399]
    <NDArray 1 @cpu(0)>
    """

    @property
    def second_order(self):
        """Written as steps."""
        from .ctc_stepwise import STEPWISE  # imported late: few programs use second gradients

        return STEPWISE

    def list_arguments(self):
        names = ["data", "label"]
        if self.use_data_lengths:
            names.append("data_lengths")
        if self.use_label_lengths:
            names.append("label_lengths")
        return names

    def infer_shape(self, in_shapes, out_shapes):
        data, label = in_shapes[:2]
        if data is not None and len(data) != 3:
            raise ShapeError(f"data has shape {tuple(data)}, expected (T, N, C)")
        if label is not None and len(label) != 2:
            raise ShapeError(f"label has shape {tuple(label)}, expected (N, L)")
        batch = unify_shapes("output", out_shapes[0], (0,))
        for name, shape, axis in (("data", data, 1), ("label", label, 0)):
            if shape is not None:
                batch = unify_shapes(name + "'s samples", (shape[axis],), batch)
        for name, shape in zip(self.list_arguments()[2:], in_shapes[2:]):
            batch = unify_shapes(name, shape, batch)
        if data is not None:
            data = (data[0], *batch, data[2])
        if label is not None:
            label = (*batch, label[1])
            if data is not None and data[0] and label[1] > data[0]:
                raise ShapeError(
                    f"label has shape {label}, more labels than data of shape {data} has steps"
                )
        return [data, label, *[batch] * (len(in_shapes) - 2)], [batch], []

    infer_type = infer_type_from_first

    def arrays_read_by_index(self, in_shapes, in_types):
        steps, _, classes = in_shapes[0]
        maximum = {
            "label": classes,
            "data_lengths": steps + 1,
            "label_lengths": in_shapes[1][1] + 1,
        }
        named = zip(self.list_arguments()[1:], in_types[1:])
        return [IndexRead((name, kind, maximum[name])) for name, kind in named]

    def cost_elements(self, in_shapes):
        (steps, batch, classes), (_, maximum) = in_shapes[:2]
        return steps * batch * (4 * classes + 32 * maximum)

    def kernel_params(self, in_shapes):
        if self.blank_label == "first":
            return {"blank": 0, "padding": 0}
        return {"blank": in_shapes[0][2] - 1, "padding": -1}

    def kernel_error(self, item, values):
        what, i, value, maximum, classes = map(int, values)
        where = f"operator {self.op_name}:"
        if what < 2:
            name = ("data_lengths", "label_lengths")[what]
            return ArgumentError(f"{where} {name}[{item}] is {value}, outside of 0 to {maximum}")
        low, blank = (1, 0) if self.blank_label == "first" else (0, classes - 1)
        return ArgumentError(
            f"{where} label[{item}, {i}] is {value}, expected {low} to {low + classes - 2} (class "
            f"{blank} is the blank)"
        )
