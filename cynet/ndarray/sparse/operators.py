"""Unregistered operators of sparse calls, from dense arrays to dense arrays: the engine runs them
like all others, graphs do not contain them."""

from ...operator._base import OpEntry
from ...operator.kernel_property import Kernel, KernelProperty
from ...operator.parameters import Int


class CsrDotProperty(KernelProperty):
    """The product of a csr matrix and a dense matrix: (rows, width)."""

    rows = Int(doc="Rows of the matrix.")

    inputs_doc = {
        "data": "Values of the matrix.",
        "indices": "Their columns.",
        "indptr": "Where rows begin.",
        "rhs": "The dense matrix.",
    }
    forward = Kernel("csr_dot", ("data", "indices", "indptr", "rhs"))
    floats = ("data", "rhs")
    op_name = "_sparse_csr_dot"

    def infer_shape(self, in_shapes, out_shapes):
        return in_shapes, [(self.rows, in_shapes[3][1])], []

    def infer_type(self, in_types, out_types):
        return in_types, [in_types[0]], []

    def kernel_params(self, in_shapes):
        return {"rows": self.rows, "width": in_shapes[3][1]}


class CsrDotTransposedProperty(CsrDotProperty):
    """The product of a transposed csr matrix of few rows and a dense matrix: (columns, width)."""

    columns = Int(doc="Columns of the matrix.")

    forward = Kernel("csr_dot_transposed", ("data", "indices", "indptr", "rhs"))
    op_name = "_sparse_csr_dot_transposed"

    def infer_shape(self, in_shapes, out_shapes):
        return in_shapes, [(self.columns, in_shapes[3][1])], []

    def kernel_params(self, in_shapes):
        return {**super().kernel_params(in_shapes), "columns": self.columns}


class CsrTransposeProperty(KernelProperty):
    """The structure of a csr matrix's transpose, and the indices that reorder the values for it."""

    rows = Int(doc="Rows of the matrix.")
    columns = Int(doc="Columns of the matrix.")

    inputs_doc = {"indices": "Columns of the values.", "indptr": "Where rows begin."}
    forward = Kernel("csr_transpose", ("indices", "indptr"), ("to_indices", "to_indptr", "order"))
    floats = ()
    op_name = "_sparse_csr_transpose"

    def list_outputs(self):
        return ["to_indices", "to_indptr", "order"]

    def infer_shape(self, in_shapes, out_shapes):
        return in_shapes, [in_shapes[0], (self.columns + 1,), in_shapes[0]], []

    def infer_type(self, in_types, out_types):
        return in_types, [in_types[0]] * 3, []

    def kernel_params(self, in_shapes):
        return {"rows": self.rows, "columns": self.columns}


CSR_DOT = OpEntry(CsrDotProperty.op_name, CsrDotProperty)
CSR_DOT_TRANSPOSED = OpEntry(CsrDotTransposedProperty.op_name, CsrDotTransposedProperty)
CSR_TRANSPOSE = OpEntry(CsrTransposeProperty.op_name, CsrTransposeProperty)
