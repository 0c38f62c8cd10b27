"""Operators that read and write by index: take, pick, batch_take, one_hot, gather_nd, scatter_nd,
fill_element_0index.

Index arrays may have any dtype (fractions are cut off) and have no gradient; their values are
brought into bounds by `mode`, or refused.
"""

from math import prod

from ...base.errors import ArgumentError, BoundsError, ShapeError
from ..checks.index_dtype import IndexRead
from ..checks.outside import report_out_of_range
from ..checks.shapes import EMPTY
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Double, DType, Enum, Int, Shape
from ..property import infer_type_from_first, is_known, merge_shapes
from ..second_order import Linear
from ..sparse.rows import TAKE
from .axes import axis_of, sizes_around_axis

MODES = ("clip", "wrap", "raise")  # the modes in kernels/movement/index.cc
CLIP_AND_WARN = 3  # clip and warn: the mode was not given explicitly


class IndexedHooks(GraphHooks):
    """Graph hooks of operators that read only the rows that an index names."""

    MAX_WAIT_INDICES = 1 << 20  # count of indices that one thread checks in about 1 ms

    def is_memory_bound(self, prop, in_shapes):
        return prod(in_shapes[1]) <= self.MAX_WAIT_INDICES


class IndexedProperty(KernelProperty):  # base of operators with an input of indices
    """Base: data of one dtype, indices of any."""

    floats = ()

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.tells = "mode" not in kwargs

    def warn_out_of_range(self, item, values):
        beside = "mode='clip' clips without a word" if "mode" in self.fields else ""
        report_out_of_range(self, self.list_arguments()[1], *values, beside)

    infer_type = infer_type_from_first

    def arrays_read_by_index(self, in_shapes, in_types):
        params, name = self.kernel_params(in_shapes), self.list_arguments()[1]
        maximum = max(params["lengths"]) if "lengths" in params else params["n"]
        return [IndexRead((name, in_types[1], maximum))]

    def kernel_error(self, item, values):
        index, n = (min(int(value), 2**63 - 1) for value in values[:2])
        if not -(2**63) < index < 2**63 - 1:  # a float beyond int64 was clipped in the cast
            index = "NaN (or one of more than 64 bits)"
        where = f"operator {self.op_name}: index {index} is out of bounds for"
        if len(values) > 2:
            return BoundsError(f"{where} axis {int(values[2])} of length {n}")
        return ArgumentError(f"{where} an axis of length {n}; there are 0 to {n - 1}")

    def split_at_axis(self, data, axis):
        """Split `data`'s shape at the indexed axis; ShapeError if that axis is empty."""
        if data[axis] == 0:
            raise ShapeError(
                f"{self.op_name}: axis {axis} of {data} is empty, so that no index is within it"
            )
        return sizes_around_axis(data, axis)

    def _index_params(self, data, axis, mode):
        """Parameters of the kernels that index one axis."""
        outer, n, inner = self.split_at_axis(data, axis)
        number = CLIP_AND_WARN if mode == "clip" and self.tells else MODES.index(mode)
        return {"outer": outer, "n": n, "inner": inner, "mode": number}


