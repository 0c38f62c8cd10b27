"""Operators on cuBLAS and cuDNN on a GPU, in the order of its stream, against the CPU."""

import numpy as np
import pytest

import cynet as mx


def close(got, want, rtol=2e-5):
    np.testing.assert_allclose(got, want, rtol, rtol * max(1.0, float(np.abs(want).max())))


def network():
    """A small network with every layer of the two libraries."""
    x = mx.sym.var("data")
    x = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=4, name="c1")
    x = mx.sym.BatchNorm(x, fix_gamma=False, name="b1")
    x = mx.sym.Activation(x, act_type="tanh")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    x = mx.sym.Deconvolution(x, kernel=(2, 2), stride=(2, 2), num_filter=3, name="d1")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="avg")
    x = mx.sym.SoftmaxActivation(x, mode="channel")
    x = mx.sym.FullyConnected(x, num_hidden=5, name="f1")
    return mx.sym.log_softmax(x)


def run(ctx, arrays, aux, head, steps):
    """Outputs, gradients and states after forward and backward, several times over."""
    put = lambda values: {n: mx.nd.array(a, ctx=ctx) for n, a in values.items()}  # noqa: E731
    args = put(arrays)
    executor = network().bind(
        ctx, args, {n: a.zeros_like() for n, a in args.items()}, "write", put(aux)
    )
    for _ in range(steps):
        out = executor.forward(is_train=True)[0]
        executor.backward([mx.nd.array(head, ctx=ctx)])
    found = {"out": out, **executor.grad_dict, **executor.aux_dict}
    return {n: a.asnumpy() for n, a in found.items()}


def test_training_steps(gpu, rng):
    """Forward and backward of a network; nothing between two steps waits for the device."""
    symbol, shape = network(), (2, 3, 8, 8)
    shapes, outs, states = symbol.infer_shape(data=shape)
    arrays = {n: rng.uniform(-1, 1, s) for n, s in zip(symbol.list_arguments(), shapes)}
    aux = {n: np.full(s, 0.5) for n, s in zip(symbol.list_auxiliary_states(), states)}
    head = rng.uniform(-1, 1, outs[0])
    got, want = (run(ctx, arrays, aux, head, 5) for ctx in (gpu, mx.cpu()))
    for name, value in want.items():
        close(got[name], value, 2e-4)


def test_products(gpu, rng):
    """A chain of products on the stream, where each reads what the last one wrote."""
    a = rng.standard_normal((6, 6)) / 3
    x, y = mx.nd.array(a, ctx=gpu), mx.nd.array(a)
    for _ in range(20):
        x, y = mx.nd.dot(x, x) + x, mx.nd.dot(y, y) + y
        x, y = x / mx.nd.sum(mx.nd.abs(x)), y / mx.nd.sum(mx.nd.abs(y))
    close(x.asnumpy(), y.asnumpy(), 1e-4)
    stack = [rng.standard_normal(s).astype("f") for s in ((3, 4, 5), (3, 5, 2))]
    got = mx.nd.batch_dot(*[mx.nd.array(s, ctx=gpu) for s in stack])
    close(got.asnumpy(), stack[0] @ stack[1])


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_dtypes(gpu, dtype, rng):
    data, weight = rng.uniform(-1, 1, (2, 3, 6, 6)), rng.uniform(-1, 1, (4, 3, 3, 3))
    wide = "float32" if dtype == "float16" else dtype
    arrays = [mx.nd.array(a, ctx=gpu, dtype=dtype) for a in (data, weight)]
    host = [a.astype(wide).copyto(mx.cpu()) for a in arrays]
    params = {"kernel": (3, 3), "num_filter": 4, "no_bias": True}
    got = mx.nd.Convolution(*arrays, **params)
    assert got.dtype == np.dtype(dtype)
    want = mx.nd.Convolution(*host, **params)
    close(got.asnumpy().astype("d"), want.asnumpy(), 4e-3 if dtype == "float16" else 1e-9)


