"""Products of mx.np: of matrices, over axes, by Einstein's notation."""

import functools
from math import prod

import numpy as onp

from ..base.errors import ArgumentTypeError, ShapeError, shown
from ._call import NUMBERS, array_of, fill_out, ops
from .reductions import any as any_of
from .reductions import axes_of
from .reductions import sum as sum_of
from .shapes import broadcast_to, expand_dims, reshape_view, to_common_dtype, transpose


def _to_common_dtype(a, b, where):
    return to_common_dtype([array_of(a, where), array_of(b, where)], where)


def _matmul_arrays(a, b):
    """The matrix product in the last two axes, for arrays of one dtype."""
    kind = onp.dtype(a.dtype)
    if kind.kind in "biu":  # no integer kernel: doubles are exact below 2 ** 53
        out = _matmul_arrays(a.astype("float64"), b.astype("float64"))
        return (out != 0) if kind.kind == "b" else out.astype(kind)
    if a.shape[-1] != b.shape[-2]:
        raise ShapeError(f"matmul: shapes {a.shape} and {b.shape} do not fit")
    if a.ndim == 2 and b.ndim == 2:
        return ops.dot(a, b)
    if b.ndim == 2:
        flat = reshape_view(a, (prod(a.shape[:-1]), a.shape[-1]))
        return reshape_view(ops.dot(flat, b), (*a.shape[:-1], b.shape[-1]))
    leading = onp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    parts = []
    for each in (a, b):
        shape = (*leading, *each.shape[-2:])
        each = each if each.shape == shape else broadcast_to(each, shape)
        parts.append(reshape_view(each, (prod(leading), *each.shape[-2:])))
    out = ops.batch_dot(*parts)
    return reshape_view(out, (*leading, a.shape[-2], b.shape[-1]))


def matmul(a, b, out=None):
    """The product of matrices in the last two axes; leading axes broadcast."""
    a, b = _to_common_dtype(a, b, "matmul")
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError("mx.np.matmul takes arrays of one axis at least, use multiply")
    left, right = a.ndim == 1, b.ndim == 1
    wide = _matmul_arrays(expand_dims(a, 0) if left else a, expand_dims(b, 1) if right else b)
    shape = wide.shape
    if right:
        shape = shape[:-1]
    if left:
        shape = (
            shape[: len(shape) - (1 if right else 2)] + shape[len(shape) - (0 if right else 1) :]
        )
    return fill_out(wide if shape == wide.shape else reshape_view(wide, shape), out)


def dot(a, b, out=None):
    """The sum of products over the last axis of `a` and the last but one of `b`."""
    if isinstance(a, NUMBERS) or isinstance(b, NUMBERS):
        return fill_out(a * b, out)
    a, b = _to_common_dtype(a, b, "dot")
    if a.ndim == 0 or b.ndim == 0:
        return fill_out(a * b, out)
    if a.ndim <= 2 and b.ndim <= 2:
        return matmul(a, b, out)
    return fill_out(tensordot(a, b, ((a.ndim - 1,), (max(b.ndim - 2, 0),))), out)


def vdot(a, b):
    """The sum of the products of all elements."""
    a, b = _to_common_dtype(a, b, "vdot")
    return matmul(reshape_view(a, (a.size,)), reshape_view(b, (b.size,)))


def inner(a, b):
    """The sum of products over the last axes."""
    a, b = _to_common_dtype(a, b, "inner")
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,)))


def outer(a, b):
    """All products of an element of `a` with an element of `b`."""
    a, b = _to_common_dtype(a, b, "outer")
    return reshape_view(a, (a.size, 1)) * reshape_view(b, (1, b.size))


def tensordot(a, b, axes=2):
    """The sum of products over pairs of axes."""
    a, b = _to_common_dtype(a, b, "tensordot")
    if isinstance(axes, int):
        left, right = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    else:
        left, right = (tuple(e) if isinstance(e, (tuple, list)) else (e,) for e in axes)
    left, right = axes_of(left, a.ndim, "tensordot"), axes_of(right, b.ndim, "tensordot")
    if [a.shape[i] for i in left] != [b.shape[i] for i in right]:
        raise ShapeError(f"mx.np.tensordot: shapes {a.shape}, {b.shape} over axes {axes}")
    rows = [i for i in range(a.ndim) if i not in left]
    columns = [i for i in range(b.ndim) if i not in right]
    shape = tuple(a.shape[i] for i in rows) + tuple(b.shape[i] for i in columns)
    length = prod(a.shape[i] for i in left)
    flat = reshape_view(
        _transpose_if_needed(a, [*rows, *left]), (prod(a.shape[i] for i in rows), length)
    )
    other = reshape_view(
        _transpose_if_needed(b, [*right, *columns]), (length, prod(b.shape[i] for i in columns))
    )
    return reshape_view(_matmul_arrays(flat, other), shape)


