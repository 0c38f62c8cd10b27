"""The forms that operators have for sparse arrays: name of the operator -> function of the inputs
and the operator's property. One that does not fit its inputs gives None."""

import math

import numpy as np

from ...base.dtype import name_of
from ...operator.storage_types import SCALARS, ZERO_STAYS
from .._call import invoke
from . import arrays, convert, product, structure

FORMS = {}
# Where some input is dense, so is the result: no operator could save memory there.
DENSE_RESULTS = {
    *("elemwise_add", "elemwise_sub", "broadcast_add", "broadcast_sub", "add_n"),
    *("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput", "where"),
    "ones_like",
}


def form(*names):
    """Decorator: the form of operators."""

    def put(function):
        for name in names:
            FORMS[name] = function
        return function

    return put


@form(*ZERO_STAYS)
def _zero_stays(entry, prop, inputs, params):
    return convert.on_values(entry, inputs[0], params)


@form(*SCALARS)
def _scalar(entry, prop, inputs, params):
    if SCALARS[entry.name](float(prop.scalar)) != 0:
        return None
    return convert.on_values(entry, inputs[0], params)


@form("clip")
def _clip(entry, prop, inputs, params):
    if not prop.a_min <= 0 <= prop.a_max:
        return None
    return convert.on_values(entry, inputs[0], params)


# --- two arrays -----------------------------------------------------------------------------------
def _cells(array):
    """Sorted numbers of what is kept: of elements of a csr matrix, of rows else."""
    if array.stype == "csr":
        return structure.numbers_of(array._indices, array._indptr, array.shape[1])
    return array._indices


def _of_cells(cells, values, like):
    if like.stype == "csr":
        return arrays.make("csr", like.shape, values, *structure.from_numbers(cells, like.shape))
    return arrays.make("row_sparse", like.shape, values, cells)


def _alike(lhs, rhs):
    return lhs.stype == rhs.stype != "default" and lhs.shape == rhs.shape


def _same_structure(lhs, rhs):
    return np.array_equal(lhs._indices, rhs._indices) and (
        lhs.stype != "csr" or np.array_equal(lhs._indptr, rhs._indptr)
    )


def joined(name, lhs, rhs):
    """An operator with f(0, 0) = 0, over all that either array has."""
    if _same_structure(lhs, rhs):
        return lhs._like(convert.call(name, lhs._held, rhs._held))
    of_lhs, of_rhs = _cells(lhs), _cells(rhs)
    cells = np.union1d(of_lhs, of_rhs)
    a, b = (
        convert.scattered(array._held, np.searchsorted(cells, own), len(cells))
        for array, own in ((lhs, of_lhs), (rhs, of_rhs))
    )
    return _of_cells(cells, convert.call(name, a, b), lhs)


@form("elemwise_add", "broadcast_add")
def _add(entry, prop, inputs, params):
    return joined("elemwise_add", *inputs) if _alike(*inputs) else None


@form("elemwise_sub", "broadcast_sub")
def _sub(entry, prop, inputs, params):
    return joined("elemwise_sub", *inputs) if _alike(*inputs) else None


@form("add_n")
def _add_n(entry, prop, inputs, params):
    total = inputs[0]
    for each in inputs[1:]:
        if not _alike(total, each):
            return None
        total = joined("elemwise_add", total, each)
    return total


@form("elemwise_mul", "broadcast_mul")
def _mul(entry, prop, inputs, params):
    lhs, rhs = inputs
    if lhs.stype == "default":
        if entry.name == "broadcast_mul":  # dense, as MXNet's
            return convert.call(entry.name, lhs, convert.dense(rhs))
        lhs, rhs = rhs, lhs
    if rhs.stype == "default":
        return _with_dense("elemwise_mul", lhs, rhs)
    if not _alike(lhs, rhs):
        return None
    if _same_structure(lhs, rhs):
        return lhs._like(convert.call("elemwise_mul", lhs._held, rhs._held))
    cells, a, b = np.intersect1d(_cells(lhs), _cells(rhs), True, True)
    if not len(cells):
        return convert.nothing(lhs.stype, lhs.shape, lhs._held)
    values = convert.call("elemwise_mul", convert.taken(lhs._held, a), convert.taken(rhs._held, b))
    return _of_cells(cells, values, lhs)