INF, NAN = np.inf, np.nan
MAPS = [  # operator, parameters, the input's shape
    ("softmax", {}, (300, 10)),
    ("softmax", {"axis": 1}, (2, 1000, 3)),
    ("log_softmax", {}, (3, 5000)),
    ("log_softmax", {"axis": 0}, (4, 700)),
    ("SoftmaxActivation", {"mode": "channel"}, (2, 21, 9, 8)),
    ("softmax", {"temperature": 2.0}, (300, 10)),
    ("softmin", {"axis": 1}, (2, 1000, 3)),
    ("log_softmax", {"temperature": 0.5}, (3, 5000)),
    ("softmin", {"axis": 0}, (4, 700)),
    ("Pooling", {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}, (2, 3, 17, 16)),
    ("Pooling", {"kernel": (2, 2, 3), "stride": (2, 2, 2)}, (2, 3, 6, 8, 9)),
    ("Pooling", {"kernel": (3,), "pad": (1,), "pool_type": "avg"}, (2, 3, 17)),
    (
        "Pooling",
        {"kernel": (3, 3), "pad": (1, 1), "pool_type": "avg", "count_include_pad": False},
        (2, 3, 17, 16),
    ),
    ("Pooling", {"kernel": (2, 2), "stride": (2, 2), "pool_type": "sum"}, (2, 3, 16, 16)),
    (
        "Pooling",
        {"kernel": (3, 3), "pad": (1, 1), "pool_type": "avg", "cudnn_off": True},
        (2, 3, 17, 16),
    ),
    ("Pooling", {"global_pool": True, "pool_type": "avg"}, (2, 3, 7, 7)),
    ("Pooling", {"global_pool": True, "pool_type": "avg"}, (2, 3, 17, 16)),
]


def maps(ctx, name, params, x, head, req, dtype):
    """Output and gradient of one operator, which is added to ones where `req` says so."""
    data = mx.nd.array(x, ctx=ctx, dtype=dtype)
    grad = mx.nd.ones(x.shape, ctx=ctx, dtype=dtype)
    node = getattr(mx.sym, name)(mx.sym.Variable("data"), **params)
    executor = node.bind(ctx, [data], [grad], req)
    out = executor.forward(is_train=True)[0]
    if head is None:
        return out.asnumpy().astype("d")
    executor.backward([mx.nd.array(head, ctx=ctx, dtype=dtype)])
    return out.asnumpy().astype("d"), grad.asnumpy().astype("d")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name, params, shape", MAPS)
def test_softmax_and_pooling(gpu, rng, name, params, shape, dtype):
    """By cuDNN or by our own kernels, whichever computes it; equal elements share a maximum."""
    x = rng.integers(-8, 9, shape) / 4
    wide = "float32" if dtype == "float16" else dtype
    (out,) = getattr(mx.sym, name)(mx.sym.Variable("data"), **params).infer_shape(data=shape)[1]
    head = rng.integers(-8, 9, out) / 8
    for req in ("write", "add"):
        got = maps(gpu, name, params, x, head, req, dtype)
        want = maps(mx.cpu(), name, params, x, head, req, wide)
        for a, b in zip(got, want):
            close(a, b, {"float16": 5e-3, "float32": 2e-5, "float64": 1e-9}[dtype])


