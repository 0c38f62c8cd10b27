"""Examples that only fill a batch up count in no figure and in no prediction."""

import numpy as np
import pytest

import cynet as mx
from cynet.metric.base import METRICS
from cynet.module.batch_axes import output_batch_axes

ROWS, SIZE, WIDTH, CLASSES = 13, 8, 5, 3
METRIC_SETTINGS = {
    "perplexity": {"ignore_label": None},
    "topkaccuracy": {"top_k": 2},
    "top_k_accuracy": {"top_k": 2},
    "top_k_acc": {"top_k": 2},
    "custommetric": {"feval": lambda label, pred: (float(label.sum() + pred.sum()), len(label))},
}


def softmax(data=None):
    data = mx.sym.var("data") if data is None else data
    net = mx.sym.FullyConnected(data, num_hidden=CLASSES, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def weights(rng, width=WIDTH):
    return {
        "fc_weight": mx.nd.array(rng.standard_normal((CLASSES, width))),
        "fc_bias": mx.nd.zeros(CLASSES),
    }


@pytest.fixture
def rows(rng):
    return rng.standard_normal((ROWS, WIDTH)), rng.integers(0, CLASSES, ROWS).astype("float32")


def predicted(params, x):
    """What the network gives, by NumPy."""
    z = x @ params["fc_weight"].asnumpy().T
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class Batches(mx.io.DataIter):
    """Batches that are given, with names and layouts."""

    def __init__(self, batches, data, label):
        super().__init__(SIZE)
        self.batches, self.provide_data, self.provide_label = batches, data, label
        self.reset()
        self.default_bucket_key = 0

    def reset(self):
        self._left = iter(self.batches)

    def next(self):
        return next(self._left)


def padded(x, y, garbage):
    """Two batches of x and y, the second one filled up with garbage."""
    batches = []
    for start in range(0, len(x), SIZE):
        part, label = x[start : start + SIZE], y[start : start + SIZE]
        pad = SIZE - len(part)
        part = np.concatenate([part, np.full((pad, *x.shape[1:]), garbage)])
        label = np.concatenate([label, np.full((pad, *y.shape[1:]), CLASSES - 1)])
        data, label = [mx.nd.array(part)], [mx.nd.array(label)]
        batches.append(mx.io.DataBatch(data, label, pad, bucket_key=0))
    return batches


def data_iter(x, y, garbage=1e3):
    data = [mx.io.DataDesc("data", (SIZE, *x.shape[1:]))]
    label = [mx.io.DataDesc("softmax_label", (SIZE, *y.shape[1:]))]
    batches = padded(x, y, garbage)
    for each in batches:
        each.provide_data, each.provide_label = data, label
    return Batches(batches, data, label)


def sequential(**options):
    first = mx.sym.identity(mx.sym.var("data"), name="same")
    chain = mx.mod.SequentialModule()
    chain.add(mx.mod.Module(first, label_names=None, **options))
    return chain.add(mx.mod.Module(softmax(), **options), take_labels=True, auto_wiring=True)


MODULES = {
    "Module": lambda **options: mx.mod.Module(softmax(), **options),
    "BucketingModule": lambda **options: mx.mod.BucketingModule(
        lambda _: (softmax(), ("data",), ("softmax_label",)), 0, **options
    ),
    "SequentialModule": sequential,
}
CONTEXTS = {"one": mx.cpu(), "two": [mx.cpu(0), mx.cpu(1)], "four": [mx.cpu(i) for i in range(4)]}


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("devices", CONTEXTS)
def test_score_predict_and_fit(rng, rows, kind, devices):
    """Four devices: the last one has padding alone."""
    x, y = rows
    params, it = weights(rng), data_iter(x, y)
    probs = predicted(params, x)
    module = MODULES[kind](context=CONTEXTS[devices])
    module.bind(it.provide_data, it.provide_label)
    module.init_params(arg_params=params, aux_params={})
    right = float(np.mean(probs.argmax(axis=1) == y))
    figures = dict(module.score(it, ["acc", "ce"]))
    assert figures["accuracy"] == right
    assert figures["cross-entropy"] == pytest.approx(
        -np.log(probs[np.arange(ROWS), y.astype(int)]).mean(), rel=1e-5
    )
    np.testing.assert_allclose(module.predict(it).asnumpy(), probs, rtol=1e-5)
    np.testing.assert_allclose(
        np.concatenate([out[0].asnumpy() for out, _, _ in module.iter_predict(it)]), probs, 1e-5
    )
    history = module.fit(
        it, it, num_epoch=1, optimizer_params={"learning_rate": 0.0}, verbose=False
    )  # the weights stay
    assert history.metrics == {"Train-accuracy": [right], "Validation-accuracy": [right]}


FLAT = ("mae", "mse", "rmse", "pearsonr", "pearsoncorrelation", "r2", "r2_score")
TEXTS = ("bleu", "wer", "worderrorrate")
BOXES = ("map", "meanaverageprecision")


def given(rng, name):
    """A network that gives its data, of texts or of boxes, whatever the labels are."""
    label = mx.sym.var("softmax_label")
    net = mx.sym.broadcast_add(mx.sym.var("data"), 0 * mx.sym.sum(label))
    if name in TEXTS:
        return net, *(rng.integers(1, 4, (ROWS, 6)).astype("float32") for _ in "xy")
    corners = rng.integers(0, 3, (ROWS, 4, 2)) / 10
    kinds = rng.integers(0, 2, (ROWS, 4, 1))
    boxes = np.concatenate([kinds, corners, corners + 0.3], axis=2).astype("float32")
    scores = rng.random((ROWS, 4, 1)).astype("float32")
    found = np.concatenate([boxes[..., :1], scores, boxes[..., 1:]], axis=2)
    return net, found, boxes[:, ::-1][:, :2].copy()


def task(rng, name):
    """A network, data and labels on which the metric has a figure in every batch."""
    if name in TEXTS + BOXES:
        return given(rng, name)
    binary, flat = name in ("f1", "mcc", "auc", "roc_auc"), name in FLAT
    n = 2 if binary else CLASSES
    y = rng.integers(0, n, ROWS).astype("float32")
    if binary:  # both classes, without which there is no area
        y[:2] = 0, 1
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1 if flat else n, name="fc")
    label = mx.sym.var("softmax_label")
    net = mx.sym.LinearRegressionOutput(net, label) if flat else mx.sym.SoftmaxOutput(net, label)
    if flat:  # no two alike: of equal labels in a batch there is no correlation
        y = rng.standard_normal((ROWS, 1)).astype("float32")
    return net, rng.standard_normal((ROWS, WIDTH)).astype("float32"), y


