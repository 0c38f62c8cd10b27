"""Softmax and Pooling by cuDNN and by the project's own kernels: which of them computes what, both
against the CPU operator."""

import ctypes

import numpy as np
import pytest
from cynet.operator._testing import run_backward, run_forward
from cynet.operator.cuda.cudnn_layer import CudnnForm

from cynet.base.errors import CynetError
from cynet.operator import get_operator
from cynet.operator.cuda import build
from tests.operator.cuda.test_library_forms import ADD, DEVICE, NULL, WRITE, Pair
from tests.pairs import pairwise

INF, NAN = np.inf, np.nan


def compare(pair, inputs, head, exact, requests=((WRITE, 0.0), (ADD, 1.0), (NULL, 3.0))):
    """Forward and backward of the form with each request, beside the CPU operator in as wide a
    dtype as it has."""
    wide = [a.astype("f") if a.dtype == "float16" else a for a in inputs]
    head_wide = head.astype(wide[0].dtype)
    for req, start in requests:
        (got,) = pair.forward(pair.form, inputs, req=[req], start=start)
        (want,) = pair.forward(pair.host, wide, req=[req], start=start)
        np.testing.assert_allclose(got.astype("d"), want, *exact)
        each = [req] * len(inputs)
        kept, kept_wide = pair.forward(pair.form, inputs), pair.forward(pair.host, wide)
        got = pair.backward(pair.form, [head], inputs, kept, req=each, start=start)
        want = pair.backward(pair.host, [head_wide], wide, kept_wide, req=each, start=start)
        for a, b in zip(got, want):
            np.testing.assert_allclose(a.astype("d"), b, *exact)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "name, params, shape",
    [
        ("softmax", {}, (7, 10)),
        ("softmax", {"axis": 0}, (5, 3, 2)),
        ("softmax", {"axis": 1, "dtype": None}, (2, 33, 3, 2)),
        ("softmax", {}, (6,)),
        ("softmax", {"temperature": 1.0}, (2, 3)),
        ("log_softmax", {}, (4, 65)),
        ("softmax", {"temperature": 2.0}, (7, 10)),
        ("softmin", {"axis": 1}, (2, 33, 3, 2)),
        ("log_softmax", {"temperature": 0.5}, (4, 65)),
        ("softmin", {"axis": 0}, (2, 1100)),
        ("log_softmax", {"axis": -2}, (3, 4, 5)),
        ("SoftmaxActivation", {}, (2, 3, 4)),
        ("SoftmaxActivation", {"mode": "channel"}, (2, 5, 3, 2)),
    ],
)
def test_softmax(name, params, shape, dtype, rng):
    """By cuDNN, with a temperature by kernels."""
    pair = Pair(name, params, [shape], dtype, "float32" if dtype == "float16" else dtype)
    own = name == "softmin" or params.get("temperature", 1.0) != 1
    assert isinstance(pair.form, CudnnForm) != own
    x, head = rng.uniform(-3, 3, shape).astype(dtype), rng.uniform(-1, 1, shape).astype(dtype)
    exact = {"float16": (5e-3, 5e-3), "float32": (2e-5, 2e-6), "float64": (1e-10, 1e-12)}
    compare(pair, [x], head, exact[dtype])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "params, shape, label",
    [
        ({}, (6, 4), (6,)),
        (
            {"multi_output": True, "use_ignore": True, "ignore_label": 1, "normalization": "valid"},
            (2, 4, 3),
            (2, 3),
        ),
        ({"preserve_shape": True}, (2, 3, 4), (2, 3)),
        ({"grad_scale": 0.5}, (3, 4), (3, 4)),
        ({"out_grad": True, "smooth_alpha": 0.1}, (6, 4), (6,)),
    ],
)
def test_softmax_output(params, shape, label, dtype, rng):
    """Forward is cuDNN's, the gradient against the labels a kernel's."""
    host = "float32" if dtype == "float16" else dtype
    pair = Pair("SoftmaxOutput", params, [shape, label], dtype, host)
    assert isinstance(pair.form, CudnnForm)
    x, head = rng.uniform(-3, 3, shape).astype(dtype), rng.uniform(-1, 1, shape).astype(dtype)
    y = rng.integers(0, 4, label).astype(host)  # labels are wide beside narrow scores
    compare(pair, [x, y], head, (5e-3, 5e-3) if dtype == "float16" else (2e-5, 2e-6))


