"""Iterators that fill one batch again and again: each batch is judged by its own labels."""

import numpy as np
import pytest

import cynet as mx

ROWS, SIZE, WIDTH, CLASSES = 48, 12, 5, 3
WAYS = ["new batches", "attributes", "lists", "memory", "NumPy memory"]


class Reusing(mx.io.DataIter):
    """One DataBatch, of which each batch changes what `how` says."""

    def __init__(self, x, y, how):
        super().__init__(SIZE)
        self.x, self.y, self.how, self.at = x, y, how, 0
        self.provide_data = [mx.io.DataDesc("data", (SIZE, WIDTH))]
        self.provide_label = [mx.io.DataDesc("softmax_label", (SIZE,))]
        self.default_bucket_key = WIDTH
        zeros = np.zeros if how == "NumPy memory" else mx.nd.zeros
        self.batch = self._made([zeros((SIZE, WIDTH))], [zeros((SIZE,))])

    def _made(self, data, label):
        named = {"provide_data": self.provide_data, "provide_label": self.provide_label}
        return mx.io.DataBatch(data, label, pad=0, bucket_key=WIDTH, **named)

    def reset(self):
        self.at = 0

    def next(self):
        if self.at == ROWS:
            # the last batch of an epoch is spoilt, too, by an iterator that looks ahead
            if self.how != "new batches":
                self.batch.label[0][:] = -1
            raise StopIteration
        x, y = (each[self.at : self.at + SIZE] for each in (self.x, self.y))
        self.at += SIZE
        batch = self.batch
        if self.how == "attributes":
            batch.data, batch.label = [mx.nd.array(x)], [mx.nd.array(y)]
        elif self.how == "lists":
            batch.data[0], batch.label[0] = mx.nd.array(x), mx.nd.array(y)
        elif self.how in ("memory", "NumPy memory"):
            batch.data[0][:], batch.label[0][:] = x, y
        else:
            return self._made([mx.nd.array(x)], [mx.nd.array(y)])
        return batch


def net(data):
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(data, num_hidden=CLASSES, name="fc"), name="softmax"
    )


def sequential():
    first = mx.sym.identity(mx.sym.Variable("data"), name="same")
    chain = mx.mod.SequentialModule().add(mx.mod.Module(first, label_names=None))
    return chain.add(
        mx.mod.Module(net(mx.sym.Variable("data"))), take_labels=True, auto_wiring=True
    )


MODULES = {
    "Module": lambda: mx.mod.Module(net(mx.sym.Variable("data"))),
    "two devices": lambda: mx.mod.Module(
        net(mx.sym.Variable("data")), context=[mx.cpu(0), mx.cpu(1)]
    ),
    "BucketingModule": lambda: mx.mod.BucketingModule(
        lambda key: (net(mx.sym.Variable("data")), ("data",), ("softmax_label",)), WIDTH
    ),
    "SequentialModule": sequential,
    "FeedForward": lambda: mx.model.FeedForward(
        net(mx.sym.Variable("data")), num_epoch=1, learning_rate=0.0
    ),
}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("kind", MODULES)
def test_figures_are_those_of_each_batch(kind, how, rng):
    """The rate is 0, so that NumPy knows what comes out."""
    x = rng.standard_normal((ROWS, WIDTH)).astype("float32")
    y = rng.integers(0, CLASSES, ROWS).astype("float32")
    weight = rng.standard_normal((CLASSES, WIDTH)).astype("float32")
    z = x @ weight.T
    probs = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    losses = -np.log(probs[np.arange(ROWS), y.astype(int)] + 1e-12)  # as the metric, eps and all
    want = np.array([losses[: (i + 1) * SIZE].mean() for i in range(ROWS // SIZE)])
    params = {"fc_weight": mx.nd.array(weight), "fc_bias": mx.nd.zeros(CLASSES)}
    seen, scored, module = [], [], MODULES[kind]()

    def see(param):
        seen.append(param.eval_metric.get()[1])

    def see_score(param):
        scored.append(param.eval_metric.get()[1])

    options = {"eval_metric": "ce", "batch_end_callback": see, "eval_batch_end_callback": see_score}
    data, held_out = Reusing(x, y, how), Reusing(x, y, how)
    if kind == "FeedForward":
        module.arg_params, module.aux_params = params, {}
        history = module.fit(data, eval_data=held_out, **options)
        outputs = module.predict(Reusing(x, y, how))
    else:
        history = module.fit(
            data,
            held_out,
            num_epoch=1,
            arg_params=params,
            aux_params={},
            verbose=False,
            optimizer_params={"learning_rate": 0.0},
            **options,
        )
        outputs = module.predict(Reusing(x, y, how)).asnumpy()
    np.testing.assert_allclose(seen, want, rtol=1e-5)
    np.testing.assert_allclose(scored, want, rtol=1e-5)
    for part in ("Train", "Validation"):
        assert history.metrics[f"{part}-cross-entropy"] == pytest.approx([want[-1]], rel=1e-5)
    np.testing.assert_allclose(outputs, probs, rtol=1e-4)


def test_the_next_batch_is_asked_for_after_the_metric(rng):
    order = []

    class Told(Reusing):
        def next(self):
            order.append("next")
            return super().next()

    class Judge(mx.metric.Accuracy):
        def update(self, labels, preds):
            order.append("metric")
            super().update(labels, preds)

    x, y = rng.standard_normal((ROWS, WIDTH)), rng.integers(0, CLASSES, ROWS)
    MODULES["Module"]().fit(
        Told(x, y, "new batches"), eval_metric=Judge(), num_epoch=1, verbose=False
    )
    assert order == ["next", "metric"] * (ROWS // SIZE) + ["next"]
