"""index_array: the place of each element of an array, along all axes or some."""

from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.movement.places cimport Axes, index_array
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from ...base.errors import ArgumentError
from .._base import register_operator
from ..checks.shapes import EMPTY, check_elements
from ..graph_hooks import GraphHooks
from ..parameters import Shape
from ..property import OperatorProperty, is_known, merge_shapes
from ..tensor.axes import axis_of


class IndexArrayProperty(OperatorProperty):
    """The place of each element of `data`: int64, of data's shape with one axis more.

    The last axis holds the place along each of `axes`, by default along all.
    """

    differentiable = False
    graph = GraphHooks(shape_only=(0,))
    inputs_doc = {"data": "An array, of which the shape counts."}
    axes = Shape(None, doc="The axes, in the order of the output; None for all.")

    def asked(self, ndim):
        """The axes, counted from the front."""
        if self.axes is None:
            return list(range(ndim))
        return [axis_of(a, ndim, f"operator {self.op_name}: axis") for a in self.axes]

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if shape is None:
            return [None], list(out_shapes), []
        out = merge_shapes((*shape, len(self.asked(len(shape))) or EMPTY), out_shapes[0])
        if is_known(out):
            check_elements(out, f"the output of {self.op_name}")
        return [out[:len(out) - 1]], [out], []

    def infer_type(self, in_types, out_types):
        return [in_types[0]], ["int64"], []

    def create_operator(self, ctx, in_shapes, in_types):
        return IndexArrayOperator(in_shapes[0], self.asked(len(in_shapes[0])))


cdef class IndexArrayOperator(Operator):
    cdef Axes axes
    cdef int asked[64]
    cdef int n_asked

    def __init__(self, shape, asked):
        if len(asked) > 64:
            raise ArgumentError(f"operator _contrib_index_array: at most 64 axes, got {len(asked)}")
        self.axes.ndim, self.n_asked = len(shape), len(asked)
        for i, n in enumerate(shape):
            self.axes.shape[i] = n
        for i, axis in enumerate(asked):
            self.asked[i] = axis

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp and out_data[0].size:
            index_array(threads_for(out_data[0].size), self.axes,
                        out_data[0].size // self.n_asked, self.asked, self.n_asked,
                        <int64_t*>out_data[0].data, req[0] == kAddTo)
        return 0


register_operator("_contrib_index_array", IndexArrayProperty)
