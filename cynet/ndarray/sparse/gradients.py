"""Autograd for sparse arrays: sparse gradients, and gradients through sparse arrays."""

import math
import operator

import numpy as np

from ..._core.put_rows import put_rows
from ..._core.sparse_kind import dense_of
from ...base.dtype import name_of
from ...base.errors import GradientError, ShapeError
from ...operator.storage_types import sparse_rule_of
from .. import sparse
from .._call import invoke
from .._tape import StepNode, begin_record_scope, get_state, resume_scope, set_state, wants_gradient
from ..creation import ones
from . import arrays, convert, product
from .cells import apply_to_union
from .grouping import group_by_value
from .through_host import is_on_gpu


def set_to_zeros(target):
    """Set a sparse gradient to zeros."""
    target._assign_array(convert.sparse_zeros(target.stype, target.shape, target._values_array))


def zero_gradient_like(grad):
    """Return zeros of the shape and storage type of a sparse gradient."""
    return convert.sparse_zeros(grad.stype, grad.shape, grad._values_array)


def default_head_gradient(head):
    """The default gradient of a sparse head: a dense array of ones."""
    return ones(head.shape, ctx=head.context, dtype=name_of(head.dtype))


def accept_head_gradient(head, grad, i):
    """The gradient that a user gives for head `i`, in the head's dtype; a sparse one is copied."""
    if grad.shape != head.shape:
        raise ShapeError(
            f"the gradient of head {i} has shape {grad.shape}, the head has shape {head.shape}"
        )
    grad = grad.as_in_context(head.context).astype(head.dtype, copy=False)
    return grad.copy() if grad.stype != "default" else grad


def to_row_sparse(grad):
    """A gradient as a row_sparse array."""
    return grad if grad.stype == "row_sparse" else arrays.cast_storage(grad, "row_sparse")


def assign_gradient(target, source):
    """Assign ``target = source``, where one is sparse. A sparse target takes the values' memory:
    values of gradients are replaced and not written."""
    if target.stype == "default":
        dense_of(source).copyto(target)
        return
    if source.stype != target.stype:
        source = arrays.cast_storage(dense_of(source), target.stype)
    target._share_contents(source)


def add_gradients(a, b, out):
    """Return ``a + b``, of which one is sparse; it is written to `out` if that is dense."""
    if a.stype == b.stype != "default":
        result = apply_to_union(operator.add, a, b)
    elif "row_sparse" in (a.stype, b.stype) and "default" in (a.stype, b.stype):
        dense, rows = (a, b) if a.stype == "default" else (b, a)
        result = _add_rows(dense if dense is out else dense.copy(), rows)
    else:
        result = dense_of(a) + dense_of(b)
    if out is None or result is out:
        return result
    assign_gradient(out, result) if out.stype != "default" else result.copyto(out)
    return out if out.stype == result.stype else result


def _add_rows(dense, rows):
    """Add the rows of a row_sparse array to `dense`, in place."""
    if len(rows._indices) and rows._values_array.size:
        if is_on_gpu(dense):  # no kernel writes rows on that device
            dense += convert.to_dense(rows)
            return dense
        sums = convert.take_rows(dense, rows._indices) + rows._values_array
        put_rows(dense, sums, rows._indices)
    return dense


def sum_rows_by_id(grad, ids, shape):
    """A row_sparse array of this shape: row i is the sum of the rows of `grad` with id i."""
    order, rows, starts = group_by_value(ids)
    if not len(rows):
        return convert.sparse_zeros("row_sparse", shape, grad)
    flat = grad.reshape((len(ids), -1))
    if len(rows) == len(ids):
        values = convert.take_rows(flat, order)
    else:
        dtype = name_of(grad.dtype)
        wide = flat if dtype in ("float32", "float64") else flat.astype("float32")
        csr = product.CsrIndices(order, np.append(starts, len(ids)), len(ids))
        weights = ones((len(ids),), ctx=grad.context, dtype=name_of(wide.dtype))
        values = product.multiply_csr(weights, csr, wide, False).astype(dtype, copy=False)
    return arrays.make_sparse("row_sparse", shape, values.reshape((len(rows), *shape[1:])), rows)


def embedding_gradient(prop, inputs, grad):
    """The gradient of an embedding's weight, a row_sparse array."""
    n, refuse = prop.input_dim, prop.sparse_grad
    ids = convert.clipped_indices(prop, "data", inputs[0], n, tell=refuse, refuse=refuse).ravel()
    return sum_rows_by_id(grad, ids, (prop.input_dim, prop.output_dim))


def row_grad(prop, inputs, grad, i):
    """The gradient of input `i` of an operator on dense arrays as a row_sparse array; None where
    the operator computes only a dense gradient."""
    rule = sparse_rule_of(prop)
    if grad is None or rule is None or rule.gradient_rows is None:
        return None
    return rule.gradient_rows(sparse, prop, inputs, grad, i)


