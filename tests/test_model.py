"""FeedForward, and the helpers that scripts import from mx.model."""

import copy
import threading

import numpy as np
import pytest

import cynet as mx
from cynet import nd
from cynet.base.errors import ArgumentError, ArgumentTypeError, CynetError, ShapeError


def network():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


@pytest.fixture
def problem(rng, seed):
    mx.random.seed(seed)
    np.random.seed(seed)
    data = rng.standard_normal((100, 4)).astype("float32")
    return data, (data[:, 0] > 0).astype("float32")


def test_feed_forward(problem, tmp_path):
    data, label = problem
    model = mx.model.FeedForward(network(), num_epoch=10, numpy_batch_size=20, learning_rate=0.5)
    model.fit(data, label, eval_data=(data, label))
    outputs = model.predict(data)
    assert outputs.shape == (100, 2)
    assert (outputs.argmax(1) == label).mean() > 0.85
    it = mx.io.NDArrayIter(data, label, 30)
    assert model.score(it) > 0.85
    again, shown, wanted = model.predict(it, return_data=True)
    np.testing.assert_allclose(again, outputs, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(shown, data)
    np.testing.assert_array_equal(wanted, label)
    model.save(str(tmp_path / "net"))
    loaded = mx.model.FeedForward.load(str(tmp_path / "net"), 10)
    np.testing.assert_allclose(loaded.predict(data), outputs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [mx.init.Xavier(), "3", 0, -1, float("nan"), float("inf")])
def test_an_epoch_of_no_number_of_batches(size):
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2)
    with pytest.raises(mx.MXNetError, match="FeedForward: epoch_size must be"):
        mx.model.FeedForward(mx.sym.SoftmaxOutput(x, name="softmax"), epoch_size=size)


def test_an_epoch_of_a_fraction():
    """50,000 samples by 128 are a fraction in Python 3."""
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2)
    made = mx.model.FeedForward(mx.sym.SoftmaxOutput(x, name="softmax"), epoch_size=50_000 / 128)
    assert made.epoch_size == 391


def test_create_and_epoch_size(problem):
    seen = []
    model = mx.model.FeedForward.create(
        network(),
        mx.io.NDArrayIter(*problem, 20),
        num_epoch=2,
        epoch_size=3,
        learning_rate=0.5,
        batch_end_callback=lambda p: seen.append((p.epoch, p.nbatch)),
    )
    assert seen == [(e, n) for e in range(2) for n in (1, 2, 3)]  # from 1, as in MXNet
    assert set(model.arg_params) == {"fc_weight", "fc_bias"}


def test_feed_forward_refuses(problem):
    data, label = problem
    model = mx.model.FeedForward(network(), num_epoch=1)
    with pytest.raises(CynetError, match="fit"):
        model.predict(data)
    with pytest.raises(ArgumentError, match="y is missing"):
        model.fit(data)
    with pytest.raises(ShapeError, match="y has shape"):
        model.fit(data, label[:50])
    with pytest.raises(
        ArgumentTypeError, match="FeedForward takes a DataIter or an array, got str"
    ):
        model.fit("data")
    with pytest.raises(ArgumentTypeError, match="a function from a bucket key"):
        mx.model.FeedForward(data)
    with pytest.raises(ArgumentError, match="comes twice"):
        mx.model.FeedForward(mx.sym.var("a") + mx.sym.var("a"))


def test_prediction_without_labels(problem, tmp_path):
    data, label = problem
    net = network()
    made = mx.model.FeedForward.create(net, data, label, num_epoch=1)
    made.save(str(tmp_path / "net"), 1)
    for model in (made, mx.model.FeedForward.load(str(tmp_path / "net"), 1)):
        outputs = model.predict(mx.io.NDArrayIter(data, None, 30))
        np.testing.assert_allclose(outputs, model.predict(data), rtol=1e-5, atol=1e-6)
    with pytest.raises(ArgumentError, match="'softmax_label'"):
        made.fit(mx.io.NDArrayIter(data, None, 20))
    lacking = {"fc_weight": made.arg_params["fc_weight"]}
    model = mx.model.FeedForward(net, arg_params=lacking)
    with pytest.raises(ArgumentError, match="'fc_bias'"):
        model.predict(data)


