"""Functions of mx.np beside NumPy's, over dtypes and shapes."""

import numpy as np
import pytest

import cynet as mx

SHAPES = ((), (5,), (2, 3), (2, 1, 4), (0, 3))
DTYPES = ("bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64")


def values(rng, shape, dtype, low=0, high=5):
    return np.asarray(rng.uniform(low, high, shape)).astype(dtype)


def given(value):
    """Arrays in arguments as arrays of mx.np."""
    if isinstance(value, np.ndarray):
        return mx.np.array(value, dtype=value.dtype)
    if isinstance(value, (list, tuple)):
        return type(value)(map(given, value))
    return value


def compare(found, expected, rtol=2e-5, kinds=True):
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for a, b in zip(found, expected):
            compare(a, b, rtol, kinds)
        return
    if isinstance(found, mx.np.ndarray):
        expected = np.asarray(expected)
        assert found.shape == expected.shape, (found.shape, expected.shape)
        if kinds:
            assert found.dtype.kind == expected.dtype.kind, (found.dtype, expected.dtype)
        if "float16" in (found.dtype.name, expected.dtype.name):
            rtol = 4e-3
        np.testing.assert_allclose(
            found.asnumpy().astype("float64"), expected.astype("float64"), rtol, rtol * 0.1
        )
    else:
        np.testing.assert_allclose(found, expected, rtol)


def check(name, *args, rtol=2e-5, kinds=True, **kwargs):
    with np.errstate(all="ignore"):
        run = np
        for part in name.split("."):
            run = getattr(run, part)
        expected = run(*args, **kwargs)
    own = mx.np
    for part in name.split("."):
        own = getattr(own, part)
    compare(
        own(*map(given, args), **{k: given(v) for k, v in kwargs.items()}), expected, rtol, kinds
    )


UNARY = {
    "negative": None,
    "sign": None,
    "square": None,
    "absolute": None,
    "logical_not": None,
    "exp": (0, 3),
    "log": (1, 5),
    "log2": (1, 5),
    "log10": (1, 5),
    "log1p": None,
    "expm1": (0, 3),
    "sqrt": None,
    "cbrt": None,
    "reciprocal": (1, 5),
    "sin": None,
    "cos": None,
    "tan": (0, 1),
    "arcsin": (0, 1),
    "arccos": (0, 1),
    "arctan": None,
    "sinh": (0, 2),
    "cosh": (0, 2),
    "tanh": None,
    "arcsinh": None,
    "arccosh": (1, 5),
    "arctanh": (0, 0.9),
    "degrees": None,
    "radians": None,
    "floor": None,
    "ceil": None,
    "trunc": None,
    "rint": None,
    "isnan": None,
    "isinf": None,
    "isfinite": None,
    "signbit": None,
}
OF_BOOLS = ("absolute", "logical_not", "isnan", "isfinite")


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(name, rng):
    low, high = UNARY[name] or (0, 5)
    for dtype in DTYPES:
        whole = np.dtype(dtype).kind in "biu"
        if dtype == "bool" and name not in OF_BOOLS:
            continue
        if whole and name == "reciprocal":  # NumPy's is that of integers
            continue
        for shape in SHAPES:
            x = values(rng, shape, dtype, low, high)
            check(name, x, kinds=not whole or name not in ("floor", "ceil", "trunc", "rint"))


BINARY = {
    "add": 0,
    "subtract": 0,
    "multiply": 0,
    "true_divide": 1,
    "mod": 1,
    "maximum": 0,
    "minimum": 0,
    "hypot": 0,
    "equal": 0,
    "not_equal": 0,
    "greater": 0,
    "greater_equal": 0,
    "less": 0,
    "less_equal": 0,
    "logical_and": 0,
    "logical_or": 0,
    "logical_xor": 0,
    "arctan2": 1,
    "floor_divide": 1,
    "fmod": 1,
    "fmax": 0,
    "fmin": 0,
    "copysign": 1,
    "logaddexp": 0,
}
PAIRS = (((2, 3), (2, 3)), ((2, 1), (3,)), ((), (4,)), ((0, 3), (3,)), ((), ()))


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays(name, rng):
    for left in DTYPES[1:]:
        for right in DTYPES[1:]:
            for shapes in PAIRS:
                a = values(rng, shapes[0], left, 1, 5)
                b = values(rng, shapes[1], right, 1, 5)
                if name == "floor_divide" and "f" in a.dtype.kind + b.dtype.kind:
                    continue  # the quotient may lie on either side of a whole number
                if name in ("mod", "fmod") and a.dtype != b.dtype:
                    continue
                check(name, a, b, kinds=name != "copysign")


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm"])
def test_functions_of_whole_numbers(name, rng):
    for dtype in ("uint8", "int8", "int32", "int64"):
        for shapes in PAIRS:
            a, b = (values(rng, s, dtype, 1, 9) for s in shapes)
            check(name, a, b)


