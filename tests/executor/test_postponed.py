"""Executors without a plan: of shapes that a graph with a plan has not met before."""

import numpy as np
import pytest

import cynet as mx
from cynet import nd, sym
from cynet.executor import executor
from tests.executor.test_call_by_call import NETWORKS


@pytest.fixture(autouse=True)
def two_runs_before_a_plan(monkeypatch):
    monkeypatch.setenv("CYNET_RUNS_BEFORE_PLAN", "2")


def network():
    net = sym.Convolution(sym.var("data"), num_filter=4, kernel=(3, 3), name="conv")
    net = sym.Activation(sym.BatchNorm(net, name="norm"), act_type="relu")
    net = sym.Pooling(net, global_pool=True, pool_type="avg", kernel=(1, 1))
    net = sym.FullyConnected(sym.Flatten(net), num_hidden=3, name="fc")
    return sym.SoftmaxOutput(net, name="softmax")


def bound(rng, net=None, size=6, grad_req="null"):
    """An executor with a plan, its parameters drawn."""
    net = network() if net is None else net
    exe = net.simple_bind(mx.cpu(), grad_req, data=(2, 3, size, size))
    for name, each in {**exe.arg_dict, **exe.aux_dict}.items():
        if name != "data" and not name.endswith("label"):
            each[:] = nd.array(rng.uniform(0.1, 1, each.shape))
    return exe


def data(size, rng):
    return nd.array(rng.uniform(-1, 1, (2, 3, size, size)))


def planned(exe, x):
    """What an executor of a graph of its own, with a plan, says to `x`."""
    other = network().simple_bind(mx.cpu(), "null", data=x.shape)
    args = {k: v for k, v in exe.arg_dict.items() if k != "data" and not k.endswith("label")}
    other.copy_params_from(args, exe.aux_dict)
    return other.forward(data=x)[0].asnumpy()


def reshaped(exe, x):
    return exe.reshape(data=x.shape, allow_up_sizing=True, partial_shaping=True)


def bound_again(exe, x):
    args = {**exe.arg_dict, "data": x.zeros_like(), "softmax_label": nd.zeros(2)}
    return exe._symbol.bind(mx.cpu(), args, aux_states=exe.aux_dict)


def simply_bound(exe, x):
    names = [name for name in exe.arg_dict if name != "data"]
    return exe._symbol.simple_bind(
        mx.cpu(), "null", data=x.shape, shared_exec=exe, shared_arg_names=names
    )


WAYS = reshaped, bound_again, simply_bound


@pytest.mark.parametrize("way", WAYS)
def test_another_shape_has_a_plan_when_it_comes_back(rng, way):
    exe = bound(rng)
    assert exe._calls is None
    for size in (7, 9):
        x = data(size, rng)
        wanted, other = planned(exe, x), way(exe, x)
        outputs = other.outputs
        for turn in range(4):
            assert (other._calls is None) == (turn > 2)
            found = other.forward(data=x)
            assert found is other.outputs is outputs and other.has_run
            np.testing.assert_allclose(found[0].asnumpy(), wanted, 1e-5, 1e-6)
        assert way(exe, x)._calls is None  # the shape is known


@pytest.mark.parametrize("way", WAYS)
def test_runs_of_a_shape_count_whoever_makes_them(rng, way):
    exe, x = bound(rng), data(8, rng)
    for turn in range(4):
        other = way(exe, x)
        assert (other._calls is None) == (turn > 1)
        other.forward(data=x)


def test_the_same_shape_has_a_plan(rng):
    """Results of a shape are those of the first executor, to the last bit."""
    exe, x = bound(rng), data(6, rng)
    wanted = exe.forward(data=x)[0].asnumpy()
    for way in WAYS:
        other = way(exe, x)
        assert other._calls is None
        np.testing.assert_array_equal(other.forward(data=x)[0].asnumpy(), wanted)


def test_a_plan_that_cannot_be_made_is_tried_again(rng, monkeypatch):
    exe, x = bound(rng), data(7, rng)
    wanted, other = planned(exe, x), reshaped(exe, x)

    def fails(graph):
        raise mx.base.MXNetError("no memory for the plan")

    with monkeypatch.context() as patch:
        patch.setattr(executor, "create_operators", fails)
        for _ in range(2):
            with pytest.raises(mx.base.MXNetError, match="no memory for the plan"):
                other.debug_str()
    np.testing.assert_allclose(other.forward(data=x)[0].asnumpy(), wanted, 1e-5, 1e-6)
    assert "conv" in other.debug_str() and other._calls is None


