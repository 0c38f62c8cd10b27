"""Every function and ufunc of NumPy with arrays of mx.np: results of our class, values of NumPy."""

import numpy as np
import pytest

import cynet as mx
from tests.numpy.test_every_function import TABLE, compare, given, names_in, table
from tests.numpy.test_linalg import CALLS as LINALG


def dispatched(module):
    return {name for name in dir(module) if hasattr(getattr(module, name), "_implementation")}


UFUNCS = sorted(name for name in dir(np) if isinstance(getattr(np, name), np.ufunc))
FUNCTIONS = {
    *(dispatched(np) - set(UFUNCS)),
    *(f"linalg.{name}" for name in dispatched(np.linalg)),
    *(f"fft.{name}" for name in dispatched(np.fft)),
}
X = np.array([[1.5, -2.0, 3.0], [4.0, 5.0, -6.0]], "float32")
S = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]], "float32")
ROWS = {  # of what mx.np has under no such name
    "angle": [(X,)],
    "array_str": [(X,)],
    "array2string": [(X,)],
    "astype": [(X, "int32")],
    "common_type": [(X,)],
    "cumulative_sum": [(X[0],)],
    "einsum_path": [("ij,ij->i", X, X)],
    "geomspace": [(X[0, :1], X[1, :1], 4)],
    "imag": [(X,)],
    "iscomplex": [(X,)],
    "isreal": [(X,)],
    "linalg.matrix_norm": [(S,), (X,)],
    "linalg.vector_norm": [(S,), (X,)],
    "lexsort": [((X[0], X[1]),)],
    "polyder": [(X[0],)],
    "real_if_close": [(X,)],
    "array_repr": [],
    "linalg.eig": [(S,)],
    "linalg.eigh": [(S,)],
    "linalg.eigvals": [(S,)],
    "linalg.svd": [(S,)],
    "fft.fftshift": [(X,)],
    "fft.ifftshift": [(X,)],
    "fft.irfft": [(X[0],)],
    "fft.irfft2": [(X,)],
    "fft.irfftn": [(X,)],
    "fft.hfft": [(X[0],)],
}
COMPLEX = "its result is complex, which no array of ours is: a NumPy array comes back"
ASIDE = {
    **dict.fromkeys(
        [f"fft.{name}" for name in ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "rfft")],
        COMPLEX,
    ),
    **dict.fromkeys([f"fft.{name}" for name in ("rfft2", "rfftn", "ihfft")], COMPLEX),
    "sort_complex": COMPLEX,
    **dict.fromkeys(
        ("busday_count", "busday_offset", "datetime_as_string", "is_busday"), "takes dates"
    ),
    **dict.fromkeys(("save", "savetxt", "savez", "savez_compressed"), "writes a file"),
    **dict.fromkeys(
        ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"),
        "writes its first operand: test_what_numpy_writes",
    ),
    "may_share_memory": "asks about memory",
    "shares_memory": "asks about memory",
    "empty_like": "its elements are any",
    "in1d": "went with NumPy 2.4",
    "trapz": "went with NumPy 2.4",
    "linalg.tensordot": "is numpy.tensordot",
}


