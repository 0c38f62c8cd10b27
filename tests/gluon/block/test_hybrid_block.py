"""HybridBlock: tracing, guards, retracing, hooks; eager and hybridized agree."""

import random
import threading
import warnings
import weakref

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon import nn


class Seen(gluon.HybridBlock):
    """Notes what hybrid_forward is called with."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        vars(self)["seen"] = []
        with self.name_scope():
            self.dense = nn.Dense(3)

    def hybrid_forward(self, F, x):
        self.seen.append((F.__name__, isinstance(x, mx.sym.Symbol)))
        return self.dense(x)


def make(kind, **kwargs):
    net = kind(**kwargs)
    net.initialize()
    return net


def test_it_is_traced_once():
    net = make(Seen)
    net(nd.ones((2, 4)))
    assert net.seen[-1] == ("cynet.ndarray", False)
    net.seen.clear()
    net.hybridize()
    for size in (2, 3, 2):
        assert net(nd.ones((size, 4))).shape == (size, 3)
    assert net.seen == [("cynet.symbol", True)]
    net.hybridize(False)
    net(nd.ones((2, 4)))
    assert net.seen[-1] == ("cynet.ndarray", False)


def test_symbols():
    net = nn.Dense(2, prefix="n_dense0_")
    out = net(mx.sym.var("data"))
    assert out.list_arguments() == ["data", "n_dense0_weight", "n_dense0_bias"]
    assert out.list_outputs() == ["n_dense0_fwd_output"]
    net = nn.HybridSequential(prefix="q_")
    with net.name_scope():
        net.add(nn.Dense(2, activation="relu"), nn.Flatten(), nn.LayerNorm())
        net.add(nn.HybridLambda("relu"))
    names = net(mx.sym.var("data")).get_internals().list_outputs()
    for name in (
        "q_dense0_relu_fwd_output",
        "q_flatten0_flatten0_output",
        "q_layernorm0_layernorm0_output",
        "q_hybridlambda0_relu0_output",
    ):
        assert name in names


class Plain(gluon.HybridBlock):
    """A block written in mx.nd; `what` computes."""

    def __init__(self, what, **kwargs):
        super().__init__(**kwargs)
        vars(self).update(what=what, log=[])

    @property
    def runs(self):
        return len(self.log)

    def forward(self, *args, **kwargs):
        self.log.append(None)
        return self.what(self, *args, **kwargs)


class Weighted(Plain):
    """A Plain with a parameter w."""

    def __init__(self, what):
        super().__init__(what)
        self.w = self.params.get("w", shape=(1,), init="ones")


class Hybrid(gluon.HybridBlock):
    """A block written in F."""

    def __init__(self, what, **kwargs):
        super().__init__(**kwargs)
        vars(self)["what"] = what

    def hybrid_forward(self, F, *args, **kwargs):
        return self.what(F, *args, **kwargs)


def both(what, *inputs, kind=Hybrid):
    """What a block gives eagerly, then hybridized."""
    out = []
    for active in (False, True):
        net = make(lambda: kind(what))
        net.hybridize(active)
        found = net(*inputs)
        out.append(found.asnumpy() if isinstance(found, nd.NDArray) else found)
    return out


MATRIX = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    "what",
    [
        lambda F, x: x[0],
        lambda F, x: x[-1],
        lambda F, x: x[0:1],
        lambda F, x: x[:, 1],
        lambda F, x: x[1:, ::2],
        lambda F, x: x[..., -1],
        lambda F, x: x[:, None],
        lambda F, x: x[2, 3],
        lambda F, x: x + F.sum(x, axis=1, keepdims=True),
        lambda F, x: F.sum(x, axis=0, keepdims=True) - x,
        lambda F, x: F.sum(x, axis=0) * x,
        lambda F, x: 1 - x / 2 + (2 + x) * 3 - 1 / (x + 1),
        lambda F, x: (x + 1) ** 2 - 2 ** (x / 4),
        lambda F, x: (x > 3) * x + (x <= 3),
        lambda F, x: x.reshape((-1, 2)),
        lambda F, x: x.reshape((x.shape[1], x.shape[0])),
        lambda F, x: x.transpose((1, 0)).sum(axis=0),
        lambda F, x: x.T,
        lambda F, x: F.concat(*[x[i] for i in range(len(x))], dim=0),
        lambda F, x: F.concat(*[row * i for i, row in enumerate(x)], dim=0),
        lambda F, x: F.broadcast_mul(x, F.ones((1, 4))),
        lambda F, x: F.zeros((3, 4)) + x,
        lambda F, x: x.astype("float64") * 2,
        lambda F, x: F.split(x, num_outputs=2)[1],
        lambda F, x: x.expand_dims(0).squeeze(0) * x.size * x.ndim,
        lambda F, x: x if x.shape[0] > 2 else -x,
    ],
)
@pytest.mark.parametrize("kind", ["hybrid", "plain"])
def test_arrays_and_their_symbols_mean_the_same(what, kind):
    """In MXNet x[0] of a symbol is x itself, and x.shape an error."""
    x = nd.array(MATRIX)
    if kind == "hybrid":
        eager, hybrid = both(what, x)
    else:
        eager, hybrid = both(lambda self, x: what(mx.nd, x), x, kind=Plain)
    np.testing.assert_array_equal(eager, hybrid)
    assert eager.shape == hybrid.shape and eager.dtype == hybrid.dtype


def test_a_graph_that_asked_for_shapes_is_for_these_alone():
    net = make(lambda: Plain(lambda self, x: x if x.shape[0] > 2 else -x))
    net.hybridize()
    assert net(nd.ones((3, 1))).asnumpy().max() == 1
    assert net(nd.ones((2, 1))).asnumpy().max() == -1
    assert net(nd.ones((3, 1))).asnumpy().max() == 1
    assert net.runs == 2


def test_what_broadcasts_for_one_batch_is_traced_anew_for_another():
    net = make(lambda: Hybrid(lambda F, x, y: x + y))
    net.hybridize()
    assert net(nd.ones((1, 3)), nd.ones((1, 3))).shape == (1, 3)
    assert net(nd.ones((2, 3)), nd.ones((1, 3))).shape == (2, 3)


def test_numbers_keywords_and_dicts_are_guarded():
    def what(self, x, factor=2, table=None):
        if table is not None:
            factor = table["factor"]
        return {"x": x * factor, "more": [x, None, (x + factor,)]}

    net = make(lambda: Plain(what))
    net.hybridize()
    x = nd.ones(2)
    assert net(x)["x"].asnumpy().tolist() == [2, 2]
    assert net(x, 3)["x"].asnumpy().tolist() == [3, 3]
    assert net(x, factor=4)["x"].asnumpy().tolist() == [4, 4]
    assert net(x)["x"].asnumpy().tolist() == [2, 2]
    assert net.runs == 3
    out = net(x, table={"factor": nd.array([5, 6])})
    assert out["x"].asnumpy().tolist() == [5, 6]
    assert out["more"][1] is None and out["more"][2][0].asnumpy().tolist() == [6, 7]


def test_structures():
    net = make(lambda: Hybrid(lambda F, a, b=None: [a[0], (a[1][0], b)]))
    net.hybridize()
    x, y = nd.ones(1), nd.zeros(1)
    out = net([x, [y]], None)
    assert type(out[1]) is tuple and out[1][1] is None and out[0].asscalar() == 1
    assert net([x, [y]])[1][1] is None
    assert net([x, [y]], x)[1][1].asscalar() == 1


def test_training_is_guarded():
    """In MXNet the first call decides for all."""
    net = make(lambda: Hybrid(lambda F, x: x * 2 if autograd.is_training() else x))
    net.hybridize()
    x = nd.ones(1)
    x.attach_grad()
    assert net(x).asscalar() == 1
    with autograd.record():
        y = net(x)
    assert y.asscalar() == 2
    y.backward()
    assert x.grad.asscalar() == 2 and net(x).asscalar() == 1


def test_attributes_are_guarded():
    net = make(lambda: Hybrid(lambda F, x: x * net.factor))
    net.factor = 2
    net.hybridize()
    assert net(nd.ones(1)).asscalar() == 2
    net.factor = 3
    assert net(nd.ones(1)).asscalar() == 3


def test_attributes_that_tracing_changes():
    class Counts(gluon.HybridBlock):
        count = 0

        def hybrid_forward(self, F, x):
            self.count += 1
            return x * self.count

    net = Counts()
    net.hybridize()
    with pytest.warns(UserWarning, match="changed attributes while it was traced"):
        assert net(nd.ones(1)).asscalar() == 1
    assert net(nd.ones(1)).asscalar() == 1


def test_children_and_parameters_that_change():
    net = nn.HybridSequential()
    net.add(nn.Dense(5, flatten=False))
    net.initialize(mx.init.One())
    net.hybridize()
    assert net(nd.ones((2, 3, 5))).shape == (2, 3, 5)
    net.add(nn.Flatten())
    assert net(nd.ones((2, 3, 5))).shape == (2, 15)
    net[0].weight.set_data(nd.zeros((5, 5)))
    assert net(nd.ones((2, 3, 5))).asnumpy().sum() == 0
    net[0].bias.initialize(mx.init.One(), force_reinit=True)
    assert net(nd.ones((2, 3, 5))).asnumpy().sum() == 30
    net.cast("float64")
    assert net(nd.ones((2, 3, 5), dtype="float64")).dtype == np.float64


def test_values_cannot_be_traced():
    net = make(lambda: Hybrid(lambda F, x: nd.array(x.asnumpy())))
    assert net(nd.ones(1)).asscalar() == 1
    net.hybridize()
    told = "asnumpy needs the values of an array, and a graph that is being traced has none"
    with pytest.raises(NotImplementedError, match=told):
        net(nd.ones(1))
    net = make(lambda: Hybrid(lambda F, x: x if x.sum() > 0 else -x))
    net.hybridize()
    with pytest.raises(
        NotImplementedError, match="__bool__ needs the values of an array, and a graph that is"
    ):
        net(nd.ones(1))


@pytest.mark.parametrize(
    "what",
    [
        lambda self, x: nd.array(x.asnumpy() * 2),
        lambda self, x: x * 2 if x.sum() > 0 else x,
        lambda self, x: x * int(x.sum().asscalar() + 1),
        lambda self, x: x * (np.random.rand() * 0 + 2),
        lambda self, x: x * (random.random() * 0 + 2),
        lambda self, x: (
            nd.add(x, x, out=nd.zeros(1)) if False else nd.broadcast_add(x, x, out=x + 0)
        ),
    ],
)
def test_a_forward_that_cannot_be_traced_runs_as_it_is(what):
    net = make(lambda: Plain(what))
    net.hybridize()
    x = nd.ones(1)
    freed = weakref.ref(x)
    with pytest.warns(UserWarning, match="cannot be hybridized and runs operator by operator"):
        assert net(x).asscalar() == 2
    del x
    assert freed() is None  # an error that is stored keeps the frames it was raised through
    runs = net.runs
    assert net(nd.ones(1)).asscalar() == 2 and net.runs == runs + 1


def test_random_operators_draw_at_each_run():
    net = make(lambda: Plain(lambda self, x: x + nd.random.uniform(shape=(3,))))
    net.hybridize()
    a, b = net(nd.zeros(3)).asnumpy(), net(nd.zeros(3)).asnumpy()
    assert (a != b).all() and net.runs == 1


def test_parameters_within_a_plain_forward():
    net = make(lambda: Weighted(lambda self, x: x * (self.w.data() * 2)))
    net.hybridize()
    with autograd.record():
        y = net(nd.array([3]))
    y.backward()
    assert y.asscalar() == 6 and net.w.grad().asscalar() == 6
    net.w.set_data(nd.array([2]))
    assert net(nd.array([3])).asscalar() == 12 and net.runs == 2  # one a mode


def test_what_comes_back_as_it_is_has_a_gradient():
    """It has none in MXNet."""
    net = make(lambda: Weighted(lambda self, x: self.w.data()))
    net.hybridize()
    x = nd.ones(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with autograd.record():
            y = net(x) * 3
    y.backward()
    assert net.w.grad().asscalar() == 3


def test_unused_inputs_and_parameters():
    net = make(lambda: Hybrid(lambda F, x, y: x * 2))
    net.hybridize()
    with pytest.warns(UserWarning, match="input 1 of the graph: nothing reads it"):
        net(nd.ones(1), nd.ones(1))


def test_settings():
    net = nn.Dense(1)
    with pytest.raises(mx.MXNetError, match="static_shape=True goes with static_alloc=True only"):
        net.hybridize(static_shape=True)
    with pytest.raises(TypeError, match="no parameter 'static_aloc'"):
        net.hybridize(static_aloc=True)
    with pytest.raises(ValueError, match="a backend is needed"):
        net.optimize_for(nd.ones(1))
    net.hybridize(static_alloc=True, static_shape=True, inline_limit=3, forward_bulk_size=2)


def test_hooks_of_children_keep_working():
    """In MXNet they are called once, with a symbol."""
    net = nn.HybridSequential()
    net.add(nn.Dense(2, in_units=2), nn.Dense(2, in_units=2))
    net.initialize()
    seen = []
    handle = net[0].register_forward_hook(lambda block, inputs, out: seen.append(type(out)))
    with pytest.warns(UserWarning, match="has hooks while it is hybridized"):
        net.hybridize()
    x = nd.ones((1, 2))
    a, b = net(x), net(x)
    assert seen == [nd.NDArray] * 2 and (a.asnumpy() == b.asnumpy()).all()
    handle.detach()
    net.hybridize()
    net(x)
    assert len(seen) == 2
    outer = []
    net.register_forward_hook(lambda *args: outer.append(args))
    net(x)
    assert len(outer) == 1


def test_operator_hooks(rng):
    net = nn.HybridSequential(prefix="m_")
    with net.name_scope():
        net.add(nn.Conv2D(2, 3), nn.BatchNorm(), nn.Dense(2))
    net.initialize()
    x, seen = nd.array(rng.normal(size=(1, 1, 4, 4))), []
    net.register_op_hook(lambda name, operator, array: seen.append((name, operator, array.shape)))
    wanted = net(x).asnumpy()
    assert not seen
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), wanted, rtol=1e-5)
    assert seen == [
        ("m_conv0_fwd_output", "Convolution", (1, 2, 2, 2)),
        ("m_batchnorm0_fwd_output", "BatchNorm", (1, 2, 2, 2)),
        ("m_dense0_fwd_output", "FullyConnected", (1, 2)),
    ]
    seen.clear()
    net.register_op_hook(lambda name, *_: seen.append(name), monitor_all=True)
    with autograd.record():
        y = net(x)
    y.backward()
    assert seen[:4] == [
        "m_conv0_fwd_data",
        "m_conv0_fwd_weight",
        "m_conv0_fwd_bias",
        "m_conv0_fwd_output",
    ]
    assert net[0].weight.grad().asnumpy().any()


def network(kind):
    mx.random.seed(3)
    net = kind()
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(), nn.Flatten())
        net.add(nn.Dense(8, activation="tanh"), nn.LayerNorm(), nn.Dense(3))
    net.initialize(mx.init.Xavier())
    return net


@pytest.mark.parametrize("flags", [{}, {"static_alloc": True, "static_shape": True}])
def test_training_is_the_same_eager_and_hybridized(flags, rng):
    x = nd.array(rng.normal(size=(4, 2, 8, 8)))
    y = nd.array([0, 1, 2, 0])
    loss = gluon.loss.SoftmaxCELoss()
    found = []
    for kind, active in (
        (nn.HybridSequential, False),
        (nn.HybridSequential, True),
        (nn.Sequential, True),
    ):
        net = network(kind)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            net.hybridize(active, **(flags if active else {}))
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
        losses = []
        for _ in range(5):
            with autograd.record():
                each = loss(net(x), y)
            each.backward()
            trainer.step(4)
            losses.append(each.asnumpy())
        found.append([*losses, net(x).asnumpy()])
    for other in found[1:]:
        for a, b in zip(found[0], other):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_outputs_outlive_the_next_call_and_two_forwards_one_backward():
    net = make(lambda: nn.Dense(1, in_units=1, use_bias=False, weight_initializer="ones"))
    net.hybridize(static_alloc=True, static_shape=True)
    a, b = nd.array([[2]]), nd.array([[3]])
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        x, y = net(a), net(b)
    autograd.backward([x, y])
    assert x.asscalar() == 2 and y.asscalar() == 3
    assert net.weight.grad().asscalar() == 5
    assert a.grad.asscalar() == b.grad.asscalar() == 1


def test_two_contexts():
    net = nn.Dense(2, in_units=2)
    contexts = [mx.cpu(0), mx.cpu(1)]
    net.initialize(ctx=contexts)
    for active in (False, True):
        net.hybridize(active)
        for ctx in contexts:
            assert net(nd.ones((1, 2), ctx=ctx)).context == ctx
        with pytest.raises(RuntimeError, match=r"is not on cpu\(2\), but on"):
            net(nd.ones((1, 2), ctx=mx.cpu(2)))


def test_threads(rng):
    net = network(nn.HybridSequential)
    net.hybridize()
    inputs = [nd.array(rng.normal(size=(2, 2, 8, 8))) for _ in range(4)]
    wanted = [net(x).asnumpy() for x in inputs]
    wrong = []

    def work(k):
        for _ in range(20):
            if not np.allclose(net(inputs[k]).asnumpy(), wanted[k], atol=1e-5):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_other_shapes_and_dtypes():
    net = make(lambda: Hybrid(lambda F, x: x * 2))
    net.hybridize()
    assert net(nd.ones(2)).dtype == np.float32
    assert net(nd.ones(3, dtype="float64")).dtype == np.float64
    assert net(nd.ones((2, 2), dtype="int32")).dtype == np.int32


def test_a_function_within():
    """autograd.Function needs arrays: the block runs operator by operator."""

    class Twice(autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            return dy * 5

    net = make(lambda: Plain(lambda self, x: Twice()(x)))
    net.hybridize()
    x = nd.ones(1)
    x.attach_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with autograd.record():
            y = net(x)
    y.backward()
    assert y.asscalar() == 2 and x.grad.asscalar() == 5


def test_the_blocks_within_a_plain_sequential_are_hybridized():
    runs = []

    class Plainly(gluon.Block):
        def forward(self, x):
            runs.append(type(x))
            return x * 2

    net = nn.Sequential()
    net.add(Plainly(), make(Seen))
    net(nd.ones((2, 4)))
    runs.clear()
    net[1].seen.clear()
    net.hybridize()
    for size in (2, 3):
        assert net(nd.ones((size, 4))).shape == (size, 3)
    assert runs == [nd.NDArray] * 2 and net[1].seen == [("cynet.symbol", True)]


@pytest.mark.parametrize("hybrid", [False, True])
def test_symbols_beside_arrays_are_refused(hybrid):
    net = make(lambda: Hybrid(lambda F, x, y: x + y))
    if hybrid:
        net.hybridize()
    for pair in ((nd.ones(1), mx.sym.var("y")), (mx.sym.var("x"), nd.ones(1))):
        with pytest.raises(ValueError, match="takes NDArrays or Symbols, and got some of both"):
            net(*pair)


def test_a_parameter_that_no_graph_uses(tmp_path):
    class Partly(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.used, self.other = nn.Dense(1, in_units=2), nn.Dense(1)

        def hybrid_forward(self, F, x):
            return self.used(x)

    net = make(Partly)
    net.hybridize()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with autograd.record():
            y = net(nd.ones((1, 2)))
    y.backward()
    with pytest.raises(
        gluon.DeferredInitializationError,
        match="value yet: a dimension of its shape is unknown until the first",
    ):
        net.save_parameters(str(tmp_path / "a"))
    net.other(nd.ones((1, 2)))
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with pytest.raises(UserWarning, match="is that of an earlier step"):
        trainer.step(1)


class Square(autograd.Function):
    def forward(self, x):
        self.save_for_backward(x)
        return x * x

    def backward(self, dy):
        return 2 * dy * self.saved_tensors[0]


@pytest.mark.parametrize("kind", [Hybrid, Plain])
def test_a_function_in_a_hybridized_block(kind):
    """It fails in MXNet. The Blocks around it run operator by operator."""
    body = (lambda F, x: Square()(x)) if kind is Hybrid else (lambda self, x: Square()(x))
    net = nn.HybridSequential()
    net.add(nn.Dense(2, weight_initializer="ones"), kind(body))
    net.initialize()
    net.hybridize()
    with autograd.record(), pytest.warns(UserWarning, match="a Function computes with arrays"):
        out = net(nd.array([[1, 2]]))
    out.backward()
    assert out.asnumpy().tolist() == [[9, 9]]
    assert net[0].weight.grad().asnumpy().tolist() == [[6, 12], [6, 12]]


@pytest.mark.parametrize("symbol", [False, True])
def test_a_call_before_initialize_is_refused_and_forgotten(symbol):
    if symbol:
        fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3)
        net = mx.gluon.SymbolBlock(fc, mx.sym.var("data"))
    else:
        net = mx.gluon.nn.Dense(3)
        net.hybridize()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="is not initialized"):
            net(mx.nd.ones((2, 5)))
    net.initialize()
    assert net(mx.nd.ones((2, 5))).shape == (2, 3)