class SparseNode(StepNode):
    """A graph node with sparse arrays. A subclass defines ``compute_input_grads(grads)``."""

    what = "a sparse operator"
    takes_sparse = True  # its outputs may have sparse gradients

    @property
    def name(self):
        return self.what

    def record(self, inputs, outputs):
        """Insert the node into the graph between `inputs` and `outputs`."""
        self.attach(inputs, outputs)

    def backward(self, grads, recorded):
        if recorded:
            raise GradientError(
                f"{self.what}, recorded at {self.location()}: gradients of gradients do not go "
                "through sparse arrays; use tostype('default') before it"
            )
        if grads[0] is None:
            return [None] * len(self.sources)
        return self.compute_input_grads(grads)


class CastNode(SparseNode):
    """A recorded copy of a sparse array: another storage type, device or dtype."""

    what = "a copy of a sparse array"

    def __init__(self, source):
        self.like = source.dtype, source.context

    def compute_input_grads(self, grads):
        dtype, context = self.like
        return [grads[0].as_in_context(context).astype(dtype, copy=False)]


class DenseGradientNode(SparseNode):
    """A call whose gradient is computed by the dense operator on dense copies."""

    def __init__(self, entry, params, inputs):
        self.what = f"operator {entry.name}"
        self.entry, self.params, self.given = entry, params, list(inputs)

    def saved_input_indices(self):
        """Indices of the inputs that backward reads, and that must not be written before."""
        return range(len(self.given))

    def record(self, inputs, outputs):
        self.positions = list(self.saved_input_indices())
        read = [self.given[i] for i in self.positions]
        self.attach(inputs, outputs, [x if x.stype == "default" else x._values_array for x in read])

    def on_array_replaced(self, i, array):
        at = self.positions[i]
        x = self.given[at]
        self.given[at] = array if x.stype == "default" else x._with_values(array)

    def compute_input_grads(self, grads):
        dense = [dense_of(x).detach() for x in self.given]
        sources = self.sources
        before = begin_record_scope()
        flags = set_state(get_state() | 1)
        try:
            for x, source in zip(dense, sources):
                if source is not None:
                    x.attach_grad()
            out = invoke(self.entry, tuple(dense), self.params)
            flows = wants_gradient([out])
        finally:
            set_state(flags)
            resume_scope(before)
        if flows:
            out.backward(dense_of(grads[0]), train_mode=bool(flags & 2))
        return [x.grad if flows else None for x in dense]

    def release_references(self):
        self.given = None


class ProductNode(DenseGradientNode):  # of a product with a csr matrix
    """A product with a csr matrix: the other operand's gradient needs no dense copy."""

    def saved_input_indices(self):
        csr = [x for x in self.given if x.stype == "csr"]
        return super().saved_input_indices() if wants_gradient(csr) else ()


class DotNode(ProductNode):
    """The node of dot; with `rows` its gradient is row_sparse."""

    def __init__(self, entry, params, inputs, prop, rows):
        super().__init__(entry, params, inputs)
        self.transpose, self.rows = prop.transpose_a, rows

    def compute_input_grads(self, grads):
        lhs, rhs = self.given
        to_lhs, to_rhs = (source is not None for source in self.sources)
        grad = dense_of(grads[0])
        if lhs.stype == "csr" and not to_lhs:
            if self.rows and not self.transpose:
                return [None, product.csr_t_dot_dense(lhs, grad)]
            return [None, product.csr_dot_dense(lhs, grad, not self.transpose)]
        if lhs.stype == "default" and rhs.stype == "csr" and not to_rhs:
            columns = grad.reshape((math.prod(lhs.shape[:-1]), rhs.shape[1])).T
            return [product.csr_dot_dense(rhs, columns).T.reshape(lhs.shape), None]
        return super().compute_input_grads(grads)


class FullyConnectedNode(ProductNode):
    """The node of FullyConnected with csr data."""

    def compute_input_grads(self, grads):
        if self.sources[0] is not None:
            return super().compute_input_grads(grads)
        grad = dense_of(grads[0])
        weight = product.csr_dot_dense(self.given[0], grad, True).T
        return [None, weight, convert.call_op("sum", grad, axis=0)][: len(self.given)]


class EmbeddingNode(DenseGradientNode):
    """The node of Embedding with a row_sparse weight."""

    def __init__(self, entry, params, inputs, prop):
        super().__init__(entry, params, inputs)
        self.prop = prop

    def saved_input_indices(self):
        return (0,)

    def compute_input_grads(self, grads):
        return [None, embedding_gradient(self.prop, self.given, dense_of(grads[0]))]


class RetainNode(DenseGradientNode):
    """The node of retain, whose gradient has the retained rows."""

    def saved_input_indices(self):
        return (1,)

    def compute_input_grads(self, grads):
        grad = dense_of(grads[0])
        rows = np.unique(self.given[1].asnumpy().astype(np.int64))
        if not len(rows):
            return [convert.sparse_zeros("row_sparse", grad.shape, grad), None]
        values = convert.take_rows(grad, rows)
        return [arrays.make_sparse("row_sparse", grad.shape, values, rows), None]
