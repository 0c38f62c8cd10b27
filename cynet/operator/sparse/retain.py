"""_sparse_retain: some rows of an array, the others 0."""

import numpy as np

from ...base.errors import BoundsError, ShapeError
from ..checks.index_dtype import IndexRead
from ..kernel_property import Kernel, KernelProperty
from ..property import merge_shapes
from ..second_order import Rewrite
from ..storage_types import DENSE, SparseRule


def _retain_output_stype(prop, stypes):
    return stypes[0] if tuple(stypes) == ("row_sparse", DENSE) else DENSE


def _retain_sparse(S, entry, prop, inputs, params):
    data, indices = inputs
    if data.stype != "row_sparse" or indices.stype != "default":
        return None
    wanted = np.unique(indices.asnumpy().astype(np.int64))
    S.structure.check_bounds("retain: indices", wanted, data.shape[0])
    at, there = S.structure.find_rows(data._indices, wanted)
    at = at[there]
    values = S.convert.take_rows(data._values_array, at)
    return S.arrays.make_sparse("row_sparse", data.shape, values, data._indices[at])


def _make_retain_node(S, entry, prop, params, inputs):
    return S.gradients.RetainNode(entry, params, inputs)


class RetainProperty(KernelProperty, operator="_sparse_retain"):
    """The rows of `data` whose indices are in `indices`; the other rows are 0.

    An index may come several times; an index outside of the rows is an error.
    """

    inputs_doc = {
        "data": "Rows (n, ...), row_sparse usually.",
        "indices": "Indices of the rows that stay, any shape.",
    }
    forward = Kernel("retain_rows", ("data", "indices"), whole=True)
    backward = Kernel("retain_rows", ("d_output", "indices"), ("d_data",), whole=True)
    zeros = ("d_indices",)
    floats = ()
    sparse = SparseRule(_retain_output_stype, _retain_sparse, _make_retain_node)
    in_sparse = ("retain",)
    example = """
    >>> data = mx.nd.array([[1, 2], [3, 4], [5, 6]]).tostype("row_sparse")
    >>> mx.nd.sparse.retain(data, mx.nd.array([0, 2])).asnumpy()
    array([[1., 2.],
           [0., 0.],
           [5., 6.]], dtype=float32)
    """

    def infer_shape(self, in_shapes, out_shapes):
        data, indices = in_shapes
        data = merge_shapes(data, out_shapes[0])
        if data is not None and not data:
            raise ShapeError(f"operator {self.op_name}: 'data' has no axis")
        return [data, indices], [data], []

    def infer_type(self, in_types, out_types):
        kind = in_types[0] or out_types[0]
        return [kind, in_types[1] or "int64"], [kind], []

    def arrays_read_by_index(self, in_shapes, in_types):
        return [IndexRead(("indices", in_types[1], in_shapes[0][0]))]

    def compose_outputs(self, F, inputs, aux, training):
        data, indices = inputs
        n = data.shape[0]
        retained = F.sum(F.one_hot(F.reshape(indices, shape=(-1,)), depth=n), axis=0)
        retained = F.reshape(retained, shape=(n, *(1 for _ in data.shape[1:])))
        return [F.where(F.broadcast_like(retained, data), data, F.zeros_like(data))]

    second_order = Rewrite(compose_outputs)

    def kernel_error(self, item, values):
        index, n = (min(int(value), 2**63 - 1) for value in values)
        return BoundsError(
            f"operator {self.op_name}: expected rows of 'data', which has {n}, in "
            f"'indices', got {index}"
        )
