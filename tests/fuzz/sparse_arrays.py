"""Sparse arrays whose structure is right, or wrong in one of the ways there are."""

import numpy as np

WRONG = (-1, -(2**40), 2**31, 2**62, -(2**63), 2**63 - 1)


def sparse_like(mx, rng, array):
    """`array`, of NumPy, as a csr or row_sparse one, of which the structure may be wrong."""
    keep = rng.random(array.shape) < 0.5
    if array.ndim == 2 and rng.integers(2):
        rows, indices = np.nonzero(keep)
        parts = [array[rows, indices], indices, np.searchsorted(rows, np.arange(len(array) + 1))]
        make = mx.nd.sparse.csr_matrix
    else:
        indices = np.flatnonzero(rng.random(array.shape[:1]) < 0.7)
        parts, make = [array[indices], indices], mx.nd.sparse.row_sparse_array
    shape = array.shape
    for _ in range(rng.integers(3)):
        at = int(rng.integers(len(parts) + 1))
        if at == len(parts):
            shape = _other_shape(rng, shape)
        else:
            parts[at] = _damaged(rng, parts[at])
    return make(tuple(parts), shape=shape, dtype=array.dtype)


def _other_shape(rng, shape):
    shape = list(shape)
    at = int(rng.integers(len(shape) + 1))
    if at == len(shape):
        return (*shape, 2) if rng.integers(2) else tuple(shape[:-1])
    shape[at] = int(rng.choice([0, 1, shape[at] + 1, 2**31, 2**62, -1]))
    return tuple(shape)


def _damaged(rng, part):
    """Numbers or values that are others, fewer, more, in another order or of another dtype."""
    part, kind = part.copy(), rng.integers(8)
    if kind == 0 and part.size:  # out of range
        number = rng.choice(WRONG) if part.dtype == "int64" else 7
        part.reshape(-1)[rng.integers(part.size)] = number
    elif kind == 1:  # twice, or a sum of counts that is wrong
        part = np.repeat(part, 2, axis=0)
    elif kind == 2:  # falling
        part = part[::-1].copy()
    elif kind == 3 and len(part):
        part = part[:-1]
    elif kind == 4:
        part = part.astype(rng.choice(["float32", "float64", "uint8", "int32", "bool"]))
    elif kind == 5:
        part = part[None]
    elif kind == 6 and part.dtype.kind == "i":
        part = part + rng.choice([0.5, np.nan, np.inf])
    elif len(part) > 1:
        part[0] = part[-1]
    return part