def test_parameters_that_the_symbol_has_not(problem):
    data, label = problem
    made = mx.model.FeedForward.create(network(), data, label, num_epoch=1)
    more = {**made.arg_params, "odd": mx.nd.ones(1)}
    for args, auxs, name in (
        (more, {}, "odd"),
        (made.arg_params, {"state": mx.nd.ones(1)}, "state"),
    ):
        strict = mx.model.FeedForward(network(), num_epoch=1, arg_params=args, aux_params=auxs)
        with pytest.raises(ArgumentError, match=f"'{name}'.*allow_extra_params"):
            strict.predict(data)
        with pytest.warns(UserWarning, match=f"'{name}'.*allow_extra_params"):
            strict.fit(data, label)
        assert strict.predict(data).shape == (100, 2)
        loose = mx.model.FeedForward(
            network(), num_epoch=1, arg_params=args, aux_params=auxs, allow_extra_params=True
        )
        np.testing.assert_allclose(loose.predict(data), made.predict(data), rtol=1e-6)
        loose.fit(data, label)


class Buckets(mx.io.DataIter):
    """Batches of 3 and of 2 features each, whose sum decides the class."""

    default_bucket_key = 3

    def __init__(self, rng):
        super().__init__(20)
        self.provide_data = [("data", (20, 3, 1))]
        self.provide_label = [("softmax_label", (20,))]
        self.batches = []
        for key in (3, 2, 3, 2):
            data = rng.standard_normal((20, key, 1)).astype("float32")
            label = (data.sum((1, 2)) > 0).astype("float32")
            shapes = [("data", data.shape)], [("softmax_label", (20,))]
            self.batches.append(
                mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array(label)], 0, None, key, *shapes)
            )

    def __iter__(self):
        return iter(self.batches)


@pytest.mark.parametrize("with_names", [True, False])
def test_a_function_of_the_bucket(rng, seed, with_names):
    mx.random.seed(seed)

    def sym_gen(key):
        summed = mx.sym.sum(mx.sym.var("data"), axis=1)
        net = mx.sym.FullyConnected(summed, num_hidden=2, name="fc")
        net = mx.sym.SoftmaxOutput(net, name="softmax")
        return (net, ("data",), ("softmax_label",)) if with_names else net

    data = Buckets(rng)
    model = mx.model.FeedForward(symbol=sym_gen, num_epoch=20, learning_rate=0.5)
    history = model.fit(data)
    assert sorted(model.arg_params) == ["fc_bias", "fc_weight"]
    assert history.metrics["Train-accuracy"][-1] > 0.8
    assert model.predict(np.ones((4, 3, 1), "float32")).argmax(1).tolist() == [1] * 4
    automatic = mx.model.FeedForward(
        symbol=lambda key: mx.sym.SoftmaxOutput(
            mx.sym.FullyConnected(mx.sym.sum(mx.sym.var("data"), axis=1), num_hidden=2),
            name="softmax",
        ),
        num_epoch=1,
    )
    data.batches = data.batches[:1]
    automatic.fit(data)
    assert automatic.predict(np.ones((4, 3, 1), "float32")).shape == (4, 2)
    with pytest.raises(ArgumentError, match="default_bucket_key"):
        model.fit(mx.io.NDArrayIter(np.ones((4, 3, 1)), np.ones(4), 2))


def test_create_kvstore():
    params = {"a": mx.nd.ones(3)}
    assert mx.model._create_kvstore(None, 2, params) == (None, False)
    assert mx.model._create_kvstore("local", 1, params) == (None, False)
    kv, on_kvstore = mx.model._create_kvstore("local", 2, params)
    assert kv.type == "local" and on_kvstore
    made = mx.kv.create("device")
    assert mx.model._create_kvstore(made, 1, params) == (made, True)
    with pytest.raises(ArgumentTypeError, match="kvstore"):
        mx.model._create_kvstore(3, 1, params)