def test_what_needs_the_plan_makes_it(rng):
    exe, x = bound(rng), data(7, rng)
    wanted = planned(exe, x)
    uses = {
        "debug_str": lambda other: other.debug_str(),
        "profile": lambda other: other.profile(other.forward, n=1),
        "backward": lambda other: other.backward(),
        "monitor": lambda other: other.set_monitor_callback(lambda *_: None),
    }
    for number, (name, use) in enumerate(uses.items()):
        x = data(10 + number, rng)
        wanted, other = planned(exe, x), reshaped(exe, x)
        assert other._calls is not None
        use(other)
        if name != "monitor":
            assert other._calls is None
        np.testing.assert_allclose(other.forward(data=x)[0].asnumpy(), wanted, 1e-5, 1e-6)
        assert other._calls is None


def test_a_monitor_sees_every_node(rng):
    exe, x, seen = bound(rng), data(7, rng), []
    other = reshaped(exe, x)
    other.set_monitor_callback(lambda name, array: seen.append(name))
    other.forward(data=x)
    assert {"conv_output", "norm_output", "fc_output", "softmax_output"} <= {*seen}


def test_gamma_that_is_fixed_stays_1(rng):
    net = sym.BatchNorm(sym.var("data"), fix_gamma=True, name="norm")
    exe = net.simple_bind(mx.cpu(), "null", data=(2, 3))
    other = exe.reshape(data=(1, 3), allow_up_sizing=True)
    assert other._calls is not None
    other.aux_dict["norm_moving_var"][:] = 1
    other.arg_dict["norm_gamma"][:] = 5
    found = other.forward(data=nd.ones((1, 3)))[0].asnumpy()
    np.testing.assert_allclose(found, np.ones((1, 3)), 1e-2)
    np.testing.assert_array_equal(other.arg_dict["norm_gamma"].asnumpy(), np.ones(3))


def test_data_of_another_shape_is_refused(rng):
    exe, x = bound(rng), data(7, rng)
    other = reshaped(exe, x)
    with pytest.raises(mx.base.MXNetError, match=r"'data' has shape \(2, 3, 9, 9\), bound was"):
        other.forward(data=data(9, rng))
    assert other._calls is not None and not other.has_run


def test_the_setting_says_never(rng, monkeypatch):
    monkeypatch.setenv("CYNET_RUNS_BEFORE_PLAN", "0")
    exe = bound(rng)
    for way in WAYS:
        assert way(exe, data(7, rng))._calls is None


def test_an_operator_that_cannot_be_made_says_so_when_it_is_bound():
    net = sym.Cast(sym.Embedding(sym.var("data"), sym.var("w"), input_dim=4, output_dim=2), "int32")
    net = sym.Convolution(sym.reshape(net, shape=(1, 1, -1, 2)), kernel=(1, 1), num_filter=1)
    for rows in (2, 3):
        with pytest.raises(mx.base.MXNetError, match="onvolution"):
            net.simple_bind(mx.cpu(), "null", data=(rows,))


def test_modules_of_new_shapes(rng):
    module = mx.mod.Module(network())
    module.bind([("data", (2, 3, 6, 6))], for_training=False)
    module.init_params(mx.init.Uniform(0.5))
    for size in (6, 7, 8, 7, 8, 7, 8):
        x = data(size, rng)
        module.reshape([("data", x.shape)])
        module.forward(mx.io.DataBatch([x]), is_train=False)
        (exe,) = module._exec_group.execs
        wanted = planned(exe, x)
        np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), wanted, 1e-5, 1e-6)


@pytest.mark.parametrize("name", ["images", "parts"])
def test_symbols_of_networks(name):
    """Those of test_call_by_call, bound."""
    make, arguments = NETWORKS[name]
    net = make()
    given = arguments(8)
    names = ["data"] if len(given) == 1 else ["data0", "data1"]
    out = net(*map(sym.var, names))
    flat = out if isinstance(out, sym.Symbol) else [out[0], *out[1]]
    symbol = flat if isinstance(flat, sym.Symbol) else sym.Group(flat)
    params = {k: v.data() for k, v in net.collect_params().items()}
    states = {k: params[k] for k in symbol.list_auxiliary_states()}
    params = {k: v for k, v in params.items() if k in symbol.list_arguments()}
    for i in (8, 9, 10):
        args = {**params, **dict(zip(names, arguments(i)))}
        exe = symbol.bind(mx.cpu(), args, aux_states=states)
        assert (exe._calls is None) == (i == 8)
        out = net(*arguments(i))
        wanted = [out] if isinstance(out, nd.NDArray) else [out[0], *out[1]]
        for found, want in zip(exe.forward(), wanted):
            np.testing.assert_allclose(found.asnumpy(), want.asnumpy(), 1e-5, 1e-6)
