"""Arrays for tests: random ones, simple ones, matrices of known kinds; reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.errors import ArgumentError
from ..base.guard import guarded
from .compare import default_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import DTypeLike, NDArray, NumpyArray, Shape


@guarded
def random_uniform_arrays(*shapes: Shape, **kwargs: Any) -> list[NumpyArray]:
    """Arrays of even draws from ``numpy.random``, from ``low=0`` to ``high=1``, of ``dtype=``."""
    low, high = kwargs.pop("low", 0.0), kwargs.pop("high", 1.0)
    dtype = kwargs.pop("dtype", default_dtype())
    if kwargs:
        raise ArgumentError(f"random_uniform_arrays: unknown arguments {', '.join(kwargs)}")
    return [np.random.uniform(low, high, size=shape).astype(dtype) for shape in shapes]


@guarded
def random_sample(population: Sequence[Any], k: int) -> list[Any]:
    """`k` elements in random order, from ``numpy.random``."""
    drawn = list(population)
    np.random.shuffle(drawn)
    return drawn[:k]


@guarded
def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """A random pair, x from ``[x_low, x_high)``, y from ``[y_low, y_high)``."""
    x = np.random.randint(x_low, x_high, dtype=np.int64)
    y = np.random.randint(y_low, y_high, dtype=np.int64)
    return x, y


@guarded
def create_2d_tensor(rows: int, columns: int, dtype: DTypeLike = np.int64) -> NDArray:
    """An array whose entries are the numbers of their rows."""
    return nd.array(np.repeat(np.arange(rows), columns).reshape(rows, columns), dtype=dtype)


@guarded
def create_vector(size: int, dtype: DTypeLike = np.int64) -> NDArray:
    """The numbers from 0."""
    return nd.array(np.arange(size), dtype=dtype)


@guarded
def get_identity_mat(size: int) -> NDArray:
    """The identity matrix, float32."""
    return nd.array(np.identity(size), dtype=np.float32)


@guarded
def get_identity_mat_batch(size: int) -> NDArray:
    """Two identity matrices, float32."""
    return nd.array(np.stack([np.identity(size)] * 2), dtype=np.float32)


@guarded
def assign_each(the_input: NumpyArray, function: Callable[[Any], Any] | None) -> NumpyArray:
    """A copy with `function` of each entry; None changes nothing."""
    out = np.array(the_input)
    if function is not None:
        for place in np.ndindex(out.shape):
            out[place] = function(the_input[place])
    return out


@guarded
def assign_each2(
    input1: NumpyArray, input2: NumpyArray, function: Callable[[Any, Any], Any] | None
) -> NumpyArray:
    """A copy of `input1` with `function` of each pair of entries; None changes nothing."""
    if input1.shape != input2.shape:
        raise ArgumentError(f"assign_each2: shapes {input1.shape} and {input2.shape} differ")
    out = np.array(input1)
    if function is not None:
        for place in np.ndindex(out.shape):
            out[place] = function(input1[place], input2[place])
    return out


@guarded
def np_reduce(
    dat: NumpyArray,
    axis: Any,
    keepdims: bool,
    numpy_reduce_func: Callable[..., Any],
) -> NumpyArray:
    """A reduction of NumPy, one axis after another.

    Parameters
    ----------
    dat : numpy.ndarray
    axis : int, list of int or None
    keepdims : bool
    numpy_reduce_func : callable
        ``numpy.sum``, ``numpy.max``, ...
    """
    axes = range(dat.ndim) if axis is None else np.atleast_1d(axis)
    shape = list(dat.shape)
    for each in sorted((int(each) % dat.ndim for each in axes), reverse=True):
        dat = numpy_reduce_func(dat, axis=each)
        shape[each] = 1
    return dat.reshape(shape) if keepdims else dat


@guarded
def collapse_sum_like(a: NumpyArray, shape: Shape) -> NumpyArray:
    """The sum of `a` over the axes that broadcasting `shape` to it would repeat."""
    extra = a.ndim - len(shape)
    try:
        fits = extra >= 0 and np.broadcast_shapes(tuple(shape), a.shape) == a.shape
    except ValueError:
        fits = False
    if not fits:
        raise ArgumentError(f"collapse_sum_like: {tuple(shape)} does not broadcast to {a.shape}")
    repeated = [i for i in range(a.ndim) if i < extra or (shape[i - extra] == 1 != a.shape[i])]
    return a.sum(axis=tuple(repeated)).reshape(shape)


# --- matrices ------------------------------------------------------------------------------------
def _batch(make, shape):
    """`make` of the last extent for each index of the axes before the last two."""
    out = np.empty(shape)
    for place in np.ndindex(*shape[:-2]):
        out[place] = make(shape[-1])
    return out


@guarded
def new_orthonormal_matrix_2d(n: int) -> NumpyArray:
    """A random matrix with orthonormal rows."""
    return np.linalg.qr(np.random.normal(size=(n, n)))[0]


@guarded
def new_matrix_with_real_eigvals_2d(n: int) -> NumpyArray:
    """A random matrix with real eigenvalues, most likely not symmetric."""
    basis = new_orthonormal_matrix_2d(n) @ np.triu(np.random.uniform(0.5, 1.0, (n, n)))
    return basis @ np.diag(np.random.uniform(-1.0, 1.0, n) * n) @ np.linalg.inv(basis)


@guarded
def new_sym_matrix_with_real_eigvals_2d(n: int) -> NumpyArray:
    """A random symmetric matrix."""
    basis = new_orthonormal_matrix_2d(n)
    found = basis @ np.diag(np.random.uniform(-1.0, 1.0, n) * n) @ basis.T
    return (found + found.T) / 2


@guarded
def new_matrix_with_real_eigvals_nd(shape: Shape) -> NumpyArray:
    """Matrices of `new_matrix_with_real_eigvals_2d` in the last two axes, which are equal."""
    return _batch(new_matrix_with_real_eigvals_2d, shape)


@guarded
def new_sym_matrix_with_real_eigvals_nd(shape: Shape) -> NumpyArray:
    """Matrices of `new_sym_matrix_with_real_eigvals_2d` in the last two axes, which are equal."""
    return _batch(new_sym_matrix_with_real_eigvals_2d, shape)