@pytest.mark.parametrize("on_kvstore", [True, False])
def test_the_loop_of_a_script(on_kvstore):
    """Two devices with gradients 1 and 2: a step of SGD takes 3 * lr off the weight."""
    kv = mx.kv.create("local")
    weights = [[mx.nd.ones(2), mx.nd.ones(2)]]
    grads = [[mx.nd.ones(2), mx.nd.full((2,), 2)]]
    optimizer = mx.optimizer.SGD(learning_rate=0.1)
    if on_kvstore:
        kv.set_optimizer(optimizer)
    mx.model._initialize_kvstore(kv, weights, {"w": mx.nd.ones(2)}, ["w"], on_kvstore)
    if on_kvstore:
        mx.model._update_params_on_kvstore(weights, grads, kv, ["w"])
    else:
        updater = mx.optimizer.get_updater(optimizer)
        mx.model._update_params(weights, grads, updater, 2, kv, ["w"])
    for weight in weights[0]:
        np.testing.assert_allclose(weight.asnumpy(), 0.7, rtol=1e-6)


@pytest.fixture
def bound(monkeypatch):
    """The shapes that modules were bound to."""
    shapes, bind = [], mx.mod.Module.bind

    def counting(self, data_shapes, *args, **kwargs):
        shapes.append(tuple(data_shapes[0][1]))
        return bind(self, data_shapes, *args, **kwargs)

    monkeypatch.setattr(mx.mod.Module, "bind", counting)
    return shapes


def times(weight):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")
    return mx.model.FeedForward(net, arg_params={"fc_weight": weight})


def test_one_bind_for_predictions_of_one_shape(bound):
    model = times(nd.array([[1, 10]]))
    x = np.array([[1, 2], [3, 4]], "float32")
    for factor in (1, 2, 3):
        assert model.predict(x * factor).ravel().tolist() == [21 * factor, 43 * factor]
    assert bound == [(2, 2)]
    assert model.predict(x[:1]).ravel().tolist() == [21]
    assert bound == [(2, 2), (1, 2)]


def test_predictions_see_what_parameters_have_become(bound):
    weight = nd.array([[1, 10]])
    model = times(weight)
    x = np.array([[1, 2]], "float32")

    def predicted():
        return float(model.predict(x).item())

    assert predicted() == 21
    weight[:] = 3
    assert predicted() == 9
    model.arg_params["fc_weight"] = nd.array([[5, 5]])
    assert predicted() == 15
    model.arg_params = {"fc_weight": nd.array([[0, 1]])}
    assert predicted() == 2
    shared = np.array([[2, 2]], "float32")
    model.arg_params = {"fc_weight": nd.from_numpy(shared[:], zero_copy=True)}
    assert predicted() == 6
    shared[:] = 4  # nobody tells the engine
    assert predicted() == 12
    assert len(bound) == 1
    model.symbol = times(weight).symbol
    assert predicted() == 12 and len(bound) == 2
    model.ctx = mx.cpu(1)
    assert predicted() == 12 and len(bound) == 3


def test_threads_predict_at_once():
    model = times(nd.array([[1, 10]]))
    found = {}

    def work(k):
        x = np.full((3, 2), k, "float32")
        found[k] = [model.predict(x).ravel().tolist() for _ in range(20)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {k: [[11 * k] * 3] * 20 for k in range(4)}


def test_a_copied_model_has_no_predictor():
    model = times(nd.array([[1, 10]]))
    x = np.ones((1, 2), "float32")
    model.predict(x)
    other = copy.copy(model)
    other.arg_params = {"fc_weight": nd.array([[2, 20]])}
    assert other.predict(x).item() == 22 and model.predict(x).item() == 11