class TakeProperty(IndexedProperty, operator="take"):
    """Slices of an array along an axis, by index.

    The output has the shape of `a` with the axis replaced by the shape of `indices`.
    """

    graph = IndexedHooks(takes_empty=True)
    inputs_doc = {
        "a": "The array to take from.",
        "indices": "Indices of the slices; any shape and dtype.",
    }
    forward = Kernel("take", ("a", "indices"))
    backward = Kernel("take_grad", ("d_output", "indices"), ("d_a",))
    zeros = ("d_indices",)
    axis = Int(0, doc="The axis to index along.")
    mode = Enum(
        MODES,
        "clip",
        doc="Indices out of bounds: clip to the nearest valid one, wrap around, or raise an error.",
    )
    second_order = Linear({0: ()})
    sparse = TAKE
    methods = ("take",)
    example = """
    >>> x = mx.nd.array([[1, 2], [3, 4], [5, 6]])
    >>> mx.nd.take(x, mx.nd.array([2, 0]))
    [[5. 6.]
     [1. 2.]]
    <NDArray 2x2 @cpu(0)>
    >>> mx.nd.take(x, mx.nd.array([1]), axis=1)
    [[2.]
     [4.]
     [6.]]
    <NDArray 3x1 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        data, index = in_shapes
        if data is None or index is None:
            return [data, index], [out_shapes[0]], []
        axis = axis_of(self.axis, len(data))
        out = data[:axis] + index + data[axis + 1 :]
        return [data, index], [merge_shapes(out, out_shapes[0])], []

    def kernel_params(self, in_shapes):
        data = in_shapes[0]
        return self._index_params(data, axis_of(self.axis, len(data)), self.mode)


class PickProperty(IndexedProperty, operator="pick", aliases=("choose_element_0index",)):
    """One element of each row along an axis, by index."""

    graph = IndexedHooks(takes_empty=True)
    inputs_doc = {
        "data": "The array to take from.",
        "index": "Index of each element, in data's shape without the axis or with length 1 there.",
    }
    forward = Kernel("pick", ("data", "index"))
    backward = Kernel("pick_grad", ("d_output", "index"), ("d_data",))
    zeros = ("d_index",)
    axis = Int(-1, doc="The axis along which elements are picked.")
    keepdims = Bool(False, doc="Keep the axis with length 1.")
    mode = Enum(
        MODES,
        "clip",
        doc="Indices out of bounds: clip to the nearest valid one, wrap around, or raise an error.",
    )
    second_order = Linear({0: ()})
    methods = ("pick",)
    example = """
    >>> x = mx.nd.array([[1, 2], [3, 4], [5, 6]])
    >>> mx.nd.pick(x, mx.nd.array([0, 1, 0]))
    [1. 4. 5.]
    <NDArray 3 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        data, index = in_shapes
        if data is None:
            return [None, index], [out_shapes[0]], []
        axis = axis_of(self.axis, len(data))
        without = data[:axis] + data[axis + 1 :] or self.no_axes
        one = (*data[:axis], 1, *data[axis + 1 :])
        if index is None:
            index = one if self.keepdims else without
        elif len(index) == len(one) and (len(one) > 1 or len(without) != 1):
            if index == data != one and all(data):
                raise ShapeError(
                    f"index of shape {index} has a value for each element of data, expected one for"
                    f" each row, {without}; labels that are distributions, or one-hot, are what"
                    " losses take with sparse_label=False"
                )
            index = merge_shapes(index, one)
        else:
            index = merge_shapes(index, without)
        return ([data, index], [merge_shapes(one if self.keepdims else without, out_shapes[0])], [])

    def kernel_params(self, in_shapes):
        data = in_shapes[0]
        return self._index_params(data, axis_of(self.axis, len(data)), self.mode)


class BatchTakeProperty(IndexedProperty, operator="batch_take"):
    """One element of each row of a matrix, by index."""

    graph = IndexedHooks(takes_empty=True)
    inputs_doc = {"a": "Matrix of shape (rows, columns).", "indices": "A column for each row."}
    forward = Kernel("pick", ("a", "indices"))
    backward = Kernel("pick_grad", ("d_output", "indices"), ("d_a",))
    zeros = ("d_indices",)
    second_order = Linear({0: ()})
    example = """
    >>> x = mx.nd.array([[1, 2], [3, 4], [5, 6]])
    >>> mx.nd.batch_take(x, mx.nd.array([0, 1, 0], dtype="int32"))
    [1. 4. 5.]
    <NDArray 3 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        data, index = in_shapes
        if data is not None and len(data) < 2:
            raise ShapeError(f"batch_take: expected a matrix as data, got shape {data}")
        known = None if data is None else data[:-1]
        index = merge_shapes(index, known, out_shapes[0])
        return [data, index], [index], []

    def kernel_params(self, in_shapes):
        return self._index_params(in_shapes[0], len(in_shapes[0]) - 1, "clip")


class OneHotProperty(KernelProperty, operator="one_hot"):
    """A row of `depth` values for each index: `on_value` at the index, `off_value` elsewhere."""

    inputs_doc = {"indices": "The indices; any shape and dtype."}
    forward = Kernel("one_hot", ("indices",))
    floats = ()
    depth = Int(doc="Length of the new last axis.", low=0)
    on_value = Double(1.0, doc="Value at the index.")
    off_value = Double(0.0, doc="Value elsewhere.")
    dtype = DType("float32", doc="Type of the output.")
    differentiable = False
    methods = ("one_hot",)
    example = """
    >>> mx.nd.one_hot(mx.nd.array([1, 0, 2]), depth=3)
    [[0. 1. 0.]
     [1. 0. 0.]
     [0. 0. 1.]]
    <NDArray 3x3 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        index, out = in_shapes[0], out_shapes[0]
        if out is not None and len(out) > 1:
            index = merge_shapes(index, out[:-1])
        if index is None:
            return [None], [out], []
        return [index], [merge_shapes((*index, self.depth or EMPTY), out)], []

    def infer_type(self, in_types, out_types):
        return [in_types[0]], [self.dtype], []

    def kernel_dtype(self, in_types):
        return self.dtype

    def arrays_read_by_index(self, in_shapes, in_types):
        return [IndexRead(("indices", in_types[0], self.depth))]


