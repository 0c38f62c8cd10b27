"""The layout, fuse and commute passes: what they make gives the same results as without them."""

import numpy as np
import pytest

import cynet as mx
from cynet.kernels.conv import onednn
from cynet.operator import get_operator
from tests.operator.direct import Ready
from tests.operator.runner import ADD

needs_onednn = pytest.mark.skipif(not onednn.available(), reason="oneDNN's wheel is not installed")
ALL, NONE = "all", "none"


def convolution(x, filters=6, kernel=(3, 3), **kwargs):
    return mx.sym.Convolution(x, num_filter=filters, kernel=kernel, **kwargs)


def norm(x, **kwargs):
    return mx.sym.BatchNorm(x, fix_gamma=False, **kwargs)


def relu(x, act_type="relu"):
    return mx.sym.Activation(x, act_type=act_type)


def pool(x, pool_type="max", **kwargs):
    return mx.sym.Pooling(
        x, **{"kernel": (2, 2), "stride": (2, 2), "pool_type": pool_type, **kwargs}
    )


def residual(x):
    y = convolution(x, 16, pad=(1, 1), no_bias=True)
    z = convolution(relu(norm(y)), 16, pad=(1, 1), no_bias=True)
    return relu(norm(z) + convolution(x, 16, (1, 1)))


def inception(x):
    x = convolution(x, 8)
    parts = (
        relu(convolution(x, 5, (1, 1))),
        relu(norm(convolution(x, 20, pad=(1, 1)))),
        pool(x, "avg", kernel=(3, 3), stride=(1, 1), pad=(1, 1)),
        pool(x, "max", kernel=(3, 3), stride=(1, 1), pad=(1, 1)),
    )
    return pool(mx.sym.Concat(*parts), "avg", global_pool=True)


def transposed(x, filters=6, kernel=(3, 3), **kwargs):
    return mx.sym.Deconvolution(x, num_filter=filters, kernel=kernel, **kwargs)


def last(x, filters=6, **kwargs):
    return convolution(x, filters, layout="NHWC", **kwargs)


def dense(x):
    return mx.sym.FullyConnected(x, num_hidden=20)


def enlarged(*inputs, **kwargs):
    return mx.sym.UpSampling(*inputs, scale=2, sample_type="nearest", **kwargs)


def gated(x, function, axes):
    """Images by what their sums along `axes` say."""
    x = convolution(x, 8, pad=(1, 1))
    gate = mx.sym.Activation(mx.sym.mean(x, axis=axes, keepdims=True), act_type="sigmoid")
    if axes == (2, 3):
        gate = convolution(gate, 8, (1, 1))
    return convolution(getattr(mx.sym, function)(x, gate), 4, (1, 1))


def instance_norm(x):
    return mx.sym.InstanceNorm(x, mx.sym.var("scale_gamma"), mx.sym.var("shift_beta"))


