"""fit, score, predict and ArrayDataset take what mx.nd.array takes; batch_size= of pairs."""

import numpy as np
import pytest

import cynet as mx
from cynet import gluon
from cynet.base.errors import ArgumentError, ArgumentTypeError
from tests.module.test_arrays import X, Y, module, trained


class Frame:
    """A table of another package: it has rows by label, and an array of all."""

    def __init__(self, values, labels=None):
        self._values = np.asarray(values)
        self._labels = labels or list(range(100, 100 + len(self._values)))

    def __len__(self):
        return len(self._values)

    def __getitem__(self, label):
        return self._values[self._labels.index(label)]

    def __array__(self, dtype=None, copy=None):
        return self._values.astype(dtype or self._values.dtype)


def pandas(values):
    pd = pytest.importorskip("pandas")
    values = np.asarray(values)
    labels = [f"row{i}" for i in range(len(values))]
    return pd.DataFrame(values, labels) if values.ndim == 2 else pd.Series(values, labels)


def sparse(values):
    return mx.nd.array(values).tostype("csr") if np.ndim(values) == 2 else np.asarray(values)


FORMS = {
    "list": lambda v: np.asarray(v).tolist(),
    "frame": Frame,
    "pandas": pandas,
    "float64": np.asarray,
    "NDArray": mx.nd.array,
    "tuple": lambda v: tuple(map(tuple, v)) if np.ndim(v) == 2 else tuple(v),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_train_alike(form):
    of = FORMS[form]
    found, history = trained(module, (of(X), of(Y)), (of(X[:40]), of(Y[:40])))
    wanted, same = trained(module, (X, Y), (X[:40], Y[:40]))
    np.testing.assert_array_equal(
        found.get_params()[0]["fc_weight"].asnumpy(), wanted.get_params()[0]["fc_weight"].asnumpy()
    )
    assert history.metrics == same.metrics
    assert found.score((of(X), of(Y)), "acc") == wanted.score((X, Y), "acc")
    whole = wanted.predict(X).asnumpy()
    np.testing.assert_array_equal(found.predict(of(X)).asnumpy(), whole)
    np.testing.assert_allclose(
        found.predict(of(X), batch_size=9).asnumpy(), whole, rtol=1e-5, atol=1e-6
    )


def test_feed_forward_takes_them():
    net = module().symbol
    made = mx.model.FeedForward(net, num_epoch=1, numpy_batch_size=10)
    made.fit(Frame(X), Frame(Y))
    np.testing.assert_array_equal(made.predict(Frame(X)), made.predict(X))


@pytest.mark.parametrize("form", ["frame", "pandas"])
def test_rows_of_a_dataset_are_by_place(form):
    of = FORMS[form]
    data = gluon.data.ArrayDataset(of(X), of(Y))
    for i in (0, 5, 69, -1):
        np.testing.assert_array_equal(data[i][0], X[i])
        assert data[i][1] == Y[i]
    batches = list(gluon.data.DataLoader(data, 7))
    np.testing.assert_allclose(batches[3][0].asnumpy(), X[21:28], rtol=1e-6)
    assert gluon.data.ArrayDataset(of(Y))[3] == Y[3]
    assert gluon.data.ArrayDataset([1, 2], ("a", "b"))[1] == (2, "b")


# --- batch_size -----------------------------------------------------------------------------------
def test_pairs_have_the_batch_size_that_is_asked_for():
    made = module()
    made.fit((X, Y), num_epoch=1, batch_size=9, verbose=False)
    assert made.data_shapes[0].shape == (9, 3)
    made.fit((X, Y), num_epoch=1, batch_size=9, verbose=False)
    with pytest.raises(ArgumentError, match="batch_size is 8, .* bound to batches of 9 rows"):
        made.fit((X, Y), num_epoch=1, batch_size=8)
    made.fit((X, Y), num_epoch=1, batch_size=8, force_rebind=True, verbose=False)
    assert made.data_shapes[0].shape == (8, 3)
    more = module()
    more.fit((X, Y), num_epoch=1, batch_size=64, verbose=False)
    assert more.data_shapes[0].shape == (64, 3)


def test_the_batch_size_is_that_of_the_evaluation_too():
    made, sizes = module(), []
    made.fit(
        (X, Y),
        (X[:30], Y[:30]),
        num_epoch=1,
        batch_size=10,
        verbose=False,
        eval_batch_end_callback=lambda p: sizes.append(p.locals["eval_batch"].data[0].shape),
    )
    assert sizes == [(10, 3)] * 3
    iterator = mx.io.NDArrayIter(X[:30], Y[:30], 15)
    made.fit((X, Y), iterator, num_epoch=1, batch_size=10, verbose=False)
    seen = []
    made.score((X, Y), "acc", batch_size=14, batch_end_callback=lambda p: seen.append(p.nbatch))
    assert seen == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "size, error",
    [
        (0, ArgumentError),
        (-1, ArgumentError),
        (2.5, ArgumentTypeError),
        (True, ArgumentTypeError),
        ("8", ArgumentTypeError),
    ],
)
def test_no_batch_size(size, error):
    made, _ = trained(module, (X, Y))
    for call in (
        lambda: made.fit((X, Y), num_epoch=1, batch_size=size),
        lambda: made.score((X, Y), "acc", batch_size=size),
        lambda: made.predict(X, batch_size=size),
    ):
        with pytest.raises(error, match="batch_size must be"):
            call()


