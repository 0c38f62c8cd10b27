"""Block: names, registration, parameters, hooks."""

import warnings

import numpy as np
import pytest

import cynet as mx
from cynet import gluon, nd
from cynet.gluon import nn


@pytest.fixture(autouse=True)
def names():
    with mx.name.NameManager():
        yield


def prefixes(*blocks):
    return [each.prefix for each in blocks]


def test_prefixes_are_counted_by_hint():
    made = (
        nn.Dense(1),
        nn.Conv2D(1, 1),
        nn.MaxPool2D(),
        nn.GlobalAvgPool2D(),
        nn.Activation("relu"),
        gluon.rnn.LSTM(1),
        gluon.rnn.LSTMCell(1),
        gluon.loss.L2Loss(),
        nn.Conv2DTranspose(1, 1),
    )
    assert prefixes(*made) == [
        "dense0_",
        "conv0_",
        "pool0_",
        "pool1_",
        "relu0_",
        "lstm0_",
        "lstm1_",
        "l2loss0_",
        "conv1_",
    ]


def test_scopes():
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Dense(1), nn.Dense(1))
    assert list(net.collect_params().keys()) == [
        f"hybridsequential0_dense{i}_{name}" for i in range(2) for name in ("weight", "bias")
    ]
    net = nn.HybridSequential()
    net.add(nn.Dense(1), nn.Dense(1))
    assert list(net.collect_params().keys())[::2] == ["dense0_weight", "dense1_weight"]
    net = nn.HybridSequential(prefix="m_")
    with net.name_scope():
        net.add(nn.Dense(1, prefix="fc_"), nn.Dense(1))
    assert list(net.collect_params().keys()) == [
        "m_fc_weight",
        "m_fc_bias",
        "m_dense0_weight",
        "m_dense0_bias",
    ]
    block = nn.Dense(1, prefix="x")
    assert block.name == "x" and block.weight.name == "xweight"