NETS = {
    "channels gated": lambda x: gated(x, "broadcast_mul", (2, 3)),
    "pixels gated": lambda x: gated(x, "broadcast_mul", (1,)),
    "rows gated": lambda x: gated(x, "broadcast_maximum", (2,)),
    "columns subtracted": lambda x: gated(x, "broadcast_sub", (0, 3)),
    "from a number": lambda x: mx.sym.broadcast_sub(
        mx.sym.var("shift_beta", shape=(1, 6, 1, 1)), convolution(x)
    ),
    "convolution": lambda x: convolution(x),
    "bias and relu": lambda x: relu(convolution(x)),
    "softrelu": lambda x: relu(convolution(x), "softrelu"),
    "sigmoid": lambda x: relu(convolution(x), "sigmoid"),
    "softsign": lambda x: relu(convolution(x), "softsign"),
    "groups": lambda x: convolution(convolution(x, 8), 8, num_group=4, stride=(2, 1)),
    "dilated": lambda x: convolution(x, dilate=(2, 1), pad=(2, 3)),
    "many channels": lambda x: convolution(relu(convolution(x, 32, pad=(1, 1))), 48, pad=(1, 1)),
    "wide kernels": lambda x: convolution(
        relu(convolution(x, 20, pad=(1, 1))), 50, (5, 5), pad=(2, 2)
    ),
    "pooling of tanh": lambda x: pool(relu(convolution(x), "tanh")),
    "overlapping windows": lambda x: pool(convolution(x), kernel=(3, 3), pad=(1, 0)),
    "full windows": lambda x: pool(relu(convolution(x)), kernel=(3, 3), pooling_convention="full"),
    "sums": lambda x: pool(convolution(x), "sum", kernel=(3, 2), stride=(2, 3)),
    "norm": lambda x: norm(convolution(x)),
    "norm and relu": lambda x: relu(norm(convolution(x, 20))),
    "fixed gamma": lambda x: relu(mx.sym.BatchNorm(convolution(x))),
    "given statistics": lambda x: relu(norm(convolution(x), use_global_stats=True)),
    "residual": residual,
    "inception": inception,
    "flatten": lambda x: mx.sym.FullyConnected(mx.sym.Flatten(convolution(x)), num_hidden=4),
    "dense tanh": lambda x: relu(mx.sym.FullyConnected(x, num_hidden=4), "tanh"),
    "twice read": lambda x: (lambda y: relu(y) * y - pool(relu(y), kernel=(1, 1), stride=(1, 1)))(
        norm(convolution(x))
    ),
    "arithmetic": lambda x: mx.sym.exp(convolution(x) * 0.1) - convolution(x) / 2,
    "deconvolution": lambda x: transposed(relu(transposed(x, 32)), 48, (4, 3), no_bias=False),
    "deconvolution with strides": lambda x: transposed(
        convolution(x), stride=(2, 3), pad=(1, 0), adj=(1, 0), dilate=(1, 2), no_bias=False
    ),
    "deconvolution of groups": lambda x: transposed(x, num_group=2, stride=(2, 2), kernel=(2, 2)),
    "deconvolution to a shape": lambda x: relu(
        transposed(x, kernel=(4, 4), stride=(2, 2), target_shape=(18, 16))
    ),
    "deconvolution cut short": lambda x: relu(transposed(x, target_shape=(8, 7))),
    "limits": lambda x: convolution(mx.sym.clip(convolution(x), -0.2, 0.5)),
    "hard sigmoid": lambda x: convolution(mx.sym.hard_sigmoid(convolution(x))),
    "leaky": lambda x: convolution(mx.sym.LeakyReLU(convolution(x), act_type="elu")),
    "learned slopes": lambda x: convolution(mx.sym.LeakyReLU(convolution(x), act_type="prelu")),
    "enlarged": lambda x: convolution(enlarged(relu(convolution(x)), num_args=1)),
    "several enlarged": lambda x: convolution(
        enlarged(
            convolution(pool(x, kernel=(3, 2), stride=(3, 2)), 5, (1, 1)), convolution(x, 3, (4, 1))
        )
    ),
    "enlarged and added": lambda x: convolution(
        enlarged(convolution(x), convolution(x), multi_input_mode="sum")
    ),
    "instances": lambda x: convolution(relu(instance_norm(convolution(x, 20)))),
    "local response": lambda x: convolution(
        pool(mx.sym.LRN(relu(convolution(x, 20)), nsize=5, alpha=0.5)), 5, (2, 2)
    ),
    "instances and tanh": lambda x: relu(instance_norm(convolution(x)), "tanh"),
    "cropped": lambda x: convolution(
        mx.sym.Crop(convolution(x), h_w=(5, 4), offset=(1, 2)), 5, (2, 2)
    ),
    "cropped alike": lambda x: convolution(
        mx.sym.Crop(convolution(x), mx.sym.relu(pool(convolution(x))), center_crop=True), 5, (2, 2)
    ),
    "bordered": lambda x: convolution(
        mx.sym.Pad(
            relu(convolution(x, 8)),
            mode="constant",
            constant_value=0.5,
            pad_width=(0, 0, 0, 0, 1, 2, 0, 3),
        )
    ),
    "one column": lambda x: relu(
        convolution(convolution(x, 8, (3, 8)), 6, (3, 1), pad=(1, 0), stride=(2, 1), num_group=2)
    ),
    "columns": lambda x: convolution(
        convolution(x, 1, (1, 1)), 6, (3, 8), pad=(1, 0), stride=(2, 1)
    ),
    "columns of words": lambda x: mx.sym.Concat(
        *(
            pool(convolution(mx.sym.reshape(x, shape=(-1, 1, 9, 8)), 5, kernel), kernel=(2, 1))
            for kernel in ((2, 8), (4, 8))
        ),
        dim=2,
    ),
    "dense norm": lambda x: relu(norm(dense(x))),
    "dense residual": lambda x: relu(norm(dense(x)) + dense(x)),
    "joined rows": lambda x: norm(mx.sym.Concat(dense(x), relu(norm(dense(x)), "tanh"))),
    "transposed": lambda x: mx.sym.transpose(relu(convolution(x)), axes=(0, 2, 3, 1)),
    "layout": lambda x: last(relu(norm(last(x, 8, pad=(1, 1), num_group=2), axis=3)), 5),
    "layouts": lambda x: convolution(
        pool(relu(transposed(relu(last(x)), 8, layout="NHWC")), "avg", layout="NHWC")
    ),
}


