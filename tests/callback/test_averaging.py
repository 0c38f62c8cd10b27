"""callback.EMA and callback.SWA: the means of PyTorch's formula, validated, saved, resumed."""

import numpy as np
import pytest

import cynet as mx


@pytest.fixture
def data(rng):
    x = rng.normal(size=(48, 4)).astype("float32")
    return x, (x.sum(axis=1) > 0).astype("float32")


def network():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name="fc1")
    net = mx.sym.BatchNorm(net, name="bn", fix_gamma=False)
    net = mx.sym.FullyConnected(net, num_hidden=2, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


class Seen(mx.callback.FitCallback):
    """Copies of the weights after each batch, when epochs end, and when they are closed."""

    def __init__(self):
        self.batches, self.judged, self.closed = [], [], []

    @staticmethod
    def _weights(state):
        args, aux = state.module.get_params()
        return {name: each.asnumpy() for name, each in {**args, **aux}.items()}

    def batch_end(self, state):
        self.batches.append(self._weights(state))

    def epoch_end(self, state):
        self.judged.append(self._weights(state))

    def epoch_closed(self, state):
        self.closed.append(self._weights(state))


def fitted(data, callbacks, epochs=4, contexts=1, **more):
    mx.random.seed(4)
    module = mx.mod.Module(network(), context=[mx.cpu(i) for i in range(contexts)])
    iters = [mx.io.NDArrayIter(*data, 12) for _ in range(2)]
    history = module.fit(
        *iters,
        num_epoch=epochs,
        optimizer_params={"learning_rate": 0.2, "momentum": 0.5},
        callbacks=callbacks,
        verbose=False,
        **more,
    )
    return module, history


def same(found, wanted, **tolerance):
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, **tolerance)


@pytest.mark.parametrize("contexts", [1, 2])
def test_the_mean_of_every_batch(data, contexts):
    seen, ema = Seen(), mx.callback.EMA(decay=0.8)
    module, _ = fitted(data, [seen, ema], contexts=contexts)
    mean = {k: v.astype("float64") for k, v in seen.batches[0].items()}
    for weights in seen.batches[1:]:
        mean = {k: 0.8 * mean[k] + 0.2 * v for k, v in weights.items()}
    assert ema.count == 16
    args, aux = module.get_params()
    same({k: v.asnumpy() for k, v in {**args, **aux}.items()}, mean, rtol=1e-5, atol=1e-6)
    # callbacks after validation see the means, training goes on from the weights
    same(seen.judged[-1], mean, rtol=1e-5, atol=1e-6)
    assert (seen.judged[1]["fc1_weight"] != seen.batches[7]["fc1_weight"]).any()
    plain = Seen()
    fitted(data, [plain], contexts=contexts)
    for one, two in zip(seen.batches, plain.batches):
        same(one, two, rtol=0)


def test_closed_epochs_have_the_weights_again(data):
    ema, seen = mx.callback.EMA(decay=0.8), Seen()
    fitted(data, [ema, seen])
    for i, weights in enumerate(seen.closed):
        same(weights, seen.batches[4 * i + 3], rtol=0)


def test_validation_is_of_the_means(data, tmp_path):
    best = mx.callback.BestCheckpoint(tmp_path / "best", "Validation-accuracy")
    module, history = fitted(data, [mx.callback.EMA(decay=0.9), best])
    value = module.score(mx.io.NDArrayIter(*data, 12), "acc")[0][1]
    assert value == history.metrics["Validation-accuracy"][-1]
    saved = mx.mod.Module.load(tmp_path / "best", 0)
    saved.bind([("data", (12, 4))], [("softmax_label", (12,))], for_training=False)
    found = saved.score(mx.io.NDArrayIter(*data, 12), "acc")[0][1]
    assert found == max(history.metrics["Validation-accuracy"])


def test_swa_is_the_mean_of_epochs(data):
    seen, swa = Seen(), mx.callback.SWA(start=1)
    module, _ = fitted(data, [seen, swa], epochs=5)
    ends = seen.batches[3::4][1:]
    mean = {k: np.mean([each[k] for each in ends], axis=0, dtype="float64") for k in ends[0]}
    assert swa.count == 4
    args, aux = module.get_params()
    same({k: v.asnumpy() for k, v in {**args, **aux}.items()}, mean, rtol=1e-5, atol=1e-6)
    same(seen.judged[0], seen.batches[3], rtol=0)  # no mean yet


def test_period(data):
    ema = mx.callback.EMA(decay=0.5, period=2)
    fitted(data, [ema])
    assert ema.count == 8


@pytest.mark.parametrize("kind", [lambda: mx.callback.EMA(0.9), lambda: mx.callback.SWA(1)])
def test_resumed_is_as_never_stopped(data, tmp_path, kind):
    whole, _ = fitted(data, [kind()], epochs=5)
    fitted(data, [kind()], epochs=3, resume=tmp_path / "run")
    average = kind()
    parts, history = fitted(data, [average], epochs=5, resume=tmp_path / "run")
    assert history.epochs == [0, 1, 2, 3, 4]
    for one, two in zip(whole.get_params(), parts.get_params()):
        assert one.keys() == two.keys()
        for name in one:
            assert (one[name].asnumpy() == two[name].asnumpy()).all()
            assert (average.values[name].asnumpy() == two[name].asnumpy()).all()


def test_buckets(rng):
    def symbol(length):
        net = mx.sym.FullyConnected(
            mx.sym.sum(mx.sym.Variable("data"), axis=1, keepdims=True), num_hidden=2, name="fc"
        )
        return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)

    batches = [
        mx.io.DataBatch(
            [mx.nd.array(rng.normal(size=(4, length)))],
            [mx.nd.array([0, 1, 0, 1])],
            bucket_key=length,
            provide_data=[("data", (4, length))],
            provide_label=[("softmax_label", (4,))],
        )
        for length in (3, 5, 3)
    ]

    class Iter(mx.io.DataIter):
        provide_data, provide_label = [("data", (4, 5))], [("softmax_label", (4,))]
        default_bucket_key, at = 5, 0

        def reset(self):
            self.at = 0

        def next(self):
            self.at += 1
            if self.at > len(batches):
                raise StopIteration
            return batches[self.at - 1]

    module, ema = mx.mod.BucketingModule(symbol, default_bucket_key=5), mx.callback.EMA(0.5)
    module.fit(Iter(), Iter(), num_epoch=2, callbacks=[ema], verbose=False)
    assert ema.count == 6
    found = module.get_params()[0]["fc_weight"].asnumpy()
    assert (found == ema.values["fc_weight"].asnumpy()).all()


def test_what_is_refused():
    with pytest.raises(mx.errors.ArgumentError, match="EMA: period"):
        mx.callback.EMA(period=0)
    with pytest.raises(mx.errors.ArgumentError, match="EMA: decay"):
        mx.callback.EMA(decay=1)
    with pytest.raises(TypeError, match="EMA: decay"):
        mx.callback.EMA(None)
    with pytest.raises(mx.errors.ArgumentError, match="SWA: start"):
        mx.callback.SWA(start=-1)
