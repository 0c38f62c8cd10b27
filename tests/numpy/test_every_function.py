"""Every public function of mx.np beside NumPy's: a table of what each is called with."""

import inspect
import itertools

import numpy as np
import pytest

import cynet as mx

DTYPES = ("bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64")
FLOATS, WHOLE = DTYPES[5:], DTYPES[1:5]
SHAPES = ((), (0, 2), (3,), (2, 3, 4))
PAIRS = (((2, 3), (2, 3)), ((2, 1), (3,)), ((), (4,)), ((0, 3), (3,)), ((), ()))


def numbers(shape, dtype, low=0, high=5):
    """Numbers in a fixed order, of which a few are equal."""
    size = int(np.prod(shape))
    spread = (np.arange(size) * 7 % 23) / 23
    return np.asarray(low + spread * (high - low)).reshape(shape).astype(dtype)


# --- what is called: rows (args, kwargs) ----------------------------------------------------------
def one(low=0, high=5, dtypes=DTYPES, shapes=SHAPES):
    for dtype, shape in itertools.product(dtypes, shapes):
        yield (numbers(shape, dtype, low, high),), {}


def two(low=1, high=5, dtypes=DTYPES[1:], mixed=True):
    for left, right in itertools.product(dtypes, dtypes):
        if mixed or left == right:
            for a, b in PAIRS:
                yield (numbers(a, left, low, high), numbers(b, right, low, high)), {}
    for dtype in dtypes:
        yield (numbers((2, 3), dtype, low, high), 2), {}
        yield (2, numbers((2, 3), dtype, low, high)), {}


def reduced(dtypes=DTYPES, shapes=SHAPES, keep=True, axes=True, several=True, empty=True):
    for dtype, shape in itertools.product(dtypes, shapes):
        x = numbers(shape, dtype, 0, 3)
        for axis in (None, *range(-len(shape), len(shape)), *([(0, -1)] if several else [])):
            if isinstance(axis, tuple) and len(shape) < 2:
                continue
            over = shape if axis is None else [shape[i] for i in np.atleast_1d(axis)]
            if 0 in over and not empty:
                continue
            for keepdims in (False, True) if keep else (None,):
                more = {} if keepdims is None else {"keepdims": keepdims}
                yield (x,), {"axis": axis, **more}


def each_dtype(*calls, dtypes=DTYPES):
    """The rows with their float32 arrays in each dtype."""
    found = []
    for dtype, call in itertools.product(dtypes, calls):
        *args, kwargs = call if isinstance(call[-1], dict) else (*call, {})
        found.append((tuple(_cast(a, dtype) for a in args), kwargs))
    return found


def _cast(value, dtype):
    if isinstance(value, np.ndarray) and value.dtype == np.float32:
        return value.astype(dtype)
    return [_cast(e, dtype) for e in value] if isinstance(value, list) else value


def same(names, value):
    return dict.fromkeys(names.split(), value)


def rows(*calls):
    return each_dtype(*calls, dtypes=("float32",))


X = numbers((2, 3, 4), "float32", 0, 9)
V = numbers((5,), "float32", 0, 9)
S = numbers((3, 3), "float32", 1, 4) + 4 * np.eye(3, dtype="float32")
PLACES = np.array([0, 2, 1, 1])
B = np.array([True, False, True, True, False])
P = np.array([1.0, -3, 2], "float32")
N = np.array([1, np.nan, 3, -np.inf], "float32")

