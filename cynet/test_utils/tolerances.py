"""Tolerances by dtype, and further comparison functions of MXNet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.dtype import BFLOAT16
from .compare import ATOL, RTOL, assert_almost_equal, get_tols, same, to_numpy

if TYPE_CHECKING:
    from ..typing import ArrayLike, NDArray, NumpyArray, Symbol

__all__ = ["assert_allclose", "assert_almost_equal_ignore_nan", "assert_almost_equal_with_err"]
__all__ += ["checkShapes", "compare_ndarray_tuple", "default_atols", "default_numeric_eps"]
__all__ += ["default_rtols", "effective_dtype", "get_etol", "get_tolerance", "locationError"]
__all__ += ["same_array", "same_symbol_structure"]

_DTYPES = (  # dtypes that have tolerances
    "float16",
    "float32",
    "float64",
    "bool",
    "int8",
    "uint8",
    "int32",
    "uint32",
    "int64",
    "uint64",
)


def default_rtols() -> dict[Any, float]:
    """Return the relative tolerance of each dtype.

    Returns
    -------
    dict of numpy.dtype to float

    Examples
    --------
    >>> mx.test_utils.default_rtols()[np.dtype("float64")]
    1e-05
    """
    return {np.dtype(name): RTOL.get(name, 0) for name in _DTYPES} | {BFLOAT16: RTOL["bfloat16"]}


def default_atols() -> dict[Any, float]:
    """Return the absolute tolerance of each dtype.

    Returns
    -------
    dict of numpy.dtype to float

    Examples
    --------
    >>> mx.test_utils.default_atols()[np.dtype("float32")]
    0.001
    """
    return {np.dtype(name): ATOL.get(name, 0) for name in _DTYPES} | {BFLOAT16: ATOL["bfloat16"]}


def default_numeric_eps() -> dict[Any, float]:
    """Return the step of numeric gradients for each floating dtype.

    Returns
    -------
    dict of numpy.dtype to float

    Examples
    --------
    >>> mx.test_utils.default_numeric_eps()[np.dtype("float16")]
    0.015625
    """
    return {
        np.dtype(np.float16): 1.0 / 2**6,
        np.dtype(np.float32): 1.0 / 2**9,
        np.dtype(np.float64): 1.0 / 2**14,
    }


def effective_dtype(dat: ArrayLike) -> Any:
    """Return the dtype that determines an array's tolerance: its own.

    Parameters
    ----------
    dat : array_like
        Array whose dtype decides.

    Returns
    -------
    numpy.dtype

    Examples
    --------
    >>> mx.test_utils.effective_dtype(mx.nd.ones((2,), dtype="float16"))
    dtype('float16')
    """
    return np.dtype(getattr(dat, "dtype", None) or np.asarray(dat).dtype)


def get_tolerance(dat: ArrayLike, tol: Any, default_tol: dict[Any, float]) -> float:
    """Choose a tolerance for an array's dtype, from `tol` or the defaults; 0 if neither has it.

    Parameters
    ----------
    dat : array_like
        Array whose dtype decides.
    tol : float, dict or None
        A tolerance, or tolerances of some dtypes.
    default_tol : dict
        Tolerances of dtypes that `tol` does not have.

    Examples
    --------
    >>> defaults = mx.test_utils.default_rtols()
    >>> half = np.ones(2, "float16")
    >>> mx.test_utils.get_tolerance(half, None, defaults)
    0.01
    >>> mx.test_utils.get_tolerance(half, {np.float16: 0.05}, defaults)
    0.05
    """
    if isinstance(tol, (int, float)):
        return tol
    dtype = effective_dtype(dat)
    known = {np.dtype(key): value for key, value in {**default_tol, **(tol or {})}.items()}
    return known.get(dtype, 0)


def get_etol(etol: float | None = None) -> float:
    """Return the share of entries that may differ: `etol`, or 0.

    Parameters
    ----------
    etol : float, optional
        The share; 0 by default.

    Examples
    --------
    >>> mx.test_utils.get_etol(), mx.test_utils.get_etol(0.1)
    (0, 0.1)
    """
    return 0 if etol is None else etol


def assert_allclose(
    a: ArrayLike, b: ArrayLike, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True
) -> None:
    """Compare two arrays with the defaults of ``numpy.testing.assert_allclose``.

    Parameters
    ----------
    a, b : NDArray or array_like
        What was found, what was expected.
    rtol, atol : float
        Entries may differ by ``atol + rtol * abs(b)``.

    Raises
    ------
    AssertionError
        If an entry differs by more (see `assert_almost_equal`).

    Examples
    --------
    >>> mx.test_utils.assert_allclose(mx.nd.array([1, np.nan]), [1, np.nan])
    """
    assert_almost_equal(a, b, rtol, atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | None = None,
    atol: float | None = None,
    etol: float | None = None,
    names: tuple[str, str] = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Compare two arrays; a share of the entries may differ.

    Parameters
    ----------
    a, b : NDArray or array_like
        Arrays of one shape: what was found, what was expected.
    rtol, atol : float, optional
        Entries may differ by ``atol + rtol * abs(b)``; by default as the dtype allows.
    etol : float, optional
        Share of the entries that may differ by more, from 0 to 1; 0 by default.

    Raises
    ------
    AssertionError
        If more entries differ (see `assert_almost_equal`).

    Examples
    --------
    >>> a, b = np.zeros(10), np.eye(1, 10)[0]
    >>> mx.test_utils.assert_almost_equal_with_err(a, b, etol=0.1)
    """
    a, b = to_numpy(a), to_numpy(b)
    rtol, atol = get_tols(a, b, rtol, atol)
    wrong = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if wrong.sum() > get_etol(etol) * wrong.size:
        assert_almost_equal(a, b, rtol, atol, names, equal_nan, mismatches=mismatches)


