"""Polynomials of mx.np, by their coefficients from the highest power on, and convolutions."""

import numpy as onp

from ..base.errors import ArgumentError, ShapeError, shown
from ..ndarray._tape import is_tracked
from ..ndarray.ndarray import NDArray
from . import reductions, shapes
from ._call import NUMBERS, array_of, refuse_traced
from .creation import zeros
from .dispatch import call_numpy


def _as_vector(value, name):
    value = array_of(value, name)
    if value.ndim > 1:
        raise ShapeError(f"mx.np.{name} takes arrays of one axis, got shape {value.shape}")
    return shapes.ravel(value)


def polyval(p, x):
    """The values of a polynomial at the elements of `x`."""
    p = shapes.atleast_1d(array_of(p, "polyval"))
    number = isinstance(x, NUMBERS)
    x = array_of(
        x, "polyval", "int64" if type(x) is int and onp.dtype(p.dtype).kind != "f" else None
    )
    (p, x) = shapes.to_common_dtype([p, x], "polyval")
    found = x * 0
    for i in range(p.shape[0]):
        found = found * x + p[i]
    return found.reshape(()) if number else found


def _pad_to_same_length(a1, a2, name):
    parts = [_as_vector(each, name) for each in (a1, a2)]
    length = max(each.shape[0] for each in parts)
    return [
        each
        if each.shape[0] == length
        else shapes.concatenate([zeros((length - each.shape[0],), each.dtype), each])
        for each in parts
    ]


def polyadd(a1, a2):
    """The sum of two polynomials."""
    a1, a2 = _pad_to_same_length(a1, a2, "polyadd")
    return a1 + a2


def polysub(a1, a2):
    """The difference of two polynomials."""
    a1, a2 = _pad_to_same_length(a1, a2, "polysub")
    return a1 - a2


def _strip_leading_zeros(a):
    """A vector without leading zeros, of at least one element."""
    indices = a.asnumpy().nonzero()[0]
    return a[min(int(indices[0]), a.shape[0] - 1) if indices.size else a.shape[0] - 1 :]


def polymul(a1, a2):
    """The product of two polynomials, without leading zeros.

    Raises
    ------
    ArgumentTypeError
        A graph is made, which does not see zeros; ``convolve`` multiplies with them.
    """
    a1, a2 = (_as_vector(each, "polymul") for each in (a1, a2))
    refuse_traced("polymul", "how many zeros are in front (convolve() keeps them)", a1, a2)
    return convolve(*map(_strip_leading_zeros, (a1, a2)))


def polydiv(u, v):
    """The quotient and the remainder of two polynomials; the remainder has no leading zeros.

    Raises
    ------
    ArgumentTypeError
        A graph is made, which cannot know how long the remainder is.
    """
    u, v = (_as_vector(each, "polydiv") for each in (u, v))
    u, v = (e if onp.dtype(e.dtype).kind == "f" else e.astype("float32") for e in (u, v))
    u, v = shapes.to_common_dtype([u, v], "polydiv")
    refuse_traced("polydiv", "the length of the remainder", u, v)
    count = u.shape[0] - v.shape[0] + 1
    if count < 1:
        return zeros((1,), u.dtype), _strip_leading_zeros(u)
    quotient, rest = [], u
    for k in range(count):
        quotient.append(rest[k : k + 1] / v[:1])
        parts = [zeros((k,), u.dtype), quotient[-1] * v, zeros((count - 1 - k,), u.dtype)]
        rest = rest - shapes.concatenate([each for each in parts if each.shape[0]])
    small = onp.isclose(rest.asnumpy(), 0, rtol=1e-14)
    first = min(int(onp.argmin(small)) if not small.all() else rest.shape[0], rest.shape[0] - 1)
    return shapes.concatenate(quotient), rest[first:]


def roots(p):
    """The roots of a polynomial; a NumPy array if some are not real. Gradients are correct for
    real, distinct roots.

    Raises
    ------
    ArgumentTypeError
        A graph is made, which has no values to count the roots by.
    """
    p = array_of(p, "roots")
    refuse_traced("roots", "how many there are", p)
    found = call_numpy(onp.roots, (p.detach(),), {})
    if not is_tracked(p) or not isinstance(found, NDArray) or not found.shape[0]:
        return found
    slopes = p[:-1] * array_of(onp.arange(p.shape[0] - 1, 0, -1).astype(p.dtype), "roots")
    found = found.astype(p.dtype)
    return found - polyval(p, found) / polyval(slopes, found).detach()


def polyint(p, m=1, k=None):
    """The integral of a polynomial, `m` times; `k` are the constants of integration, by default
    0."""
    p = _as_vector(p, "polyint")
    if not hasattr(m, "__index__") or m < 0:
        raise ArgumentError(f"mx.np.polyint: m is an int that is not negative, got {shown(m)}")
    p = p if onp.dtype(p.dtype).kind == "f" else p.astype("float32")
    constants = zeros((m,), p.dtype) if k is None else _as_vector(k, "polyint").astype(p.dtype)
    if constants.shape[0] == 1 and m > 1:
        constants = shapes.broadcast_to(constants, (m,))
    if constants.shape[0] < m:
        raise ArgumentError(f"mx.np.polyint: {m} constants are needed, got {constants.shape[0]}")
    for i in range(m):
        powers = onp.arange(p.shape[0], 0, -1).astype(onp.dtype(p.dtype))
        p = shapes.concatenate([p / array_of(powers, "polyint"), constants[i : i + 1]])
    return p


