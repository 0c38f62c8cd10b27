"""Columns of tables: as by scikit-learn's scaler and encoder; what is missing; files."""

import numpy as np
import pytest

import cynet as mx
from cynet.contrib.tables import Columns

pandas = pytest.importorskip("pandas")


def table(rng, rows=60):
    towns = np.array(["Oslo", "Rome", "Bonn", "Bern"])
    return pandas.DataFrame(
        {
            "age": rng.normal(40, 9, rows),
            "rooms": rng.integers(1, 6, rows),
            "town": towns[rng.integers(0, 3, rows)],
            "sold": rng.integers(0, 2, rows).astype(bool),
        }
    )


def test_arrays_are_those_of_scikit_learn(rng):
    pytest.importorskip("sklearn")
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    words = ["town", "sold", "rooms"]
    judge = make_column_transformer(
        (StandardScaler(), ["age", "rooms"]), (OneHotEncoder(handle_unknown="ignore"), words)
    )
    frame, other = table(rng), table(rng)
    other.loc[3, "town"] = "Bern"  # not in the other
    columns = Columns(["age"], words)
    with pytest.raises(ValueError, match="expected names of columns, each once"):
        Columns(["age", "rooms"], words)
    judge = make_column_transformer(
        (StandardScaler(), ["age"]), (OneHotEncoder(handle_unknown="ignore"), words)
    )
    wanted = judge.fit_transform(frame)
    np.testing.assert_allclose(columns.fit_transform(frame), wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(columns.transform(other), judge.transform(other), 1e-5, 1e-6)
    assert len(columns.names) == wanted.shape[1]


@pytest.mark.parametrize("kind", ["pandas", "dict", "dict of arrays", "NDArray"])
def test_any_table_and_any_order_of_columns(rng, kind):
    frame = table(rng)[["age", "rooms"]]
    made = {
        "pandas": frame[["rooms", "age"]],
        "dict": {name: frame[name].tolist() for name in frame},
        "dict of arrays": {name: frame[name].to_numpy() for name in frame},
        "NDArray": {name: mx.nd.array(frame[name].to_numpy(), dtype="float64") for name in frame},
    }[kind]
    columns = Columns(["age"], ["rooms"]).fit(frame)
    np.testing.assert_array_equal(columns.transform(made), columns.transform(frame))


def test_what_is_missing(rng):
    frame = table(rng)
    frame.loc[[2, 5], "age"] = None
    frame.loc[4, "town"] = None
    columns = Columns(["age"], ["town"], indicators=False)
    numbers, codes = columns.fit_transform(frame)
    assert columns.names == ["age", "age is missing"] and columns.sizes == [4]
    assert numbers[[2, 5], 0].tolist() == [0, 0] and numbers[:, 1].nonzero()[0].tolist() == [2, 5]
    assert codes[4] == 0 and (np.delete(codes, 4) > 0).all()
    nullable = frame.astype({"age": "Float64", "town": "string"})  # pandas' NA
    for found, wanted in zip(columns.transform(nullable), (numbers, codes)):
        np.testing.assert_array_equal(found, wanted)
    # nothing was missing in fit: a missing number is the mean, without a mark
    plain = Columns(["age"]).fit({"age": [1, 3]})
    assert plain.transform({"age": [float("nan")]}).tolist() == [[0]]
    assert Columns(["age"]).fit({"age": [2, 2]}).transform({"age": [2, 3]}).tolist() == [[0], [1]]


def test_the_most_frequent_are_kept():
    words = {"word": ["b", "a", "b", "c", "c", "b"]}
    columns = Columns(categorical=["word"], most=2, indicators=False).fit(words)
    assert columns.transform(words)[1].ravel().tolist() == [1, 0, 1, 2, 2, 1]
    mixed = {"v": [True, 1, "1", 1.0, "1"]}  # a bool is no number, a text is neither
    assert Columns(categorical=["v"], indicators=False).fit(mixed).sizes == [3]


def test_a_file_has_all_of_it(rng, tmp_path):
    frame = table(rng)
    frame.loc[2, "age"] = None
    for indicators in (True, False):
        columns = Columns(["age"], ["town", "sold", "rooms"], indicators, most=3).fit(frame)
        columns.save(tmp_path / "columns.json")
        again = Columns.load(tmp_path / "columns.json")
        assert again.names == columns.names and again.sizes == columns.sizes
        np.testing.assert_equal(again.transform(frame), columns.transform(frame))
    for text in ("", "[]", "{}", '{"form": "other"}', '{"form": "cynet columns 1", "numeric": 3}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(mx.MXNetError, match="is no file of Columns"):
            Columns.load(tmp_path / "bad.json")


def test_it_trains(rng):
    """Towns decide, ages do not: embeddings beside numbers, and one array."""
    frame = table(rng, 300)
    y = (frame["town"] == "Rome").to_numpy().astype("float32")
    x = Columns(["age"], ["town"]).fit_transform(frame)
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax"
    )
    module = mx.mod.Module(net)
    rate = {"learning_rate": 0.5}
    module.fit((x, y), num_epoch=10, optimizer_params=rate, verbose=False)
    assert module.score((x, y), "acc")[0][1] == 1


def test_what_is_refused(rng):
    frame = table(rng)
    for wrong in ({}, {"numeric": ["age", "age"]}):
        with pytest.raises(ValueError, match="expected names of columns, each once, got"):
            Columns(**wrong)
    with pytest.raises(TypeError, match="numeric is a list of names, got 'age'"):
        Columns("age")
    for bad, what in (("town", "'Oslo'|'Rome'|'Bonn'"), ("sold", None)):
        if what:
            with pytest.raises(TypeError, match=f"column '{bad}' is numeric and has ({what})"):
                Columns([bad]).fit(frame)
    with pytest.raises(ValueError, match="there is no column 'agee', only .*'age'"):
        Columns(["agee"]).fit(frame)
    with pytest.raises(ValueError, match="column 'age' has no number"):
        Columns(["age"]).fit({"age": [None]})
    with pytest.raises(ValueError, match="column 'age' has inf"):
        Columns(["age"]).fit({"age": [float("inf")]})
    with pytest.raises(TypeError, match=r"is categorical and has \[1\], expected words"):
        Columns(categorical=["a"]).fit({"a": [[1]]})
    with pytest.raises(TypeError, match="takes a DataFrame or a dict of columns, got 3"):
        Columns(["age"]).fit(3)
    with pytest.raises(RuntimeError, match="call fit with a table first"):
        Columns(["age"]).transform(frame)
    with pytest.raises(ValueError, match=r"different lengths, \[1, 2\]"):
        Columns(["a", "b"]).fit_transform({"a": [1], "b": [1, 2]})
