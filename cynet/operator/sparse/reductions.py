"""Rules of reductions for sparse arrays."""

import math

from ...base.dtype import name_of
from ..storage_types import SparseRule


def _sum_sparse(S, entry, prop, inputs, params):
    (array,) = inputs
    axes = prop.axis
    axes = (axes,) if isinstance(axes, int) else tuple(axes or ())
    axes = tuple(sorted({n % array.ndim for n in axes})) or tuple(range(array.ndim))
    if prop.exclude or (prop.keepdims and len(axes) == array.ndim):
        return None
    if name_of(array.dtype) not in ("float32", "float64"):
        return None
    if len(axes) == array.ndim:
        total = S.convert.call_op("sum", array._values_array)
    elif array.stype == "csr":
        ones = S.convert.zero_values(array._values_array, (array.shape[axes[0]], 1)) + 1
        total = S.product.csr_dot_dense(array, ones, axes == (0,))
        lengths = [1 if k in axes else n for k, n in enumerate(array.shape)]
        total = total.reshape(tuple(lengths) if prop.keepdims else (total.shape[0],))
    elif axes[0] == 0 and array._values_array.size:
        total = S.convert.call_op("sum", array._values_array, axis=axes, keepdims=prop.keepdims)
    elif axes[0] != 0:
        total = S.convert.call_op("sum", array._values_array, axis=axes, keepdims=prop.keepdims)
        total = S.convert.scatter_rows(total, array._indices, array.shape[0])
    else:
        lengths = [1 if k in axes else n for k, n in enumerate(array.shape)]
        shape = lengths if prop.keepdims else [n for k, n in enumerate(lengths) if k not in axes]
        total = S.convert.zero_values(array._values_array, tuple(shape))
    return total / math.prod(array.shape[k] for k in axes) if prop.mean else total


def _norm_sparse(S, entry, prop, inputs, params):
    if prop.axis not in (None, ()) or prop.keepdims:
        return None
    if not inputs[0]._values_array.size:
        return S.convert.zero_values(inputs[0]._values_array, (1,))
    if inputs[0]._values_array.ndim > 2 or prop.ord != 2:
        return None
    return S.convert.invoke(entry, (inputs[0]._values_array,), params)


SUM, NORM = SparseRule(form=_sum_sparse), SparseRule(form=_norm_sparse)  # sparse rules