UNARY = {
    **same(
        "abs absolute fabs negative square sin cos arctan atan arcsinh asinh tanh degrees "
        "radians deg2rad rad2deg isnan isfinite isinf positive real",
        (-5, 5, DTYPES[1:]),
    ),
    **same("exp expm1 sinh cosh sqrt cbrt log1p i0", (0, 3, DTYPES[1:])),
    **same("log log2 log10", (1, 9, DTYPES[1:])),
    "reciprocal": (1, 9, FLOATS),
    **same("arcsin asin arccos acos", (-1, 1, DTYPES[1:])),
    **same("arccosh acosh", (1, 9, DTYPES[1:])),
    **same("arctanh atanh tan", (-0.9, 0.9, FLOATS)),
    **same("floor ceil trunc fix rint sign isposinf isneginf", (-5, 5, FLOATS)),
    **same("sinc spacing", (-3, 3, FLOATS)),
    "signbit": (-5, 5, FLOATS),
    "logical_not": (-1, 1, DTYPES),
    "isrealobj": (0, 5, DTYPES),
    "iscomplexobj": (0, 5, DTYPES),
    "nan_to_num": (0, 5, DTYPES),
    **same("bitwise_not bitwise_invert invert", (0, 5, DTYPES[:5])),
}
BINARY = {
    **same(
        "add subtract multiply divide true_divide maximum minimum fmax fmin hypot "
        "equal not_equal greater greater_equal less less_equal logical_and logical_or "
        "logical_xor copysign logaddexp arctan2 atan2 heaviside",
        (1, 5, DTYPES[1:], True),
    ),
    **same("power pow float_power", (1, 3, ("int32", "int64", *FLOATS), True)),
    **same("mod remainder fmod floor_divide", (1, 9, WHOLE, True)),
    **same("bitwise_and bitwise_or bitwise_xor gcd lcm", (1, 9, WHOLE, True)),
    **same("left_shift right_shift bitwise_left_shift bitwise_right_shift", (0, 4, WHOLE, True)),
    "nextafter": (1, 5, ("float32", "float64"), False),
}
REDUCED = {
    **same("sum prod any all product sometrue alltrue", {}),
    **same("max min amax amin", {"empty": False}),
    **same("mean std var", {"empty": False}),
    "median": {"empty": False, "dtypes": DTYPES[1:]},
    "ptp": {"empty": False, "dtypes": DTYPES[1:]},
    "count_nonzero": {},
    "argmax": {"several": False, "empty": False},
    "argmin": {"several": False, "empty": False},
    "cumsum": {"several": False, "keep": False},
    "nansum": {"dtypes": FLOATS},
    "nanprod": {"dtypes": FLOATS},
    **same("nanmax nanmin nanmean nanstd nanvar nanmedian", {"empty": False, "dtypes": FLOATS}),
    "nanargmax": {"several": False, "empty": False, "dtypes": FLOATS},
    "nanargmin": {"several": False, "empty": False, "dtypes": FLOATS},
    "nancumsum": {"several": False, "keep": False, "dtypes": FLOATS},
    "nancumprod": {"several": False, "keep": False, "dtypes": FLOATS},
    "cumprod": {"several": False, "keep": False, "dtypes": FLOATS},
}
CALLS = {
    "apply_along_axis": rows((np.sort, 1, X)),
    "apply_over_axes": rows((np.sum, X, (0, 1))),
    "arange": rows((5, {"dtype": "int64"}), (1, 7, 2, {"dtype": "float32"}), (3, -1, -1.5)),
    "argpartition": rows((V, 2)),
    "partition": rows((V, 2)),
    "argsort": each_dtype((V,), (X[0, 0], 0), dtypes=DTYPES[3:]),
    "sort": each_dtype((X,), (X, 0), (X, None), (V,), (np.float32(3), None)),
    "msort": each_dtype((X,)),
    "argwhere": each_dtype((X,), (V,)),
    "nonzero": each_dtype((X,), (V,)),
    "flatnonzero": each_dtype((X,)),
    **{
        n: each_dtype((X, 1), (X / 8, 2), (X * 100, -1), dtypes=FLOATS)
        for n in ("around", "round", "round_")
    },
    **{
        n: each_dtype((X, {"dtype": None}), (V, {"dtype": "float64"}))
        for n in ("array", "asarray", "asanyarray")
    },
    "ascontiguousarray": each_dtype((X,)),
    "copy": each_dtype((X,)),
    "array_equal": each_dtype((X, X), (X, X + 1), (X, V)),
    "array_equiv": each_dtype((X, X), (X, X[0]), (X, V)),
    "array_repr": rows((V,)),
    **{n: each_dtype((X, 3, 1), (X, [1, 2], 2)) for n in ("array_split", "split")},
    "hsplit": each_dtype((X, 3), (V, 5)),
    "vsplit": each_dtype((X, 2)),
    "dsplit": each_dtype((X, 2)),
    **{
        n: each_dtype((X,), (V,), (np.float32(3),))
        for n in ("atleast_1d", "atleast_2d", "atleast_3d")
    },
    "average": each_dtype((X,), (X, 1), (X, 2, X[0, 0] + 1), dtypes=FLOATS),
    **{n: rows((1,), (7,)) for n in ("bartlett", "blackman", "hamming", "hanning")},
    "bincount": rows(
        (PLACES,), (PLACES, PLACES.astype("float32")), (PLACES, None, 9), (PLACES[:0],)
    ),
    "block": rows(([[S, S], [S, S]],)),
    "broadcast_arrays": each_dtype((X, X[0, 0])),
    "broadcast_to": each_dtype((X[0], (2, 3, 4)), (np.float32(2), (2, 2)), (V[:0], (3, 0))),
    "can_cast": rows(("int8", "int32"), ("float32", "int8")),
    "promote_types": rows(("int8", "int32"), ("float32", "float64"), ("bool", "uint8")),
    "min_scalar_type": rows((5,), (300,), (-1,)),
    "broadcast_shapes": rows(((2, 1), (3,)), ((), (0,))),
    "set_printoptions": [],
    "result_type": rows((V, V.astype("float64")), ("int8", "int64")),
    "choose": rows((PLACES, [V[:4], V[:4] * 2, V[:4] + 1])),
    "clip": each_dtype((X, 2, 5), (X, X[0] / 2, 7)),
    "column_stack": each_dtype(([V, V],), ([S, S],)),
    "compress": rows((B, V)),
    "extract": rows((B, V)),
    **{
        n: each_dtype(([X, X], 1), ([X, X], None), ([X, X[:, :0]], 1))
        for n in ("concat", "concatenate")
    },
    "stack": each_dtype(([X, X],), ([X, X], -1)),
    "vstack": each_dtype(([V, V],), ([X, X],)),
    "row_stack": each_dtype(([V, V],)),
    "hstack": each_dtype(([V, V],), ([X, X],)),
    "dstack": each_dtype(([V, V],), ([S, S],)),
    "convolve": rows((V, P)),
    "correlate": rows((V, P)),
    "corrcoef": rows((S,)),
    "cov": rows((S,)),
    "cross": each_dtype((S, S[::-1].copy()), dtypes=FLOATS),
    "cumulative_prod": rows((V,)),
    "delete": rows((V, 1), (X, 1, 1)),
    "insert": rows((V, 1, 9.0)),
    "append": each_dtype((V, X), (S, S, 0)),
    "diag": each_dtype((V,), (V, 2), (V, -1), (S,), (X[0], 1), (V[:0],)),
    "diagflat": each_dtype((S,), (V, 1)),
    "diag_indices_from": rows((S,)),
    "diagonal": each_dtype((S,), (X, 1), (X, -1, 1, 2)),
    "trace": each_dtype((S,), (X, 1)),
    "diff": each_dtype(
        (X,), (X, 2), (X, 1, 0), (V, {"prepend": 0, "append": np.array([1, 2])}), dtypes=DTYPES[3:]
    ),
    "digitize": rows((V, np.array([1.0, 4, 7]))),
    "divmod": rows((V + 1, 2), (V + 1, V + 2)),
    "dot": each_dtype((S, S), (V, V), (X, X[0].T.copy()), (S, 2.0), dtypes=DTYPES[5:]),
    "inner": each_dtype((S, S), (V, V), dtypes=DTYPES[3:]),
    "outer": each_dtype((V, S)),
    "matmul": each_dtype(
        (S, S), (V, V), (X, X.swapaxes(1, 2).copy()), (S[0], S), dtypes=DTYPES[3:]
    ),
    "tensordot": each_dtype((X, X, 3), (X, X, ((0, 1), (0, 1))), dtypes=DTYPES[3:]),
    "vdot": each_dtype((S, S), dtypes=DTYPES[3:]),
    "vecdot": each_dtype((S, S), dtypes=DTYPES[3:]),
    "kron": each_dtype((S, S), (V, S), dtypes=DTYPES[3:]),
    "einsum": each_dtype(
        ("ij,jk->ik", S, S),
        ("ii", S),
        ("ij->ji", S),
        ("i,i", V, V),
        ("...j,j", X, X[0, 0]),
        ("ij,ij->i", S, S),
        dtypes=DTYPES[3:],
    ),
    "ediff1d": rows((X,), (V, 1.0, 2.0)),
    "empty_like": each_dtype((X[:0],)),
    "empty": rows(((2, 0),)),
    "zeros": rows(((2, 3), "int8"), ((),)),
    "ones": rows(((2, 3), "int8"), ((),)),
    "full": rows(((2, 3), 4.0), ((2,), True), ((), 2.5)),
    "eye": rows((3,), (2, 4, 1), (3, 3, -1)),
    "identity": rows((3,)),
    "tri": rows((3,), (2, 4, 1)),
    "indices": rows(((2, 3),)),
    "full_like": each_dtype((X, 3)),
    "ones_like": each_dtype((X,)),
    "zeros_like": each_dtype((X,)),
    "expand_dims": each_dtype((X, 1), (X, (0, -1))),
    "squeeze": each_dtype((X[:1],), (X[:1], 0)),
    "fill_diagonal": [],
    "genfromtxt": [],
    "from_dlpack": [],
    **{n: each_dtype((X,), (X, 1), (X, (0, 2)), (V[:0],)) for n in ("flip",)},
    "fliplr": each_dtype((X,)),
    "flipud": each_dtype((X,)),
    "roll": each_dtype((X, 5), (X, 1, 1), (X, (1, 2), (0, 2)), (X, -1, -1)),
    "rot90": each_dtype((S,), (X, 2), (S, 3), (X, 1, (1, 2))),
    "rollaxis": each_dtype((X, 2), (X, 0, 2)),
    "moveaxis": each_dtype((X, 0, -1), (X, (0, 1), (-1, 0))),
    "swapaxes": each_dtype((X, 0, 2)),
    **{n: each_dtype((X, (1, 0, 2))) for n in ("transpose", "permute_dims")},
    "matrix_transpose": each_dtype((X,)),
    "ravel": each_dtype((X,)),
    "reshape": each_dtype((X, (4, -1)), (V[:0], (0, 3)), (X[:1, 0, 0], ())),
    "repeat": each_dtype((X, 2), (X, 2, 1), (V, [1, 0, 2, 1, 1])),
    "tile": each_dtype((X, 2), (S, (2, 1, 2)), (S, 0)),
    "resize": rows((V, (2, 4))),
    "frexp": rows((V,)),
    "gradient": rows((V,)),
    "histogram": rows((V,)),
    "histogram2d": rows((V, V)),
    "modf": each_dtype((X / 8,), dtypes=FLOATS),
    "histogram_bin_edges": rows((V,)),
    "histogramdd": rows((S,)),
    "ldexp": rows((V, np.array([1, 2, 0, 1, 3], "int32"))),
    "interp": rows((P, np.array([0.0, 2, 4]), np.array([1.0, 5, 6]))),
    **{n: rows((V, V[:3])) for n in ("intersect1d", "setdiff1d", "setxor1d", "union1d", "isin")},
    "in1d": [],
    "isclose": each_dtype(
        (X, X), (X, X + 1e-9), (N, N, {"equal_nan": True}), dtypes=("float32", "float64")
    ),
    "allclose": rows((X, X), (X, X + 1)),
    "ix_": rows((PLACES, PLACES)),
    "lexsort": rows(([V, V],)),
    "linspace": rows((0, 1, 5), (2, 3, 4, False)),
    "logspace": rows((0, 2, 5)),
    "may_share_memory": [],
    "shares_memory": [],
    "meshgrid": each_dtype((V, P), (V, P, V)),
    "nanpercentile": rows((N[:3], 30)),
    "nanquantile": rows((N[:3], 0.3)),
    "percentile": each_dtype((X, 30), (X, [10, 50.0], 1), (N, 20), dtypes=FLOATS),
    "quantile": each_dtype(
        (X, 0.3),
        (X, [0.1, 0.5], (0, 2), {"keepdims": True}),
        *((X, 0.37, 1, {"method": m}) for m in ("lower", "higher", "midpoint", "nearest")),
        dtypes=FLOATS,
    ),
    "ndim": rows((X,)),
    "shape": rows((X,)),
    "size": rows((X,), (X, 1)),
    "packbits": rows((B,)),
    "unpackbits": rows((np.array([3], "uint8"),)),
    "pad": rows((S, 1)),
    "piecewise": rows((V, [V > 2], [1.0, 0.0])),
    "select": rows(([V > 2], [V], 7.0)),
    "poly": rows((P,)),
    "polyadd": rows((P, V)),
    "polysub": rows((P, V)),
    "polymul": rows((P, V)),
    "polydiv": rows((V + 1, P)),
    "polyfit": rows((V, V * V, 2)),
    "polyint": rows((P,)),
    "polyval": rows((P, V)),
    "roots": rows((P,)),
    "ravel_multi_index": rows(([PLACES, PLACES], (3, 3))),
    "unravel_index": rows((PLACES, (2, 2))),
    "searchsorted": rows((np.sort(V), V)),
    "take": each_dtype(
        (X, [0, 3]),
        (X, [[0, 1]], 2),
        (X, PLACES, 1),
        (X, 9, {"mode": "wrap"}),
        (X, [99], {"mode": "clip"}),
    ),
    "take_along_axis": rows((V, PLACES, 0), (X, np.zeros((2, 1, 4), "int64"), 1)),
    "trapezoid": rows((V,)),
    "trapz": [],
    "tril": each_dtype((S,), (X, 1), (V, 1), (V[:0],)),
    "triu": each_dtype((S,), (X, -1), (V,)),
    "tril_indices": rows((3,)),
    "triu_indices": rows((3, 1)),
    "tril_indices_from": rows((S,)),
    "triu_indices_from": rows((S,)),
    "trim_zeros": rows((np.array([0.0, 1, 0]),)),
    "unique": each_dtype((X,)),
    "unique_all": rows((V,)),
    "unique_counts": rows((V,)),
    "unique_inverse": rows((V,)),
    "unique_values": rows((V,)),
    "unstack": each_dtype((X,), (X, {"axis": 1})),
    "unwrap": rows((V,)),
    "vander": rows((P,)),
    "where": each_dtype((X > 5, X, X + 1), (X > 5, X, 2), (X > 5,), (B, V, V)),
    "mirr": [],
    "npv": [],
    "ppmt": [],
    "pv": [],
    "rate": [],
}
# What NumPy 2 has under another name.
OLD = {
    "product": "prod",
    "sometrue": "any",
    "alltrue": "all",
    "round_": "round",
    "row_stack": "vstack",
    "msort": "sort",
}