def run(net, shape, passes, monkeypatch, rng_seed, req="write"):
    """Outputs, gradients and states of one training step and one prediction."""
    monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
    executor = net.simple_bind(mx.cpu(), x=shape, grad_req=req)
    rng = np.random.RandomState(rng_seed)
    for name, array in (*executor.arg_dict.items(), *executor.aux_dict.items()):
        low = 0.5 if "var" in name or "gamma" in name else -1
        array[:] = rng.uniform(low, 1, array.shape)
    grads = [grad for grad in executor.grad_arrays if grad is not None]
    for grad in grads:
        grad[:] = 1
    executor.forward(is_train=bool(grads))
    found = [out.asnumpy() for out in executor.outputs]
    if grads:
        executor.backward([mx.nd.array(rng.uniform(-1, 1, out.shape)) for out in executor.outputs])
    found += [grad.asnumpy() for grad in grads]
    found += [aux.asnumpy() for aux in executor.aux_arrays]
    found += [out.asnumpy() for out in executor.forward(is_train=False)]
    return found, executor


def agree(net, shape, monkeypatch, seed, req="write"):
    """Outputs, gradients and states with all passes are those with none."""
    got, _ = run(net, shape, ALL, monkeypatch, seed, req)
    want, _ = run(net, shape, NONE, monkeypatch, seed, req)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4 * max(1, np.abs(b).max()))


@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize("name", NETS)
def test_gives_what_the_plain_plan_gives(name, req, monkeypatch):
    """Portable row-major operators are the slower independent implementation."""
    agree(NETS[name](mx.sym.var("x")), (3, 4, 9, 8), monkeypatch, 5, req)


SMALL = {
    "window": lambda x: convolution(x, 33, pad=(1, 1)),
    "window and relu": lambda x: relu(convolution(x, 33, pad=(1, 1), no_bias=True)),
    "window and tanh": lambda x: relu(convolution(x, 33, pad=(1, 1)), "tanh"),
    "window with stride": lambda x: convolution(x, 24, pad=(1, 1), stride=(2, 2)),
    "wide window": lambda x: relu(convolution(x, 20, (5, 5), pad=(2, 2))),
    "deconvolution": lambda x: relu(transposed(x, 24, pad=(1, 1), no_bias=False)),
    "deconvolution with stride": lambda x: transposed(x, 24, (4, 4), pad=(1, 1), stride=(2, 2)),
    "1x1": lambda x: convolution(convolution(x, 24, pad=(1, 1)), 19, (1, 1)),
    "1x1 and relu": lambda x: relu(convolution(norm(convolution(x, 24)), 19, (1, 1))),
    "1x1 and sigmoid": lambda x: relu(convolution(x, 19, (1, 1), no_bias=True), "sigmoid"),
}


