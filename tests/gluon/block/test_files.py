"""Files of Blocks: parameters in every layout, export, imports, models."""

import json

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.base.errors import ArgumentTypeError
from cynet.gluon import nn


@pytest.fixture(autouse=True)
def names():
    with mx.name.NameManager():
        yield


def network(prefix="m_", classes=3):
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(nn.Conv2D(2, 3, padding=1), nn.BatchNorm(), nn.Dense(classes))
    net.initialize(mx.init.One())
    return net


X = nd.ones((1, 1, 2, 2))
VALUE = [[31.9998398] * 3]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "a")


def test_names_are_structural(path):
    net = network()
    with pytest.raises(
        gluon.DeferredInitializationError,
        match="value yet: a dimension of its shape is unknown until the first",
    ):
        net.save_parameters(path)
    net(X)
    net.save_parameters(path)
    assert list(nd.load(path)) == [
        "0.weight",
        "0.bias",
        "1.gamma",
        "1.beta",
        "1.running_mean",
        "1.running_var",
        "2.weight",
        "2.bias",
    ]

    class Own(gluon.Block):
        def __init__(self):
            super().__init__()
            self.a = nn.Dense(1, in_units=1)
            self.w = self.params.get("w", shape=(1,))
            self.register_child(nn.Dense(1, in_units=1))
            self.register_child(nn.Dense(1, in_units=1), "k1")

    own = Own()
    own.initialize()
    own.save_parameters(path)
    assert list(nd.load(path))[::2] == ["w", "a.bias", "1.bias", "k1.bias"]
    assert list(nd.load(path))[1] == "a.weight"


def test_loading_into_another_network(path):
    net = network()
    wanted = net(X).asnumpy()
    net.save_parameters(path)
    other = network("other_")
    other.initialize(mx.init.Zero(), force_reinit=True)
    other.load_parameters(path)
    assert (other(X).asnumpy() == wanted).all() and other[0].weight.shape == (2, 1, 3, 3)
    bare = nn.HybridSequential()
    bare.add(nn.Conv2D(2, 3, padding=1), nn.BatchNorm(), nn.Dense(3))
    bare.load_parameters(path, ctx=[mx.cpu(3)])
    assert bare[2].weight.list_ctx() == [mx.cpu(3)]
    told = r"cannot be loaded to \[cpu\(1\)\]: it is on \[cpu\(3\)\]"
    with pytest.raises(AssertionError, match=told):
        bare.load_parameters(path, ctx=mx.cpu(1))
    bare.load_parameters(path)
    assert bare[2].weight.list_ctx() == [mx.cpu(3)]


@pytest.mark.parametrize("layout", ["structural", "whole", "stripped", "export"])
def test_every_layout_of_names_loads(path, layout):
    """MXNet's load_parameters reads neither whole names nor what export wrote."""
    net = network()
    wanted = net(X).asnumpy()
    if layout == "structural":
        net.save_parameters(path)
    elif layout == "whole":
        net.collect_params().save(path)
    elif layout == "stripped":
        with pytest.warns(DeprecationWarning):
            net.save_params(path)
    else:
        net.hybridize()
        net(X)
        net.export(path)
        path += "-0000.params"
    net.initialize(mx.init.Zero(), force_reinit=True)
    net.load_parameters(path)
    assert (net(X).asnumpy() == wanted).all()


def test_another_automatic_number(tmp_path):
    """A second network of a process reads what the first one has exported, in either direction."""

    def made(classes=3):
        net = nn.HybridSequential()
        with net.name_scope():
            net.add(nn.Dense(4, in_units=2), nn.Dense(classes, in_units=4))
        return net

    first, second, other = made(), made(), nn.HybridSequential(prefix="mine_")
    first.initialize(mx.init.Xavier())
    first.hybridize()
    wanted = first(mx.nd.ones((1, 2)))
    first.export(str(tmp_path / "net"))
    file = str(tmp_path / "net-0000.params")
    assert all(name.split(":")[1].startswith(first.prefix) for name in mx.nd.load(file))
    second.load_parameters(file)
    np.testing.assert_array_equal(second(mx.nd.ones((1, 2))).asnumpy(), wanted.asnumpy())
    second.save_parameters(file)
    second.collect_params().save(file)
    first.load_parameters(file)
    np.testing.assert_array_equal(first(mx.nd.ones((1, 2))).asnumpy(), wanted.asnumpy())
    with other.name_scope():
        other.add(nn.Dense(4, in_units=2), nn.Dense(3, in_units=4))
    with pytest.raises(AssertionError, match="are missing in"):  # a name of the user's is no number
        other.load_parameters(file)
    with pytest.raises(AssertionError, match="has shape"):
        made(classes=5).load_parameters(file)