@form("broadcast_div")
def _div(entry, prop, inputs, params):
    lhs, rhs = inputs
    if lhs.stype != "csr" or rhs.stype != "default":
        return None
    return _with_dense("elemwise_div", lhs, rhs)


def _with_dense(name, lhs, rhs):
    """`name` of a sparse array and a dense one that is broadcast to it, at what the first has."""
    if not lhs._held.size:
        return lhs if _broadcasts(rhs.shape, lhs.shape) and rhs.dtype == lhs.dtype else None
    if lhs.stype == "row_sparse":
        if not _broadcasts(rhs.shape, lhs.shape):
            return None
        if rhs.ndim == lhs.ndim and rhs.shape[0] != 1:
            rhs = convert.taken(rhs, lhs._indices)
        name = name.replace("elemwise", "broadcast")
        return lhs._like(convert.call(name, lhs._held, rhs.reshape(_padded(rhs.shape, lhs.ndim))))
    if not _broadcasts(rhs.shape, lhs.shape):
        return None
    places = [structure.rows_of(lhs._indptr), lhs._indices]
    axes = range(2 - rhs.ndim, 2)
    places = [places[k] if n != 1 else 0 * places[k] for k, n in zip(axes, rhs.shape)]
    if not places:
        return None
    picked = convert.call("gather_nd", rhs, convert.numbers(np.stack(places)))
    return lhs._like(convert.call(name, lhs._held, picked))


def _padded(shape, ndim):
    return (1,) * (ndim - len(shape)) + shape


def _broadcasts(shape, to):
    pairs = zip(shape[::-1], to[::-1])
    return len(shape) <= len(to) and all(n in (1, m) for n, m in pairs)


# --- products -------------------------------------------------------------------------------------
@form("dot")
def _dot(entry, prop, inputs, params):
    lhs, rhs = inputs
    stype = prop.forward_stype
    if prop.transpose_b or name_of(lhs.dtype) not in ("float32", "float64"):
        return None
    if lhs.stype == "csr" and rhs.stype == "default":
        if prop.transpose_a and stype != "default":
            return None if stype == "csr" else product.csr_transposed_rows(lhs, rhs)
        if stype in (None, "default"):
            return product.csr_dense(lhs, rhs, prop.transpose_a)
    elif lhs.stype == "csr" and rhs.stype == "row_sparse":
        if stype in (None, "row_sparse" if prop.transpose_a else "default"):
            return product.csr_rows(lhs, rhs, prop.transpose_a)
    elif (lhs.stype, rhs.stype, prop.transpose_a) == ("default", "csr", False) and (
        stype != "row_sparse"
    ):
        return product.dense_csr(lhs, rhs, stype)
    return None


@form("FullyConnected")
def _fully_connected(entry, prop, inputs, params):
    data, weight, *bias = inputs
    if data.stype != "csr" or any(each.stype != "default" for each in (weight, *bias)):
        return None
    if name_of(data.dtype) not in ("float32", "float64"):
        return None
    out = product.csr_dense(data, weight.T)
    return convert.call("broadcast_add", out, bias[0].reshape((1, -1))) if bias else out


# --- reductions -----------------------------------------------------------------------------------
@form("sum", "mean")
def _sum(entry, prop, inputs, params):
    (array,) = inputs
    axes = prop.axis
    axes = (axes,) if isinstance(axes, int) else tuple(axes or ())
    axes = tuple(sorted({n % array.ndim for n in axes})) or tuple(range(array.ndim))
    if prop.exclude or (prop.keepdims and len(axes) == array.ndim):
        return None
    if name_of(array.dtype) not in ("float32", "float64"):
        return None
    if len(axes) == array.ndim:
        total = convert.call("sum", array._held)
    elif array.stype == "csr":
        ones = convert.empty_values(array._held, (array.shape[axes[0]], 1)) + 1
        total = product.csr_dense(array, ones, axes == (0,))
        kept = [1 if k in axes else n for k, n in enumerate(array.shape)]
        total = total.reshape(tuple(kept) if prop.keepdims else (total.shape[0],))
    elif axes[0] == 0 and array._held.size:
        total = convert.call("sum", array._held, axis=axes, keepdims=prop.keepdims)
    elif axes[0] != 0:
        total = convert.call("sum", array._held, axis=axes, keepdims=prop.keepdims)
        total = convert.scattered(total, array._indices, array.shape[0])
    else:
        kept = [1 if k in axes else n for k, n in enumerate(array.shape)]
        shape = kept if prop.keepdims else [n for k, n in enumerate(kept) if k not in axes]
        total = convert.empty_values(array._held, tuple(shape))
    count = math.prod(array.shape[k] for k in axes)
    return total / count if entry.name == "mean" else total


