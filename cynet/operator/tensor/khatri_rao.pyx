"""khatri_rao: Kronecker products of corresponding columns of matrices.

Matrices (r_1, k), ..., (r_n, k) give (r_1 ... r_n, k): row (i_1, ..., i_n), counted row-major, is
the product of rows i_1, ..., i_n, element by element.
"""

from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.contrib.khatri_rao cimport (
    MOST_FACTORS, KhatriRao, khatri_rao_backward, khatri_rao_forward)
from ...kernels.parallel cimport threads_for
from .._base cimport Operator, OpContext

from math import prod

from ...base.errors import ArgumentError, ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..checks.shapes import check_elements
from ..graph_hooks import GraphHooks
from ..parameters import Int
from ..property import OperatorProperty, is_known, merge_shapes

ctypedef const float* float_p
ctypedef const double* double_p


class KhatriRaoProperty(OperatorProperty):
    """Khatri-Rao product: Kronecker products of the matrices' columns, one beside the other."""

    key_var_num_args = "num_args"
    num_args = Int(doc="How many matrices.", low=1, high=MOST_FACTORS)
    graph = GraphHooks(float32_beside_half=())

    def list_arguments(self):
        return [f"arg{i}" for i in range(self.num_args)]

    def infer_shape(self, in_shapes, out_shapes):
        columns = (out_shapes[0][1],) if out_shapes[0] is not None else (0,)
        for name, shape in zip(self.list_arguments(), in_shapes):
            if shape is None:
                continue
            if len(shape) != 2:
                raise ShapeError(f"operator {self.op_name}: '{name}' has shape {tuple(shape)}, "
                                 "expected a matrix")
            if shape[1] and columns[0] and shape[1] != columns[0]:
                raise ShapeError(f"operator {self.op_name}: '{name}' has shape {tuple(shape)}, "
                                 f"expected {columns[0]} columns as the others")
            columns = merge_shapes(columns, shape[1:])
        known = [None if s is None else (s[0], *columns) for s in in_shapes]
        if any(s is None for s in known):
            return known, list(out_shapes), []
        out = merge_shapes((prod([s[0] for s in known]), *columns), out_shapes[0])
        if is_known(out):
            check_elements(out, f"the output of {self.op_name}")
        return [(s[0], out[1]) for s in known], [out], []

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, *in_data]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return KhatriRaoOperator([s[0] for s in in_shapes], in_shapes[0][1])


cdef class KhatriRaoOperator(Operator):
    cdef KhatriRao shape

    def __init__(self, rows, columns):
        if len(rows) > MOST_FACTORS:
            raise ArgumentError(f"operator khatri_rao takes at most {MOST_FACTORS} matrices")
        self.shape.count, self.shape.columns, self.shape.product = len(rows), columns, prod(rows)
        for i, n in enumerate(rows):
            self.shape.rows[i] = n

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef float_p singles[64]
        cdef double_p doubles[64]
        cdef int i, threads = threads_for(out_data[0].size * self.shape.count)
        if req[0] == kNullOp:
            return 0
        for i in range(self.shape.count):
            singles[i] = <float_p>in_data[i].data
            doubles[i] = <double_p>in_data[i].data
        if in_data[0].dtype == kFloat32:
            khatri_rao_forward[float](self.shape, threads, singles, <float*>out_data[0].data,
                                      req[0] == kAddTo)
        else:
            khatri_rao_forward[double](self.shape, threads, doubles, <double*>out_data[0].data,
                                       req[0] == kAddTo)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef float_p singles[64]
        cdef double_p doubles[64]
        cdef int i, threads = threads_for(out_grad[0].size * self.shape.count)
        for i in range(self.shape.count):
            singles[i] = <float_p>in_data[i].data
            doubles[i] = <double_p>in_data[i].data
        for i in range(self.shape.count):
            if req[i] == kNullOp:
                continue
            if in_data[0].dtype == kFloat32:
                khatri_rao_backward[float](self.shape, threads, i, <float_p>out_grad[0].data,
                                           singles, <float*>in_grad[i].data, req[i] == kAddTo)
            else:
                khatri_rao_backward[double](self.shape, threads, i, <double_p>out_grad[0].data,
                                            doubles, <double*>in_grad[i].data, req[i] == kAddTo)
        return 0


register_operator("khatri_rao", KhatriRaoProperty)