@pytest.mark.parametrize("name", sorted(METRICS.table))
def test_every_metric(rng, name):
    """A metric over padded batches is the metric over the rows alone."""
    if name == "composite" or name == "compositeevalmetric":
        made = [mx.metric.create(["acc", "ce"]) for _ in range(2)]
    else:
        settings = METRIC_SETTINGS.get(name, {})
        made = [mx.metric.create(name, **settings) for _ in range(2)]
    net, x, y = task(rng, name)
    it = data_iter(x, y)
    module = mx.mod.Module(net)
    module.bind(it.provide_data, it.provide_label, for_training=False)
    module.init_params(mx.init.Normal(1))
    module.score(it, made[0])
    params = module.get_params()
    whole = mx.mod.Module(net)
    whole.bind([("data", x.shape)], [("softmax_label", y.shape)], for_training=False)
    whole.set_params(*params)
    for start in range(0, ROWS, SIZE):  # macro averages are means of the batches' figures
        part = [mx.nd.array(each[start : start + SIZE]) for each in (x, y)]
        whole.forward(mx.io.DataBatch(part[:1], part[1:]))
        made[1].update(part[1:], whole.get_outputs())
    (_, got), (_, want) = made[0].get(), made[1].get()
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert np.all(np.isfinite(want))


def test_own_metrics(rows, rng):
    x, y = rows
    it, seen = data_iter(x, y), []

    class Own(mx.metric.EvalMetric):
        def update(self, labels, preds):
            seen.append((labels[0].shape, preds[0].shape))
            self._add(1, 1)

    module = mx.mod.Module(softmax())
    module.bind(it.provide_data, it.provide_label, for_training=False)
    module.init_params(arg_params=weights(rng), aux_params={})
    counted = mx.metric.np(lambda label, pred: (len(label), len(pred)), name="rows")
    module.score(it, [Own("own"), counted])
    assert seen == [((8,), (8, CLASSES)), ((5,), (5, CLASSES))]
    assert counted.sum_metric == counted.num_inst == ROWS


def test_feed_forward(rows, rng):
    x, y = rows
    params = weights(rng)
    model = mx.model.FeedForward(softmax(), numpy_batch_size=SIZE, arg_params=params, aux_params={})
    probs = predicted(params, x)
    for it in (data_iter(x, y), mx.io.NDArrayIter(x, y, SIZE)):
        assert model.score(it) == float(np.mean(probs.argmax(axis=1) == y))
        np.testing.assert_allclose(model.predict(it), probs, rtol=1e-5)
    outputs, data, label = model.predict(data_iter(x, y), return_data=True)
    assert len(outputs) == len(data) == len(label) == ROWS


def test_python_module(rows):
    x, y = rows
    scores = x[:, :CLASSES]
    it = data_iter(scores, y)
    module = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores)
    module.bind(it.provide_data, it.provide_label)
    module.init_params()
    module.init_optimizer()
    right = float(np.mean(scores.argmax(axis=1) == y))
    assert dict(module.score(it, "acc")) == {"accuracy": right}
    assert module.predict(it).shape == (ROWS, CLASSES)
    history = module.fit(it, num_epoch=1, verbose=False)
    assert history.metrics["Train-accuracy"] == [right]