KEEP_BOOLS = ("square",)  # where NumPy has int8
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm")


def check_bools(name, *arrays):
    """NumPy's result and its dtype, with float32 for any float; a refusal where it refuses."""
    try:
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(*arrays)
    except TypeError:
        with pytest.raises(mx.base.MXNetError, match=f"{name} does not take"):
            getattr(mx.np, name)(*map(given, arrays)).asnumpy()
        return
    kept = name in KEEP_BOOLS
    check(name, *arrays, kinds=not kept)
    found = getattr(mx.np, name)(*map(given, arrays))
    wanted = "float32" if expected.dtype.kind == "f" else "bool" if kept else expected.dtype
    assert found.dtype == wanted, (name, found.dtype, expected.dtype)
    if found.dtype == bool:
        assert found.asnumpy().view("uint8").max(initial=0) <= 1, name


@pytest.mark.parametrize("name", [*sorted({*UNARY} - {"reciprocal"}), "invert", "bitwise_not"])
def test_functions_of_bools(name):
    check_bools(name, np.array([True, False, True]))


@pytest.mark.parametrize("name", [*BINARY, *BITS, "power"])
def test_functions_of_two_bools(name):
    check_bools(name, np.array([True, False, True, False]), np.array([True, True, False, False]))


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "any", "all", "std", "var"])
def test_reductions(name, rng):
    for dtype in DTYPES:
        for shape in ((), (5,), (2, 3), (2, 3, 4)):
            x = values(rng, shape, dtype, 0, 4)
            if dtype == "float16" and name in ("std", "var"):
                continue
            for axis in (
                None,
                *range(-len(shape), len(shape)),
                *([(0, -1)] if len(shape) > 2 else []),
            ):
                for keepdims in (False, True):
                    check(name, x, axis=axis, keepdims=keepdims, rtol=1e-3, kinds=dtype != "uint8")


def test_arg_and_running(rng):
    for dtype in DTYPES[1:]:
        x = values(rng, (3, 4), dtype, 0, 50)
        for axis in (None, 0, 1, -1):
            check("argmax", x, axis=axis)
            check("argmin", x, axis=axis)
            check("cumsum", x, axis=axis, rtol=1e-3, kinds=dtype != "uint8")
        check("sort", x, axis=1)
        check(
            "argsort", x[0] + np.arange(4).astype(dtype) * 0, kinds=False
        ) if dtype == "float64" else None


