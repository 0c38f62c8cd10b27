"""SoftmaxOutput: softmax forward, gradient of cross-entropy backward; out has data's shape."""

from math import prod

from ...base.errors import ShapeError
from ..checks.index_dtype import IndexRead, infer_loss_dtypes
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..nn.softmax import softmax_cost_elements, softmax_params
from ..parameters import Bool, Enum, Float
from ..precision import FLOAT32, Precision
from ..property import merge_shapes
from ..second_order import Refused

_NORMALIZATION_CODES = {"null": 0, "batch": 1, "valid": 2}  # numbers for the kernel


class SoftmaxOutputProperty(KernelProperty, operator="SoftmaxOutput", aliases=("Softmax",)):
    """Softmax with the gradient of the cross-entropy with `label`.

    Forward gives ``out = softmax(data)``, over all axes but the first; along axis 1 with
    `multi_output` and along the last with `preserve_shape`. Backward does not look at the gradient
    of `out` (unless `out_grad`): ``grad = grad_scale * (out - onehot(label))``, divided by what
    `normalization` says and, with `multi_output`, without normalization, by the number of
    positions. A label of data's own shape is taken as probabilities, and ``grad = grad_scale * (out
    - label)``.
    """

    grad_scale = Float(1.0, doc="Factor of the gradient.")
    ignore_label = Float(
        -1.0,
        low=-(1 << 31),
        high=(1 << 31) - 1,
        doc="Rows with this label get no gradient, with use_ignore.",
    )
    multi_output = Bool(
        False, doc="Softmax along axis 1, a label for each position of the other axes."
    )
    use_ignore = Bool(False, doc="Whether to ignore rows with ignore_label.")
    preserve_shape = Bool(False, doc="Softmax along the last axis.")
    normalization = Enum(
        tuple(_NORMALIZATION_CODES),
        "null",
        doc="Divide the gradient by the number of labels ('batch'), of those that "
        "are not ignore_label, regardless of use_ignore ('valid'), or not "
        "('null').",
    )
    out_grad = Bool(False, doc="Multiply the gradient by that of out, elementwise.")
    smooth_alpha = Float(
        0.0,
        low=0.0,
        high=1.0,
        doc="Part of the target that the other classes share; not with multi_output.",
    )

    graph = GraphHooks(float32_beside_half=("label",), loss_labels=(1,))
    floats = ("data",)
    inputs_doc = {
        "data": "Scores.",
        "label": "Class of each row: data's shape without the class axis; or probabilities in "
        "data's shape. Of any dtype; one that cannot name all classes is refused.",
    }
    forward = Kernel("softmax", in_place=(("data", "output"),))
    zeros = ("d_label",)
    second_order = Refused("What goes back is the loss's gradient, not that of the output.")
    amp = Precision(FLOAT32, loss=True)
    drawn_as = "loss"
    label_names_classes = True
    example = """
    >>> x, label = mx.nd.array([[1, 2, 3], [0, 0, 0]]), mx.nd.array([2, 0])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.SoftmaxOutput(x, label)
    ...
    >>> y.backward()
    >>> y
    [[0.09003057 0.24472845 0.6652409 ]
     [0.33333334 0.33333334 0.33333334]]
    <NDArray 2x3 @cpu(0)>
    >>> x.grad  # gradient of the cross entropy
    [[ 0.09003057  0.24472845 -0.33475912]
     [-0.6666666   0.33333334  0.33333334]]
    <NDArray 2x3 @cpu(0)>
    """

    def without_label(self, F, data, name):  # what a prediction gives
        if self.multi_output or self.preserve_shape:
            return F.softmax(data, axis=1 if self.multi_output else -1, name=name)
        rows = F.softmax(F.Flatten(data, name=f"{name}_rows"), name=f"{name}_of_rows")
        return F.reshape_like(rows, data, name=name)

    @property
    def backward(self):  # the kernel of the gradient
        read = ("output", "label", *(("d_output",) if self.out_grad else ()))
        return Kernel("softmax_output_grad", read, ("d_data",), in_place=(("output", "d_data"),))

    def ignored_class(self):
        """Return `ignore_label`, truncated as labels are; a value that no label has if invalid."""
        fits = -(2.0**31) < self.ignore_label < 2.0**31
        return int(self.ignore_label) if fits else -(2**31)

    def infer_shape(self, in_shapes, out_shapes):
        label = in_shapes[1]
        data = merge_shapes(in_shapes[0], out_shapes[0])
        if data is None:
            return [None, label], [None], []
        if len(data) < 2:
            raise ShapeError(f"data has shape {data}, expected at least 2 axes")
        if self.multi_output:
            rest = data[2:]
            flat = (data[0], prod(rest))
            allowed = [flat, (data[0], *rest), (data[0], 1, *rest), data]
        else:
            flat = data[:-1]
            allowed = [flat, data]
        if label is None:
            label = flat
        else:
            for shape in allowed:
                if len(shape) == len(label) and not any(
                    a and b and a != b for a, b in zip(shape, label)
                ):
                    label = merge_shapes(shape, label)
                    break
            else:
                expected = " or ".join(str(shape) for shape in dict.fromkeys(allowed))
                raise ShapeError(f"label has shape {tuple(label)}, expected {expected}")
        return [data, label], [data], []

    def infer_type(self, in_types, out_types):
        return infer_loss_dtypes(in_types, out_types)

    def arrays_read_by_index(self, in_shapes, in_types):
        if in_shapes[0] == in_shapes[1]:
            return ()
        return [IndexRead(("label", in_types[1], self.kernel_params(in_shapes)["n"]))]

    def kernel_params(self, in_shapes):
        data, label = (tuple(shape) for shape in in_shapes)
        if self.multi_output:
            sizes = data[0], data[1], prod(data[2:])
        elif self.preserve_shape:
            sizes = prod(data[:-1]), data[-1], 1
        else:
            sizes = data[0], prod(data[1:]), 1
        return softmax_params(*sizes) | {
            "probabilities": label == data,
            "use_ignore": self.use_ignore,
            "ignore_label": self.ignored_class(),
            "normalization": _NORMALIZATION_CODES[self.normalization],
            "scale": self.grad_scale,
            "smooth": 0.0 if self.multi_output else self.smooth_alpha,
        }

    def cost_elements(self, in_shapes):
        return softmax_cost_elements(in_shapes[0], self.kernel_params(in_shapes))