def table():
    found = {name: one(*args) for name, args in UNARY.items()}
    found |= {name: two(*args) for name, args in BINARY.items()}
    found |= {name: reduced(**args) for name, args in REDUCED.items()}
    return found | CALLS


TABLE = table()


def given(value):
    if isinstance(value, np.ndarray):
        return mx.np.array(value, dtype=value.dtype)
    return [given(e) for e in value] if isinstance(value, list) else value


def kind_of(expected, arrays):
    """The dtypes that a result may have: where NumPy has float64 of what is none, another float."""
    name = expected.dtype.name
    if name == "float64" and "float64" not in arrays:
        return ("float16", "float32", "float64")
    if name == "float16" and name not in arrays:
        return ("float32", "float16")  # the functions of narrow integers have the default float
    return {"uint64": ("int64",), "int16": ("int32",)}.get(name, (name,))  # there are no others


def compare(found, expected, arrays):
    if isinstance(expected, (list, tuple)):
        assert isinstance(found, (list, tuple)) and len(found) == len(expected), found
        for pair in zip(found, expected):
            compare(*pair, arrays)
    elif isinstance(found, mx.np.ndarray):
        expected = np.asarray(expected)
        assert found.shape == expected.shape, (found.shape, expected.shape)
        kinds = kind_of(expected, arrays)
        assert found.dtype.name in kinds, (found.dtype.name, expected.dtype)
        loose = 4e-3 if "float16" in (*arrays, found.dtype.name, expected.dtype.name) else 2e-5
        np.testing.assert_allclose(
            found.asnumpy().astype("float64"), expected.astype("float64"), loose, loose
        )
    else:
        assert found == expected or np.allclose(found, expected), (found, expected)


