"""topk, sort and argsort: the order of elements along an axis.

Equal elements keep their order; NaN comes last. Backward orders the input again, so that positions
of any size are exact.
"""

import numpy as np

from ...base.errors import ArgumentError
from ..checks.index_dtype import IndexWrite
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, DType, Enum, Int, IntOrNone
from ..precision import FLOAT32, Precision
from ..property import is_known, merge_shapes
from ..second_order import Rewrite
from .axes import axis_of, params_along_axis


def _sort_along_axis(F, data, axis, order):
    """Sort data along an axis by `order`, indices as of np.argsort with as many axes."""
    shape = data.shape
    coordinates = np.indices(order.shape, dtype=np.int64)
    coordinates[axis] = order
    flat = np.ravel_multi_index(coordinates, shape)
    index = F.array(flat.reshape(-1), ctx=data.ctx, dtype="int64")
    return F.take(data.reshape((-1,)), index, axis=0).reshape(order.shape)


class OrderProperty(KernelProperty):  # base of topk, sort and argsort
    """Base: order along an axis, or of the flattened array."""

    inputs_doc = {"data": "The input, any shape."}
    axis = IntOrNone(-1, doc="The axis; None orders the flattened array.")
    floats = ()

    @property
    def forward(self):
        """The kernel, with the requested outputs."""
        names = dict(zip(self.output_kinds(), self.list_outputs()))
        writes = tuple(names.get(kind, "none?") for kind in ("value", "indices", "mask"))
        return Kernel("order", writes=writes)

    @property
    def backward(self):
        """The kernel, if values are given."""
        if "value" not in self.output_kinds():
            return ()
        return Kernel("order_grad", ("data", f"d_{self.list_outputs()[0]}"), ("d_data",))

    @property
    def zeros(self):
        """Return the gradients that are zero: that of data, unless values are an output."""
        return () if "value" in self.output_kinds() else ("d_data",)

    def output_kinds(self):
        """The kinds of the outputs: 'value', 'indices', 'mask'."""
        return ("value",)

    def output_length(self, length):
        """Return how many elements of a line of `length` the output has."""
        return length

    def shape_and_axis(self, shape):
        """Return the shape to order (flattened if there is no axis), and its axis."""
        if self.axis is not None:
            return shape, axis_of(self.axis, len(shape))
        size = 1
        for n in shape:
            size *= n
        return (size,), 0

    def out_shape(self, shape, kind):
        """Shape of the output of that kind."""
        shape, axis = self.shape_and_axis(shape)
        return (*shape[:axis], self.output_length(shape[axis]), *shape[axis + 1 :])

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if not is_known(shape):
            return [shape], list(out_shapes), []
        outs = [self.out_shape(shape, kind) for kind in self.output_kinds()]
        return [shape], [merge_shapes(a, b) for a, b in zip(outs, out_shapes)], []

    def indices_dtype(self):
        """Dtype of output indices."""
        return "float32"

    def infer_type(self, in_types, out_types):
        kind = in_types[0]
        return (
            [kind],
            [self.indices_dtype() if g == "indices" else kind for g in self.output_kinds()],
            [],
        )

    def arrays_read_by_index(self, in_shapes, in_types):
        if "indices" not in self.output_kinds():
            return ()
        shape, axis = self.shape_and_axis(in_shapes[0])
        return [IndexWrite(("indices", self.indices_dtype(), shape[axis]))]

    def is_ascending(self):
        """Return whether the smallest elements come first."""
        return self.is_ascend

    def kernel_params(self, in_shapes):
        lines = params_along_axis(*self.shape_and_axis(in_shapes[0]))
        return {**lines, "k": self.output_length(lines["n"]), "ascending": self.is_ascending()}


