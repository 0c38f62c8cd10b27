"""Gluon, losses, metrics, optimizers and files with arrays of mx.np."""

import copy
import pickle
import warnings

import numpy as onp
import pytest

import cynet as mx
from cynet import autograd, gluon, np, npx
from cynet.gluon import nn


@pytest.fixture(autouse=True)
def semantics():
    npx.set_np()
    yield
    npx.reset_np()


def test_convolutions_and_files(tmp_path):
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(4, 3, activation="relu"),
        nn.BatchNorm(),
        nn.MaxPool2D(2, 2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Dense(3),
    )
    net.initialize()
    x = np.random.uniform(size=(2, 1, 8, 8))
    plain = net(x)
    net.hybridize()
    found = net(x)
    assert type(plain) is type(found) is np.ndarray
    onp.testing.assert_allclose(found.asnumpy(), plain.asnumpy(), rtol=1e-4, atol=1e-6)
    with autograd.record():
        loss = net(x).sum()
    loss.backward()
    file = str(tmp_path / "net.params")
    net.save_parameters(file)
    net.load_parameters(file)
    net.export(str(tmp_path / "net"))
    names = [str(tmp_path / f"net-{end}") for end in ("symbol.json", "0000.params")]
    again = gluon.SymbolBlock.imports(names[0], ["data"], names[1])
    onp.testing.assert_allclose(again(x).asnumpy(), net(x).asnumpy(), rtol=1e-4, atol=1e-6)


def test_recurrent_layers():
    layer = gluon.rnn.LSTM(5)
    layer.initialize()
    x = np.random.normal(size=(3, 2, 4))
    plain = layer(x)
    output, _ = layer(x, layer.begin_state(batch_size=2))
    layer.hybridize()
    found = layer(x)
    assert type(plain) is type(output) is type(found) is np.ndarray
    onp.testing.assert_allclose(found.asnumpy(), output.asnumpy(), rtol=1e-4, atol=1e-6)


def test_losses_and_metrics():
    p, label = np.random.normal(size=(4, 3)), np.array([0, 1, 2, 0])
    for loss in (gluon.loss.L2Loss(), gluon.loss.L1Loss(), gluon.loss.HuberLoss()):
        out = loss(p, p * 0.5)
        assert type(out) is np.ndarray and out.shape == (4,)
    assert gluon.loss.SoftmaxCrossEntropyLoss()(p, label).shape == (4,)
    accuracy = mx.metric.Accuracy()
    accuracy.update([np.array([1, 0])], [np.array([[0.0, 1], [1, 0]])])
    assert accuracy.get()[1] == 1
    norm = gluon.utils.clip_global_norm([np.ones(4)], 1.0)
    assert abs(float(norm) - 2) < 1e-6