@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize("name", SMALL)
def test_small_images(name, req, monkeypatch):
    """Images enough for products of few pixels (kernels/gemm/small.h)."""
    agree(SMALL[name](mx.sym.var("x")), (17, 18, 3, 4), monkeypatch, 8, req)


TILED = {
    "3x3": lambda x: convolution(x, 40, pad=(1, 1)),
    "3x3 and tanh": lambda x: relu(convolution(x, 40, pad=(1, 1)), "tanh"),
    "3x3 and sigmoid, few channels": lambda x: relu(
        convolution(convolution(x, 9), 12, pad=(1, 1), no_bias=True), "sigmoid"
    ),
    "2x2": lambda x: convolution(x, 40, (2, 2)),
    "4x4": lambda x: convolution(x, 33, (4, 4), pad=(1, 1)),
    "4x4 with stride": lambda x: convolution(x, 48, (4, 4), pad=(1, 1), stride=(2, 2)),
    "5x5 with stride": lambda x: convolution(x, 33, (5, 5), pad=(2, 1), stride=(2, 2)),
    "deconvolution": lambda x: transposed(x, 48, (4, 4), pad=(1, 1), stride=(2, 2), no_bias=False),
}


@pytest.mark.parametrize("req", ["write", "add", "null"])
@pytest.mark.parametrize("name", TILED)
def test_tiles_of_images(name, req, monkeypatch):
    """Convolutions by kernels/conv/winograd.h; without gradients their weights are packed. No relu
    behind: a sum near 0 may have another sign."""
    agree(TILED[name](mx.sym.var("x")), (8, 32, 32, 31), monkeypatch, 9, req)


@pytest.mark.parametrize("shape", [(2, 3, 11), (1, 2, 5, 6, 7)])
def test_one_and_three_spatial_axes(shape, monkeypatch):
    """Axes of (N, C, W) and (N, C, D, H, W) keep their order too."""
    kernel = (3,) * (len(shape) - 2)
    net = relu(norm(convolution(mx.sym.var("x"), 5, kernel)))
    net = pool(net, kernel=kernel, stride=(), pool_type="avg")
    got, _ = run(net, shape, ALL, monkeypatch, 6)
    want, _ = run(net, shape, NONE, monkeypatch, 6)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize("pool_type", ["max", "avg", "sum"])
