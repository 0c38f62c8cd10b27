"""index_array: the index of each element of an array, along all axes or some."""

from ...base.errors import ArgumentError
from ..checks.shapes import EMPTY, check_elements
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Shape
from ..property import is_known, merge_shapes
from ..tensor.axes import axis_of


class IndexArrayProperty(KernelProperty, operator="_contrib_index_array"):
    """The index of each element of `data`: int64, of data's shape with one axis more.

    The last axis holds the place along each of `axes`, by default along all.
    """

    differentiable = False
    graph = GraphHooks(shape_only=(0,))
    inputs_doc = {"data": "An array, of which the shape counts."}
    forward = Kernel("index_array")
    floats = ()
    axes = Shape(None, doc="The axes, in the order of the output; None for all.")
    example = """
    >>> mx.nd.contrib.index_array(mx.nd.zeros((2, 2))).reshape((4, 2))
    [[0 0]
     [0 1]
     [1 0]
     [1 1]]
    <NDArray 4x2 @cpu(0)>
    """

    def positive_axes(self, ndim):
        """Return the axes as numbers from 0 to ndim - 1."""
        if self.axes is None:
            return list(range(ndim))
        return [axis_of(a, ndim, f"operator {self.op_name}: axis") for a in self.axes]

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if shape is None:
            return [None], list(out_shapes), []
        out = merge_shapes((*shape, len(self.positive_axes(len(shape))) or EMPTY), out_shapes[0])
        if is_known(out):
            check_elements(out, f"the output of {self.op_name}")
        return [out[: len(out) - 1]], [out], []

    def infer_type(self, in_types, out_types):
        return [in_types[0]], ["int64"], []

    def kernel_dtype(self, in_types):
        return "int64"

    def kernel_params(self, in_shapes):
        shape, axes = in_shapes[0], self.positive_axes(len(in_shapes[0]))
        if len(axes) > 64:
            raise ArgumentError(f"operator {self.op_name}: at most 64 axes, got {len(axes)}")
        return {"ndim": len(shape), "shape": shape, "n_requested": len(axes), "requested": axes}
