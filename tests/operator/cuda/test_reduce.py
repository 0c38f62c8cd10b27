"""Orders and searches on long lines: several chunks, NaN, equal values."""

import numpy as np
import pytest

from cynet.operator import get_operator
from tests.operator.cuda.running import both, same
from tests.pairs import pairwise


@pytest.mark.parametrize(
    "shape, axis", [((3, 5000), 1), ((4100, 2), 0), ((2, 1024), 1), ((7, 1), 1), ((1, 1025), 1)]
)
@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_sort(shape, axis, ascending, dtype, rng):
    x = rng.integers(-500, 500, shape).astype(dtype)  # many are equal
    if dtype == "float32":
        x[rng.random(shape) < 0.05] = np.nan
    head = rng.standard_normal(shape).astype(dtype)
    for op in ("sort", "argsort"):
        heads = [head] if op == "sort" else None
        found, wanted = both(op, x, heads=heads, axis=axis, is_ascend=ascending)
        for a, b in zip(found, wanted):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("k", [1, 10, 3000])
def test_topk(k, rng):
    x = rng.standard_normal((3, 3000)).astype("f")
    heads = [rng.standard_normal((3, k)).astype("f"), None]
    found, wanted = both("topk", x, heads=heads, k=k, ret_typ="both", dtype="int32")
    for a, b in zip(found, wanted):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n", [1, 31, 513, 2000])
@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_extreme(op, n, rng):
    x = rng.integers(-50, 50, (6, n)).astype("f")
    x[1, n // 2 :] = np.nan
    found, wanted = both(op, x, axis=1)
    np.testing.assert_array_equal(found[0], wanted[0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("shape, axis", [((4, 1500), 1), ((1500, 3), 0), ((5000,), None)])
def test_running_sum(shape, axis, dtype, rng):
    x = rng.integers(-9, 9, shape).astype(dtype)
    head = rng.integers(-9, 9, shape if axis is not None else (x.size,)).astype(dtype)
    found, wanted = both("cumsum", x, heads=[head], **({} if axis is None else {"axis": axis}))
    for a, b in zip(found, wanted):
        same(a, b, "running sum")


REDUCED = [  # shape, axis
    ((40_000,), None),  # in parts, a block each
    ((3, 9000), 1),
    ((5000, 70), 0),  # in parts, a thread each
    ((6, 70), 0),
    ((50, 3, 4), 1),  # little is reduced
    ((7, 200, 5, 3), (1, 3)),
    ((1, 1), None),
]
OPS = ["sum", "mean", "prod", "nansum", "nanprod", "max", "min", "norm"]
DTYPES = ["float32", "float64", "float16", "int32", "uint8", "int64"]


@pytest.mark.parametrize("op, dtype, over", pairwise(OPS, DTYPES, REDUCED), ids=str)
def test_reduction(op, dtype, over, rng):
    shape, axis = over
    x = rng.integers(1, 4, shape).astype(dtype)
    if op in ("prod", "nanprod"):
        x = (rng.random(shape) < 0.001).astype(dtype) + np.ones((), dtype)
    if op.startswith("nan") and x.dtype.kind == "f":
        x[rng.random(shape) < 0.1] = np.nan
    if op in ("sum", "norm", "nansum") and dtype == "float16":
        x /= 64  # no sum beyond what float16 holds
    if op == "norm" and x.dtype.kind != "f":
        x, dtype = x.astype("float32"), "float32"  # norm is of floats
    params = {} if axis is None else {"axis": axis}
    prop = get_operator(op).prop(**params)
    _, (out,), _ = prop.infer_shape([shape], [None])
    head = rng.integers(1, 3, out).astype(dtype)
    with np.errstate(all="ignore"):
        found, wanted = both(op, x, heads=[head], **params)
    for a, b in zip(found, wanted):
        same(a, b, op)