@pytest.mark.parametrize(
    "window",
    [
        {"kernel": (2, 2, 2), "stride": (2, 2, 2)},
        {"kernel": (3, 2, 3), "stride": (1, 2, 1), "pad": (1, 0, 1)},
        {"kernel": (2, 3, 2), "stride": (2, 2, 3), "pooling_convention": "full"},
        {"kernel": (2, 2, 2), "global_pool": True},
    ],
)
def test_pooling_of_three_axes(pool_type, window, monkeypatch):
    """Of equal maxima the same one gets the gradient as in row-major order."""
    rng = np.random.RandomState(11)
    x, weight = rng.randint(0, 3, (2, 5, 5, 7, 6)), np.eye(5).reshape(5, 5, 1, 1, 1)
    net = convolution(mx.sym.var("x"), 5, (1, 1, 1), no_bias=True, name="same")
    net = mx.sym.Pooling(net, pool_type=pool_type, **window)
    found = []
    for passes in (ALL, NONE):
        monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
        executor = net.simple_bind(mx.cpu(), x=x.shape)
        executor.arg_dict["x"][:], executor.arg_dict["same_weight"][:] = x, weight
        out = executor.forward(is_train=True)[0].asnumpy()
        grad = np.random.RandomState(12).uniform(-1, 1, out.shape)
        executor.backward([mx.nd.array(grad)])
        found.append((out, executor.grad_dict["x"].asnumpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def steps_of(net, shape, passes, monkeypatch):
    _, executor = run(net, shape, passes, monkeypatch, 7)
    graph = executor._graph
    return [step.prop.op_name for step in graph.steps[: graph.n_forward]]


@needs_onednn
def test_reorders_only_at_the_edges(monkeypatch):
    """One way in, one way out, whatever stands between."""
    net = mx.sym.Flatten(residual(mx.sym.var("x")))
    names = steps_of(net, (2, 16, 6, 6), ALL, monkeypatch)
    assert names.count("_channels_last") == 2
    assert names[0] == "_channels_last"
    assert "Activation" not in names
    assert "elemwise_add" not in names


@needs_onednn
@pytest.mark.parametrize(
    "name",
    [
        *("deconvolution", "limits", "leaky", "learned slopes", "enlarged", "instances"),
        *("cropped", "cropped alike", "local response", "bordered"),
    ],
)
def test_what_keeps_the_order(name, monkeypatch):
    """Reorders stand at the edges alone."""
    names = steps_of(NETS[name](mx.sym.var("x")), (3, 4, 9, 8), ALL, monkeypatch)
    assert names.count("_channels_last") == 2


@needs_onednn
@pytest.mark.parametrize("function", ["broadcast_mul", "broadcast_add"])
def test_gates_keep_the_order(function, monkeypatch):
    x = convolution(mx.sym.var("x"), 8, pad=(1, 1))
    gate = relu(convolution(pool(x, "avg", global_pool=True), 8, (1, 1)), "sigmoid")
    net = convolution(getattr(mx.sym, function)(x, gate), 4)
    names = steps_of(net, (3, 4, 9, 8), ALL, monkeypatch)
    assert function in names
    assert names.count("_channels_last") == 2


def test_norm_of_rows_takes_its_activation(monkeypatch):
    """A matrix lies alike in both orders: nothing is reordered, and steps are joined."""
    names = steps_of(NETS["dense residual"](mx.sym.var("x")), (3, 4, 9, 8), ALL, monkeypatch)
    assert names == ["FullyConnected", "FullyConnected", "BatchNorm"]


@needs_onednn
def test_layouts_with_channels_last_need_no_reorder(monkeypatch):
    """Data are in the order that convolutions prefer; each weight is turned once."""
    weight, x = mx.sym.var("weight"), mx.sym.var("x")
    net = relu(last(last(x, 8, pad=(1, 1), weight=weight), 8, weight=weight))
    names = steps_of(net, (2, 9, 7, 8), ALL, monkeypatch)
    assert names == ["transpose", "Convolution", "Convolution"]


@needs_onednn
def test_no_convolution_no_reorder(monkeypatch):
    """Nothing else is worth a reorder."""
    assert "_channels_last" not in steps_of(
        relu(norm(mx.sym.var("x"))), (2, 3, 4, 4), ALL, monkeypatch
    )


@needs_onednn
def test_what_others_read_is_not_joined(monkeypatch):
    """A value that is an output, or has two readers, keeps its step."""
    y = convolution(mx.sym.var("x"))
    grouped = mx.sym.Group([y, relu(y)])
    assert "Activation" in steps_of(grouped, (2, 3, 6, 6), ALL, monkeypatch)


@pytest.mark.parametrize("passes", ["layout", "layout,fuse", "fuse", "commute", "-layout"])
def test_each_pass_alone(passes, monkeypatch):
    """Every pass gives the plain plan's results without the others."""
    for net in (residual(mx.sym.var("x")), NETS["pooling of tanh"](mx.sym.var("x"))):
        got, _ = run(net, (2, 4, 9, 8), passes, monkeypatch, 8)
        want, _ = run(net, (2, 4, 9, 8), NONE, monkeypatch, 8)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4 * max(1, np.abs(b).max()))


@pytest.mark.parametrize("like", ["Crop", "slice_like", "reshape_like", "broadcast_like"])
def test_no_gradient_flows_to_a_shape(like, monkeypatch):
    """What only lends its shape has no backward; the gradient of its arguments is zero."""
    x, other = mx.sym.var("x"), mx.sym.exp(mx.sym.var("y"), name="lent")
    net = getattr(mx.sym, like)(x * 2, other)
    for passes in (ALL, NONE):
        monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
        executor = net.simple_bind(mx.cpu(), x=(1, 2, 3, 3), y=(1, 2, 3, 3))
        for grad in executor.grad_arrays:
            grad[:] = 7
        executor.arg_dict["x"][:] = 1
        assert (executor.forward(is_train=True)[0].asnumpy() == 2).all()
        executor.backward(mx.nd.ones((1, 2, 3, 3)))
        assert (executor.grad_dict["x"].asnumpy() == 2).all()
        assert (executor.grad_dict["y"].asnumpy() == 0).all()
        graph = executor._graph
        assert "lent" not in [step.name for step in graph.steps[graph.n_forward :]]


def test_portable_kernels_keep_row_major(monkeypatch):
    """CYNET_KERNELS=portable makes no channels-last plan; a wrong word is refused."""
    monkeypatch.setenv("CYNET_KERNELS", "portable")
    assert "_channels_last" not in steps_of(
        residual(mx.sym.var("x")), (2, 4, 6, 6), ALL, monkeypatch
    )
    monkeypatch.setenv("CYNET_KERNELS", "fast")
    with pytest.raises(mx.base.MXNetError, match="expected one of auto, portable"):
        convolution(mx.sym.var("x")).simple_bind(mx.cpu(), x=(1, 1, 4, 4))


def test_runs_are_equal_byte_for_byte(monkeypatch):
    """Two executors, one result."""
    net = residual(mx.sym.var("x"))
    first, _ = run(net, (4, 16, 12, 12), ALL, monkeypatch, 9)
    second, _ = run(net, (4, 16, 12, 12), ALL, monkeypatch, 9)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def test_reorder_operator():
    """_channels_last moves the bytes and refuses what it cannot move."""
    x = np.arange(2 * 3 * 4 * 5, dtype="float32").reshape(2, 3, 4, 5)
    there = mx.nd._internal._channels_last(mx.nd.array(x))
    want = x.transpose(0, 2, 3, 1).ravel()
    np.testing.assert_array_equal(there.asnumpy().ravel(), want)
    back = mx.nd._internal._channels_last(there, to_last=False)
    np.testing.assert_array_equal(back.asnumpy(), x)
    with pytest.raises(mx.base.MXNetError, match="takes float32, int8, uint8, int32 data"):
        mx.nd._internal._channels_last(mx.nd.array(x, dtype="float64"))


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "int32"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 8, 9, 16, 24, 31, 32, 33, 40, 64])
def test_reorder_of_all_sizes(rng, dtype, channels):
    """Every element lies where NumPy puts it, for whole words of bytes and for the rest."""
    for size in [(1, 1), (2, 3), (1, 8), (3, 5), (7, 9), (33, 32), (45, 47)]:
        x = rng.integers(-128, 128, (2, channels, *size)).astype(dtype)
        want = np.ascontiguousarray(np.moveaxis(x, 1, -1)).reshape(x.shape)
        there = mx.nd._internal._channels_last(mx.nd.array(x, dtype=dtype))
        np.testing.assert_array_equal(there.asnumpy(), want)
        back = mx.nd._internal._channels_last(there, to_last=False)
        np.testing.assert_array_equal(back.asnumpy(), x)
        both = Ready("_channels_last", [x]).forward(req=ADD, out=[x.copy()])[0]
        np.testing.assert_array_equal(both, (x + want).astype(dtype))


@needs_onednn
def test_a_changed_property_has_a_form_of_its_own():
    """Forms are made once for all shapes, but a changed copy is not what its form was made of."""
    prop = get_operator("Convolution").prop(kernel=(3, 3), num_filter=4)
    asked = [(1, 8, 9, 9), (4, 8, 3, 3), (4,)], ["float32"] * 3
    form, _ = prop.graph.channels_last_form(prop, *asked)
    assert prop.graph.channels_last_form(prop, *asked)[0] is form and not form.no_bias
    changed = prop.changed(no_bias=True)
    other, _ = changed.graph.channels_last_form(changed, asked[0][:2], asked[1][:2])
    assert other.no_bias and not form.no_bias