def test_what_does_not_fit_is_one_error(path):
    net = network()
    net(X)
    net.save_parameters(path)
    larger = network()
    larger.add(nn.Dense(1))
    told = "parameters '3.weight', '3.bias' are missing in .*, which has '0.weight'"
    with pytest.raises(AssertionError, match=told):
        larger.load_parameters(path)
    larger.load_parameters(path, allow_missing=True)
    smaller = nn.HybridSequential()
    smaller.add(nn.Conv2D(2, 3))
    with pytest.raises(ValueError, match="ignore_extra=True passes over them"):
        smaller.load_parameters(path)
    smaller.load_parameters(path, ignore_extra=True)
    wrong = network(classes=4)
    wrong.add(nn.Dense(1))
    with pytest.raises(AssertionError, match="allow_missing=True leaves") as caught:
        wrong.load_parameters(path)
    text = str(caught.value)
    assert "'3.weight'" in text and "has shape (4, 0), the saved one (3, 8)" in text
    with pytest.raises(FileNotFoundError, match="no such file or directory"):
        net.load_parameters(path + "x")


def test_shared_parameters_once(path):
    a = nn.Dense(2, in_units=2)
    net = nn.HybridSequential()
    net.add(a, nn.Dense(2, in_units=2, params=a.params))
    net.initialize()
    net.save_parameters(path, deduplicate=True)
    assert list(nd.load(path)) == ["0.weight", "0.bias"]
    net.load_parameters(path)
    net.save_parameters(path)
    assert len(nd.load(path)) == 4


def test_cast_while_loading(path):
    net = nn.Dense(2, in_units=2)
    net.initialize()
    net.save_parameters(path)
    half = nn.Dense(2, in_units=2, dtype="float16")
    with pytest.raises(AssertionError, match="has dtype float16, the saved one float32"):
        half.load_parameters(path)
    half.load_parameters(path, cast_dtype=True)
    assert half.weight.data().dtype == np.float16


def test_models(path):
    net = network()
    net(X)
    net.hybridize()
    wanted = net(X).asnumpy()
    net.save(path)
    other = network("other_")
    other.load(path)
    assert other._active and (other(X).asnumpy() == wanted).all()
    with open(f"{path}-model.json") as file:
        assert json.load(file)["hybridsequential0"]["hybridized"] is True
    with pytest.raises(mx.MXNetError, match="has 0 children, the file has 3"):
        nn.HybridSequential().load(path)


# --- export --------------------------------------------------------------------------------------
@pytest.fixture
def exported(path):
    net = network()
    net.hybridize()
    with pytest.raises(RuntimeError, match="has no graph to export: hybridize it and call it once"):
        net.export(path)
    net(X)
    net.export(path, epoch=3)
    return net, path


def test_export(exported):
    net, path = exported
    assert sorted(nd.load(f"{path}-0003.params")) == sorted(
        f"{'aux' if 'running' in name else 'arg'}:{name}" for name in net.collect_params()
    )
    with open(f"{path}-symbol.json") as file:
        graph = json.load(file)
    names = [each["name"] for each in graph["nodes"]]
    assert names[:5] == [
        "data",
        "m_conv0_weight",
        "m_conv0_bias",
        "m_conv0_fwd",
        "m_batchnorm0_gamma",
    ]
    assert graph["heads"] == [[11, 0, 0]]
    assert graph["attrs"]["mxnet_version"] == ["int", 10901]
    weight = graph["nodes"][1]["attrs"]
    assert weight["__shape__"] == "(2, 0, 3, 3)" and weight["__dtype__"] == "0"


def test_two_inputs(path):
    class Two(gluon.HybridBlock):
        def hybrid_forward(self, F, x, y):
            return x + y

    net = Two()
    net.hybridize()
    net(X, X)
    net.export(path)
    assert mx.sym.load(f"{path}-symbol.json").list_arguments() == ["data0", "data1"]