def names_in(args):
    for each in args:
        if isinstance(each, (list, tuple)):
            yield from names_in(each)
        elif isinstance(each, np.ndarray):
            yield each.dtype.name


def fault(name, args, kwargs):
    """What is wrong with a call, None where nothing is."""
    with np.errstate(all="ignore"):
        if name == "msort":
            kwargs = {"axis": 0}
        expected = getattr(np, OLD.get(name, name))(*args, **kwargs)
    own = {} if name == "msort" else {k: given(v) for k, v in kwargs.items()}
    try:
        compare(getattr(mx.np, name)(*map(given, args), **own), expected, tuple(names_in(args)))
    except Exception as error:
        told = [f"{e.dtype}{e.shape}" if isinstance(e, np.ndarray) else e for e in args]
        return f"{name}({told}, {kwargs}): {type(error).__name__}: {str(error)[:400]}"
    return None


# --- values ---------------------------------------------------------------------------------------
def public():
    found = {name for name in dir(mx.np) if not name.startswith("_")}
    return {
        n for n in found if callable(getattr(mx.np, n)) and not inspect.isclass(getattr(mx.np, n))
    }


def test_the_table_has_every_function():
    assert public() == set(TABLE) and len(TABLE) >= 321


@pytest.mark.parametrize("name", sorted(TABLE))
@pytest.mark.filterwarnings("ignore")
def test_values_shapes_and_dtypes(name):
    faults = [found for found in (fault(name, *row) for row in table()[name]) if found]
    assert not faults, "\n".join([f"{len(faults)} faults", *faults[:5]])