def test_iterators_have_their_own():
    made, _ = trained(module, (X, Y))
    batches = mx.io.NDArrayIter(X, Y, 10)
    for where, call in (
        ("fit: .* train_data", lambda: made.fit(batches, num_epoch=1, batch_size=10)),
        ("score: .* eval_data", lambda: made.score(batches, "acc", batch_size=10)),
        ("predict: .* eval_data", lambda: made.predict(batches, batch_size=10)),
    ):
        with pytest.raises(ArgumentTypeError, match=f"{where} is an iterator"):
            call()


@pytest.mark.parametrize("wrong", [(1, 2), ("a", "b"), ([], []), (["a"], ["b"]), [np.float32, Y]])
def test_pairs_that_are_no_arrays(wrong):
    with pytest.raises(ArgumentTypeError, match="must be a DataIter or a pair of arrays"):
        module().fit(wrong, num_epoch=1)


class Kind:
    def __init__(self, letter):
        self.kind = letter


class Polar:
    """A dtype that says by a method whether it is one of numbers."""

    def __init__(self, numeric):
        self.is_numeric = lambda: numeric


class Words(Frame):
    """A frame of columns and their dtypes, or, of one dtype, a named series."""

    def __init__(self, values, **described):
        super().__init__(values)
        for name, value in described.items():
            setattr(self, name, value)


WORDS = np.array([["1", "a", "b"], ["2", "c", "d"]], object)


@pytest.mark.parametrize(
    "kinds", [(Kind("f"), Kind("O"), Kind("M")), (Polar(True), Polar(False), Polar(False))]
)
def test_columns_of_words_are_named(kinds):
    frame = Words(WORDS, columns=["age", "sex", "town"], dtypes=kinds)
    told = r"of a Words the columns 'sex', 'town' are no numbers; mx.contrib.tables.Columns"
    for call in (
        mx.nd.array,
        lambda x: mx.io.NDArrayIter(x, Y[:2]),
        lambda x: module().fit((x, Y[:2]), num_epoch=1),
        lambda x: trained(module, (X, Y))[0].predict(x),
    ):
        with pytest.raises(ArgumentTypeError, match=told):
            call(frame)
    one = Words(WORDS[:, :2], columns=["age", "sex"], dtypes=kinds[:2])
    with pytest.raises(ArgumentTypeError, match="of a Words the column 'sex' is no numbers"):
        mx.nd.array(one)
    series = Words(WORDS[:, 1], name="survived", dtype=kinds[1])
    with pytest.raises(ArgumentTypeError, match="the Words 'survived' has no numbers"):
        module().fit((X[:2], series), num_epoch=1)
    with pytest.raises(ArgumentTypeError, match="takes numbers or something like an array"):
        mx.nd.array(WORDS)  # nothing is known of its columns


def test_words_in_frames_of_pandas():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"age": [1, 2], "sex": ["m", "f"], "day": pd.to_datetime(["2020", "2021"])}
    )
    with pytest.raises(ArgumentTypeError, match="DataFrame the columns 'sex', 'day' are no num"):
        mx.nd.array(frame)
    with pytest.raises(ArgumentTypeError, match="the Series 'sex' has no numbers"):
        mx.nd.array(frame["sex"])


@pytest.mark.parametrize("form", FORMS)
def test_data_and_labels_are_one_argument(form):
    of = FORMS[form]
    with pytest.raises(ArgumentTypeError, match=r"one argument, a pair: fit\(\(data, labels\)\)"):
        module().fit(of(X), of(Y), num_epoch=1)
    done = trained(module, (X, Y))[0]
    told = r"a pair: score\(\(data, labels\), eval_metric\)"
    with pytest.raises(ArgumentTypeError, match=told):
        done.score(of(X), "acc")