@pytest.mark.parametrize("names", ["data", ["data"]])
def test_imports(exported, names):
    _, path = exported
    net = gluon.SymbolBlock.imports(f"{path}-symbol.json", names, f"{path}-0003.params")
    np.testing.assert_allclose(net(X).asnumpy(), VALUE, rtol=1e-6)
    assert repr(net) == "SymbolBlock(\n<Symbol m_dense0_fwd> : 1 -> 1\n)"
    module = mx.mod.Module.load(path, 3, label_names=None)
    module.bind([("data", X.shape)], for_training=False)
    module.forward(mx.io.DataBatch([X]))
    np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), VALUE, rtol=1e-6)


def test_imports_that_do_not_fit(exported):
    net, path = exported
    empty = gluon.SymbolBlock.imports(f"{path}-symbol.json", "data")
    with pytest.raises(RuntimeError, match="is not initialized"):
        empty(X)
    with pytest.raises(AssertionError, match="parameter 'data' is missing in file"):
        gluon.SymbolBlock.imports(f"{path}-symbol.json", "x", f"{path}-0003.params")
    net.save_parameters(path)
    with pytest.raises(
        AssertionError, match="other prefixes make other names, and allow_missing=True leaves"
    ):
        gluon.SymbolBlock.imports(f"{path}-symbol.json", "data", path)


def test_symbol_blocks_train(exported):
    _, path = exported
    net = gluon.SymbolBlock.imports(f"{path}-symbol.json", "data", f"{path}-0003.params")
    params = net.collect_params()
    assert params["m_dense0_bias"].grad_req == "write"
    assert params["m_batchnorm0_running_mean"].grad_req == "null"
    with autograd.record():
        y = net(X)
    y.backward()
    assert params["m_dense0_bias"].grad().asnumpy().tolist() == [1, 1, 1]
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 0.5})
    trainer.step(1)
    assert params["m_dense0_bias"].data().asnumpy().tolist() == [-0.5] * 3


def test_symbol_blocks_of_internals_and_within_others(path):
    net = network()
    net(X)
    data = mx.sym.var("data")
    internals = net(data).get_internals()
    features = gluon.SymbolBlock(
        [internals["m_conv0_fwd_output"]], data, params=net.collect_params()
    )
    assert features(X).shape == (1, 2, 2, 2)
    two = gluon.SymbolBlock(
        [internals["m_conv0_fwd_output"], internals["m_dense0_fwd_output"]],
        data,
        params=net.collect_params(),
    )
    conv, dense = two(X)
    assert conv.shape == (1, 2, 2, 2) and dense.shape == (1, 3)
    whole = nn.HybridSequential()
    whole.add(features, nn.Dense(1))
    whole[1].initialize()
    wanted = whole(X).asnumpy()
    whole.hybridize()
    np.testing.assert_allclose(whole(X).asnumpy(), wanted, rtol=1e-6)
    whole.export(path)
    again = gluon.SymbolBlock.imports(f"{path}-symbol.json", "data", f"{path}-0000.params")
    np.testing.assert_allclose(again(X).asnumpy(), wanted, rtol=1e-6)
    with pytest.raises(ValueError, match="inputs are variables, and"):
        gluon.SymbolBlock(internals["m_dense0_fwd_output"], internals["m_conv0_fwd_output"])
    with pytest.raises(TypeError, match=r"takes 1 inputs \(data\), got 2"):
        features(X, X)