@pytest.mark.parametrize("name", ["sgd", "adam", "rmsprop", "adagrad"])
def test_optimizers(name):
    net = nn.Dense(1)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), name, {"learning_rate": 0.1})
    losses = []
    for _ in range(20):
        with autograd.record():
            loss = ((net(np.ones((2, 3))) - 1) ** 2).mean()
        loss.backward()
        trainer.step(2)
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_a_forward_with_a_constant_and_a_scalar_result():
    class Net(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.rand = np.random.uniform(size=(5, 5))
            self.dense = nn.Dense(5, activation="relu")

        def forward(self, x):
            x = npx.relu(np.dot(self.dense(x), self.rand) + 1)
            x = self.dense(x)
            return x.sum() / (x.max() + 1) + npx.softmax(x)[:, 1:3].mean()

    net = Net()
    net.initialize()
    x = np.random.uniform(size=(2, 5))
    plain = net(x)
    net.hybridize()
    found = net(x)
    assert plain.shape == found.shape == ()
    assert abs(plain.item() - found.item()) < 1e-5


def test_functions_of_F():
    class Net(nn.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.np.exp(x) * 2 + F.npx.relu(x) + F.np.mean(x, axis=1, keepdims=True)

    net, x = Net(), np.ones((2, 3))
    plain = net(x)
    net.hybridize()
    onp.testing.assert_allclose(net(x).asnumpy(), plain.asnumpy(), rtol=1e-6)


def test_files_pickles_and_copies(tmp_path):
    file = str(tmp_path / "arrays")
    npx.save(file, {"a": np.ones(()), "b": np.array([True])})
    found = npx.load(file)
    assert found["a"].shape == () and found["b"].dtype == bool
    x = np.array([[1.0, 2]])
    for each in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert type(each) is np.ndarray and each.tolist() == x.tolist()
    parts = gluon.utils.split_and_load(np.ones((4, 2)), [mx.cpu(0), mx.cpu(1)])
    assert [type(each) for each in parts] == [np.ndarray] * 2


def test_parameters_are_arrays_of_np():
    param = gluon.Parameter("w", shape=(2, 3))
    param.initialize()
    param.set_data(np.ones((2, 3)))
    assert type(param.data()) is type(param.grad()) is np.ndarray


@pytest.mark.parametrize("name", ["dcasgd", "sgld", "nadam", "ftml", "lamb", "lars", "signum"])
def test_optimizers_that_are_written_in_functions_of_nd(name):
    rows = []
    for numpy in (True, False):
        (npx.set_np if numpy else npx.reset_np)()
        mx.random.seed(5)
        array = np.array if numpy else mx.nd.array
        param = gluon.Parameter("w", shape=(2,))
        param.initialize(mx.init.One())
        trainer = gluon.Trainer([param], name, {"learning_rate": 0.1})
        for _ in range(3):
            with autograd.record():
                loss = (param.data() * array([1.0, -2])).sum()
            loss.backward()
            trainer.step(1)
        assert type(param.data()) is (np.ndarray if numpy else mx.nd.NDArray)
        rows.append(param.data().asnumpy())
    onp.testing.assert_allclose(*rows, rtol=1e-6)
    assert abs(rows[0] - 1).max() > 1e-4


@pytest.mark.parametrize("cell", ["LSTMCell", "GRUCell", "RNNCell"])
def test_cells_begin_with_arrays_of_np(cell):
    cell = getattr(gluon.rnn, cell)(4)
    cell.initialize()
    x = np.random.normal(size=(2, 3, 5))
    plain, states = cell.unroll(3, x, merge_outputs=True)
    assert {type(each) for each in (plain, *states, *cell.begin_state(2))} == {np.ndarray}
    cell.hybridize()
    found, _ = cell.unroll(3, x, merge_outputs=True)
    onp.testing.assert_allclose(found.asnumpy(), plain.asnumpy(), rtol=1e-5)
    begun = cell.begin_state(2, func=np.ones)
    assert all(type(each) is np.ndarray and each.min() == 1 for each in begun)


LOSSES = {
    "L2Loss": 2,
    "L1Loss": 2,
    "SigmoidBinaryCrossEntropyLoss": 2,
    "HuberLoss": 2,
    "HingeLoss": 2,
    "SquaredHingeLoss": 2,
    "LogisticLoss": 2,
    "KLDivLoss": 2,
    "PoissonNLLLoss": 2,
    "TripletLoss": 3,
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_that_of_nd(name):
    drawn = [onp.random.default_rng(i).uniform(0.1, 1, (4, 3)).astype("float32") for i in range(3)]
    rows = []
    for numpy in (True, False):
        (npx.set_np if numpy else npx.reset_np)()
        array = np.array if numpy else mx.nd.array
        for hybridized in (False, True):
            loss = getattr(gluon.loss, name)()
            if hybridized:
                loss.hybridize()
            found = loss(*map(array, drawn[: LOSSES[name]]))
            assert type(found) is (np.ndarray if numpy else mx.nd.NDArray)
            rows.append(found.asnumpy().reshape(-1))
    for each in rows[1:]:
        onp.testing.assert_allclose(each, rows[0], rtol=1e-5)


METRICS = ("acc", "f1", "mcc", "ce", "nll-loss", "pcc", "mae", "mse", "rmse", "pearsonr")


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_that_of_nd(name):
    label, guess = onp.array([0.0, 1, 1]), onp.array([[0.2, 0.8], [0.4, 0.6], [0.9, 0.1]])
    if name in ("mae", "mse", "rmse", "pearsonr"):
        guess = guess[:, 0]
    found = []
    for array in (np.array, mx.nd.array):
        for pack in (list, lambda pair: pair[0]):
            metric = mx.metric.create(name)
            metric.update(pack([array(label)]), pack([array(guess)]))
            found.append(metric.get()[1])
    onp.testing.assert_allclose(found, found[0], rtol=1e-6)


def test_gradients_of_gradients():
    x = np.array([1.0, 2])
    x.attach_grad()
    for run, second in (
        (lambda: (x**3).sum(), 6 * onp.array([1.0, 2])),
        (lambda: (np.sin(x) * 2 / 1).sum(), -2 * onp.sin([1.0, 2])),
        (lambda: (x * x * 1.5 - x).mean(), onp.array([1.5, 1.5])),
    ):
        with autograd.record():
            (first,) = autograd.grad(run(), [x], create_graph=True, retain_graph=True)
            total = first.sum()
        total.backward()
        assert type(first) is np.ndarray
        onp.testing.assert_allclose(x.grad.asnumpy(), second, rtol=1e-5)


def test_the_estimator_trains(rng):
    net = nn.Dense(3, in_units=4)
    net.initialize()
    x, label = np.array(rng.normal(size=(32, 4)).astype("f4")), np.array(rng.integers(0, 3, 32))
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(x, label), batch_size=8)
    accuracy = mx.metric.Accuracy()
    estimator = gluon.contrib.estimator.Estimator(
        net,
        gluon.loss.SoftmaxCrossEntropyLoss(),
        train_metrics=accuracy,
        trainer=gluon.Trainer(net.collect_params(), "adam"),
    )
    before = net.weight.data().copy()
    estimator.fit(data, epochs=2)
    assert type(net.weight.data()) is np.ndarray and abs(net.weight.data() - before).max() > 0


@pytest.mark.parametrize("kind", ["method", "callable"])
def test_initializers_of_users_get_mx_np_arrays(kind):
    class Far(mx.init.Initializer):
        def _init_weight(self, name, data):
            data[:] = np.random.uniform(-10, 10, data.shape)
            data *= np.abs(data) >= 5

    def filled(name, data):
        Far()._init_weight(name, data)

    net = nn.Dense(8, in_units=20, weight_initializer=filled if kind == "callable" else Far())
    net.initialize()
    weight = np.abs(net.weight.data())
    assert type(net.weight.data()) is np.ndarray
    assert bool(((weight >= 5) | (weight == 0)).all()) and float(weight.max()) > 5


class _KeepsWeights(nn.HybridBlock):
    """What it computes on the way it keeps: in an attribute, in a list and in a dict."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3, flatten=False)
        self.weights, self.kept, self.by_name = None, [None, [0]], {"count": 0}
        self.before = np.zeros((2, 3))

    def forward(self, x):
        self.weights = npx.softmax(self.dense(x))
        self.kept[1][0] = self.weights * 2
        self.by_name["sum"] = (self.weights.sum(), 1)
        self.by_name["count"] += 1
        before, self.before = self.before, self.before * 0.5 + self.weights
        return self.weights + before


@pytest.mark.parametrize("inside", [False, True])
def test_what_a_forward_keeps_are_arrays_when_it_is_hybridized(inside):
    keeps, plain = _KeepsWeights(), _KeepsWeights()
    x = np.array([[1.0, 2], [3, -1]])
    for each in (keeps, plain):
        each.initialize(mx.init.Constant(0.3))
        each(x)
    net = keeps
    if inside:
        net = nn.HybridSequential()
        net.add(keeps)
    net.hybridize()
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # it tells that it runs operator by operator
            found = net(x)
        expected = plain(x)
        pairs = [
            (found, expected),
            (keeps.weights, plain.weights),
            (keeps.before, plain.before),
            (keeps.kept[1][0], plain.kept[1][0]),
            (keeps.by_name["sum"][0], plain.by_name["sum"][0]),
        ]
        for a, b in pairs:
            assert type(a) is np.ndarray
            onp.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5)


class _Both(nn.HybridBlock):
    def forward(self, a, b):
        return a * 2 + b


_OF_SEVERAL = {
    "forward": (_Both, lambda a, b: (a((2, 3)), b((2, 3)))),
    "loss": (gluon.loss.SoftmaxCELoss, lambda a, b: (a((2, 3)), b((2,)))),
    "cell": (lambda: gluon.rnn.LSTMCell(3), lambda a, b: (a((2, 3)), [b((2, 3)), b((2, 3))])),
    "layer": (lambda: gluon.rnn.LSTM(3), lambda a, b: (a((4, 2, 3)), [b((1, 2, 3))] * 2)),
}


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("name", _OF_SEVERAL)
def test_arguments_of_both_kinds_are_refused_eager_and_hybridized(name, hybrid):
    make, arguments = _OF_SEVERAL[name]
    net = make()
    net.initialize()
    if hybrid:
        net.hybridize()
        net(*arguments(np.ones, np.ones))
    for pair in ((np.ones, mx.nd.ones), (mx.nd.ones, np.ones)):
        with pytest.raises(TypeError, match=r"as_nd_ndarray\(\) and as_np_ndarray\(\) make"):
            net(*arguments(*pair))


@pytest.mark.parametrize("hybrid", [False, True])
def test_outputs_are_of_the_kind_of_the_inputs(hybrid):
    net = nn.Dense(3, in_units=2)
    net.initialize()
    if hybrid:
        net.hybridize()
    for ones, kind in ((mx.nd.ones, mx.nd.NDArray), (np.ones, np.ndarray)):
        with autograd.record():
            out = net(ones((4, 2)))
            loss = out.sum()
        loss.backward()
        assert type(out) is kind
        assert float(net.weight.grad().sum()) == 24
