"""Gradients of weights by oneDNN: their values, that no number of threads changes a bit of them,
and how their shapes cut them."""

from itertools import product
from math import prod

import numpy as np
import pytest

import cynet as mx
from cynet.kernels.conv import onednn
from cynet.kernels.parallel import get_num_threads, set_num_threads

pytestmark = pytest.mark.skipif(not onednn.available(), reason="oneDNN's wheel is not installed")

LARGE = 1 << 23  # products from which on a gradient is cut
# data (N, *size, C), filters, kernel, and the rest: more than LARGE products but for the first
CASES = {
    "small": ((4, 9, 9, 8), 16, (3, 3), {"pad": (1, 1)}),
    "slices": ((8, 32, 32, 16), 16, (3, 3), {"pad": (1, 1)}),
    "slices, odd": ((7, 30, 31, 16), 24, (3, 3), {}),
    "slices of few images": ((3, 40, 40, 16), 24, (3, 3), {"dilate": (2, 2)}),
    "cuts": ((1, 24, 24, 64), 64, (3, 3), {"pad": (1, 1)}),
    "cuts of deep layers": ((4, 7, 7, 256), 128, (3, 3), {"pad": (1, 1)}),
    "both": ((8, 16, 16, 64), 128, (3, 3), {"pad": (1, 1)}),
    "filters that are no multiple": ((6, 28, 28, 20), 50, (5, 5), {}),
    "one channel": ((64, 28, 28, 1), 20, (5, 5), {}),
    "strided": ((8, 56, 56, 3), 64, (7, 7), {"stride": (2, 2), "pad": (3, 3)}),
    "products": ((8, 28, 28, 64), 128, (1, 1), {}),
    "strided products": ((8, 28, 28, 128), 128, (1, 1), {"stride": (2, 2)}),
    "groups": ((8, 28, 28, 64), 64, (3, 3), {"pad": (1, 1), "num_group": 4}),
    "one axis": ((16, 300, 32), 64, (5,), {"pad": (2,)}),
    "columns": ((16, 300, 1, 32), 64, (5, 1), {"pad": (2, 0)}),
    "a shorter last slice": ((37, 30, 30, 8), 16, (3, 3), {"pad": (1, 1)}),
    "a shorter last slice, filters": ((17, 20, 20, 32), 64, (3, 3), {"pad": (1, 1)}),
    "products of one image": ((1, 96, 60, 64), 64, (1, 1), {}),
    "products of one line": ((1, 6000, 64), 64, (1,), {}),
    "three axes": ((4, 8, 10, 12, 16), 16, (3, 3, 3), {"pad": (1, 1, 1)}),
}
LAYOUTS = {3: "NWC", 4: "NHWC", 5: "NDHWC"}


@pytest.fixture(autouse=True)
def by_onednn(monkeypatch):
    monkeypatch.setenv("CYNET_CONV_ALGORITHM", "onednn")
    before = get_num_threads()
    yield
    set_num_threads(before)


