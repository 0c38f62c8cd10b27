"""Parameters that are made on their own and become attributes of Blocks."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd


class Scaled(gluon.HybridBlock):
    def __init__(self, *names, **kwargs):
        super().__init__(**kwargs)
        for i, name in enumerate(names or ("scale",)):
            setattr(self, f"part{i}", gluon.Parameter(name, shape=(2,), init="ones"))
        self.shift = gluon.Parameter(shape=(2,))

    def hybrid_forward(self, F, x, part0, shift, **others):
        return x * part0 + shift


@pytest.mark.parametrize("hybridize", [False, True])
def test_they_are_registered(hybridize, tmp_path):
    net = Scaled(prefix="net_")
    assert list(net.collect_params().keys()) == ["net_scale", "net_shift"]
    assert list(net._collect_params_with_prefix()) == ["part0", "shift"]
    net.initialize(mx.init.Zero())
    if hybridize:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1})
    with autograd.record():
        loss = net(nd.array([[2, 3]])).sum()
    loss.backward()
    trainer.step(1)
    assert net.part0.data().asnumpy().tolist() == [-1, -2]
    assert net.shift.data().asnumpy().tolist() == [-1, -1]
    net.save_parameters(str(tmp_path / "a"))
    net.collect_params().save(str(tmp_path / "b"), strip_prefix="net_")
    for name in ("a", "b"):
        other = Scaled()
        other.load_parameters(str(tmp_path / name))
        assert other.shift.data().asnumpy().tolist() == [-1, -1]


def test_two_blocks_whose_parameters_have_one_name():
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(Scaled(), Scaled())
    names = ["net_scaled0_scale", "net_scaled0_shift", "net_scaled1_scale", "net_scaled1_shift"]
    assert list(net.collect_params().keys()) == names
    net.initialize(mx.init.One())
    net.hybridize()
    assert net(nd.ones((1, 2))).asnumpy().tolist() == [[3, 3]]
    net.cast("float64")
    assert net[1].shift.data().dtype == np.float64


def test_a_name_that_is_taken_gives_way_to_the_attribute():
    net = Scaled("weight", "weight", prefix="net_")
    assert list(net.collect_params().keys()) == ["net_weight", "net_part1", "net_shift"]


def test_parameters_that_have_a_home_stay_there():
    """As in 1.x: a parameter of another Block is no second time among this one's own."""
    dense = gluon.nn.Dense(2, prefix="dense_")

    class Tied(gluon.HybridBlock):
        def __init__(self):
            super().__init__(prefix="tied_")
            self.weight = dense.weight
            self.own = self.params.get("own", shape=(1,))
            self.fixed = gluon.Constant("fixed", [1])

    net = Tied()
    assert net.weight.name == "dense_weight"
    assert list(net.collect_params().keys()) == ["tied_own", "tied_fixed"]
    whole = gluon.Parameter("tied_whole", shape=(1,))  # as scripts of 1.x name it
    net.whole = whole
    assert whole.name == "tied_whole" and net.collect_params()["tied_whole"] is whole


# --- checkpoints of Modules -----------------------------------------------------------------------

LOSSES = {
    "SoftmaxOutput": lambda x: mx.sym.SoftmaxOutput(x, name="softmax"),
    "LinearRegressionOutput": lambda x: mx.sym.LinearRegressionOutput(x, name="softmax"),
    "MAERegressionOutput": lambda x: mx.sym.MAERegressionOutput(x, name="softmax"),
    "LogisticRegressionOutput": lambda x: mx.sym.LogisticRegressionOutput(x, name="softmax"),
    "SVMOutput": lambda x: mx.sym.SVMOutput(x, name="softmax"),
    "multi_output": lambda x: mx.sym.SoftmaxOutput(
        mx.sym.reshape(x, (-1, 3, 2, 1)), multi_output=True, name="softmax"
    ),
    "preserve_shape": lambda x: mx.sym.SoftmaxOutput(
        mx.sym.reshape(x, (-1, 2, 3)), preserve_shape=True, name="softmax"
    ),
    "of all axes": lambda x: mx.sym.SoftmaxOutput(mx.sym.reshape(x, (-1, 2, 3)), name="softmax"),
    "a label that is computed": lambda x: mx.sym.SoftmaxOutput(
        x, mx.sym.reshape(mx.sym.var("softmax_label"), (-1,)), name="softmax"
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_checkpoint_of_a_module(name, tmp_path, rng):
    net = LOSSES[name](mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=6, name="fc"))
    module = mx.mod.Module(net)
    x = rng.normal(size=(4, 3)).astype(np.float32)
    shape = (4,)
    if name != "a label that is computed":
        shapes = net.infer_shape(data=(4, 3))[0]
        shape = dict(zip(net.list_arguments(), shapes))["softmax_label"]
    module.bind([("data", (4, 3))], [("softmax_label", shape)])
    module.init_params(mx.init.Normal(1))
    module.forward(mx.io.DataBatch([nd.array(x)], None), is_train=False)
    right = module.get_outputs()[0].asnumpy()
    module.save_checkpoint(str(tmp_path / "net"), 1)
    files = str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0001.params")
    block = gluon.SymbolBlock.imports(*files)
    assert list(block.collect_params().keys()) == ["fc_weight", "fc_bias"]
    for rows in (4, 2):
        np.testing.assert_allclose(block(nd.array(x[:rows])).asnumpy(), right[:rows], rtol=1e-5)
    outer = gluon.nn.HybridSequential()
    outer.add(block)
    outer.hybridize()
    np.testing.assert_allclose(outer(nd.array(x)).asnumpy(), right, rtol=1e-5)


def test_gradients_of_an_output_without_its_label(tmp_path):
    """Those of the softmax itself, no longer of the cross-entropy."""
    data = mx.sym.var("data")
    block = gluon.SymbolBlock(mx.sym.SoftmaxOutput(data, name="softmax"), data)
    x = nd.array([[1.0, 2.0]])
    x.attach_grad()
    with autograd.record():
        y = block(x)[0, 0]
    y.backward()
    p = float(np.exp(1) / (np.exp(1) + np.exp(2)))
    np.testing.assert_allclose(x.grad.asnumpy(), [[p * (1 - p), -p * (1 - p)]], rtol=1e-5)


def test_a_label_that_is_an_input_stays_one():
    data, label = mx.sym.var("data"), mx.sym.var("softmax_label")
    block = gluon.SymbolBlock(mx.sym.SoftmaxOutput(data, label, name="softmax"), [data, label])
    x = nd.array([[0.0, 0.0]])
    x.attach_grad()
    with autograd.record():
        y = block(x, nd.array([1]))
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [[0.5, -0.5]], rtol=1e-5)


def test_shapes_that_a_symbol_declares():
    """Those of variables are those of parameters; what nothing tells is an error."""
    weight = mx.sym.var("weight", shape=(2, 3))
    block = mx.gluon.SymbolBlock(mx.sym.dot(mx.sym.var("data"), weight), mx.sym.var("data"))
    block.initialize(mx.init.One())
    assert block(mx.nd.ones((1, 2))).asnumpy().tolist() == [[2, 2, 2]]
    weight = mx.sym.var("weight")
    block = mx.gluon.SymbolBlock(mx.sym.dot(mx.sym.var("data"), weight), mx.sym.var("data"))
    block.initialize()
    with pytest.raises(mx.errors.CynetError, match="parameter 'weight' cannot be made: its shape"):
        block(mx.nd.ones((1, 2)))
