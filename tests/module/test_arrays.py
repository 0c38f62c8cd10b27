"""fit and score of a pair of arrays: what NDArrayIter's batches give."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentTypeError, CynetError

X = np.random.default_rng(0).normal(size=(70, 3))
Y = (X.sum(axis=1) > 0).astype(int)


def module(data="data", label="softmax_label"):
    net = mx.sym.FullyConnected(mx.sym.Variable(data), num_hidden=2, name="fc")
    net = mx.sym.SoftmaxOutput(net, mx.sym.Variable(label), name="softmax")
    return mx.mod.Module(net, [data], [label])


def trained(make, train_data, eval_data=None, **settings):
    np.random.seed(3)
    mx.random.seed(3)
    made = make()
    if callable(train_data):  # an iterator draws its order when it is made
        train_data = train_data()
    history = made.fit(
        train_data,
        eval_data=eval_data,
        num_epoch=3,
        optimizer_params={"learning_rate": 0.3},
        verbose=False,
        **settings,
    )
    return made, history


def batches(x, y, shuffle, batch_size=32, names=("data", "softmax_label")):
    return mx.io.NDArrayIter(x, y, batch_size, shuffle, "pad", *names)


@pytest.mark.parametrize("kind", [tuple, list])
@pytest.mark.parametrize("of", [np.asarray, mx.nd.array])
def test_they_are_batches_of_32_shuffled(kind, of):
    given = kind([of(X), of(Y)])
    found, history = trained(module, given, kind([of(X[:40]), of(Y[:40])]))
    wanted, same = trained(module, lambda: batches(X, Y, True), batches(X[:40], Y[:40], False))
    np.testing.assert_array_equal(
        found.get_params()[0]["fc_weight"].asnumpy(), wanted.get_params()[0]["fc_weight"].asnumpy()
    )
    assert history.metrics == same.metrics
    assert history.metrics["Validation-accuracy"][-1] > 0.9


def test_inputs_of_other_names_and_few_rows():
    made, _ = trained(lambda: module("points", "sides"), (X[:5], Y[:5]))
    assert made.data_shapes[0].name == "points" and made.data_shapes[0].shape == (5, 3)
    assert made.label_shapes[0].name == "sides"


def test_a_bound_module_keeps_its_batch_size():
    made = module()
    made.bind([("data", (10, 3))], [("softmax_label", (10,))])
    made.fit((X, Y), num_epoch=1, verbose=False)
    assert made.data_shapes[0].shape == (10, 3)


def test_score_counts_each_row_once():
    made, _ = trained(module, (X, Y))
    predicted = np.concatenate([made.predict(X[i : i + 32]).asnumpy() for i in (0, 32, 64)])
    truth = (predicted.argmax(axis=1) == Y).mean()
    assert made.score((X, Y), "acc") == [("accuracy", pytest.approx(truth))]
    assert made.score((X[:7], Y[:7]), "acc")[0][1] == pytest.approx(
        (predicted[:7].argmax(axis=1) == Y[:7]).mean()
    )


def test_lengths_that_differ_are_refused():
    with pytest.raises(CynetError, match="70.*60|60.*70"):
        module().fit((X, Y[:60]), num_epoch=1)


@pytest.mark.parametrize("wrong", [(X,), (X, Y, Y), (X, None), {"data": X}])
def test_other_forms_are_refused(wrong):
    allowed = "must be a DataIter or a pair of arrays"
    with pytest.raises(ArgumentTypeError, match=f"train_data {allowed}"):
        module().fit(wrong, num_epoch=1)
    made, _ = trained(module, (X, Y))
    with pytest.raises(ArgumentTypeError, match=f"eval_data {allowed}"):
        made.score(wrong, "acc")


def test_a_module_of_several_inputs_wants_an_iterator():
    both = mx.sym.Variable("a") + mx.sym.Variable("b")
    made = mx.mod.Module(mx.sym.LinearRegressionOutput(both, name="out"), ["a", "b"], ["out_label"])
    with pytest.raises(ArgumentTypeError, match=r"the module has the inputs \['a', 'b'\]"):
        made.fit((X, X), num_epoch=1)