@form("norm")
def _norm(entry, prop, inputs, params):
    if prop.axis not in (None, ()) or prop.keepdims:
        return None
    if not inputs[0]._held.size:
        return convert.empty_values(inputs[0]._held, (1,))
    if inputs[0]._held.ndim > 2 or prop.ord != 2:
        return None
    return invoke(entry, (inputs[0]._held,), params)


# --- rows -----------------------------------------------------------------------------------------
@form("slice")
def _slice(entry, prop, inputs, params):
    (array,) = inputs
    if array.stype != "csr" or any(n not in (None, 1) for n in prop.step or ()):
        return None
    cuts = [slice(b, e) for b, e in zip(prop.begin, prop.end)]
    if len(cuts) > 2 or len(prop.begin) != len(prop.end):
        return None
    begin, end, _ = cuts[0].indices(array.shape[0])
    out = convert.row_range(array, begin, max(begin, end))
    if len(cuts) == 2:
        low, high, _ = cuts[1].indices(array.shape[1])
        high = max(low, high)
        keep = (out._indices >= low) & (out._indices < high)
        out = convert.masked(out, keep, out._indices - low, high - low)
    return out if out.size else None


@form("Concat")
def _concat(entry, prop, inputs, params):
    if prop.dim not in (0, -2) or any(each.stype != "csr" for each in inputs):
        return None
    if len({(each.shape[1], each.dtype) for each in inputs}) != 1:
        return None
    full = [each._held for each in inputs if each._held.size]
    if not full:
        values = inputs[0]._held
    else:
        values = full[0] if len(full) == 1 else convert.call("Concat", *full, dim=0)
    starts = np.cumsum([0, *(len(each._indices) for each in inputs)])
    ptrs = [each._indptr[1:] + start for each, start in zip(inputs, starts)]
    indptr = np.concatenate([np.zeros(1, np.int64), *ptrs])
    shape = (sum(each.shape[0] for each in inputs), inputs[0].shape[1])
    indices = np.concatenate([each._indices for each in inputs])
    return arrays.make("csr", shape, values, indices, indptr)


@form("take")
def _take(entry, prop, inputs, params):
    array, wanted = inputs
    if array.stype != "csr" or wanted.stype != "default" or wanted.ndim != 1 or prop.axis != 0:
        return None
    if prop.mode not in ("clip", "wrap") or not array.shape[0]:
        return None
    rows, n = wanted.asnumpy().astype(np.int64), array.shape[0]
    rows = np.clip(rows, 0, n - 1) if prop.mode == "clip" else rows % n
    return convert.picked_rows(array, rows)


@form("cast_storage")
def _cast_storage(entry, prop, inputs, params):
    return arrays.cast(inputs[0], prop.stype)


@form("_sparse_retain")
def _retain(entry, prop, inputs, params):
    data, indices = inputs
    if data.stype != "row_sparse" or indices.stype != "default":
        return None
    wanted = np.unique(indices.asnumpy().astype(np.int64))
    structure.check_bounds("retain: indices", wanted, data.shape[0])
    at, there = structure.find(data._indices, wanted)
    at = at[there]
    values = convert.taken(data._held, at)
    return arrays.make("row_sparse", data.shape, values, data._indices[at])


@form("Embedding")
def _embedding(entry, prop, inputs, params):
    data, weight = inputs
    if data.stype != "default" or weight.stype != "row_sparse" or weight.ndim != 2:
        return None
    if weight.shape != (prop.input_dim, prop.output_dim):
        return None
    ids = np.clip(data.asnumpy().astype(np.int64), 0, prop.input_dim - 1)
    at, there = structure.find(weight._indices, ids.ravel())
    shape = (*data.shape, prop.output_dim)
    if not there.any():
        return convert.empty_values(weight, shape)
    rows = np.flatnonzero(there)
    values = convert.taken(weight._held, at[rows])
    return convert.scattered(values, rows, len(at)).reshape(shape)