X = np.arange(24.0, dtype="float32").reshape(2, 3, 4)
M = np.array([[2.0, 1.0], [1.0, 3.0]], "float32")
CALLS = [
    ("reshape", X, (4, -1)),
    ("transpose", X),
    ("transpose", X, (1, 0, 2)),
    ("swapaxes", X, 0, 2),
    ("moveaxis", X, 0, -1),
    ("rollaxis", X, 2),
    ("expand_dims", X, 1),
    ("squeeze", X[:1]),
    ("ravel", X),
    ("broadcast_to", X[0, 0], (3, 4)),
    ("concatenate", [X, X], 1),
    ("concatenate", [X, X.astype("int32")]),
    ("stack", [X, X], -1),
    ("vstack", [X, X]),
    ("hstack", [X, X]),
    ("dstack", [X[0], X[0]]),
    ("column_stack", [X[0, 0], X[0, 1]]),
    ("split", X, 3, 1),
    ("array_split", X, 3, 2),
    ("hsplit", X, 3),
    ("tile", X[0], (2, 1, 2)),
    ("repeat", X, 2),
    ("repeat", X, 2, 1),
    ("flip", X),
    ("flip", X, 1),
    ("fliplr", X),
    ("flipud", X),
    ("roll", X, 5),
    ("roll", X, 1, 1),
    ("rot90", X[0]),
    ("take", X, [0, 3]),
    ("take", X, [[0, 1]], 2),
    ("append", X, X),
    ("atleast_1d", np.float32(1)),
    ("atleast_2d", X[0, 0]),
    ("atleast_3d", X[0]),
    ("dot", M, M),
    ("dot", X, M[:1].repeat(4, 0)),
    ("matmul", X, X.swapaxes(1, 2)),
    ("inner", X[0], X[0]),
    ("outer", X[0, 0], X[0, 1]),
    ("tensordot", X, X, ((0, 1), (0, 1))),
    ("vdot", M, M),
    ("kron", M, M),
    ("cross", X[0, :, :3], X[1, :, :3]),
    ("trace", X[0]),
    ("diagonal", X[0], 1),
    ("diagonal", X, -1, 1, 2),
    ("einsum", "ijk,ilk->ijl", X, X),
    ("einsum", "ij->ji", M),
    ("einsum", "ii->i", M),
    ("einsum", "ij,ij->i", M, M),
    ("einsum", "ij,jk", M, M),
    ("einsum", "...j,j->...", X, X[0, 0]),
    ("where", X > 5, X, 0.5),
    ("where", X > 5),
    ("clip", X, 3, 7),
    ("round", X / 8, 1),
    ("tril", X[0]),
    ("triu", X[0], 1),
    ("diag", X[0, 0]),
    ("diag", X[0, 0], -1),
    ("diag", X[0, 0], 2),
    ("diag", X[0]),
    ("meshgrid", X[0, 0], X[0, 0, :2]),
    ("diff", X),
    ("nonzero", X > 20),
    ("argwhere", X > 20),
    ("isclose", X, X + 1e-9),
    ("nan_to_num", X),
    ("average", X, 1),
    ("average", X, 2, X[0, 0] + 1),
    ("ptp", X),
    ("count_nonzero", X, 1),
    ("unique", X),
    ("median", X),
    ("percentile", X, 30),
    ("linalg.norm", X),
    ("linalg.norm", M, 1),
    ("linalg.inv", M),
    ("linalg.det", M),
    ("linalg.cholesky", M),
    ("linalg.norm", X, 2, 1),
    ("linalg.solve", M, M[:, :1]),
    ("cumprod", X[0, 0]),
    ("linalg.solve", M, M[0]),
    ("linalg.svdvals", X[0]),
    ("float_power", X, 2),
    ("modf", X / 8),
    ("positive", X),
    ("array_equiv", X, X),
    ("isin", X, X[0]),
    ("take_along_axis", X, X.astype("int64") % 2, 0),
    ("searchsorted", X[0, 0], X[0, 0]),
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_call(call):
    check(*call, kinds=call[0] not in ("median", "percentile"))


KEYS = [
    0,
    -1,
    (0, 1),
    (0, 1, 2),
    slice(1, None),
    (slice(None), 0),
    (..., 1),
    (None, 0),
    ([0, 1],),
    (slice(None), [0, 2]),
    ([0, 1], [1, 2]),
    np.array([1, 0]),
    np.array([True, False]),
    True,
    False,
    range(1),
    (range(2), [0, 1]),
    X > 7,
    (0, X[0, :, 0] > 3),
    (slice(None, None, -1),),
    (0, slice(None, None, 2), 1),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing(key):
    compare(mx.np.array(X)[given(key) if isinstance(key, np.ndarray) else key], X[key])
    if isinstance(key, bool):
        return
    own, host = mx.np.array(X), X.copy()
    own[given(key) if isinstance(key, np.ndarray) else key] = 3.5
    host[key] = 3.5
    compare(own, host)


def test_printing_and_python():
    x = mx.np.array([1.5, 2])
    assert (
        repr(x) == "array([1.5, 2. ])" and repr(x.astype("int32")) == "array([1, 2], dtype=int32)"
    )
    assert repr(mx.np.zeros((0, 2))) == "array([], shape=(0, 2))" and repr(x.sum()) == "array(3.5)"
    assert f"{x.sum():.1f}" == "3.5" and x.tolist() == [1.5, 2.0] and int(x[1]) == 2
    assert [type(each) for each in x] == [mx.np.ndarray] * 2
    assert mx.np.array(1.0).shape == () and (x > 1).dtype == bool and x.dtype == np.float32
    assert (
        (x // 1).tolist() == [1, 2] and (x @ x).shape == () and divmod(x, 2)[0].tolist() == [0, 1]
    )
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x > 1)
    with pytest.raises(TypeError, match="as_np_ndarray"):
        mx.np.sum(mx.nd.ones(2))


def test_numpys_functions_give_arrays_of_ours():
    x = mx.np.array([[1.0, 2], [3, 4]])
    for found in (
        np.sin(x),
        np.mean(x, axis=0),
        np.concatenate([x, x]),
        np.add(x, np.ones(2)),
        np.add.reduce(x),
        np.median(x),
        np.multiply.outer(x[0], x[1]),
    ):
        assert type(found) is mx.np.ndarray
    assert np.asarray(x).tolist() == x.tolist()


def test_gradients_through_functions():
    x = mx.np.array([[1.0, 2, 3], [4, 5, 6]])
    x.attach_grad()
    for run in (
        lambda: mx.np.exp(x / 4).sum(),
        lambda: (x * x[0]).mean(),
        lambda: x[x > 2.5].sum(),
        lambda: x.std(),
        lambda: mx.np.concatenate([x, x * 2], 1).sum(),
        lambda: (x @ x.T).sum(),
        lambda: mx.np.where(x > 2.5, x * x, 0).sum(),
        lambda: x.reshape(-1)[1:4].prod(),
        lambda: mx.np.einsum("ij,kj->ik", x, x).max(),
        lambda: mx.np.stack([x, x]).var(),
        lambda: x.swapaxes(0, 1)[0].sum() * x[1, 2],
    ):
        with mx.autograd.record():
            y = run()
        y.backward()
        assert type(x.grad) is mx.np.ndarray
        got, host = x.grad.asnumpy(), x.asnumpy()
        for i in np.ndindex(2, 3):
            ends = []
            for step in (0.01, -0.01):
                moved = host.copy()
                moved[i] += step
                x[...] = moved
                ends.append(run().item())
            x[...] = host
            assert abs((ends[0] - ends[1]) / 0.02 - got[i]) < 0.02 + 0.02 * abs(got[i])


def test_gluon_under_set_np():
    class Net(mx.gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.first = mx.gluon.nn.Dense(8, activation="relu")
            self.second = mx.gluon.nn.Dense(3)

        def forward(self, x):
            x = self.first(x.reshape(x.shape[0], -1))
            return self.second(mx.np.tanh(x) * 2 + x.mean(axis=1, keepdims=True))

    mx.random.seed(1)
    mx.npx.set_np()
    try:
        net = Net()
        net.initialize()
        x = mx.np.random.normal(size=(4, 2, 3))
        plain = net(x)
        assert type(plain) is mx.np.ndarray and type(net.first.weight.data()) is mx.np.ndarray
        net.hybridize()
        compare(net(x), plain.asnumpy())
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        label = mx.np.array([0, 1, 2, 0])
        losses = []
        for _ in range(60):
            with mx.autograd.record():
                loss = loss_of(net(x), label)
            loss.backward()
            trainer.step(4)
            losses.append(float(loss.mean()))
            assert type(loss) is mx.np.ndarray
        assert losses[-1] < losses[0] * 0.7
        data = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(x, label), batch_size=2)
        assert {type(each) for batch in data for each in batch} == {mx.np.ndarray}
    finally:
        mx.npx.reset_np()


def test_random_numbers_follow_the_seed():
    mx.npx.random.seed(3)
    first = mx.np.random.uniform(size=3).tolist()
    mx.np.random.seed(3)
    assert mx.np.random.uniform(size=3).tolist() == first
    mx.random.seed(3)
    assert mx.nd.random.uniform(shape=3).asnumpy().tolist() == first


@pytest.mark.parametrize(
    ("name", "args", "mean", "deviation"),
    [
        ("normal", (2, 3), 2, 3),
        ("uniform", (1, 5), 3, 4 / 12**0.5),
        ("exponential", (2,), 2, 2),
        ("gamma", (3, 2), 6, 12**0.5),
        ("beta", (2, 2), 0.5, 0.05**0.5),
        ("laplace", (1, 2), 1, 8**0.5),
        ("chisquare", (4,), 4, 8**0.5),
        ("rayleigh", (2,), 2.5066, 1.3103),
        ("logistic", (1, 1), 1, np.pi / 3**0.5),
        ("gumbel", (0, 1), 0.5772, np.pi / 6**0.5),
        ("randint", (0, 5), 2, 2**0.5),
        ("weibull", (2,), 0.8862, 0.4633),
        ("power", (2,), 2 / 3, 18**-0.5),
        ("lognormal", (0, 0.5), 1.1331, 0.6039),
        ("pareto", (6,), 0.2, 0.2449),
    ],
)
def test_distributions(name, args, mean, deviation, seed):
    mx.random.seed(seed % 1000)
    drawn = getattr(mx.np.random, name)(*args, size=40_000).asnumpy().astype("float64")
    assert abs(drawn.mean() - mean) < 0.03 * (deviation + abs(mean))
    assert abs(drawn.std() - deviation) < 0.1 * deviation
    assert getattr(mx.np.random, name)(*args).shape == ()
