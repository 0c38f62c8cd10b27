"""Rules for sparse arrays of operators that select and join rows and columns."""

import numpy as np

from ..storage_types import DENSE, SparseRule


def _csr_output_stype(prop, stypes):
    return "csr" if {*stypes} == {"csr"} and getattr(prop, "dim", 0) in (0, -2) else DENSE


def _take_output_stype(prop, stypes):
    fits = tuple(stypes) == ("csr", DENSE) and prop.axis == 0 and prop.mode != "raise"
    return "csr" if fits else DENSE


def _slice_csr(S, entry, prop, inputs, params):
    (array,) = inputs
    if array.stype != "csr" or any(n not in (None, 1) for n in prop.step or ()):
        return None
    cuts = [slice(b, e) for b, e in zip(prop.begin, prop.end)]
    if len(cuts) > 2 or len(prop.begin) != len(prop.end):
        return None
    begin, end, _ = cuts[0].indices(array.shape[0])
    out = S.convert.slice_rows(array, begin, max(begin, end))
    if len(cuts) == 2:
        low, high, _ = cuts[1].indices(array.shape[1])
        high = max(low, high)
        keep = (out._indices >= low) & (out._indices < high)
        out = S.convert.mask_elements(out, keep, out._indices - low, high - low)
    return out if out.size else None


def _concat_csr(S, entry, prop, inputs, params):
    if prop.dim not in (0, -2) or any(each.stype != "csr" for each in inputs):
        return None
    if len({(each.shape[1], each.dtype) for each in inputs}) != 1:
        return None
    full = [each._values_array for each in inputs if each._values_array.size]
    if not full:
        values = inputs[0]._values_array
    else:
        params = {"num_args": len(full), "dim": 0}
        values = full[0] if len(full) == 1 else S.convert.invoke(entry, tuple(full), params)
    starts = np.cumsum([0, *(len(each._indices) for each in inputs)])
    ptrs = [each._indptr[1:] + start for each, start in zip(inputs, starts)]
    indptr = np.concatenate([np.zeros(1, np.int64), *ptrs])
    shape = (sum(each.shape[0] for each in inputs), inputs[0].shape[1])
    indices = np.concatenate([each._indices for each in inputs])
    return S.arrays.make_sparse("csr", shape, values, indices, indptr)


def _take_from_csr(S, entry, prop, inputs, params):
    array, wanted = inputs
    if array.stype != "csr" or wanted.stype != "default" or wanted.ndim != 1 or prop.axis != 0:
        return None
    if prop.mode not in ("clip", "wrap") or not array.shape[0]:
        return None
    n = array.shape[0]
    if prop.mode == "clip":
        rows = S.convert.clipped_indices(prop, "indices", wanted, n, tell=prop.tells)
    else:
        rows = wanted.asnumpy().astype(np.int64) % n
    return S.convert.rows_at_indices(array, rows)


def _embed_sparse(S, entry, prop, inputs, params):
    data, weight = inputs
    if data.stype != "default" or weight.stype != "row_sparse" or weight.ndim != 2:
        return None
    if weight.shape != (prop.input_dim, prop.output_dim):
        return None
    ids = S.convert.clipped_indices(prop, "data", data, prop.input_dim, refuse=True)
    at, there = S.structure.find_rows(weight._indices, ids.ravel())
    shape = (*data.shape, prop.output_dim)
    if not there.any():
        return S.convert.zero_values(weight, shape)
    rows = np.flatnonzero(there)
    values = S.convert.take_rows(weight._values_array, at[rows])
    return S.convert.scatter_rows(values, rows, len(at)).reshape(shape)


def _embed_grad_node(S, entry, prop, params, inputs):
    return S.gradients.EmbeddingNode(entry, params, inputs, prop)


def _embed_grad_rows(S, prop, inputs, grad, i):
    return S.gradients.embedding_gradient(prop, inputs, grad) if i == 1 else None


SLICE, CONCAT, TAKE = (  # rules of slice, concat and take for csr arrays
    SparseRule(_csr_output_stype, _slice_csr),
    SparseRule(_csr_output_stype, _concat_csr),
    SparseRule(_take_output_stype, _take_from_csr),
)
EMBEDDING = SparseRule(form=_embed_sparse, node=_embed_grad_node, gradient_rows=_embed_grad_rows)
