"""Tolerances by dtype, and comparisons under MXNet's further names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.dtype import BFLOAT16
from ..base.guard import guarded
from .compare import ATOL, RTOL, assert_almost_equal, get_tols, same, to_numpy

if TYPE_CHECKING:
    from ..typing import ArrayLike, NDArray, NumpyArray, Symbol

_DTYPES = (
    "float16", "float32", "float64", "bool", "int8", "uint8", "int32", "uint32", "int64", "uint64",
)  # fmt: skip


def default_rtols() -> dict[Any, float]:
    """Relative tolerance of each dtype."""
    return {np.dtype(name): RTOL.get(name, 0) for name in _DTYPES} | {BFLOAT16: RTOL["bfloat16"]}


def default_atols() -> dict[Any, float]:
    """Absolute tolerance of each dtype."""
    return {np.dtype(name): ATOL.get(name, 0) for name in _DTYPES} | {BFLOAT16: ATOL["bfloat16"]}


def default_numeric_eps() -> dict[Any, float]:
    """The step of numeric gradients in each floating dtype."""
    return {
        np.dtype(np.float16): 1.0 / 2**6,
        np.dtype(np.float32): 1.0 / 2**9,
        np.dtype(np.float64): 1.0 / 2**14,
    }


@guarded
def effective_dtype(dat: ArrayLike) -> Any:
    """The dtype that decides on an array's tolerance: its own."""
    return np.dtype(getattr(dat, "dtype", None) or np.asarray(dat).dtype)


@guarded
def get_tolerance(dat: ArrayLike, tol: Any, default_tol: dict[Any, float]) -> float:
    """`tol` where it is a number, else that of the array's dtype in the dict `tol`, or
    `default_tol`."""
    if isinstance(tol, (int, float)):
        return tol
    dtype = effective_dtype(dat)
    known = {np.dtype(key): value for key, value in {**default_tol, **(tol or {})}.items()}
    return known.get(dtype, 0)


def get_etol(etol: float | None = None) -> float:
    """`etol`, the share of entries that may differ; 0 by default."""
    return 0 if etol is None else etol


@guarded
def assert_allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float = 1e-07,
    atol: float = 0,
    equal_nan: bool = True,
) -> None:
    """``assert_almost_equal`` with the defaults of ``numpy.testing.assert_allclose``."""
    assert_almost_equal(a, b, rtol, atol, equal_nan=equal_nan)


@guarded
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
    """``assert_almost_equal``, but a share `etol` of the entries may differ."""
    a, b = to_numpy(a), to_numpy(b)
    rtol, atol = get_tols(a, b, rtol, atol)
    wrong = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if wrong.sum() > get_etol(etol) * wrong.size:
        assert_almost_equal(a, b, rtol, atol, names, equal_nan, mismatches=mismatches)


@guarded
def assert_almost_equal_ignore_nan(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | None = None,
    atol: float | None = None,
    names: tuple[str, str] = ("a", "b"),
) -> None:
    """``assert_almost_equal`` of the entries that are nan in neither array."""
    a, b = np.array(to_numpy(a)), np.array(to_numpy(b))
    nans = np.isnan(a) | np.isnan(b)
    a[nans] = b[nans] = 0
    assert_almost_equal(a, b, rtol, atol, names)


@guarded
def checkShapes(a: ArrayLike, b: ArrayLike) -> None:
    """Raise AssertionError unless two arrays have one shape."""
    if a.shape != b.shape:
        raise AssertionError(f"a has shape {a.shape}, b has shape {b.shape}")


@guarded
def locationError(
    a: NumpyArray, b: NumpyArray, index: Any, names: tuple[str, str], maxError: bool = False
) -> str:
    """A line that says where two arrays differ, and their entries there.

    >>> locationError(np.ones(2), np.zeros(2), (1,), ("a", "b"))
    'location of the error: (1,), a=1.00000000, b=0.00000000'
    """
    what = "maximum error" if maxError else "error"
    a, b = a[index], b[index]
    return f"location of the {what}: {index}, {names[0]}={a:.8f}, {names[1]}={b:.8f}"


@guarded
def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Whether two NDArrays share their memory: a change of the first shows in the second."""
    if array1.shape != array2.shape or not same(array1, array2):
        return False
    array1[:] += 1
    shared = same(array1, array2)
    array1[:] -= 1
    return shared


@guarded
def same_symbol_structure(sym1: Symbol, sym2: Symbol) -> bool:
    """Whether two symbols have the same operators, node by node."""
    nodes = [[node["op"] for node in json.loads(sym.tojson())["nodes"]] for sym in (sym1, sym2)]
    return nodes[0] == nodes[1]


@guarded
def compare_ndarray_tuple(
    t1: Any, t2: Any, rtol: float | None = None, atol: float | None = None
) -> None:
    """``assert_almost_equal`` of arrays in nested tuples; None stands for nothing to compare."""
    if t1 is None or t2 is None:
        return
    if isinstance(t1, tuple):
        for each, other in zip(t1, t2):
            compare_ndarray_tuple(each, other, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol, atol)
