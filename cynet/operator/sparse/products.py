"""Rules of matrix products for sparse arrays."""

import operator

from ...base.dtype import name_of
from ..storage_types import DENSE, SparseRule


def _dot_stype(prop, stypes):
    lhs, rhs = stypes
    requested, transposed = prop.forward_stype, prop.transpose_a
    if prop.transpose_b:
        return DENSE
    if lhs == "csr":
        result = "row_sparse" if transposed else DENSE
        if rhs == DENSE:
            return result if requested is None else requested if requested != "csr" else DENSE
        return result if rhs == "row_sparse" and requested in (None, result) else DENSE
    if (lhs, rhs) == (DENSE, "csr") and not transposed and requested in (None, "csr"):
        return "csr"
    return DENSE


def _dot_sparse(S, entry, prop, inputs, params):
    lhs, rhs = inputs
    stype = prop.forward_stype
    if prop.transpose_b or name_of(lhs.dtype) not in ("float32", "float64"):
        return None
    if lhs.stype == "csr" and rhs.stype == "default":
        if prop.transpose_a and stype != "default":
            return None if stype == "csr" else S.product.csr_t_dot_dense(lhs, rhs)
        if stype in (None, "default"):
            return S.product.csr_dot_dense(lhs, rhs, prop.transpose_a)
    elif lhs.stype == "csr" and rhs.stype == "row_sparse":
        if stype in (None, "row_sparse" if prop.transpose_a else "default"):
            return S.product.csr_dot_row_sparse(lhs, rhs, prop.transpose_a)
    elif (lhs.stype, rhs.stype, prop.transpose_a) == ("default", "csr", False) and (
        stype != "row_sparse"
    ):
        return S.product.dense_dot_csr(lhs, rhs, stype)
    return None


def _dot_gradient_node(S, entry, prop, params, inputs):
    rhs = inputs[1]
    wants_rows = rhs.stype == "row_sparse" or (
        rhs.stype == DENSE and getattr(rhs.grad, "stype", "") == "row_sparse"
    )
    return S.gradients.DotNode(entry, params, inputs, prop, wants_rows)


def _fully_connected_sparse(S, entry, prop, inputs, params):
    data, weight, *bias = inputs
    if data.stype != "csr" or any(each.stype != "default" for each in (weight, *bias)):
        return None
    if name_of(data.dtype) not in ("float32", "float64"):
        return None
    out = S.product.csr_dot_dense(data, weight.T)
    return S.convert.apply_dense(operator.add, out, bias[0].reshape((1, -1))) if bias else out


def _dense_gradient_node(S, entry, prop, params, inputs):
    return S.gradients.FullyConnectedNode(entry, params, inputs)


DOT = SparseRule(_dot_stype, _dot_sparse, _dot_gradient_node)  # rule of mx.nd.dot
FULLY_CONNECTED = SparseRule(form=_fully_connected_sparse, node=_dense_gradient_node)  # csr data
