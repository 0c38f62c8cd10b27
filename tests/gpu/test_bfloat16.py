"""bfloat16 on a GPU: every operator's cases that the CPU takes in it, updates, mixed precision."""

import contextlib

import numpy as np
import pytest

import cynet as mx
from tests.bfloat16 import widened
from tests.gpu.test_operators import CASES, run
from tests.operator.cuda.test_forms import takes

PAIRS = [
    pytest.param(case, id=case.id)
    for case in CASES
    if "float32" in case.dtypes and takes(case, "bfloat16")
]


@pytest.mark.parametrize("case", PAIRS)
def test_operator(gpu, case):
    wanted, found = run(case, "bfloat16", mx.cpu(), 1), run(case, "bfloat16", gpu, 3)
    for name, value in wanted.items():
        a, b = widened(found[name]).astype("d"), widened(value).astype("d")
        np.testing.assert_allclose(a, b, 0.03, 0.03, err_msg=name)


@pytest.mark.parametrize("bidirectional", (False, True))
@pytest.mark.parametrize("layer", ("LSTM", "GRU", "RNN"))
def test_recurrent_layers(gpu, rng, layer, bidirectional):
    """Two layers: outputs and gradients are near the CPU's in bfloat16, and near float32."""
    x, head = (rng.uniform(-1, 1, s).astype("f") for s in ((5, 3, 4), (5, 3, 12)))
    found = {}
    for ctx, dtype in ((mx.cpu(), "float32"), (mx.cpu(), "bfloat16"), (gpu, "bfloat16")):
        mx.random.seed(4)
        options = {"activation": "tanh"} if layer == "RNN" else {}  # relu: gradients jump at 0
        net = getattr(mx.gluon.rnn, layer)(
            6, 2, bidirectional=bidirectional, input_size=4, **options
        )
        net.initialize(mx.init.Uniform(0.5), ctx=ctx)
        net.cast(dtype)
        data = mx.nd.array(x, ctx=ctx).astype(dtype)
        data.attach_grad()
        with mx.autograd.record():
            out = net(data)
        out.backward(mx.nd.array(head[..., : out.shape[2]], ctx=ctx).astype(dtype))
        arrays = [out, data.grad, *(p.grad() for p in net.collect_params().values())]
        assert {mx.base.dtype.name_of(a.dtype) for a in arrays} == {dtype}
        found[ctx, dtype] = [a.astype("float32").asnumpy() for a in arrays]
    exact, here, there = found.values()
    for wanted, near in ((here, there), (exact, there)):
        for a, b in zip(near, wanted):
            np.testing.assert_allclose(a, b, 0.03, 0.03 * max(1, np.abs(b).max()))


def lost_bits(multi_precision):
    """The first update warns that weights of 8 bits lose small changes, unless they have copies."""
    if multi_precision:
        return contextlib.nullcontext()
    return pytest.warns(UserWarning, match="multi_precision")


@pytest.mark.parametrize("name", ("sgd", "adam", "rmsprop", "ftrl"))
@pytest.mark.parametrize("multi_precision", (False, True))
def test_an_update(gpu, rng, name, multi_precision):
    values = [rng.standard_normal((5, 7)).astype("f") for _ in range(4)]
    found = []
    for ctx in (mx.cpu(), gpu):
        optimizer = mx.optimizer.create(name, multi_precision=multi_precision, learning_rate=0.1)
        updater = mx.optimizer.get_updater(optimizer)
        weight, *grads = (mx.nd.array(value, ctx=ctx).astype("bfloat16") for value in values)
        with lost_bits(multi_precision):
            updater(0, grads[0], weight)
        for grad in grads[1:]:
            updater(0, grad, weight)
        found.append(weight.astype("float32").asnumpy())
    np.testing.assert_allclose(found[1], found[0], rtol=0.01, atol=0.01)
    assert np.abs(found[0] - values[0]).max() > 0.01


@pytest.mark.parametrize("dtype", ("bfloat16", "float16"))
def test_mixed_precision_of_a_symbol(gpu, rng, dtype):
    x = mx.sym.Variable("data")
    x = mx.sym.Convolution(x, kernel=(3, 3), num_filter=4, pad=(1, 1), name="conv")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, name="norm"), act_type="relu")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x), num_hidden=3, name="fc")
    net = mx.contrib.amp.convert_symbol(mx.sym.softmax(x), dtype)
    values = {
        n: rng.standard_normal(s).astype("f") * 0.3
        for n, s in zip(net.list_arguments(), net.infer_shape(data=(2, 3, 5, 5))[0])
    }
    states = {"norm_moving_mean": np.zeros(4, "f"), "norm_moving_var": np.ones(4, "f")}
    found = []
    for ctx in (mx.cpu(), gpu):
        args = {n: mx.nd.array(v, ctx=ctx) for n, v in values.items()}
        aux = {n: mx.nd.array(v, ctx=ctx) for n, v in states.items()}
        found.append(net.bind(ctx, args, aux_states=aux).forward()[0].astype("float32").asnumpy())
    np.testing.assert_allclose(found[1], found[0], atol=0.02)


@pytest.mark.parametrize("dtype", ("bfloat16", "float16"))
def test_autocast_trains(gpu, rng, dtype):
    """Layers that compute in `dtype` from weights of float32: losses are near the CPU's."""
    x, y = rng.standard_normal((16, 8)).astype("f"), rng.integers(0, 3, 16)
    losses = []
    for ctx in (mx.cpu(), gpu):
        mx.random.seed(3)
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(32, activation="relu", in_units=8))
        net.add(mx.gluon.nn.Dense(3, in_units=32))
        net.initialize(mx.init.Xavier(), ctx=ctx)
        mx.gluon.autocast(net, dtype)
        net.hybridize(static_alloc=True, static_shape=True)
        loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.2})
        data, label = mx.nd.array(x, ctx=ctx), mx.nd.array(y, ctx=ctx)
        for _ in range(20):
            with mx.autograd.record():
                loss = loss_of(net(data).astype("float32"), label)
            loss.backward()
            trainer.step(16)
        losses.append(float(loss.mean().asscalar()))
    assert losses[1] < 0.9
    np.testing.assert_allclose(losses[1], losses[0], rtol=0.05)


@pytest.mark.parametrize("dtype", ("bfloat16", "float16", "float32"))
def test_the_scale_follows_overflows(gpu, dtype):
    """An infinity or a NaN in any gradient halves it."""
    scaler, params = mx.contrib.amp.LossScaler(), []
    for i, shape in enumerate(((3, 4), (70000,))):
        param = mx.gluon.Parameter(f"p{i}", shape=shape, dtype=dtype)
        param.initialize(mx.init.One(), ctx=gpu)
        params.append(param)
    found = []
    for bad in (1.0, np.inf, 2.0, -np.inf, np.nan):
        params[1].grad()[69999:] = bad
        found.append(scaler.has_overflow(params))
    assert found == [False, True, False, True, True]
    assert scaler.loss_scale == 2.0**13