def _transpose_if_needed(array, order):
    return array if list(order) == list(range(array.ndim)) else transpose(array, order)


def kron(a, b):
    """Kronecker's product: blocks of `b`, each multiplied with an element of `a`."""
    a, b = _to_common_dtype(a, b, "kron")
    n = a.ndim if a.ndim > b.ndim else b.ndim
    a = reshape_view(a, (1,) * (n - a.ndim) + a.shape)
    b = reshape_view(b, (1,) * (n - b.ndim) + b.shape)
    wide = reshape_view(a, tuple(k for s in a.shape for k in (s, 1)))
    other = reshape_view(b, tuple(k for s in b.shape for k in (1, s)))
    return reshape_view(wide * other, tuple(x * y for x, y in zip(a.shape, b.shape)))


def cross(a, b, axis=-1):
    """The cross product of vectors of three elements."""
    a, b = _to_common_dtype(a, b, "cross")
    from .shapes import moveaxis, stack

    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ShapeError(f"mx.np.cross takes vectors of 3 elements, got {a.shape} and {b.shape}")
    (a0, a1, a2), (b0, b1, b2) = ([x[..., i] for i in range(3)] for x in (a, b))
    return moveaxis(stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], -1), -1, axis)


def vecdot(x1, x2, out=None, axis=-1):
    """The sum of products along an axis."""
    out, axis = (None, out) if isinstance(out, int) else (out, axis)
    found = array_of(x1, "vecdot") * array_of(x2, "vecdot")
    if onp.dtype(found.dtype).kind == "b":
        return fill_out(any_of(found, axis), out)
    return fill_out(sum_of(found, axis, found.dtype), out)


def diagonal(a, offset=0, axis1=0, axis2=1):
    """The elements of a diagonal of the matrices in two axes, in a new last axis."""
    a = array_of(a, "diagonal")
    i, k = axes_of((axis1, axis2), a.ndim, "diagonal")
    rest = [n for n in range(a.ndim) if n not in (i, k)]
    m, n = a.shape[i], a.shape[k]
    length = max(min(m, n - offset) if offset >= 0 else min(m + offset, n), 0)
    start = offset if offset >= 0 else -offset * n
    lead = tuple(a.shape[each] for each in rest)
    flat = reshape_view(_transpose_if_needed(a, [*rest, i, k]), (*lead, m * n))
    if not length:
        return flat[..., :0]
    return flat[..., start : start + (length - 1) * (n + 1) + 1 : n + 1]


def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """The sum of a diagonal."""
    return fill_out(sum_of(diagonal(a, offset, axis1, axis2), -1, dtype), out)


def einsum(subscripts, *operands, out=None, optimize=False):
    """Einstein's notation: ``einsum("ij,jk->ik", a, b)``, sums of products by letters."""
    if not isinstance(subscripts, str):
        raise ArgumentTypeError(f"mx.np.einsum: subscripts is a str, got {shown(subscripts)}")
    arrays = to_common_dtype([array_of(each, "einsum") for each in operands], "einsum")
    if len(arrays) == 2 and arrays[0].shape == arrays[1].shape:
        way = _elementwise_product_axes(subscripts, arrays[0].ndim)
        if way is not None and onp.dtype(arrays[0].dtype).kind == "f":
            found = arrays[0] * arrays[1]
            found = ops._np_sum(found, axis=way[0]) if way[0] else found
            return fill_out(_transpose_if_needed(found, way[1]), out)
    terms, result = _einsum_terms(subscripts.replace(" ", ""), tuple(each.ndim for each in arrays))
    if _is_matrix_product(*terms, result) and arrays[0].shape[1] == arrays[1].shape[0] != 1:
        return fill_out(_matmul_arrays(*arrays), out)
    arrays, terms = list(arrays), list(terms)
    for i, (array, term) in enumerate(zip(arrays, terms)):
        arrays[i], terms[i] = _take_diagonals(array, term)
    while len(arrays) > 1:
        others = set(result).union(*terms[2:])
        array, term = _contract_einsum_pair(arrays[0], terms[0], arrays[1], terms[1], others)
        arrays[:2], terms[:2] = [array], [term]
    array, term = arrays[0], terms[0]
    gone = tuple(i for i, letter in enumerate(term) if letter not in result)
    if gone:
        kind = array.dtype
        array = sum_of(array, gone)
        array = array if array.dtype == kind else array.astype(kind)
        term = "".join(letter for letter in term if letter in result)
    order = [term.index(letter) for letter in result]
    return fill_out(_transpose_if_needed(array, order), out)


def _is_matrix_product(left, right="", *more):
    """Return whether terms and result describe a product of matrices: ``ij, jk, ik``."""
    if len(left) != 2 or len(right) != 2 or len(more) != 1 or len({*left, *right}) != 3:
        return False
    return left[1] == right[0] and more[0] == left[0] + right[1]


