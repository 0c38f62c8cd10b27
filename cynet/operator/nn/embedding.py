"""Embedding: out[..., :] = weight[data[...]]; weight (input_dim, output_dim)."""

from ..checks.index_dtype import IndexRead
from ..checks.outside import report_out_of_range
from ..checks.shapes import unify_shapes
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, DType, Int
from ..second_order import Linear
from ..sparse.rows import EMBEDDING
from ..tensor.take import IndexedHooks


class EmbeddingHooks(IndexedHooks):
    """Indices come first."""

    def is_memory_bound(self, prop, in_shapes):
        return super().is_memory_bound(prop, in_shapes[::-1])


class EmbeddingProperty(KernelProperty, operator="Embedding"):
    """Rows of `weight` by index: ``out[..., :] = weight[data[...]]``.

    Indices are truncated to integers; one below 0 counts as 0 and one beyond the last as the last,
    after a warning (``CYNET_INDEX_OUTSIDE``); with `sparse_grad` they are refused.
    """

    input_dim = Int(doc="Number of rows of weight.", low=1)
    output_dim = Int(doc="Length of a row.", low=1)
    dtype = DType("float32", doc="Dtype of weight, if nothing else determines it.")
    sparse_grad = Bool(False, doc="For weights with a row_sparse gradient; else it is dense.")

    graph = EmbeddingHooks(float32_beside_half=("data",))
    inputs_doc = {
        "data": "Indices, any shape and dtype.",
        "weight": "Rows (input_dim, output_dim).",
    }
    forward = Kernel("embedding", ("data", "weight"))
    backward = Kernel("embedding_grad", ("data", "d_output"), ("d_weight",))
    zeros = ("d_data",)
    floats = ("weight",)
    keeps_rows_of = "weight"
    second_order = Linear({1: ()})
    sparse = EMBEDDING
    in_sparse = ("Embedding",)
    drawn_as = "weighted"
    example = """
    >>> vectors = mx.nd.array([[0, 0], [1, 1], [2, 2]])
    >>> mx.nd.Embedding(mx.nd.array([2, 0]), vectors, input_dim=3, output_dim=2)
    [[2. 2.]
     [0. 0.]]
    <NDArray 2x2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        weight = unify_shapes("weight", in_shapes[1], (self.input_dim, self.output_dim))
        if data is not None:
            out = unify_shapes("output", out, (*data, self.output_dim))
        elif out is not None:
            out = unify_shapes("output", out, (*(0,) * (len(out) - 1), self.output_dim))
        if out is not None:
            data = out[:-1]
        return [data, weight], [out], []

    def infer_type(self, in_types, out_types):
        weight = in_types[1] or out_types[0] or self.dtype
        return [in_types[0] or weight, weight], [out_types[0] or weight], []

    def warn_out_of_range(self, item, values):
        report_out_of_range(self, "data", *values, refuse=self.sparse_grad)

    def arrays_read_by_index(self, in_shapes, in_types):
        return [IndexRead(("data", in_types[0], self.input_dim))]

    def kernel_dtype(self, in_types):
        return in_types[1]
