"""_contrib_bipartite_matching: rows and columns of a table of scores in pairs.

data (..., n, m) gives the column of each row (..., n) and the row of each column (..., m), -1 where
there is none.
"""

from ...base.errors import ShapeError
from ..checks.index_dtype import IndexWrite
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Float, Int
from ..property import merge_shapes


class BipartiteMatchingProperty(KernelProperty, operator="_contrib_bipartite_matching"):
    """Pairs of a row and a column, the pair of the best score first, each row and column once."""

    differentiable = False
    graph = GraphHooks(float32_beside_half=())

    is_ascend = Bool(False, doc="Low scores are the better ones.")
    threshold = Float(doc="Pairs are made of scores over this; with is_ascend: under.")
    topk = Int(-1, doc="With 1 or more: at most one pair more than this, as in MXNet.")
    inputs_doc = {"data": "Scores (..., n, m)."}
    forward = Kernel("bipartite_matching", writes=("output0", "output1"), whole=True)
    output_names = ("output0", "output1")
    example = """
    >>> scores = mx.nd.array([[0.5, 0.6], [0.1, 0.2], [0.3, 0.4]])
    >>> rows, columns = mx.nd.contrib.bipartite_matching(scores, threshold=1e-12)
    >>> rows
    [ 1. -1.  0.]
    <NDArray 3 @cpu(0)>
    >>> columns
    [2. 0.]
    <NDArray 2 @cpu(0)>
    """

    def arrays_read_by_index(self, in_shapes, in_types):
        return [IndexWrite(("output", in_types[0], max(in_shapes[0][-2:])))]

    def infer_shape(self, in_shapes, out_shapes):
        shape = in_shapes[0]
        if shape is None:
            return in_shapes, out_shapes, []
        if len(shape) < 2:
            raise ShapeError(f"data has shape {tuple(shape)}, expected (..., rows, columns)")
        *lead, n, m = shape
        return (
            [shape],
            [merge_shapes((*lead, n), out_shapes[0]), merge_shapes((*lead, m), out_shapes[1])],
            [],
        )