@pytest.mark.parametrize("hybridize", [False, True], ids=["eager", "hybridized"])
def test_an_imported_block_inside_of_another(tmp_path, hybridize):
    """Batches of several samples; the shapes of layers behind it are told by the first one."""
    net = network()
    net.hybridize()
    net(X)
    path = tmp_path / "a"
    net.export(path)

    class Outer(gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.inner = gluon.SymbolBlock.imports(
                    f"{path}-symbol.json", "data", f"{path}-0000.params"
                )
                self.out = nn.Dense(2, weight_initializer="ones")

        def hybrid_forward(self, F, x):
            normal = F.L2Normalization(self.inner(x))
            return self.out(normal), self.inner(F.ones((2, 1, 2, 2)))

    x = nd.array(np.arange(12.0).reshape(3, 1, 2, 2))
    inner = net(x).asnumpy()
    wanted = (inner / np.linalg.norm(inner, axis=1, keepdims=True)).sum(axis=1)
    outer = Outer()
    outer.out.initialize()
    if hybridize:
        outer.hybridize()
    out, ones = outer(x)
    np.testing.assert_allclose(out.asnumpy(), np.stack([wanted] * 2, axis=1), rtol=1e-5)
    np.testing.assert_allclose(ones.asnumpy(), VALUE * 2, rtol=1e-5)


def test_names_of_symbol_blocks_in_files(exported):
    _, path = exported
    net = gluon.SymbolBlock.imports(f"{path}-symbol.json", "data", f"{path}-0003.params")
    net.save_parameters(path)
    assert "conv0_weight" in nd.load(path)
    net.load_parameters(path)


def test_a_plain_forward_is_exported(path):
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__(prefix="p_")
            with self.name_scope():
                self.dense = nn.Dense(2)
            self.offset = nd.array([1, 2])

        def forward(self, x):
            return self.dense(x)[:, 0] + self.offset

    net = Net()
    net.initialize()
    net.hybridize()
    x = nd.ones((2, 3))
    wanted = net(x).asnumpy()
    net.export(path)
    again = gluon.SymbolBlock.imports(f"{path}-symbol.json", "data", f"{path}-0000.params")
    np.testing.assert_allclose(again(x).asnumpy(), wanted, rtol=1e-6)


def test_a_symbol_block_refuses_another_number_of_inputs():
    x = mx.sym.Variable("data")
    block = gluon.SymbolBlock(mx.sym.FullyConnected(x, num_hidden=3, name="fc"), [x])
    for call in (block, block.forward):
        with pytest.raises(TypeError, match=r"takes 1 inputs \(data\), got 0"):
            call("\0", (-1,), 7)
        with pytest.raises(TypeError, match="got 2"):
            call(x, [x])
    assert block.forward(mx.sym.Variable("y")).list_inputs() == ["y", "fc_weight", "fc_bias"]


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("kind", ["symbol", "layers"])
def test_what_an_initializer_raises_is_told(hybridize, kind):
    """Xavier for a vector whose length the first call tells: its own error, at each call (as in
    MXNet); the network works after another initialization."""
    if kind == "symbol":
        x = mx.sym.var("data")
        y = mx.sym.Convolution(x, num_filter=4, kernel=(3, 3), no_bias=True, name="c")
        net = gluon.SymbolBlock(mx.sym.BatchNorm(y, name="b"), [x])
        net.initialize(mx.init.Xavier())
    else:
        net = gluon.nn.HybridSequential(prefix="")
        with net.name_scope():
            net.add(gluon.nn.Conv2D(4, 3, use_bias=False, prefix="c_"))
            net.add(gluon.nn.BatchNorm(gamma_initializer="xavier", prefix="b_"))
        net.initialize()
    if hybridize:
        net.hybridize()
    for _ in range(2):
        with pytest.raises(ValueError, match=r"Xavier needs 2 or more axes, 'b_gamma' has shape"):
            net(mx.nd.ones((1, 3, 8, 8)))
    gamma = net.collect_params()["b_gamma"]
    gamma.init = None
    gamma.initialize(mx.init.Zero(), force_reinit=True)
    if kind == "symbol":
        net.collect_params().initialize(mx.init.Zero(), force_reinit=True)
    assert net(mx.nd.ones((1, 3, 8, 8))).shape == (1, 4, 6, 6)


@pytest.mark.parametrize("wrong", [np.ones(3), "yes", None, mx.nd.ones(2)], ids=repr)
def test_flags_are_true_or_false(wrong, tmp_path):
    net, path = nn.Dense(2, in_units=2), str(tmp_path / "net.params")
    net.initialize()
    net.save_parameters(path, deduplicate=True)
    with pytest.raises(ArgumentTypeError, match="save_parameters: deduplicate"):
        net.save_parameters(path, deduplicate=wrong)
    for flag in ("allow_missing", "ignore_extra", "cast_dtype"):
        with pytest.raises(ArgumentTypeError, match=f"load_parameters: {flag}"):
            net.load_parameters(path, **{flag: wrong})