@pytest.mark.parametrize("temperature", [1.0, 2.0], ids=["cudnn", "kernels"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_what_is_not_finite(name, temperature):
    """A line with a NaN or an infinity above all others is NaN; entries of -inf get nothing. A line
    of them alone is NaN, but cuDNN gives nothing to all (in float32, float16)."""
    x = np.array([[1, NAN, 2], [1, INF, 2], [-INF, -INF, -INF], [-INF, 1, 2], [3, 4, 5]], "f")
    pair = Pair(name, {"temperature": temperature}, [x.shape])
    (got,), (want,) = (pair.forward(op, [x]) for op in (pair.form, pair.host))
    assert np.isnan(want[:3]).all()
    assert not np.isnan(want[3:]).any()
    if temperature == 1:
        want[2] = -INF if name == "log_softmax" else 0
    np.testing.assert_allclose(got, want, 1e-6)
    (got,), (want,) = (
        pair.backward(op, [np.ones_like(x)], [x], [want]) for op in (pair.form, pair.host)
    )
    np.testing.assert_allclose(got, want, 1e-6, 1e-7)


@pytest.mark.parametrize("temperature", [1.0, 2.0], ids=["cudnn", "kernels"])
def test_softmax_in_place(temperature, rng):
    x, head = rng.uniform(-3, 3, (4, 6)), rng.uniform(-1, 1, (4, 6))
    pair = Pair("softmax", {"temperature": temperature}, [x.shape], "float64")
    (want,) = pair.forward(pair.host, [x])
    (grad,) = pair.backward(pair.host, [head], [x], [want])
    run_forward(pair.form, [x], [WRITE], [x], (), True, pair.resources)
    np.testing.assert_allclose(x, want, 1e-12)
    run_backward(pair.form, [head], [x], [x], [WRITE], [head], (), True, pair.back_resources)
    np.testing.assert_allclose(head, grad, 1e-11, 1e-14)


def form(name, shapes, types=None, **params):
    return build(get_operator(name).prop(**params), shapes, types or ["float32"], DEVICE)


def test_what_cudnn_has_not():
    """Temperatures, lengths, windows of other sizes than cuDNN's, more elements than it counts."""
    image = [(2, 3, 6, 6)]
    assert isinstance(form("softmax", [(4, 5)], temperature=1.0), CudnnForm)
    mean = {"kernel": (2, 2), "pool_type": "avg"}
    assert isinstance(form("Pooling", image, pooling_convention="full", **mean), CudnnForm)
    large = [(2, 3, 8, 9)]  # an image of more elements than our kernels take faster
    assert isinstance(form("Pooling", large, global_pool=True, pool_type="avg"), CudnnForm)
    padded = {"kernel": (6, 6), "pad": (1, 1), "pool_type": "avg"}
    assert isinstance(form("Pooling", image, **padded), CudnnForm)
    for made in (
        form("softmax", [(4, 5)], temperature=2.0),
        form("softmin", [(4, 5)]),
        form("softmax", [(4, 5), (4,)], ["float32", "int32"], use_length=True),
        form("softmax", [(0, 5)]),
        form("softmax", [(1 << 16, 1 << 15)]),
        form("log_softmax", [(1 << 16, 1 << 15)]),
        form("Pooling", image, kernel=(2, 2)),
        form("Pooling", image, cudnn_off=True, **mean),
        form("Pooling", image, kernel=(6, 6), pool_type="avg"),
        form("Pooling", [(2, 3, 8, 8)], kernel=(1, 1), global_pool=True, pool_type="sum"),
        form(
            "Pooling", image, **{**mean, "kernel": (3, 3)}, stride=(2, 2), pooling_convention="full"
        ),
        form("Pooling", image, pooling_convention="same", **mean),
        form("Pooling", image, kernel=(2, 2), pool_type="lp", p_value=1),
        form("Pooling", [(0, 3, 6, 6)], kernel=(2, 2)),
        form("Pooling", [(1 << 9, 1 << 8, 1 << 7, 1 << 7)], kernel=(2, 2), pool_type="avg"),
    ):
        assert not isinstance(made, CudnnForm)


POOLS = [  # size, kernel, stride
    ((9,), (3,), (2,)),
    ((7, 6), (3, 2), (2, 3)),
    ((4, 5, 6), (2, 3, 2), (1, 2, 2)),
    ((5, 5), (1, 1), (3, 3)),
]


KERNELS = pytest.mark.parametrize("own", [False, True], ids=["cudnn", "kernels"])


@KERNELS
@pytest.mark.parametrize(
    "pool, pool_type, convention",
    pairwise(POOLS, ["max", "avg", "sum", "lp"], ["valid", "full", "same"]),
    ids=str,
)
def test_pooling(pool, pool_type, convention, own, rng):
    """By cuDNN where it has such windows, and by kernels."""
    size, kernel, stride = pool
    pad = tuple(k // 2 for k in kernel) if convention != "same" else ()
    for include in (True, False):
        params = {
            "kernel": kernel,
            "stride": stride,
            "pad": pad,
            "pool_type": pool_type,
            "pooling_convention": convention,
            "count_include_pad": include,
            "p_value": 3,
            "cudnn_off": own,
        }
        pair = Pair("Pooling", params, [(2, 3, *size)], "float64")
        x = rng.permutation(6 * int(np.prod(size))).reshape(2, 3, *size) / 8.0
        compare(pair, [x], rng.standard_normal(pair.out_shapes[0]), (1e-10, 1e-12))
        if convention == "valid":
            assert isinstance(pair.form, CudnnForm) == (not own and pool_type in ("avg", "sum"))


@KERNELS
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("pool_type", ["max", "avg", "sum"])
def test_pooling_dtypes(pool_type, dtype, own, rng):
    """Among many equal elements the gradient of a maximum goes where the CPU's goes."""
    params = {
        "kernel": (3, 3),
        "stride": (2, 2),
        "pad": (1, 1),
        "pool_type": pool_type,
        "cudnn_off": own,
    }
    pair = Pair("Pooling", params, [(2, 3, 9, 8)], dtype, "float32")
    x = rng.integers(-2, 2, (2, 3, 9, 8)).astype(dtype)
    compare(pair, [x], rng.uniform(-1, 1, pair.out_shapes[0]).astype(dtype), (5e-3, 5e-3))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("size, own", [((4, 5), True), ((7, 11), False)])
def test_global_pooling(size, own, dtype, rng):
    """Of small images by kernels."""
    shape = (2, 3, *size)
    for pool_type in ("max", "avg", "sum"):
        params = {"global_pool": True, "pool_type": pool_type}
        pair = Pair("Pooling", params, [shape], dtype, "float32")
        assert isinstance(pair.form, CudnnForm) == (pool_type != "max" and not own)
        exact = (5e-3, 5e-3) if dtype == "float16" else (1e-5, 1e-5)
        compare(
            pair,
            [rng.standard_normal(shape).astype(dtype)],
            rng.standard_normal((2, 3, 1, 1)).astype(dtype),
            exact,
        )


def test_maximum_of_nan_and_of_equals():
    """A NaN is larger than all, the first of equals gets the gradient, -inf is a maximum, too."""
    pair = Pair("Pooling", {"kernel": (1, 3), "stride": (1, 3)}, [(1, 1, 1, 9)], "float64")
    x = np.array([2, NAN, 3, 5, 5, 5, -INF, -INF, -INF]).reshape(1, 1, 1, 9)
    (out,) = pair.forward(pair.form, [x])
    np.testing.assert_array_equal(out.ravel(), [NAN, 5, -INF])
    (grad,) = pair.backward(pair.form, [np.array([[[[1, 2.0, 3]]]])], [x], [out])
    np.testing.assert_array_equal(grad.ravel(), [0, 1, 0, 2, 0, 0, 3, 0, 0])


def test_calls_that_fail(libraries):
    """The exceptions name the call and the shapes; the next calls work."""
    dnn = ctypes.CDLL(str(libraries / "libcudnn.so.9"))
    for name, params, shape, call, what in (
        ("softmax", {"axis": 1}, (4, 5, 6), "Softmax", r"shape \(4, 5, 6\)"),
        (
            "Pooling",
            {"kernel": (2, 2), "pool_type": "avg"},
            (2, 3, 5, 5),
            "Pooling",
            r"\(2, 3, 5, 5\) to \(2, 3, 4, 4\)",
        ),
    ):
        pair, x = Pair(name, params, [shape]), np.ones(shape, "f")
        (out,) = pair.forward(pair.form, [x])
        dnn.simulated_failure(5000)
        with pytest.raises(CynetError, match=rf"cudnn{call}Forward of {what}: CUDNN_STATUS_EXEC"):
            pair.forward(pair.form, [x])
        dnn.simulated_failure(5000)
        with pytest.raises(CynetError, match=rf"cudnn{call}Backward of {what}: CUDNN_STATUS_EXEC"):
            pair.backward(pair.form, [np.ones_like(out)], [x], [out])
        np.testing.assert_array_equal(pair.forward(pair.form, [x])[0], out)