def test_the_walk_finds_faults():
    assert fault("sort", (V,), {}) is None
    wrong = mx.np.array(V)
    with pytest.raises(AssertionError, match=r"Not equal"):
        compare(wrong, V + 1, ("float32",))
    with pytest.raises(AssertionError, match=r"float64"):
        compare(wrong, V.astype("float64"), ("float64",))
    with pytest.raises(AssertionError, match=r"\(5, 1\)"):
        compare(wrong.reshape((5, 1)), V, ("float32",))


@pytest.mark.parametrize(
    "name",
    sorted(
        {*UNARY, *BINARY}
        - {"isrealobj", "iscomplexobj", "nan_to_num", "i0", "sinc", "spacing", "heaviside"}
    ),
)
@pytest.mark.filterwarnings("ignore")
def test_out_and_where(name):
    host, own = getattr(np, name), getattr(mx.np, name)
    rows_ = table()[name]
    inputs = next(
        args
        for args, _ in rows_
        if all(np.size(e) > 2 for e in args)
        and all(e.dtype == args[0].dtype for e in args)
        and args[0].dtype.name in ("float32", "int32")
    )
    expected = host(*inputs)
    out = mx.np.zeros(expected.shape, dtype=own(*map(given, inputs)).dtype)
    assert own(*map(given, inputs), out=out) is out
    compare(out, expected, tuple(names_in(inputs)))
    if name not in (
        "real",
        "fix",
        "isposinf",
        "isneginf",
        "positive",
        "rint",
        "fabs",
        "float_power",
    ):
        mask = np.arange(expected.size).reshape(expected.shape) % 2 == 0
        out = mx.np.ones(expected.shape, dtype=out.dtype)
        assert own(*map(given, inputs), out=out, where=given(mask)) is out
        compare(out, np.where(mask, expected, np.ones((), expected.dtype)), tuple(names_in(inputs)))


