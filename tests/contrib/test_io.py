"""mx.contrib.io: a DataLoader that Module trains from."""

import json

import numpy as np
import pytest

import cynet as mx
from cynet import gluon


def loader(rows=5, batch=2):
    data = mx.nd.arange(rows * 3).reshape((rows, 3))
    pairs = mx.gluon.data.ArrayDataset(data, mx.nd.arange(rows) % 2)
    return mx.gluon.data.DataLoader(pairs, batch_size=batch)


def test_batches():
    batches = mx.contrib.io.DataLoaderIter(loader(), data_name="x", label_name="y")
    assert batches.provide_data[0][:2] == ("x", (2, 3))
    assert batches.provide_label[0][:2] == ("y", (2,))
    for _ in range(2):
        found = list(batches)
        assert [b.pad for b in found] == [0, 0, 1]
        np.testing.assert_array_equal(found[2].data[0].asnumpy(), [[12, 13, 14], [0, 0, 0]])
        batches.reset()
    with pytest.raises(TypeError, match="pairs of data and label"):
        mx.contrib.io.DataLoaderIter(mx.gluon.data.DataLoader(mx.nd.ones((3, 2)), batch_size=1))


def test_a_module_trains_from_it():
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax"
    )
    module = mx.mod.Module(net)
    module.fit(mx.contrib.io.DataLoaderIter(loader(8, 4)), num_epoch=2)
    assert module.get_params()[0]


def labels(batches):
    return [batch.label[0].asnumpy()[: 4 - batch.pad].tolist() for batch in batches]


def shuffled(rows=10):
    pairs = gluon.data.ArrayDataset(mx.nd.ones((rows, 2)), mx.nd.arange(rows))
    return mx.contrib.io.DataLoaderIter(gluon.data.DataLoader(pairs, 4, shuffle=True))


@pytest.mark.parametrize("given", range(5))
@pytest.mark.parametrize("reset", [False, True])
def test_resuming(seed, given, reset):
    """After any number of batches: the rest of this epoch and all of the next one."""
    first = shuffled()
    for _ in range(given):
        next(first, None)  # the last one finds the end
    if reset:
        first.reset()
    state = json.loads(json.dumps(first.state_dict()))
    wanted = labels(first)
    first.reset()
    wanted += labels(first)
    again = shuffled()
    again.load_state_dict(state)
    found = labels(again)
    again.reset()
    assert found + labels(again) == wanted
    assert sum(map(len, wanted)) == 20 - (0 if reset else min(4 * given, 10))
    with pytest.raises(ValueError, match="10 samples, for one of 8"):
        shuffled(8).load_state_dict(state)
    for wrong in (None, {}, {**state, "ended": 1}, {"ended": True}):
        with pytest.raises(ValueError, match="expected a state of a DataLoader"):
            again.load_state_dict(wrong)


def test_a_loader_that_cannot_say_where_it_is():
    batches = mx.contrib.io.DataLoaderIter([(mx.nd.ones((2, 3)), mx.nd.ones(2))])
    assert not hasattr(batches, "state_dict")
    with pytest.raises(AttributeError, match="DataLoaderIter: list inside has no state_dict"):
        batches.load_state_dict({})


def test_fit_is_resumed_with_it(seed, tmp_path):
    """Two epochs at once, or one after the other: the same weights."""

    def fit(epochs, path):
        net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=10, name="fc")
        module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
        mx.random.seed(3)
        np.random.seed(3)
        module.fit(shuffled(), num_epoch=epochs, verbose=False, resume=str(path))
        return module.get_params()[0]["fc_weight"].asnumpy()

    whole = fit(2, tmp_path / "whole")
    fit(1, tmp_path / "parts")
    np.testing.assert_array_equal(fit(2, tmp_path / "parts"), whole)