class GatherNDProperty(IndexedProperty, operator="gather_nd"):
    """Elements or blocks of an array at index tuples.

    ``indices`` of shape (k, ...) names the first k axes of data, negative ones count from the end;
    the output has the shape of its other axes, followed by the rest of data's.
    """

    graph = IndexedHooks()
    inputs_doc = {
        "data": "The array to take from.",
        "indices": "One row of indices for each of the first axes of data.",
    }
    forward = Kernel("gather_nd", ("data", "indices"))
    backward = Kernel("gather_nd_grad", ("d_output", "indices"), ("d_data",))
    zeros = ("d_indices",)
    second_order = Linear({0: ()})
    example = """
    >>> x = mx.nd.array([[1, 2], [3, 4]])
    >>> mx.nd.gather_nd(x, mx.nd.array([[1, 0], [0, 1]]))
    [3. 2.]
    <NDArray 2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        data, index = in_shapes
        if data is None or not is_known(index):
            return [data, index], [out_shapes[0]], []
        if index[0] is EMPTY:
            raise ShapeError(f"{self.op_name}: indices {index} name no axis")
        if index[0] > len(data):
            raise ShapeError(f"gather_nd: indices {index} name more axes than data {data} has")
        out = index[1:] + data[index[0] :] or self.no_axes
        return [data, index], [merge_shapes(out, out_shapes[0])], []

    def kernel_params(self, in_shapes):
        data, (k, *_) = in_shapes
        return {"lengths": data[:k], "inner": prod(data[k:])}


class ScatterNDProperty(IndexedProperty, operator="scatter_nd"):
    """An array of zeros with values placed at index tuples; negative ones count from the end, and
    among equal ones the last one wins."""

    inputs_doc = {
        "data": "The values.",
        "indices": "One row of indices for each of the first axes of the output.",
    }
    forward = Kernel("scatter_nd", ("data", "indices"))
    backward = Kernel("gather_nd", ("d_output", "indices"), ("d_data",))
    zeros = ("d_indices",)
    graph = GraphHooks(of_nothing=0.0)
    shape = Shape(doc="Shape of the output.", low=1)
    second_order = Linear({0: ()})
    example = """
    >>> mx.nd.scatter_nd(mx.nd.array([5, 6]), mx.nd.array([[1, 0], [0, 1]]), shape=(2, 2))
    [[0. 6.]
     [5. 0.]]
    <NDArray 2x2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        data, index = in_shapes
        if is_known(index):
            if index[0] is EMPTY:
                raise ShapeError(f"{self.op_name}: indices {index} name no axis")
            if index[0] > len(self.shape):
                raise ArgumentError(
                    f"scatter_nd: indices {index} name more axes than the output {self.shape} has"
                )
            data = merge_shapes(data, index[1:] + self.shape[index[0] :] or self.no_axes)
        return [data, index], [merge_shapes(self.shape, out_shapes[0])], []

    def kernel_params(self, in_shapes):
        k = in_shapes[1][0]
        return {"lengths": self.shape[:k], "inner": prod(self.shape[k:])}


class ScatterAddNDProperty(ScatterNDProperty, operator="_backward_gather_nd"):
    """Zeros with values added at index tuples, which may repeat; negative ones count from the
    end."""

    forward = Kernel("gather_nd_grad", ("data", "indices"))
    example = """
    >>> mx.nd._internal._backward_gather_nd(mx.nd.array([5, 6]), mx.nd.array([[1, 1]]), shape=(3,))
    [ 0. 11.  0.]
    <NDArray 3 @cpu(0)>
    """


class FillElementProperty(KernelProperty, operator="fill_element_0index"):
    """`lhs` with one element of each row replaced: ``out[i, rhs[i]] = mhs[i]``.

    A row whose index is not one of its columns stays as it is.
    """

    differentiable = False
    inputs_doc = {
        "lhs": "A matrix (n, k).",
        "mhs": "What is put in, shape (n).",
        "rhs": "The column for each row, shape (n).",
    }
    forward = Kernel("fill_element", ("lhs", "mhs", "rhs"), whole=True)
    floats = ()
    example = """
    >>> x = mx.nd.zeros((2, 3))
    >>> mx.nd.fill_element_0index(x, mx.nd.array([5, 6]), mx.nd.array([0, 2]))
    [[5. 0. 0.]
     [0. 0. 6.]]
    <NDArray 2x3 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        lhs = merge_shapes(in_shapes[0], out_shapes[0])
        if lhs is not None and len(lhs) != 2:
            raise ShapeError(
                f"operator {self.op_name}: 'lhs' has shape {tuple(lhs)}, expected a matrix"
            )
        rows = merge_shapes(in_shapes[1], in_shapes[2], None if lhs is None else lhs[:1])
        if lhs is not None:
            lhs = (rows[0], lhs[1])
        return [lhs, rows, rows], [lhs], []

    def arrays_read_by_index(self, in_shapes, in_types):
        return [IndexRead(("rhs", in_types[2], in_shapes[0][1]))]

    def create_operator(self, ctx, in_shapes, in_types):
        if in_types[0] == "bool":
            raise ArgumentError(f"operator {self.op_name} does not take arrays of bool")
        return super().create_operator(ctx, in_shapes, in_types)
