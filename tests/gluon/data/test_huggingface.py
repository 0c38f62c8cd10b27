"""Data sets of the package datasets and tables of pyarrow, wherever arrays are taken."""

import json

import numpy as np
import pytest

import cynet as mx
from cynet.gluon.data import ArrayDataset, DataLoader

datasets = pytest.importorskip("datasets")
X, Y = np.arange(24, dtype="float32").reshape(8, 3), np.array([0, 1] * 4)


def dataset(form):
    found = datasets.Dataset.from_dict({"x": X.tolist(), "y": Y.tolist()})
    return found if form is None else found.with_format(form)


def module():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    return mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))


@pytest.mark.parametrize("form", [None, "numpy"])
def test_columns_are_arrays(form):
    x, y = (dataset(form)[name] for name in "xy")
    assert (mx.nd.array(x).asnumpy() == X).all() and (mx.np.array(y) == Y).all()
    (batch,) = mx.io.NDArrayIter(x, y, 8)
    assert (batch.data[0].asnumpy() == X).all() and (batch.label[0].asnumpy() == Y).all()
    pairs = ArrayDataset(x, y)
    assert len(pairs) == 8 and np.asarray(pairs[3][0]).tolist() == X[3].tolist()
    (batch,) = DataLoader(pairs, 8)
    assert (batch[0].asnumpy() == X).all() and (batch[1].asnumpy() == Y).all()
    found = []
    for data in ((x, y), (X, Y)):
        mx.random.seed(3)
        np.random.seed(3)
        trained = module()
        trained.fit(data, num_epoch=2, batch_size=4, verbose=False)
        found.append(trained.get_params()[0]["fc_weight"].asnumpy())
    np.testing.assert_array_equal(*found)
    model = mx.model.FeedForward(module().symbol, num_epoch=1, numpy_batch_size=4)
    model.fit(x, y)
    assert model.predict(x).shape == (8, 2)
    net = mx.gluon.nn.Dense(1, in_units=3)
    net.initialize(mx.init.One())
    assert mx.Predictor(net, shapes=(3,))(x).ravel().tolist() == X.sum(axis=1).tolist()


def test_a_data_set_and_a_table_have_named_arrays():
    for table in (dataset(None), dataset("numpy")):
        batches = mx.io.NDArrayIter(table, batch_size=4)
        assert [(each.name, each.shape) for each in batches.provide_data] == [
            ("x", (4, 3)),
            ("y", (4,)),
        ]
        x, y = next(batches).data
        assert (x.asnumpy() == X[:4]).all() and (y.asnumpy() == Y[:4]).all()
    table = dataset(None).select_columns("y").data.table  # of pyarrow
    assert (next(mx.io.NDArrayIter(table, batch_size=8)).data[0].asnumpy() == Y).all()


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("form", [None, "numpy"])
def test_rows_are_samples(form, workers):
    loader = DataLoader(dataset(form), 4, num_workers=workers)
    first, second = loader
    assert (first["x"].asnumpy() == X[:4]).all() and (second["y"].asnumpy() == Y[4:]).all()
    loader.close()


@pytest.mark.parametrize("workers", [0, 2])
def test_streams_go_on_where_they_were(workers):
    """By the state of the stream itself, shuffled or not."""
    for size in (None, 4):
        stream = dataset(None).to_iterable_dataset(num_shards=2)
        stream = stream if size is None else stream.shuffle(seed=1, buffer_size=1)
        loader = DataLoader(stream, 3, num_workers=workers)
        whole = [each["x"].asnumpy().tolist() for each in loader]
        assert sorted(row for batch in whole for row in batch) == X.tolist()
        batches = iter(loader)
        next(batches)
        state = json.loads(json.dumps(loader.state_dict()))
        assert state["stream"] and state["epoch"] == 1
        wanted = [each["x"].asnumpy().tolist() for each in batches]
        after = dataset(None).to_iterable_dataset(num_shards=2)
        after = after if size is None else after.shuffle(seed=1, buffer_size=1)
        after = DataLoader(after, 3, num_workers=workers)
        after.load_state_dict(state)
        assert [each["x"].asnumpy().tolist() for each in after] == wanted
        assert sum(len(each["x"]) for each in after) == 8
        for each in (loader, after):
            each.close()


def test_what_has_no_numbers_is_refused_by_name():
    table = datasets.Dataset.from_dict({"text": ["a", "b"], "y": [0, 1]})
    with pytest.raises(mx.errors.ArgumentTypeError, match="'text' cannot become an NDArray"):
        mx.io.NDArrayIter(table, batch_size=1)
    with pytest.raises(mx.errors.ArgumentTypeError, match="'text' must be|'data' cannot become"):
        mx.io.NDArrayIter(table["text"], batch_size=1)
    with pytest.raises(mx.errors.ArgumentTypeError, match="'data' must be an NDArray"):
        mx.io.NDArrayIter("text", batch_size=1)