class TopKProperty(OrderProperty, operator="topk"):
    """The k largest (or smallest) elements of an axis: positions, values, or a mask."""

    k = Int(1, doc="Number of elements; below 1 means all.")
    ret_typ = Enum(
        ("value", "indices", "mask", "both"),
        "indices",
        doc="Values; positions; both; or an array of the input's shape with 1 at the k elements.",
    )
    is_ascend = Bool(False, doc="Take the smallest ones, smallest first.")
    dtype = DType("float32", doc="Type of the positions.")
    amp = Precision(FLOAT32)
    methods = ("topk",)
    example = """
    >>> x = mx.nd.array([[1, 5, 3], [4, 2, 6]])
    >>> mx.nd.topk(x, k=2)
    [[1. 2.]
     [2. 0.]]
    <NDArray 2x2 @cpu(0)>
    >>> mx.nd.topk(x, k=2, ret_typ="value")
    [[5. 3.]
     [6. 4.]]
    <NDArray 2x2 @cpu(0)>
    """

    @property
    def differentiable(self):
        """Values have a gradient, positions and masks have none."""
        return self.ret_typ in ("value", "both")

    def output_kinds(self):
        return {"both": ("value", "indices")}.get(self.ret_typ, (self.ret_typ,))

    def list_outputs(self):
        return {"both": ["output0", "output1"], "value": ["output0"]}.get(self.ret_typ, ["output"])

    def output_length(self, length):
        if self.k > length:
            raise ArgumentError(f"topk: parameter 'k' is {self.k}, the axis has {length} elements")
        return self.k if self.k > 0 else length

    def out_shape(self, shape, kind):
        if kind == "mask":
            self.output_length(self.shape_and_axis(shape)[0][self.shape_and_axis(shape)[1]])
            return shape
        return super().out_shape(shape, kind)

    def indices_dtype(self):
        return self.dtype

    def compose_outputs(self, F, inputs, aux, training):
        if self.ret_typ not in ("value", "both"):
            return None
        data = inputs[0] if self.axis is not None else inputs[0].reshape((-1,))
        axis = (self.axis if self.axis is not None else 0) % data.ndim
        how = {"axis": axis, "k": self.k, "is_ascend": self.is_ascend, "dtype": "int64"}
        order = F.topk(data.detach(), ret_typ="indices", **how)
        value = _sort_along_axis(F, data, axis, order.asnumpy())
        return [value] if self.ret_typ == "value" else [value, None]

    second_order = Rewrite(compose_outputs)


class SortProperty(OrderProperty, operator="sort"):
    """The elements sorted along an axis."""

    is_ascend = Bool(True, doc="Sort from the smallest value.")
    methods = ("sort",)
    output_names = ("output0",)
    example = """
    >>> x = mx.nd.array([[1, 5, 3], [4, 2, 6]])
    >>> mx.nd.sort(x)
    [[1. 3. 5.]
     [2. 4. 6.]]
    <NDArray 2x3 @cpu(0)>
    >>> mx.nd.sort(x, axis=0, is_ascend=False)
    [[4. 5. 6.]
     [1. 2. 3.]]
    <NDArray 2x3 @cpu(0)>
    """

    def compose_outputs(self, F, inputs, aux, training):
        data = inputs[0] if self.axis is not None else inputs[0].reshape((-1,))
        axis = (self.axis if self.axis is not None else 0) % data.ndim
        how = {"axis": axis, "is_ascend": self.is_ascend, "dtype": "int64"}
        order = F.argsort(data.detach(), **how).asnumpy()
        return [_sort_along_axis(F, data, axis, order)]

    second_order = Rewrite(compose_outputs)


class ArgsortProperty(OrderProperty, operator="argsort"):
    """The positions that sort the elements along an axis."""

    is_ascend = Bool(True, doc="Sort from the smallest value.")
    dtype = DType("float32", doc="Type of the positions.")
    differentiable = False
    amp = Precision(FLOAT32)
    methods = ("argsort",)
    example = """
    >>> x = mx.nd.array([[1, 5, 3], [4, 2, 6]])
    >>> mx.nd.argsort(x)
    [[0. 2. 1.]
     [1. 0. 2.]]
    <NDArray 2x3 @cpu(0)>
    """

    def output_kinds(self):
        return ("indices",)

    def indices_dtype(self):
        return self.dtype
