"""DataDesc, DataBatch, DataIter."""

import pickle

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentTypeError


def test_data_desc():
    desc = mx.io.DataDesc("data", (3, 4))
    assert repr(desc) == "DataDesc[data,(3, 4),<class 'numpy.float32'>,NCHW]"
    assert desc == ("data", (3, 4)) and desc[0] == "data" and desc.shape == (3, 4)
    assert mx.io.DataDesc.get_batch_axis("TNC") == 1
    assert mx.io.DataDesc.get_batch_axis(None) == 0
    listed = mx.io.DataDesc.get_list([("a", (1, 2))], [("a", np.int32)])
    assert listed == [("a", (1, 2))] and listed[0].dtype == np.int32
    again = pickle.loads(pickle.dumps(mx.io.DataDesc("a", (1,), np.int8, "TN")))
    assert (again.name, again.dtype, again.layout) == ("a", np.int8, "TN")


def test_data_batch():
    batch = mx.io.DataBatch([mx.nd.ones(3)], [mx.nd.ones((3, 1))], pad=1)
    assert str(batch) == "DataBatch: data shapes: [(3,)] label shapes: [(3, 1)]"
    assert str(mx.io.DataBatch([mx.nd.ones(3)])).endswith("label shapes: None")
    assert str(mx.io.DataBatch(None)) == "DataBatch: data shapes: None label shapes: None"
    with pytest.raises(ArgumentTypeError, match="data must be a list"):
        mx.io.DataBatch(mx.nd.ones(3))
    with pytest.raises(ArgumentTypeError, match="label must be a list"):
        mx.io.DataBatch([mx.nd.ones(3)], mx.nd.ones(3))


def test_a_data_batch_has_what_it_was_given():
    data, label = [mx.nd.ones(3)], [mx.nd.ones(1)]
    more = {"pad": 2, "index": np.array([4, 7]), "bucket_key": 5}
    more |= {"provide_data": [mx.io.DataDesc("d", (3,))]}
    more |= {"provide_label": [mx.io.DataDesc("l", (1,))]}
    batch = mx.io.DataBatch(data, label, **more)
    assert batch.data is data and batch.label is label
    assert {name: getattr(batch, name) for name in more} == more
    plain = mx.io.DataBatch(data)
    assert plain.label is None and all(getattr(plain, name) is None for name in more)
    placed = mx.io.DataBatch(data, label, *more.values())
    assert {name: getattr(placed, name) for name in more} == more


def test_a_users_iterator():
    class Count(mx.io.DataIter):
        """Three batches."""

        def __init__(self):
            super().__init__(2)
            self.at = 0

        def reset(self):
            self.at = 0

        def iter_next(self):
            self.at += 1
            return self.at <= 3

        def getdata(self):
            return [mx.nd.full((2,), self.at)]

    it = Count()
    assert [batch.data[0].asnumpy()[0] for batch in it] == [1, 2, 3]
    with pytest.raises(StopIteration):
        mx.io.DataIter().next()
