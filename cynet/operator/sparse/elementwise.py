"""Rules of elementwise operators for sparse arrays."""

import operator

from ..storage_types import DENSE, SparseRule


def _common_stype(prop, stypes):
    return stypes[0] if len({*stypes}) == 1 else DENSE


def _product_stype(prop, stypes):
    sparse = {*stypes} - {DENSE}
    return sparse.pop() if len(sparse) == 1 else DENSE


def _broadcast_product_stype(prop, stypes):
    return DENSE if stypes[0] == DENSE else _product_stype(prop, stypes)


def _quotient_stype(prop, stypes):
    return "csr" if tuple(stypes) == ("csr", DENSE) else DENSE


def _make_union_rule(function):
    def compute_union(S, entry, prop, inputs, params):
        return S.cells.apply_to_union(function, *inputs) if S.cells.same_layout(*inputs) else None

    return SparseRule(_common_stype, compute_union, needs_dense=True)


def _add_all_sparse(S, entry, prop, inputs, params):
    total = inputs[0]
    for each in inputs[1:]:
        if not S.cells.same_layout(total, each):
            return None
        total = S.cells.apply_to_union(operator.add, total, each)
    return total


def _multiply_sparse(S, entry, prop, inputs, params):
    lhs, rhs = inputs
    if lhs.stype == DENSE:
        lhs, rhs = rhs, lhs
    if rhs.stype == DENSE:
        return S.cells.combine_with_dense(operator.mul, lhs, rhs)
    return (
        S.cells.apply_to_intersection(operator.mul, lhs, rhs)
        if S.cells.same_layout(lhs, rhs)
        else None
    )


def _multiply_broadcast(S, entry, prop, inputs, params):
    lhs, rhs = inputs
    if lhs.stype == DENSE:  # dense, as MXNet's
        return S.convert.apply_dense(operator.mul, lhs, S.convert.to_dense(rhs))
    return _multiply_sparse(S, entry, prop, inputs, params)


def _divide_sparse(S, entry, prop, inputs, params):
    lhs, rhs = inputs
    if lhs.stype != "csr" or rhs.stype != DENSE:
        return None
    return S.cells.combine_with_dense(operator.truediv, lhs, rhs)


SUM_OF_TWO, DIFFERENCE = _make_union_rule(operator.add), _make_union_rule(operator.sub)  # rules
SUM_OF_ALL = SparseRule(_common_stype, _add_all_sparse, needs_dense=True)  # add_n
PRODUCT = SparseRule(_product_stype, _multiply_sparse)  # arrays of one shape
BROADCAST_PRODUCT = SparseRule(_broadcast_product_stype, _multiply_broadcast)  # with broadcasting
BROADCAST_QUOTIENT = SparseRule(_quotient_stype, _divide_sparse)  # csr / dense
NEEDS_DENSE = SparseRule(needs_dense=True)  # rule: a dense input makes the result dense
