"""Convolutions of row-major data by channels-last kernels, beside sums over windows in NumPy."""

import numpy as np
import pytest
from cynet.kernels.isa.dispatch import cpu_capability
from cynet.operator.nn.convolution.row_major_adapter import Reordered

import cynet as mx
from cynet.kernels.conv import onednn
from cynet.operator import get_operator
from tests.pairs import pairwise

# batch, channels, height, width, filters, kernel, stride, pad
SHAPES = [
    (1, 16, 35, 37, 16, 3, 1, 1),
    (4, 32, 13, 18, 48, 3, 1, 0),
    (32, 32, 4, 4, 48, 3, 1, 1),
    (16, 20, 12, 12, 50, 5, 1, 0),
    (8, 32, 32, 32, 32, 4, 2, 1),
    (20, 33, 2, 3, 40, 3, 1, 1),
    (7, 16, 40, 40, 16, 3, 1, 1),  # one image, or several, at a time, with some left over
    (33, 16, 12, 12, 16, 3, 1, 0),
    (1, 16, 3, 400, 16, 3, 1, 1),  # rows of one image, a tile or some of them a thread
    (3, 16, 7, 40, 16, 3, 1, 1),
    (1, 32, 61, 81, 48, 5, 2, 2),
    (1, 16, 41, 60, 32, 2, 1, 1),
    (1, 16, 4, 300, 20, 4, 1, 2),
    (1, 24, 50, 50, 40, 4, 1, 0),
    (1, 16, 20, 90, 16, 3, 1, 6),  # some of the pad alone
]


def windows(data, kernel, stride, pad):
    """(N, C, H', W', kernel, kernel): what each output sees."""
    padded = np.pad(data, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), (2, 3))
    return seen[:, :, ::stride, ::stride]


def spread(grad, weight, shape, stride, pad):
    """The gradient of data of `shape`: each output's, spread over its window."""
    batch, channels, height, width = shape
    total = np.zeros((batch, channels, height + 2 * pad, width + 2 * pad))
    rows, columns = grad.shape[2:]
    for i in range(weight.shape[2]):
        for j in range(weight.shape[3]):
            part = np.einsum("nfhw,fc->nchw", grad, weight[:, :, i, j])
            total[:, :, i : i + stride * rows : stride, j : j + stride * columns : stride] += part
    return total[:, :, pad : pad + height, pad : pad + width]


def check(executor, given, reqs, wanted_out, wanted_grads, head):
    """forward and backward beside what is wanted; gradients that are added to begin at 1."""
    for name, value in given.items():
        executor.arg_dict[name][:] = value
    for grad in executor.grad_dict.values():
        if grad is not None:
            grad[:] = 1
    executor.forward(True)
    executor.backward(mx.nd.array(head))
    near(executor.outputs[0].asnumpy(), wanted_out)
    for name, grad in executor.grad_dict.items():
        if grad is not None:
            near(grad.asnumpy(), wanted_grads[name] + (reqs[name] == "add"))


def near(got, wanted):
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=0, atol=2e-5 * np.abs(wanted).max())


REQUESTS = [  # of data, weight, bias
    ("write",) * 3,
    ("add",) * 3,
    ("null", "null", "write"),
    ("write", "null", "add"),
    ("null", "add", "null"),
]


@pytest.mark.parametrize(
    "shape, reqs, no_bias", pairwise(SHAPES, REQUESTS, [False, True]), ids=str
)
def test_convolution(shape, reqs, no_bias, monkeypatch):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "none")
    batch, channels, height, width, filters, kernel, stride, pad = shape
    seed = int.from_bytes(np.random.bytes(3), "little")
    print("seed", seed)
    rng = np.random.RandomState(seed)
    given = {
        "data": rng.randn(batch, channels, height, width),
        "c_weight": rng.randn(filters, channels, kernel, kernel),
        "c_bias": rng.randn(filters),
    }
    out = np.einsum(
        "ncijkl,fckl->nfij",
        windows(given["data"], kernel, stride, pad),
        given["c_weight"],
        optimize=True,
    )
    if no_bias:
        del given["c_bias"]
    else:
        out += given["c_bias"][:, None, None]
    head = rng.randn(*out.shape)
    grads = {
        "data": spread(head, given["c_weight"], given["data"].shape, stride, pad),
        "c_weight": np.einsum(
            "ncijkl,nfij->fckl", windows(given["data"], kernel, stride, pad), head, optimize=True
        ),
        "c_bias": head.sum((0, 2, 3)),
    }
    net = mx.sym.Convolution(
        mx.sym.var("data"),
        name="c",
        kernel=(kernel, kernel),
        stride=(stride, stride),
        pad=(pad, pad),
        num_filter=filters,
        no_bias=no_bias,
    )
    reqs = dict(zip(given, reqs))
    if any(req != "null" for req in reqs.values()):
        executor = net.simple_bind(mx.cpu(), grad_req=reqs, data=given["data"].shape)
        check(executor, given, reqs, out, grads, head)
    arrays = [mx.nd.array(each) for each in given.values()]
    got = mx.nd.Convolution(
        *arrays,
        kernel=(kernel, kernel),
        stride=(stride, stride),
        pad=(pad, pad),
        num_filter=filters,
        no_bias=no_bias,
    )
    near(got.asnumpy(), out)


@pytest.mark.skipif(not onednn.available(), reason="no oneDNN, no channels-last form")
@pytest.mark.skipif(cpu_capability() == "baseline", reason="no kernels of our own")
@pytest.mark.parametrize("shape", SHAPES)
def test_these_shapes_are_reordered(shape):
    batch, channels, height, width, filters, kernel, stride, pad = shape
    prop = get_operator("Convolution").prop(
        kernel=(kernel, kernel), stride=(stride, stride), pad=(pad, pad), num_filter=filters
    )
    shapes = [(batch, channels, height, width), (filters, channels, kernel, kernel), (filters,)]
    operator = prop.create_operator(mx.cpu(), shapes, ["float32"] * 3)
    assert isinstance(operator, Reordered)


def test_deconvolution():
    """A deconvolution is the gradient of a convolution by its data."""
    rng = np.random.RandomState(3)
    data, weight = rng.randn(8, 32, 16, 16), rng.randn(32, 24, 4, 4)
    wanted = spread(data, weight, (8, 24, 32, 32), 2, 1)
    bias = rng.randn(24)
    got = mx.nd.Deconvolution(
        *map(mx.nd.array, (data, weight, bias)),
        kernel=(4, 4),
        stride=(2, 2),
        pad=(1, 1),
        num_filter=24,
        no_bias=False,
    )
    near(got.asnumpy(), wanted + bias[:, None, None])