@pytest.mark.parametrize("axis, shape", [(0, (4, 70000)), (1, (70000, 4))])
def test_more_lines_than_a_grid_is_high(gpu, rng, axis, shape):
    x, head = rng.uniform(-3, 3, shape), rng.uniform(-1, 1, shape)
    found = [
        maps(ctx, "softmax", {"axis": axis}, x, head, "write", "float32") for ctx in (gpu, mx.cpu())
    ]
    for a, b in zip(*found):
        close(a, b)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "name, params",
    [("softmax", {}), ("log_softmax", {}), ("Pooling", {"kernel": (1, 3), "stride": (1, 3)})],
)
def test_what_is_not_finite(gpu, name, params, dtype):
    """NaN goes on where the CPU's does, and so do infinities; but of a line of -inf alone cuDNN
    makes zeros in float32 and float16 (docs/migration.md)."""
    x = np.array([[1, NAN, 2], [1, INF, 2], [-INF, -INF, -INF], [-INF, 1, 2], [3, 4, 5]])
    x = x.reshape(1, 1, 5, 3) if name == "Pooling" else x
    got = maps(gpu, name, params, x, None, "write", dtype)
    want = maps(mx.cpu(), name, params, x, None, "write", "float32")
    if name != "Pooling" and dtype != "float64":
        want[2] = -INF if name == "log_softmax" else 0
    np.testing.assert_allclose(got, want, 5e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("dtype, far", [("float16", 2e4), ("float32", 1e17), ("float64", 1e30)])
def test_batch_norm_of_large_numbers(gpu, rng, dtype, far):
    """cuDNN's persistent mode, which its documentation calls prone to overflow."""
    x = (rng.standard_normal((16, 5, 12, 12)) * far / 4 + far).astype(dtype)
    found = []
    for ctx, kind in ((gpu, dtype), (mx.cpu(), "float64")):
        data = mx.nd.array(x, ctx=ctx, dtype=kind)
        small = "float32" if kind == "float16" else kind
        rest = [mx.nd.full((5,), v, ctx=ctx, dtype=small) for v in (2.0, 1.0, 0.0, 1.0)]
        data.attach_grad()
        with mx.autograd.record():
            y = mx.nd.BatchNorm(data, *rest, fix_gamma=False)
        head = np.random.default_rng(3).integers(0, 7, x.shape) * (far / 16)
        y.backward(mx.nd.array(head, ctx=ctx, dtype=kind))
        found.append([a.asnumpy().astype("d") for a in (y, data.grad)])
    for got, want in zip(*found):
        close(got, want, {"float16": 5e-3, "float32": 1e-4, "float64": 1e-9}[dtype])


def test_two_gpus(two, rng):
    """Each GPU has handles of its own."""
    a = rng.standard_normal((5, 5)).astype("f")
    found = [mx.nd.dot(mx.nd.array(a, ctx=ctx), mx.nd.array(a, ctx=ctx)) for ctx in two]
    for each in found:
        close(each.asnumpy(), a @ a)


def test_a_failure(gpu, simulated, libraries):
    """A call that cuDNN refuses is raised where its result is awaited; the next one works."""
    import ctypes

    data, weight = mx.nd.ones((1, 1, 4, 4), ctx=gpu), mx.nd.ones((1, 1, 3, 3), ctx=gpu)
    params = {"kernel": (3, 3), "num_filter": 1, "no_bias": True}
    mx.nd.waitall()
    ctypes.CDLL(str(libraries / "libcudnn.so.9")).simulated_failure(5000)
    out = mx.nd.Convolution(data, weight, **params)
    with pytest.raises(mx.MXNetError, match=r"cudnnConvolutionForward of a convolution of \(1, 1"):
        out.asnumpy()
    out = mx.nd.Convolution(data, weight, **params)
    np.testing.assert_array_equal(out.asnumpy(), np.full((1, 1, 2, 2), 9))


@pytest.fixture
def libraries():
    """The folder of the simulated libraries."""
    from tests.cuda import simulated

    return simulated.folder()


@pytest.mark.parametrize("lengths", [False, True])
def test_recurrent_layers_with_dropout(gpu, rng, lengths):
    """Several steps, of which the later ones are a graph (not where the host reads lengths): each
    draws the CPU's random numbers."""
    names = ["data", "parameters", "state", "cell"] + ["length"] * lengths
    net = mx.sym.RNN(
        *map(mx.sym.Variable, names),
        mode="lstm",
        state_size=6,
        num_layers=3,
        p=0.4,
        bidirectional=True,
        state_outputs=True,
        use_sequence_length=lengths,
    )
    shapes, outs, _ = net.infer_shape(data=(5, 4, 3))
    values = {n: rng.uniform(-0.6, 0.6, s) for n, s in zip(names, shapes)}
    if lengths:
        values["length"] = np.array([5, 0, 3, 1])
    heads, found = [rng.uniform(-1, 1, s) for s in outs], []
    for ctx in (gpu, mx.cpu()):
        mx.random.seed(11)
        args = {n: mx.nd.array(a, ctx=ctx) for n, a in values.items()}
        executor = net.bind(ctx, args, {n: a.zeros_like() for n, a in args.items()}, "write")
        steps = []
        for _ in range(5):
            executor.forward(is_train=True)
            executor.backward([mx.nd.array(g, ctx=ctx) for g in heads])
            steps += [a.asnumpy() for a in (*executor.outputs, *executor.grad_dict.values())]
        found.append(steps)
    for got, want in zip(*found):
        close(got, want, 1e-4)
    assert np.abs(found[0][0] - found[0][len(found[0]) // 5]).max() > 1e-3