MASK = np.arange(24).reshape(2, 3, 4) % 3 > 0


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "any", "all", "std", "var", "max", "min"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_reductions_under_a_mask(name, dtype):
    x = numbers((2, 3, 4), dtype, 0, 4)
    for axis, keepdims in itertools.product((None, 0, -1, (0, 2)), (False, True)):
        more = {"axis": axis, "keepdims": keepdims, "where": MASK}
        if name in ("max", "min"):
            more["initial"] = 1
        if name == "var" and dtype != "bool":
            more["ddof"] = 1
        expected = getattr(np, name)(x, **more)
        own = {k: given(v) for k, v in more.items()}
        compare(getattr(mx.np, name)(given(x), **own), expected, (dtype,))


# --- what has no counterpart in NumPy 2 -----------------------------------------------------------
def test_financial_functions():
    """Values of numpy_financial's documentation."""
    flows = [-100, 39, 59, 55, 20]
    assert abs(float(mx.np.npv(0.281, flows)) + 0.0084785916384548798) < 1e-9
    assert abs(float(mx.np.pv(0.05 / 12, 10 * 12, -100, 15692.93)) + 100.00067131625819) < 1e-6
    assert abs(float(mx.np.rate(10, 0, -3500, 10000)) - 0.1106908537142689) < 1e-6
    parts = mx.np.ppmt(0.0824 / 12, mx.np.array([1, 2]), 12, 2500)
    assert np.allclose(parts.asnumpy(), [-200.58, -201.96], atol=0.01)
    assert (
        abs(
            float(mx.np.mirr([-4500, -800, 800, 800, 600, 600, 800, 800, 700, 3000], 0.08, 0.055))
            - 0.0666
        )
        < 1e-4
    )
    assert np.isnan(float(mx.np.mirr([1, 2], 0.1, 0.1)))
    with pytest.raises(TypeError, match="'begin' or the 'end'"):
        mx.np.pv(0.1, 2, 3, when="noon")