def rows_of(name):
    if name in ROWS:
        return [(args, {}) for args in ROWS[name]]
    if name.startswith("linalg."):
        return [(args, {}) for own, *args in LINALG if own == name[7:]]
    rows = [row for row in table()[name] if [*names_in(row[0])]]
    return rows[:: max(1, len(rows) // 8)]


WALKED = sorted(FUNCTIONS - {*ASIDE})


def test_every_function_of_numpy_is_walked_or_listed():
    own = {name for name in WALKED if "." not in name}
    assert own <= {*TABLE, *ROWS}
    assert not [name for name in WALKED if "." in name and not rows_of(name)]
    assert len(WALKED) >= 200 and len(UFUNCS) >= 100


def ours(value):
    return type(value)(map(ours, value)) if isinstance(value, tuple) else given(value)


def same_classes(found, expected):
    if isinstance(expected, (list, tuple)):
        for pair in zip(found, expected, strict=True):
            same_classes(*pair)
    elif isinstance(expected, (np.ndarray, np.floating)):
        assert type(found) is mx.np.ndarray
    elif isinstance(expected, np.integer):  # the rank that lstsq gives is an int
        assert type(found) in (mx.np.ndarray, int)


LOOSE = ("linalg.", "corrcoef", "cov", "roots")


@pytest.mark.parametrize("name", WALKED)
@pytest.mark.filterwarnings("ignore")
def test_a_function_of_numpy(name):
    function = np
    for word in name.split("."):
        function = getattr(function, word)
    for args, kwargs in rows_of(name):
        expected = function(*args, **kwargs)
        found = function(*map(ours, args), **{k: ours(v) for k, v in kwargs.items()})
        same_classes(found, expected)
        if name in ("linalg.eig", "linalg.eigh", "linalg.svd"):  # signs of vectors are open
            found, expected = ([abs(np.asarray(e)) for e in each] for each in (found, expected))
            found, expected = (sorted(map(np.linalg.norm, each)) for each in (found, expected))
            np.testing.assert_allclose(found, expected, 1e-4)
        elif name.startswith(LOOSE):
            found = found if isinstance(found, (list, tuple)) else [found]
            expected = expected if isinstance(expected, (list, tuple)) else [expected]
            for pair in zip(found, expected, strict=True):
                np.testing.assert_allclose(*map(np.asarray, pair), 2e-3, 2e-4)
        else:
            compare(found, expected, tuple(names_in(args)))


def test_what_numpy_writes():
    for act in (
        lambda a: np.copyto(a, 3.0),
        lambda a: np.copyto(a, 7.0, where=np.array([[True, False, True]])),
        lambda a: np.fill_diagonal(a, 5.0),
        lambda a: np.place(a, np.asarray(a) > 2, [9.0]),
        lambda a: np.put(a, [0, 4], [8.0, 9.0]),
        lambda a: np.put_along_axis(a, np.array([[1], [0]]), 6.0, 1),
        lambda a: np.putmask(a, np.asarray(a) < 0, 0.5),
    ):
        host, own = X.copy(), mx.np.array(X)
        act(host)
        act(own)
        assert own.asnumpy().tolist() == host.tolist()


# --- ufuncs ---------------------------------------------------------------------------------------
VALUES = {
    "float32": np.array([[1.5, 2, 3], [4, 5, 6]], "float32"),
    "int32": np.array([[1, 2, 3], [4, 5, 6]], "int32"),
    "bool": np.array([[True, False, True], [False, True, True]]),
}
MASK = np.array([[True, False, True]])
KEPT = {("reciprocal", "int32"), ("reciprocal", "bool"), ("square", "bool")}  # see differences.md
REDUCED = (
    {},
    {"axis": 1},
    {"axis": None},
    {"axis": (0, 1)},
    {"axis": 1, "keepdims": True},
    {"initial": 2, "axis": 1},
    {"where": MASK, "initial": 1},
)


def written(function, z, where):
    """`out` of the result's dtype, and of float64, under a mask or none."""
    first = function(*[z] * function.nin)
    if isinstance(first, tuple):
        return first
    out = first * 0
    more = {} if where is None else {"where": where}
    assert function(*[z] * function.nin, out=out, **more) is out
    return out


def added(function, z):
    z = z.copy()
    function.at(z, [0, 1, 0], 2)
    return z


def calls_of(function, host):
    yield lambda f, z: f(*[z] * f.nin)
    yield lambda f, z: written(f, z, None)
    yield lambda f, z: written(f, z, MASK)
    if function.nin != 2:
        return
    yield lambda f, z: f(host, z)
    yield lambda f, z: f(z, host)
    yield lambda f, z: f(z, 2)
    yield lambda f, z: f(2, z)
    yield lambda f, z: f.outer(z[0], z[1])
    yield lambda f, z: f.outer(host[0], z[1])
    if function.nout == 1:
        for more in REDUCED:
            yield lambda f, z, more=more: f.reduce(z, **more)
        yield lambda f, z: f.accumulate(z)
        yield lambda f, z: f.accumulate(z, axis=1)
        yield lambda f, z: f.reduceat(z, [0, 1], axis=1)
        yield added


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.filterwarnings("ignore")
def test_a_ufunc_and_its_methods(name):
    function, tried = getattr(np, name), 0
    for dtype, host in VALUES.items():
        if (name, dtype) in KEPT:
            continue
        for run in calls_of(function, host):
            try:
                expected = run(function, host)
            except (TypeError, ValueError, RuntimeError):  # NumPy has none of it
                continue
            found = run(function, mx.np.array(host, dtype=dtype))
            same_classes(found, expected)
            compare(found, expected, (dtype,))
            tried += 1
    assert tried or name in ("isnat", "matmul", "matvec", "vecmat")


@pytest.mark.parametrize("wanted", ["int64", "float64", "int32", "bool"])
@pytest.mark.parametrize("name", ["add", "exp", "equal", "isnan", "multiply", "maximum", "sqrt"])
def test_out_may_be_of_a_wider_dtype(name, wanted):
    function, own = getattr(np, name), getattr(mx.np, name)
    for dtype, host in VALUES.items():
        if dtype == "bool" and function.nin == 1:
            continue
        out, found = np.zeros((2, 3), wanted), mx.np.zeros((2, 3), dtype=wanted)
        arrays = [mx.np.array(host, dtype=dtype)] * function.nin
        try:
            function(*[host] * function.nin, out=out)
        except TypeError:
            with pytest.raises(TypeError, match="does not hold"):
                own(*arrays, out=found)
            continue
        assert own(*arrays, out=found) is found
        np.testing.assert_allclose(found.asnumpy().astype("float64"), out, 1e-6)
