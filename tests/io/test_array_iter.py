"""NDArrayIter: batches of MXNet 1.9.1, names, views instead of copies, what bad input gets."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, ShapeError
from tests.fixtures import training as given

EXPECTED = json.loads(Path(given.__file__).with_name("training.json").read_text())["iterator"]
X, Y = np.arange(20).reshape(10, 2), np.arange(10)


@pytest.mark.parametrize("name", given.ITERATORS)
def test_batches_are_those_of_mxnet(name):
    want = EXPECTED[name]
    if name.startswith("roll_over"):  # rows that rolled over are padding in MXNet, here they count
        want = [[[*batch[:-1], 0] for batch in epoch] for epoch in want]
    assert given.iterate(mx.io, given.ITERATORS[name]) == want


def labels(it):
    return [batch.label[0].asnumpy().tolist() for batch in it]


def test_names():
    def names(descs):
        return [desc.name for desc in descs]

    it = mx.io.NDArrayIter({"b": X, "a": X * 2}, {"l": Y, "k": Y}, 5)
    assert names(it.provide_data) == ["a", "b"] and names(it.provide_label) == ["k", "l"]
    assert it.next().data[0].asnumpy()[1].tolist() == [4, 6]
    it = mx.io.NDArrayIter([X, X * 2], [Y, Y], 5)
    assert names(it.provide_data) == ["_0_data", "_1_data"]
    assert names(it.provide_label) == ["_0_softmax_label", "_1_softmax_label"]
    it = mx.io.NDArrayIter([X], Y, 5, data_name="zz", label_name="ll")
    assert it.provide_data == [("zz", (5, 2))] and it.provide_label == [("ll", (5,))]
    it = mx.io.NDArrayIter(X, None, 5)
    assert it.provide_label == [] and it.next().label == []


def test_dtypes():
    assert mx.io.NDArrayIter(X.astype("u1"), Y, 5).next().data[0].dtype == np.float32
    it = mx.io.NDArrayIter(mx.nd.array(X, dtype="int32"), Y, 4, shuffle=True)
    assert it.provide_data[0].dtype == np.int32
    assert [batch.data[0].dtype for batch in it] == [np.int32] * 3


def test_consecutive_rows_are_views():
    data = mx.nd.array(X)
    it = mx.io.NDArrayIter(data, Y, 4)
    first = it.next().data[0]
    data[:] = -1
    assert (first.asnumpy() == -1).all()


def test_shuffle_keeps_rows_and_labels_together(seed):
    np.random.seed(seed)
    it = mx.io.NDArrayIter(X, Y, 3, shuffle=True)
    orders = []
    for _ in range(3):
        order = []
        for batch in it:
            rows, values = batch.data[0].asnumpy(), batch.label[0].asnumpy()
            np.testing.assert_array_equal(rows[:, 0], 2 * values)
            order += values[: 3 - batch.pad].tolist()
        assert sorted(order) == Y.tolist()
        orders.append(order)
        it.reset()
    assert orders[0] != orders[1] or orders[1] != orders[2]


def test_end_and_reset():
    it = mx.io.NDArrayIter(X, Y, 10)
    assert len(list(it)) == 1
    for _ in range(2):
        with pytest.raises(StopIteration):
            it.next()
        assert not it.iter_next()
    it.reset()
    assert it.iter_next() and it.getpad() == 0 and it.getindex() is None
    assert it.getlabel()[0].asnumpy().tolist() == Y.tolist()


def test_reset_in_the_middle_of_an_epoch():
    it = mx.io.NDArrayIter(X, Y, 4, last_batch_handle="roll_over")
    it.next()
    it.reset()
    assert labels(it) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    it.hard_reset()  # rows 8 and 9 do not roll over
    assert labels(it) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_padding_of_a_batch_larger_than_the_data():
    it = mx.io.NDArrayIter(X[:3], Y[:3], 8)
    batch = it.next()
    assert batch.pad == 5 and batch.label[0].asnumpy().tolist() == [0, 1, 2, 0, 1, 2, 0, 1]


def test_a_batch_larger_than_the_data_that_is_not_filled_up():
    with pytest.warns(UserWarning, match="no batch of 3 rows"):
        it = mx.io.NDArrayIter(X[:3], Y[:3], 5, last_batch_handle="discard")
    assert list(it) == []
    it = mx.io.NDArrayIter(X[:3], Y[:3], 5, last_batch_handle="roll_over")
    epochs = []
    for _ in range(4):
        epochs.append([(b.label[0].asnumpy().tolist(), b.pad) for b in it])
        it.reset()
    # rows as MXNet 1.9.1 gives them, whose third epoch ends in an error; it calls them padding
    assert epochs[:2] == [[], [([0, 1, 2, 0, 1], 0)]]
    assert epochs[2:] == [[], [([2, 0, 1, 2, 0], 0)]]
    it = mx.io.NDArrayIter(X[:3], Y[:3], 8, last_batch_handle="roll_over")
    epochs = []
    for _ in range(3):
        epochs.append([b.label[0].asnumpy().tolist() for b in it])
        it.reset()
    assert epochs == [[], [], [[0, 1, 2, 0, 1, 2, 0, 1]]]


def test_lists():
    """A list of numbers is one array; other lists are several arrays, as in MXNet."""
    it = mx.io.NDArrayIter(np.ones((4, 2)), [0, 1, 2, 3], 2)
    assert it.provide_label == [("softmax_label", (2,))] and labels(it) == [[0, 1], [2, 3]]
    assert mx.io.NDArrayIter([1.0, 2, 3], None, 2).provide_data == [("data", (2,))]
    assert mx.io.NDArrayIter([[1.0, 2, 3]], None, 2).provide_data == [("data", (2,))]
    assert mx.io.NDArrayIter({"a": [1.0, 2, 3]}, None, 2).provide_data == [("a", (2,))]
    it = mx.io.NDArrayIter([[1, 2], [3, 4]], [0, 1], 1)
    assert it.provide_data == [("_0_data", (1,)), ("_1_data", (1,))]
    assert [[a.asnumpy().tolist() for a in b.data] for b in it] == [[[1], [3]], [[2], [4]]]
    rows = [np.ones((4, 2)), mx.nd.ones((4, 3))]
    assert mx.io.NDArrayIter(rows, [1, 2, 3, 4], 2).provide_data == [
        ("_0_data", (2, 2)),
        ("_1_data", (2, 3)),
    ]


@pytest.mark.parametrize(
    "args, options, error, word",
    [
        ((X, Y[:5], 5), {}, ShapeError, "softmax_label.*5 rows.*10"),
        ((X, Y, 5), {"last_batch_handle": "odd"}, ArgumentError, "last_batch_handle"),
        ((X, Y, 0), {}, ArgumentError, "batch_size"),
        ((X, Y, 2.5), {}, ArgumentTypeError, "batch_size"),
        (([[1, 2, 3], [4, 5, 6]], [0, 1]), {}, ShapeError, r"2 rows.*3; .*numpy.array\(list\)"),
        (([[[1, 2], [3]]],), {}, ArgumentTypeError, "data"),
        ((None,), {}, ArgumentError, "data"),
        (([],), {}, ArgumentError, "data"),
        (("text",), {}, ArgumentTypeError, "str"),
        ((np.array(["a", "b"]),), {}, ArgumentTypeError, "data"),
        ((np.zeros((0, 2)),), {}, ShapeError, "no rows"),
    ],
)
def test_refused(args, options, error, word):
    with pytest.raises(error, match=word):
        mx.io.NDArrayIter(*args, **options)


@pytest.mark.parametrize("handle", ["pad", "discard", "roll_over"])
def test_left_at_any_place(handle):
    """Batches after a reset behind any number of calls of `next`, as MXNet 1.9.1 gives them: rows
    roll over when the epoch has ended, and not before, exactly at its last full batch neither."""
    for count in range(6, 11):
        full = count // 3
        for calls in range(full + 3):
            it = mx.io.NDArrayIter(np.arange(count), None, 3, last_batch_handle=handle)
            for _ in range(calls):
                next(it, None)
            it.reset()
            rows = np.arange(count)
            if handle == "roll_over" and calls > full:
                rows = np.concatenate([rows[full * 3 :], rows])
            if handle == "pad":
                rows = np.resize(rows, -(-count // 3) * 3)
            wanted = rows[: len(rows) // 3 * 3].reshape(-1, 3).tolist()
            found = list(it)
            assert [batch.data[0].asnumpy().tolist() for batch in found] == wanted
            pads = [batch.pad for batch in found]
            assert pads == [0] * (len(pads) - 1) + [-count % 3 if handle == "pad" else 0]


@pytest.mark.parametrize("rows, told", [(3, True), (4, False), (5, False)])
def test_a_warning_of_no_batch(rows, told):
    """With 'discard', where there are fewer rows than a batch has: as many are one."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        made = mx.io.NDArrayIter(np.arange(rows), None, 4, last_batch_handle="discard")
    assert [f"gives no batch of {rows} rows" in str(each.message) for each in seen] == [True] * told
    assert len(list(made)) == (not told)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int64", "uint8", "bool"])
def test_batches_have_the_dtype_of_the_data(dtype, shuffle):
    """Also of what NumPy has no dtype for; values are the rows that the labels name."""
    values = mx.nd.array(np.arange(12).reshape(6, 2) % 5, dtype=dtype)
    rows = []
    for batch in mx.io.NDArrayIter(values, np.arange(6), 3, shuffle=shuffle):
        assert batch.data[0].dtype == values.dtype
        chosen = batch.label[0].asnumpy().astype(int)
        wanted = values.astype("float32").asnumpy()[chosen]
        np.testing.assert_array_equal(batch.data[0].astype("float32").asnumpy(), wanted)
        rows += chosen.tolist()
    assert sorted(rows) == list(range(6)) and (shuffle or rows == sorted(rows))