def test_numpy_changes_arrays_of_ours():
    x = mx.np.array([1.0, 2, 3])
    np.add.at(x, np.array([0, 0]), 2.0)
    assert x.tolist() == [5, 2, 3]
    for found, wanted in (
        (np.multiply.accumulate(x), [5, 10, 30]),
        (np.maximum.reduce(x), 5),
        (np.maximum.accumulate(x), [5, 5, 5]),
    ):
        assert type(found) is mx.np.ndarray and found.tolist() == wanted
    x @= mx.np.eye(3) if x.ndim == 1 else None
    assert x.tolist() == [5, 2, 3]
    whole = mx.np.array([1, 2], dtype="int32")
    with pytest.raises(TypeError, match="int32, which does not hold float32"):
        whole += 1.5


def test_files_and_capsules(tmp_path):
    x = mx.np.array([1.0, 2])
    mx.npx.savez(tmp_path / "x.npz", x, named=x > 1)
    found = mx.npx.load(str(tmp_path / "x.npz"))
    assert found["arr_0"].tolist() == [1, 2] and found["named"].dtype == bool
    assert np.load(tmp_path / "x.npz")["named"].tolist() == [False, True]
    with pytest.raises(TypeError, match=r"npx\.savez: 'a' is a list"):
        mx.npx.savez(tmp_path / "y.npz", a=[1])
    shared = mx.npx.from_dlpack(mx.npx.to_dlpack_for_write(x))
    shared[0] = 9
    assert type(shared) is mx.np.ndarray and x.tolist() == [9, 2]
    assert type(mx.npx.from_numpy(np.ones(2, "float32"))) is mx.np.ndarray
    outputs, state = mx.npx.foreach(lambda d, s: (d + s, d + s), x, mx.np.array(0.0))
    assert outputs.tolist() == [9, 11] and state.item() == 11