def vander(x, N=None, increasing=False):
    """A matrix with a row of powers for each element, the highest first unless `increasing`."""
    x = _as_vector(x, "vander")
    count = x.shape[0] if N is None else N
    x = x if onp.dtype(x.dtype).kind in "fi" else x.astype("int64")
    columns = [x * 0 + 1]
    for _ in range(count - 1):
        columns.append(columns[-1] * x)
    columns = columns[:count] if increasing else columns[:count][::-1]
    return shapes.stack(columns, 1) if columns else zeros((x.shape[0], 0), x.dtype)


def poly(seq_of_zeros):
    """The coefficients of the polynomial with given roots; for a matrix, of its characteristic
    polynomial."""
    roots = array_of(seq_of_zeros, "poly")
    if roots.ndim > 1:
        return call_numpy(onp.poly, (roots,), {})
    roots = shapes.ravel(roots)
    roots = roots if onp.dtype(roots.dtype).kind == "f" else roots.astype("float32")
    one = array_of(onp.ones(1, onp.dtype(roots.dtype)), "poly")
    found = one
    for i in range(roots.shape[0]):
        found = convolve(found, shapes.concatenate([one, -roots[i : i + 1]]))
    return found if roots.shape[0] else one.reshape(())


def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """The coefficients of the polynomial of degree `deg` that is nearest to points, by least
    squares; with `full` or `cov` NumPy computes it."""
    from .elementwise import FUNCTIONS
    from .least_squares import least_squares

    if full or cov:
        return call_numpy(onp.polyfit, (x, y, deg, rcond, full, w, cov), {})
    x, y = _as_vector(x, "polyfit"), array_of(y, "polyfit")
    x, y = (e if onp.dtype(e.dtype).kind == "f" else e.astype("float32") for e in (x, y))
    if y.ndim not in (1, 2) or y.shape[0] != x.shape[0] or not x.shape[0]:
        raise ShapeError(f"mx.np.polyfit: x of shape {x.shape} and y of shape {y.shape}")
    if not hasattr(deg, "__index__") or deg < 0:
        raise ArgumentError(f"mx.np.polyfit: deg is an int that is not negative, got {shown(deg)}")
    left, right = vander(x, deg + 1), y
    if w is not None:
        w = _as_vector(w, "polyfit").astype(x.dtype)
        left = left * shapes.expand_dims(w, 1)
        right = right * (shapes.expand_dims(w, 1) if y.ndim == 2 else w)
    size = FUNCTIONS["sqrt"](reductions.sum(left * left, 0))
    rcond = x.shape[0] * float(onp.finfo(onp.dtype(x.dtype)).eps) if rcond is None else rcond
    found = least_squares(
        left / size, right if y.ndim == 2 else shapes.expand_dims(right, 1), rcond
    )
    found = found if y.ndim == 2 else shapes.squeeze(found, 1)
    return found / (shapes.expand_dims(size, 1) if y.ndim == 2 else size)


def convolve(a, v, mode="full"):
    """The convolution of two vectors: 'full', 'same' or 'valid'."""
    from .products import matmul

    a, v = (_as_vector(each, "convolve") for each in (a, v))
    if not a.shape[0] or not v.shape[0]:
        raise ArgumentError("mx.np.convolve: an array is empty")
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f"mx.np.convolve: mode is 'full', 'same' or 'valid', got {shown(mode)}")
    a, v = shapes.to_common_dtype([a, v] if a.shape[0] >= v.shape[0] else [v, a], "convolve")
    n, m = a.shape[0], v.shape[0]
    kind = onp.dtype(a.dtype)
    around = zeros((m - 1,), a.dtype)
    wide = shapes.concatenate([around, a, around]) if m > 1 else a
    first = {"full": 0, "same": (m - 1) // 2, "valid": m - 1}[mode]
    count = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
    indices = onp.arange(first, first + count)[:, None] + onp.arange(m)[::-1]
    rows = shapes.take(wide, indices, 0)
    if kind.kind == "f":
        return matmul(rows, v)
    found = reductions.sum(rows * v, 1)
    return found.astype(kind) if kind.kind != "b" else found > 0


def correlate(a, v, mode="valid"):
    """The correlation: sums of products of one vector with shifts of another."""
    a, v = (_as_vector(each, "correlate") for each in (a, v))
    if not a.shape[0] or not v.shape[0]:
        raise ArgumentError("mx.np.correlate: an array is empty")
    if v.shape[0] > a.shape[0]:
        return shapes.flip(convolve(v, shapes.flip(a), mode))
    return convolve(a, shapes.flip(v), mode)


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral of samples along an axis, by trapezoids."""
    from .selection import diff

    y = array_of(y, "trapezoid")
    (axis,) = reductions.axes_of(axis, y.ndim, "trapezoid")
    if x is not None:
        x = array_of(x, "trapezoid")
        dx = diff(x, axis=axis if x.ndim > 1 else 0)
        if x.ndim == 1:
            wide = tuple(dx.shape[0] if i == axis else 1 for i in range(y.ndim))
            dx = shapes.reshape_view(dx, wide)
    front = (slice(None),) * axis
    pairs = y[(*front, slice(1, None))] + y[(*front, slice(None, -1))]
    return reductions.sum(pairs * dx / 2.0, axis)


__all__ = [
    "convolve",
    "correlate",
    "poly",
    "polyadd",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "roots",
    "trapezoid",
    "vander",
]
