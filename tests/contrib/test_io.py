"""mx.contrib.io: a DataLoader that Module trains from."""

import numpy as np
import pytest

import cynet as mx


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