def assert_almost_equal_ignore_nan(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | None = None,
    atol: float | None = None,
    names: tuple[str, str] = ("a", "b"),
) -> None:
    """Compare two arrays, except entries that are nan in either.

    Parameters
    ----------
    a, b : NDArray or array_like
        Arrays of one shape: what was found, what was expected.
    rtol, atol : float, optional
        Entries may differ by ``atol + rtol * abs(b)``; by default as the dtype allows.

    Raises
    ------
    AssertionError
        If one of them differs (see `assert_almost_equal`).

    Examples
    --------
    >>> mx.test_utils.assert_almost_equal_ignore_nan([1, np.nan, 3], [1, 2, np.nan])
    """
    a, b = np.array(to_numpy(a)), np.array(to_numpy(b))
    nans = np.isnan(a) | np.isnan(b)
    a[nans] = b[nans] = 0
    assert_almost_equal(a, b, rtol, atol, names)


def checkShapes(a: ArrayLike, b: ArrayLike) -> None:
    """Check that two arrays have the same shape.

    Parameters
    ----------
    a, b : NDArray or numpy.ndarray
        The arrays.

    Raises
    ------
    AssertionError
        If they have two.

    Examples
    --------
    >>> mx.test_utils.checkShapes(mx.nd.ones((2, 3)), np.ones((3, 2)))
    Traceback (most recent call last):
        ...
    AssertionError: a has shape (2, 3), b has shape (3, 2)
    """
    if a.shape != b.shape:
        raise AssertionError(f"a has shape {a.shape}, b has shape {b.shape}")


def locationError(
    a: NumpyArray, b: NumpyArray, index: Any, names: tuple[str, str], maxError: bool = False
) -> str:
    """Return a line with the index of a difference between two arrays, and their entries there.

    Parameters
    ----------
    a, b : numpy.ndarray
        The arrays.
    index : tuple of int
        Index of the place.
    names : pair of str
        Names of `a` and `b` in the line.
    maxError : bool
        Whether it is the place where they differ most.

    Examples
    --------
    >>> mx.test_utils.locationError(np.ones(2), np.zeros(2), (1,), ("a", "b"))
    'location of the error: (1,), a=1.00000000, b=0.00000000'
    """
    what = "maximum error" if maxError else "error"
    a, b = a[index], b[index]
    return f"location of the {what}: {index}, {names[0]}={a:.8f}, {names[1]}={b:.8f}"


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Return whether two NDArrays share their memory: a change of the first shows in the second.

    Parameters
    ----------
    array1, array2 : NDArray
        The arrays; the first is changed and changed back.

    Examples
    --------
    >>> x = mx.nd.ones((4,))
    >>> mx.test_utils.same_array(x, x.reshape((4,))), mx.test_utils.same_array(x, x.copy())
    (True, False)
    """
    if array1.shape != array2.shape or not same(array1, array2):
        return False
    array1[:] += 1
    shared = same(array1, array2)
    array1[:] -= 1
    return shared


def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """Return whether two symbols have the same operators, node by node.

    Parameters
    ----------
    sym1, sym2 : Symbol
        The symbols.

    Returns
    -------
    bool
        Names and parameters may differ.

    Examples
    --------
    >>> a, b = mx.sym.var("a"), mx.sym.var("b")
    >>> mx.test_utils.same_symbol_structure(a + b, b + a)
    True
    >>> mx.test_utils.same_symbol_structure(a + b, a * b)
    False
    """
    nodes = [[node["op"] for node in json.loads(sym.tojson())["nodes"]] for sym in (sym1, sym2)]
    return nodes[0] == nodes[1]


def compare_ndarray_tuple(
    t1: Any, t2: Any, rtol: float | None = None, atol: float | None = None
) -> None:
    """Compare arrays in nested tuples, such as optimizer states.

    Parameters
    ----------
    t1, t2 : NDArray, tuple or None
        The two states; None stands for nothing to compare.

    Raises
    ------
    AssertionError
        If two arrays differ (see `assert_almost_equal`).

    Examples
    --------
    >>> states = mx.nd.ones((2,)), (None, mx.nd.zeros((2,)))
    >>> mx.test_utils.compare_ndarray_tuple(states, (mx.nd.ones((2,)), (None, mx.nd.zeros((2,)))))
    """
    if t1 is None or t2 is None:
        return
    if isinstance(t1, tuple):
        for each, other in zip(t1, t2):
            compare_ndarray_tuple(each, other, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol, atol)