class Net(gluon.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.first = nn.Dense(2)
            self.seq = nn.HybridSequential()
            with self.seq.name_scope():
                self.seq.add(nn.Dense(3))
            self.w = self.params.get("w", shape=(1,))
            self.last = nn.Dense(4)

    def forward(self, x):
        return self.last(self.seq(self.first(x)))


def test_order_of_parameters():
    own = [name.removesuffix("weight") for name in Net(prefix="n0_").collect_params()]
    assert own[::2] == [
        "n0_w",
        "n0_dense0_bias",
        "n0_hybridsequential0_dense0_bias",
        "n0_dense1_bias",
    ]
    assert prefixes(Net(), Net()) == ["net0_", "net1_"]
    assert "net2_dense0_weight" in Net().collect_params()


def test_select():
    net = nn.HybridSequential(prefix="m_")
    with net.name_scope():
        net.add(nn.Dense(1), nn.Dense(1))
    assert list(net.collect_params(".*weight").keys()) == ["m_dense0_weight", "m_dense1_weight"]
    assert list(net.collect_params("weight").keys()) == []
    assert list(net.collect_params("m_dense0").keys()) == ["m_dense0_weight", "m_dense0_bias"]


def test_attributes_keep_their_kind():
    net = Net()
    told = "Net.first is a Dense, and 1 is none"
    with pytest.raises(TypeError, match=told):
        net.first = 1
    with pytest.raises(AssertionError, match="Net.w is a Parameter, which no other can"):
        net.w = gluon.Parameter("v")
    net.first = nn.Dense(7)
    assert next(iter(net._children)) == "first" and net._children["first"]._units == 7
    net.nothing = None
    net.nothing = 1
    assert net.nothing == 1


def test_children_of_hybrid_blocks():
    told = "(?s)a HybridBlock has HybridBlocks for children, .*take a HybridSequential"
    with pytest.raises(ValueError, match=told):
        nn.HybridSequential().add(nn.Sequential())


def test_lists_and_dicts_of_blocks_are_registered():
    class Listed(gluon.HybridBlock):
        def __init__(self):
            super().__init__(prefix="l_")
            with self.name_scope():
                self.layers = [nn.Dense(2), (nn.Dense(3),)]
                self.heads = {"a": nn.Dense(4)}
                self.names = {"a": "b"}

        def hybrid_forward(self, F, x):
            for each in (self.layers[0], self.layers[1][0], self.heads["a"]):
                x = each(x)
            return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net = Listed()
        net.initialize(mx.init.One())
        assert net(nd.ones((1, 2))).asnumpy().tolist() == [[12.0] * 4]
    assert list(net._collect_params_with_prefix())[::2] == [
        "layers.0.weight",
        "layers.1.0.weight",
        "heads.a.weight",
    ]
    assert len(list(net.collect_params().keys())) == 6
    net.layers.append(nn.Dense(1))
    assert "layers.2.weight" in net._collect_params_with_prefix()


@pytest.mark.parametrize(
    "block, text",
    [
        (lambda: nn.Dense(5), "Dense(None -> 5, linear)"),
        (lambda: nn.Dense(3, "relu", in_units=5), "Dense(5 -> 3, Activation(relu))"),
        (
            lambda: nn.Conv2D(8, 3, padding=1, activation="relu"),
            "Conv2D(None -> 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1),"
            " Activation(relu))",
        ),
        (
            lambda: nn.MaxPool2D(),
            "MaxPool2D(size=(2, 2), stride=(2, 2), padding=(0, 0), ceil_mode=False,"
            " global_pool=False, pool_type=max, layout=NCHW)",
        ),
        (
            lambda: nn.BatchNorm(),
            "BatchNorm(axis=1, eps=1e-05, momentum=0.9, fix_gamma=False, use_global_stats=False,"
            " in_channels=None)",
        ),
        (lambda: nn.Dropout(0.3), "Dropout(p = 0.3, axes=())"),
        (lambda: nn.Embedding(3, 4), "Embedding(3 -> 4, float32)"),
        (lambda: gluon.loss.L2Loss(), "L2Loss(batch_axis=0, w=1.0)"),
        (
            lambda: nn.Conv2DTranspose(3, 2, activation="relu", in_channels=2),
            "Conv2DTranspose(3 -> 2, kernel_size=(2, 2), stride=(1, 1), Activation(relu))",
        ),
        (
            lambda: gluon.rnn.LSTM(3, 2, dropout=0.5, bidirectional=True),
            "LSTM(None -> 3, TNC, num_layers=2, dropout=0.5, bidirectional)",
        ),
        (lambda: gluon.rnn.RNNCell(2), "RNNCell(None -> 2, tanh)"),
    ],
)
def test_repr(block, text):
    assert repr(block()) == text


def test_repr_of_children():
    net = nn.Sequential()
    net.add(nn.Dense(2))
    assert repr(net) == "Sequential(\n  (0): Dense(None -> 2, linear)\n)"


def test_forward_before_initialization():
    with pytest.raises(RuntimeError, match="is not initialized"):
        nn.Dense(2)(nd.ones((1, 2)))
    with pytest.raises(RuntimeError, match="is not initialized"):
        nn.Dense(2, in_units=2)(nd.ones((1, 2)))
    told = "takes NDArrays or Symbols, and there is none"
    with pytest.raises(ValueError, match=told):
        nn.Dense(2)(np.ones((1, 2)))


def test_deferred_shapes():
    layer = nn.Dense(3)
    assert layer.weight.shape == (3, 0)
    layer.initialize()
    assert layer.weight.shape == (3, 0)
    layer(nd.ones((2, 4, 5)))
    assert layer.weight.shape == (3, 20) and layer.bias.shape == (3,)
    layer = nn.Dense(3)
    layer.infer_shape(nd.ones((2, 7)))
    assert layer.weight.shape == (3, 7)
    wrong = nn.Dense(3, in_units=5)
    wrong.initialize()
    with pytest.raises(mx.MXNetError, match=r"\(?3, ?5\)?"):
        wrong(nd.ones((2, 4)))
    with pytest.raises(mx.MXNetError, match="float64"):
        layer = nn.Dense(3, in_units=2)
        layer.initialize()
        layer(nd.ones((1, 2), dtype="float64"))


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_seed_gives_the_same_weights_deferred_or_not(hybrid):
    found = []
    for sizes in ((4, 3), (0, 0)):
        mx.random.seed(1)
        net = nn.HybridSequential()
        net.add(nn.Dense(3, in_units=sizes[0]), nn.Dense(2, in_units=sizes[1]))
        net.initialize()
        net(nd.ones((2, 4)))
        found.append([each.data().asnumpy() for each in net.collect_params().values()])
    for a, b in zip(*found):
        assert (a == b).all()


def test_initializers():
    layer = nn.Dense(2, in_units=3)
    layer.initialize(mx.init.One())
    assert layer.weight.data().asnumpy().sum() == 6 and layer.bias.data().asnumpy().sum() == 0
    layer.initialize("xavier", force_reinit=True)
    assert 0 < np.abs(layer.weight.data().asnumpy()).max() < 1.1


def test_apply():
    net = nn.HybridSequential(prefix="m_")
    with net.name_scope():
        net.add(nn.Dense(1), nn.HybridSequential())
    with net[1].name_scope():
        net[1].add(nn.Dropout(0.5))
    seen = []
    assert net.apply(lambda each: seen.append(each.name)) is net
    assert seen == ["m_dense0", "m_hybridsequential0_dropout0", "m_hybridsequential0", "m"]


def test_hooks():
    net, seen = nn.Dense(2), []
    net.initialize()
    before = net.register_forward_pre_hook(lambda block, inputs: seen.append((block, inputs)))
    after = net.register_forward_hook(lambda block, inputs, out: seen.append((block, inputs, out)))
    x = nd.ones((1, 2))
    y = net(x)
    assert seen == [(net, (x,)), (net, (x,), y)]
    before.detach()
    after.detach()
    after.detach()
    net(x)
    assert len(seen) == 2
    with net.register_forward_hook(lambda *args: seen.append(args)):
        net(x)
    net(x)
    assert len(seen) == 3


def test_summary(capsys):
    net = nn.HybridSequential(prefix="m_")
    with net.name_scope():
        net.add(nn.Conv2D(8, 3, activation="relu"), nn.BatchNorm(), nn.Flatten(), nn.Dense(10))
    with pytest.raises(
        RuntimeError, match="the parameters of all Blocks inside, params those of one Block"
    ):
        net.summary(nd.ones((2, 3, 8, 8)))
    net.initialize()
    net.summary(nd.ones((2, 3, 8, 8)))
    text = capsys.readouterr().out
    assert "Symbol" not in text and "(2, 288)" in text
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert rows[-6:-1] == [
        "Total params: 3146",
        "Trainable params: 3130",
        "Non-trainable params: 16",
        "Shared params in forward computation graph: 0",
        "Unique parameters in model: 3146",
    ]
    assert not net[0]._forward_hooks
    net.hybridize()
    with pytest.raises(AssertionError, match="is hybridized; hybridize.False. first"):
        net.summary(nd.ones((2, 3, 8, 8)))


def test_sequential():
    net = nn.HybridSequential()
    x = nd.ones((1, 2))
    assert net(x) is x
    net.add(nn.Dense(1), nn.Dense(2), nn.Dense(3))
    assert net[1]._units == 2 and net[-1]._units == 3 and len(net) == 3
    assert type(net[1:3]) is nn.HybridSequential and len(net[1:3]) == 2 and net[1:3][0] is net[1]
    assert [each._units for each in net] == [1, 2, 3]
    with pytest.raises(IndexError, match="has 3 Blocks, none at 5"):
        net[5]
    net.initialize()
    with pytest.raises(TypeError, match="got multiple values for argument 'weight'"):
        net(x, x)


def test_sharing():
    a = nn.Dense(2, in_units=2, prefix="a_")
    b = nn.Dense(2, in_units=2, prefix="b_", params=a.params)
    assert b.weight is a.weight and b.prefix == "b_"
    assert list(b.collect_params().keys()) == ["a_weight", "a_bias"]


def test_what_is_not_defined():
    class Nothing(gluon.Block):
        pass

    with pytest.raises(NotImplementedError, match="Nothing defines no forward"):
        Nothing()(1)
    with pytest.raises(
        NotImplementedError, match="HybridBlock defines no hybrid_forward and no forward"
    ):
        gluon.HybridBlock()(nd.ones(1))

    class Forgot(gluon.Block):
        def __init__(self):
            self.dense = nn.Dense(1)

    with pytest.raises(AttributeError, match="super.*__init__"):
        Forgot()


def test_parameters_come_under_the_names_of_attributes():
    class Own(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.w = self.params.get("other_name", shape=(1,), init="ones")

        def hybrid_forward(self, F, x, w):
            return x + w

    net = Own()
    net.initialize()
    assert net(nd.ones(1)).asscalar() == 2


def test_one_prefix_for_two_children():
    net = nn.HybridSequential()
    net.add(nn.Dense(1, prefix="a_"), nn.Dense(1, prefix="a_"))
    with pytest.raises(AssertionError, match="two different parameters are named 'a_weight'"):
        net.collect_params()


def test_an_unknown_keyword_is_refused():
    net = nn.Dense(1, in_units=1)
    net.initialize()
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'y'"):
        net(nd.ones((1, 1)), y=3)