def slow_gradient(data, grad, kernel, stride=1, dilate=1, pad=0, num_group=1):
    """(weight (F, *kernel, C / G), bias), each tap by itself, in float64."""
    n = len(kernel)
    stride, dilate, pad = (v if isinstance(v, tuple) else (v,) * n for v in (stride, dilate, pad))
    padded = np.pad(data.astype("float64"), [(0, 0), *((p, p) for p in pad), (0, 0)])
    grad = grad.astype("float64")
    out = np.zeros((grad.shape[-1], *kernel, data.shape[-1] // num_group))
    filters, channels = grad.shape[-1] // num_group, data.shape[-1] // num_group
    axes = list(range(n + 1))
    for tap in product(*map(range, kernel)):
        seen = tuple(
            slice(t * d, t * d + s * (size - 1) + 1, s)
            for t, d, s, size in zip(tap, dilate, stride, grad.shape[1:-1])
        )
        read = padded[(slice(None), *seen)]
        for g in range(num_group):
            f, c = (slice(g * k, (g + 1) * k) for k in (filters, channels))
            out[(f, *tap)] = np.tensordot(grad[..., f], read[..., c], (axes, axes))
    return out, grad.sum(tuple(axes))


def gradients(name, threads, data, grad, dtype="float32", times=1):
    """[weight, bias] of a case, as its Convolution computes them `times` times, adding."""
    _, filters, kernel, more = CASES[name]
    set_num_threads(threads, beyond_cores=True)
    net = mx.sym.Convolution(
        mx.sym.var("data", dtype=dtype),
        num_filter=filters,
        kernel=kernel,
        layout=LAYOUTS[data.ndim],
        name="c",
        **more,
    )
    executor = net.simple_bind(mx.cpu(), data=data.shape, grad_req="add" if times > 1 else "write")
    executor.arg_dict["data"][:] = data
    head = mx.nd.array(grad, dtype=dtype)
    for each in executor.grad_dict.values():
        each[:] = 0
    for _ in range(times):
        executor.forward(is_train=True)
        executor.backward(head)
    return [executor.grad_dict[k].astype("float32").asnumpy() for k in ("c_weight", "c_bias")]


def drawn(name, rng, dtype="float32"):
    shape, filters, kernel, more = CASES[name]
    net = mx.sym.Convolution(
        mx.sym.var("data"), num_filter=filters, kernel=kernel, layout=LAYOUTS[len(shape)], **more
    )
    _, (out,), _ = net.infer_shape(data=shape)
    values = (rng.standard_normal(s) for s in (shape, out))
    return [mx.nd.array(each, dtype=dtype).astype("float32").asnumpy() for each in values]


@pytest.mark.parametrize("name", CASES)
def test_values_and_threads(name, rng):
    data, grad = drawn(name, rng)
    _, _, kernel, more = CASES[name]
    products = prod(grad.shape[:-1]) * prod(gradients(name, 1, data, grad)[0].shape)
    assert (products < LARGE) == (name == "small")
    found = [gradients(name, threads, data, grad) for threads in (1, 2, 3, 4, 16)]
    for got, want in zip(found[0], slow_gradient(data, grad, kernel, **more), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-3)
    for each in found[1:]:
        assert all(a.tobytes() == b.tobytes() for a, b in zip(each, found[0], strict=True))


@pytest.mark.parametrize("name", ["slices", "cuts", "both"])
def test_what_is_added(name, rng):
    data, grad = drawn(name, rng)
    once, thrice = (gradients(name, 2, data, grad, times=times) for times in (1, 3))
    for a, b in zip(once, thrice, strict=True):
        np.testing.assert_allclose(3 * a, b, rtol=1e-5, atol=1e-4)


@pytest.mark.skipif(not onednn.takes_bfloat16(), reason="no instructions for bfloat16")
@pytest.mark.parametrize("name", CASES)
def test_bfloat16(name, rng):
    """Sums of slices are float32: the gradient is rounded once."""
    data, grad = drawn(name, rng, "bfloat16")
    _, _, kernel, more = CASES[name]
    found = [gradients(name, threads, data, grad, "bfloat16") for threads in (1, 2, 4)]
    for got, want in zip(found[0], slow_gradient(data, grad, kernel, **more), strict=True):
        np.testing.assert_allclose(got, want, rtol=2**-8, atol=2e-2)
    for each in found[1:]:
        assert all(a.tobytes() == b.tobytes() for a, b in zip(each, found[0], strict=True))


@pytest.mark.parametrize("wanted", ["c_weight", "c_bias"])
@pytest.mark.parametrize("name", ["slices", "both"])
def test_one_of_both(name, wanted, rng):
    """The other one is not written."""
    data, grad = drawn(name, rng)
    _, filters, kernel, more = CASES[name]
    both = dict(zip(("c_weight", "c_bias"), gradients(name, 2, data, grad), strict=True))
    net = mx.sym.Convolution(
        mx.sym.var("data"), num_filter=filters, kernel=kernel, layout="NHWC", name="c", **more
    )
    executor = net.simple_bind(
        mx.cpu(),
        data=data.shape,
        grad_req={n: "write" if n == wanted else "null" for n in net.list_arguments()},
    )
    executor.arg_dict["data"][:] = data
    executor.forward(is_train=True)
    executor.backward(mx.nd.array(grad))
    assert executor.grad_dict[wanted].asnumpy().tobytes() == both[wanted].tobytes()


@pytest.mark.parametrize("size", [(8, 16, 16, 16), (2, 8, 8, 64)])
def test_a_deconvolution(size, rng):
    """Its weight's gradient is that of the convolution that it turns round."""
    found = []
    data = rng.standard_normal(size).astype("float32")
    for threads in (1, 2, 4):
        set_num_threads(threads, beyond_cores=True)
        net = mx.sym.Deconvolution(
            mx.sym.var("data"),
            kernel=(4, 4),
            stride=(2, 2),
            pad=(1, 1),
            num_filter=32,
            layout="NHWC",
            name="d",
        )
        executor = net.simple_bind(mx.cpu(), data=size)
        for each in executor.arg_dict.values():
            each[:] = 0.01
        executor.arg_dict["data"][:] = data
        out = executor.forward(is_train=True)[0]
        grad = np.random.default_rng(1).standard_normal(out.shape).astype("float32")
        executor.backward(mx.nd.array(grad))
        found.append(executor.grad_dict["d_weight"].asnumpy())
    want, _ = slow_gradient(grad, data, (4, 4), stride=2, pad=1)
    np.testing.assert_allclose(found[0], want, rtol=1e-4, atol=2e-3)
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


# windows that oneDNN reads wrongly: deeper than data of three axes, or with taps that see nothing
# but padding; data (N, *size, C), filters, kernel, and the rest
ODD = [
    ((4, 2, 8, 8, 32), 32, (3, 3, 3), {"pad": (1, 1, 1)}),
    ((2, 4, 7, 9, 58), 8, (7, 1, 3), {"pad": (4, 0, 0), "stride": (2, 1, 1)}),
    ((2, 4, 7, 9, 16), 16, (5, 1, 3), {"pad": (2, 0, 0)}),
    ((64, 11, 1, 64), 64, (3, 3), {"pad": (1, 2), "stride": (1, 2)}),
    ((52, 14, 2, 16), 158, (1, 7), {"pad": (0, 5), "stride": (1, 3), "num_group": 2}),
    ((16, 1, 1, 64), 64, (3, 3), {"pad": (1, 1)}),
    ((8, 1, 1, 64), 64, (3, 3), {"pad": (2, 2), "stride": (2, 2)}),
]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("case", ODD, ids=str)
def test_windows_beyond_the_data(case, forced, dtype, rng, monkeypatch):
    if not forced:
        monkeypatch.delenv("CYNET_CONV_ALGORITHM")
    monkeypatch.setitem(CASES, "odd", case)
    data, grad = drawn("odd", rng, dtype)
    found = [gradients("odd", threads, data, grad, dtype) for threads in (1, 2, 3)]
    wanted = slow_gradient(data, grad, case[2], **case[3])
    for got, want in zip(found[0], wanted, strict=True):
        near = 2**-7 if dtype == "bfloat16" else 1e-4
        np.testing.assert_allclose(got, want, rtol=near, atol=near * 10)
    assert all(a.tobytes() == b.tobytes() for each in found for a, b in zip(each, found[0]))


def test_more_threads_than_when_it_was_made(rng):
    data, grad = drawn("slices", rng)
    want = gradients("slices", 4, data, grad)[0]
    _, filters, kernel, more = CASES["slices"]
    set_num_threads(2, beyond_cores=True)
    net = mx.sym.Convolution(
        mx.sym.var("data"), num_filter=filters, kernel=kernel, layout="NHWC", name="c", **more
    )
    executor = net.simple_bind(mx.cpu(), data=data.shape)
    executor.arg_dict["data"][:] = data
    for threads in (2, 4, 1, 16):
        set_num_threads(threads, beyond_cores=True)
        executor.forward(is_train=True)
        executor.backward(mx.nd.array(grad))
        assert executor.grad_dict["c_weight"].asnumpy().tobytes() == want.tobytes()