@functools.lru_cache(maxsize=1000)
def _elementwise_product_axes(subscripts, ndim):
    """Return (axes that are summed, order of the rest) of an elementwise product, else None."""
    (left, right), result = _einsum_terms(subscripts.replace(" ", ""), (ndim, ndim))
    if left != right or len(set(left)) < ndim:
        return None
    stays = [letter for letter in left if letter in result]
    order = [stays.index(letter) for letter in result if letter in stays]
    gone = tuple(i for i, letter in enumerate(left) if letter not in result)
    return (gone, order) if len(order) == len(result) == len(stays) else None


@functools.lru_cache(maxsize=1000)
def _einsum_terms(subscripts, counts):
    """(letters of each operand, letters of the result), for operands with `counts` axes; an
    ellipsis becomes capital letters."""
    left, arrow, result = subscripts.partition("->")
    terms = left.split(",")
    if len(terms) != len(counts):
        raise ShapeError(
            f"mx.np.einsum: {len(terms)} terms in {subscripts!r} for {len(counts)} arrays"
        )
    spare = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in subscripts]
    maximum = 0
    for i, (term, count) in enumerate(zip(terms, counts)):
        dots = count - len(term.replace("...", ""))
        if "..." in term:
            terms[i] = term.replace("...", "".join(spare[len(spare) - dots :]) if dots else "")
            maximum = dots if dots > maximum else maximum
        if len(terms[i]) != count:
            raise ShapeError(f"mx.np.einsum: {term!r} is not of {count} axes")
    extra = "".join(spare[len(spare) - maximum :]) if maximum else ""
    if arrow:
        return terms, result.replace("...", extra)
    letters = "".join(terms)
    once = sorted(c for c in set(letters) if letters.count(c) == 1 and c not in extra)
    return terms, extra + "".join(once)


def _take_diagonals(array, term):
    """Take the diagonal for a letter that occurs twice in a term."""
    for letter in term:
        while term.count(letter) > 1:
            i = term.index(letter)
            k = term.index(letter, i + 1)
            array = diagonal(array, 0, i, k)
            term = term[:i] + term[i + 1 : k] + term[k + 1 :] + letter
    return array, term


def _contract_einsum_pair(a, s, b, t, others):
    """Contract two operands: a matrix product over the letters that no other term has."""
    shared = [c for c in s if c in t]
    batch = [c for c in shared if c in others]
    summed = [c for c in shared if c not in others]
    sizes = dict(zip(t, b.shape)) | {c: n for c, n in zip(s, a.shape) if n != 1 or c not in t}
    rows = [c for c in s if c not in t]
    columns = [c for c in t if c not in s]
    for letters, array in ((s, a), (t, b)):
        for letter, n in zip(letters, array.shape):
            if n not in (1, sizes[letter]):
                raise ShapeError(f"mx.np.einsum: '{letter}' is {n} and {sizes[letter]} long")
    if not summed or not (rows or columns):  # elementwise products, and their sums
        wide = [*batch, *rows, *columns, *summed]
        out = _align_axes(a, s, wide) * _align_axes(b, t, wide)
        if summed:
            kind, out = out.dtype, sum_of(out, tuple(range(len(batch), len(wide))))
            out = out if out.dtype == kind else out.astype(kind)
        return out, "".join([*batch, *rows, *columns])
    full = [tuple(sizes[c] for c in letters) for letters in (s, t)]
    a, b = (x if x.shape == f else broadcast_to(x, f) for x, f in zip((a, b), full))
    n = [prod(sizes[c] for c in group) for group in (batch, rows, summed, columns)]
    left = reshape_view(
        _transpose_if_needed(a, [s.index(c) for c in (*batch, *rows, *summed)]), (n[0], n[1], n[2])
    )
    right = reshape_view(
        _transpose_if_needed(b, [t.index(c) for c in (*batch, *summed, *columns)]),
        (n[0], n[2], n[3]),
    )
    if n[0] == 1:
        out = _matmul_arrays(reshape_view(left, (n[1], n[2])), reshape_view(right, (n[2], n[3])))
    else:
        out = _matmul_arrays(left, right)
    letters = [*batch, *rows, *columns]
    return reshape_view(out, tuple(sizes[c] for c in letters)), "".join(letters)


def _align_axes(array, letters, wide):  # to the order of `wide`, length 1 for others
    if list(letters) == wide:
        return array
    order = [letters.index(c) for c in wide if c in letters]
    array, lengths = _transpose_if_needed(array, order), iter([array.shape[i] for i in order])
    return reshape_view(array, tuple(next(lengths) if c in letters else 1 for c in wide))


__all__ = [
    "cross",
    "diagonal",
    "dot",
    "einsum",
    "inner",
    "kron",
    "matmul",
    "outer",
    "tensordot",
    "trace",
    "vdot",
    "vecdot",
]