@pytest.mark.parametrize("steps", [3, SIZE], ids=["odd", "square"])
@pytest.mark.parametrize("form", ["kept", "joined"])
@pytest.mark.parametrize("layout", ["TNC", "NTC"])
def test_examples_on_another_axis(rng, layout, form, steps):
    """Of sequences, kept apart or joined to one axis, that of steps before or behind."""
    axis = layout.index("N")
    x = rng.standard_normal((ROWS, steps, WIDTH))
    y = rng.integers(0, CLASSES, (ROWS, steps)).astype("float32")
    params = weights(rng)
    probs = predicted(params, x)
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=CLASSES, flatten=False, name="fc")
    label = mx.sym.var("softmax_label")
    if form == "joined":
        net, label = mx.sym.reshape(net, (-1, CLASSES)), mx.sym.reshape(label, (-1,))
    net = mx.sym.SoftmaxOutput(net, label, preserve_shape=True, name="softmax")
    batches = padded(x, y, 1e3)
    for each in batches:
        for arrays in (each.data, each.label):
            arrays[0] = mx.nd.array(np.moveaxis(arrays[0].asnumpy(), 0, axis))
    data = [mx.io.DataDesc("data", batches[0].data[0].shape, layout=layout)]
    labels = [mx.io.DataDesc("softmax_label", batches[0].label[0].shape, layout=layout[:2])]
    it = Batches(batches, data, labels)
    for context in [mx.cpu(), [mx.cpu(0), mx.cpu(1)]]:
        module = mx.mod.Module(net, context=context)
        module.bind(data, labels, for_training=False)
        module.init_params(arg_params=params, aux_params={})
        figures = dict(module.score(it, [mx.metric.Accuracy(axis=-1), mx.metric.Perplexity(None)]))
        assert figures["accuracy"] == pytest.approx(np.mean(probs.argmax(axis=-1) == y), abs=1e-12)
        picked = np.take_along_axis(probs, y.astype(int)[..., None], -1)
        assert figures["perplexity"] == pytest.approx(np.exp(-np.log(picked).mean()), rel=1e-5)
        if form == "kept" or not isinstance(context, list):
            want = np.moveaxis(probs, 0, axis)
            if form == "joined":
                parts = [probs[:SIZE], probs[SIZE:]]
                want = np.concatenate([np.moveaxis(p, 0, axis).reshape(-1, CLASSES) for p in parts])
            np.testing.assert_allclose(module.predict(it).asnumpy(), want, rtol=1e-5)


def test_outputs_without_examples(rows, rng):
    """The mean over a batch is one number, which no padding can be cut off."""
    x, y = rows
    net = mx.sym.MakeLoss(mx.sym.mean(mx.sym.var("data")))
    module = mx.mod.Module(net, label_names=None)
    it = data_iter(x, y, garbage=0)
    module.bind(it.provide_data, for_training=False)
    module.init_params()
    got = module.predict(it).asnumpy()
    np.testing.assert_allclose(got.ravel(), [x[:8].mean(), x[8:].sum() / 8 / WIDTH], rtol=1e-5)
    assert dict(module.score(it, mx.metric.Loss()))["loss"] == pytest.approx(got.mean())


def test_axes_of_a_network_for_one_size_alone():
    net = mx.sym.reshape(mx.sym.var("data"), (SIZE, -1))
    assert output_batch_axes(net, [mx.io.DataDesc("data", (SIZE, 2, 3))], SIZE, 0) == [(0, 0)]


@pytest.mark.parametrize(("pad", "what"), [(9, "pad=9"), (-1, "pad=-1"), ("x", "'x'")])
def test_impossible_padding(rows, rng, pad, what):
    x, y = rows
    it = data_iter(x, y)
    it.batches[1].pad = pad
    module = mx.mod.Module(softmax())
    module.bind(it.provide_data, it.provide_label, for_training=False)
    module.init_params(arg_params=weights(rng), aux_params={})
    for run in (lambda: module.score(it, "acc"), lambda: module.predict(it)):
        with pytest.raises((ValueError, TypeError), match=what):
            run()


def test_rows_that_rolled_over_count(rows, rng):
    """What rolls over begins the next epoch, and is no padding."""
    x, y = rows
    it = mx.io.NDArrayIter(x, y, SIZE, last_batch_handle="roll_over")
    assert [batch.pad for batch in it] == [0]
    it.reset()
    batches = list(it)
    assert [batch.pad for batch in batches] == [0, 0]
    seen = np.concatenate([batch.data[0].asnumpy() for batch in batches])
    np.testing.assert_allclose(seen, np.concatenate([x[8:], x[:11]]), rtol=1e-6)
    it = mx.io.NDArrayIter(x, y, SIZE, last_batch_handle="roll_over")
    list(it)
    it.reset()
    params = weights(rng)
    module = mx.mod.Module(softmax())
    module.bind(it.provide_data, it.provide_label, for_training=False)
    module.init_params(arg_params=params, aux_params={})
    hits = predicted(params, x).argmax(axis=1) == y
    got = dict(module.score(it, "acc", reset=False))["accuracy"]
    assert got == pytest.approx(np.mean(np.concatenate([hits[8:], hits[:11]])))
