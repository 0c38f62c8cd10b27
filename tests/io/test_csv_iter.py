"""CSVIter: batches as MXNet 1.9.1 gives them (noted from a run of it), what bad input gets."""

import bz2
import gzip
import lzma
import re

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, FormatError, ShapeError


@pytest.fixture
def files(tmp_path):
    data, label = tmp_path / "data.csv", tmp_path / "label.csv"
    np.savetxt(data, np.arange(30).reshape(10, 3), delimiter=",")
    np.savetxt(label, np.arange(10), delimiter=",")
    return str(data), str(label)


def epoch(it):
    rows = [
        (
            batch.label[0].asnumpy().tolist(),
            batch.data[0].asnumpy()[:, 0].tolist(),
            batch.pad,
            batch.index.tolist(),
        )
        for batch in it
    ]
    it.reset()
    for label, first, _, index in rows:
        assert first == [3 * each for each in label] and index == label
    return [(label, pad) for label, _, pad, _ in rows]


def test_round_batch(files):
    it = mx.io.CSVIter(data_csv=files[0], data_shape=(3,), label_csv=files[1], batch_size=4)
    assert it.provide_data == [("data", (4, 3))] and it.provide_label == [("softmax_label", (4,))]
    assert epoch(it) == [([0, 1, 2, 3], 0), ([4, 5, 6, 7], 0), ([8, 9, 0, 1], 2)]
    assert epoch(it) == [([2, 3, 4, 5], 0), ([6, 7, 8, 9], 0)]
    assert epoch(it)[0] == ([0, 1, 2, 3], 0)


def test_without_round_batch(files):
    it = mx.io.CSVIter(
        data_csv=files[0], data_shape=(3,), label_csv=files[1], batch_size=4, round_batch=False
    )
    for _ in range(2):
        assert epoch(it) == [([0, 1, 2, 3], 0), ([4, 5, 6, 7], 0), ([8, 9, 0, 1], 2)]


def test_without_labels(files):
    it = mx.io.CSVIter(data_csv=files[0], data_shape=(3, 1), batch_size=5)
    assert it.provide_data == [("data", (5, 3, 1))]
    assert it.next().label[0].asnumpy().tolist() == [0] * 5


def test_ints_and_text_for_shapes(files):
    """As MXNet takes them: all parameters go through text there."""
    for shape, size in ((3, 2), ("3", "2"), ("(3,)", 2), ([3], 2), (np.array([3]), np.int64(2))):
        (batch, *_) = mx.io.CSVIter(data_csv=files[0], data_shape=shape, batch_size=size)
        assert batch.data[0].shape == (2, 3)


def test_byte_order_mark(tmp_path):
    """Spreadsheets begin their CSV files with it."""
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbf1,2\n3,4\n")
    (batch,) = mx.io.CSVIter(data_csv=str(tmp_path / "a.csv"), data_shape=(2,), batch_size=2)
    assert batch.data[0].asnumpy().tolist() == [[1, 2], [3, 4]]


def test_refused(files, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        mx.io.CSVIter(data_csv="nowhere", data_shape=(3,))
    for shape in (3.0, "three", (3.0,), None):
        with pytest.raises(ArgumentTypeError, match="data_shape must be a tuple of ints"):
            mx.io.CSVIter(data_csv=files[0], data_shape=shape)
    for size in ("two", 1.5, None, (2, 2)):
        with pytest.raises(ArgumentTypeError, match="batch_size"):
            mx.io.CSVIter(data_csv=files[0], data_shape=(3,), batch_size=size)
    for size in (0, -1, 2**62):
        with pytest.raises(ArgumentError, match="batch_size"):
            mx.io.CSVIter(data_csv=files[0], data_shape=(3,), batch_size=size)
    for shape in ((), (0,), (-3, -1), (2**62, 2**62)):
        with pytest.raises(ArgumentError, match="data_shape must have sizes"):
            mx.io.CSVIter(data_csv=files[0], data_shape=shape)
    with pytest.raises(ShapeError, match=r"3 columns.*4"):
        mx.io.CSVIter(data_csv=files[0], data_shape=(4,))
    (tmp_path / "bad.csv").write_text("1,2,3\n4,x,6\n")
    with pytest.raises(FormatError, match=r"bad\.csv"):
        mx.io.CSVIter(data_csv=str(tmp_path / "bad.csv"), data_shape=(3,))
    (tmp_path / "short.csv").write_text("1\n2\n")
    with pytest.raises(ShapeError, match="2 rows"):
        mx.io.CSVIter(data_csv=files[0], data_shape=(3,), label_csv=str(tmp_path / "short.csv"))


def rows(path, **options):
    it = mx.io.CSVIter(data_csv=str(path), **{"data_shape": (1,), **options})
    return [batch.data[0].asnumpy().ravel().tolist() for batch in it]


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("named", [True, False])
def test_compressed(tmp_path, ending, named):
    path = tmp_path / ("a.csv" + ending * named)
    path.write_bytes(PACKERS[ending](b"1\r\n2\n# said\n\n3 # and 4, 5\n"))
    assert rows(path) == [[1], [2], [3]]


@pytest.mark.parametrize("ending", PACKERS)
def test_damaged_compressed_files(tmp_path, ending):
    path = tmp_path / ("a.csv" + ending)
    path.write_bytes(b"zz")
    with pytest.raises(FormatError, match=r"a.csv.* by its name, and is none"):
        rows(path)
    packed = PACKERS[ending](b"1\n2\n" * 1000)
    for bad in (packed[:-6], packed[: len(packed) // 2] + b"damage" + packed[len(packed) // 2 :]):
        path.write_bytes(bad)
        with pytest.raises(FormatError, match=r"a.csv.*data are damaged"):
            rows(path)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing\n"])
def test_a_file_without_numbers(tmp_path, content):
    (tmp_path / "e.csv").write_bytes(content)
    with pytest.raises(FormatError, match=r"e.csv' has no line with numbers"):
        rows(tmp_path / "e.csv")


@pytest.mark.parametrize("content", [b"\xff\n", b"1\n2,3\n", b"1\nx\n", b"1;2\n", b"1\0\n"])
def test_other_damage(tmp_path, content):
    (tmp_path / "e.csv").write_bytes(content)
    with pytest.raises(FormatError, match=r"e.csv"):
        rows(tmp_path / "e.csv")


def test_what_unpacks_to_much_more_is_refused_early(tmp_path):
    """A line longer than its numbers account for; more lines than the file's size allows."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"0," * (1 << 22)))
    with pytest.raises(FormatError, match="a line of more than 1424 characters; shape .1,. takes"):
        rows(path)
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(5):
            file.write(b"0\n" * (1 << 23))
    with pytest.raises(FormatError, match="more than [0-9]+ MB, more than 200 times the size"):
        rows(path)


def test_more_lines_than_are_read_at_once(tmp_path, rng):
    values = rng.integers(0, 1000, (200_000, 2)).astype("f")
    np.savetxt(tmp_path / "a.csv", values, delimiter=",", fmt="%d")
    it = mx.io.CSVIter(data_csv=str(tmp_path / "a.csv"), data_shape=(2,), batch_size=200_000)
    np.testing.assert_array_equal(it.next().data[0].asnumpy(), values)


def test_headers_columns_and_what_is_missing(tmp_path):
    path = tmp_path / "iris.csv"
    path.write_text(
        "# a table\nname,a,b,label,c\nx,1,2,0,3\ny,,5,1,6\nz,7,NA,2, 9\n", encoding="utf-8"
    )

    def read(**more):
        batch = next(
            mx.io.CSVIter(
                path,
                (3,),
                path,
                (1,),
                3,
                skip_header=2,
                missing=-1,
                usecols=[1, 2, 4],
                label_usecols=3,
                **more,
            )
        )
        return batch.data[0].asnumpy(), batch.label[0].asnumpy()

    data, label = read()
    assert data.tolist() == [[1, 2, 3], [-1, 5, 6], [7, -1, 9]] and label.tolist() == [0, 1, 2]
    assert data.dtype == np.float32 and read(dtype="float64")[0].dtype == np.float64
    nan = mx.io.CSVIter(path, (1,), batch_size=3, skip_header=2, usecols=[1], missing=np.nan)
    assert np.isnan(next(nan).data[0].asnumpy()[:, 0]).tolist() == [False, True, False]
    order = mx.io.CSVIter(path, (2,), batch_size=2, skip_header=2, usecols=(4, 3))
    assert next(order).data[0].asnumpy().tolist() == [[3, 0], [6, 1]]
    wrong = {
        "skip_header is 0 or more": {"skip_header": -1},
        "skip_header must be a number of lines": {"skip_header": "1"},
        "usecols are 2 columns": {"usecols": [1]},
        "have no column 9": {"usecols": [1, 9], "skip_header": 2},
        "usecols must be an int": {"usecols": ["a", "b"]},
        "iris.csv'": {"usecols": [1, 2], "skip_header": 2},  # a field without a number
        "have 5 columns, shape": {"skip_header": 2},
        "no line with numbers": {"skip_header": 9},
    }
    for message, more in wrong.items():
        with pytest.raises((ValueError, TypeError), match=message):
            mx.io.CSVIter(path, (2,), batch_size=2, **more)


@pytest.mark.parametrize("rows", [4, 5, 7, 8])
def test_saved_behind_the_last_batch(tmp_path, rows):
    """Its cursor is then up to a batch less one row behind the end; no further place exists."""
    path = tmp_path / "data.csv"
    np.savetxt(path, np.arange(rows), delimiter=",")

    def made():
        return mx.io.CSVIter(data_csv=str(path), data_shape=(1,), batch_size=4)

    it = made()
    for _ in range(-(-rows // 4)):
        it.next()
    state = it.state_dict()
    again = made()
    again.load_state_dict(state)
    for each in (it, again):
        with pytest.raises(StopIteration):
            each.next()
        each.reset()
    assert again.next().data[0].asnumpy().tolist() == it.next().data[0].asnumpy().tolist()
    made().load_state_dict({**state, "cursor": rows + 3})
    for cursor in (rows + 4, -1):
        with pytest.raises(FormatError, match="cursor"):
            made().load_state_dict({**state, "cursor": cursor})


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("height,weight\n1,2\n", {}, "column 1. skip_header=1 leaves out a first line of names"),
        ("h,w\n1,2\n3,\n", {"skip_header": 1}, "missing=0 takes empty cells for 0; usecols"),
        ("1,2\n3,NA\n", {}, "missing=0 takes empty cells for 0; usecols"),
        ("1,2\n3,x\n", {}, "column 2. usecols chooses columns of numbers"),
        ("1,2\n3,x\n", {"missing": 0}, "'x'"),
    ],
)
def test_cells_that_are_no_numbers_say_what_helps(tmp_path, text, options, says):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(says)) as error:
        mx.io.CSVIter(data_csv=str(path), data_shape=(2,), batch_size=1, **options)
    assert ("skip_header" in str(error.value)) == (text[0] == "h" and not options)


@pytest.mark.parametrize("columns", [[0], [2], [0, 2], [2, 0]])
def test_columns_up_to_the_last(tmp_path, columns):
    path = tmp_path / "a.csv"
    path.write_text("1,2,3\n4,5,6\n")
    made = mx.io.CSVIter(str(path), (len(columns),), batch_size=2, usecols=columns)
    wanted = np.array([[1, 2, 3], [4, 5, 6]])[:, columns]
    np.testing.assert_array_equal(made.next().data[0].asnumpy(), wanted)


@pytest.mark.parametrize("columns", [[3], [0, 3], [7]])
def test_columns_beyond_the_last(tmp_path, columns):
    path = tmp_path / "a.csv"
    path.write_text("1,2,3\n4,5,6\n")
    with pytest.raises(ShapeError, match=f"have no column {max(columns)}, but 3"):
        mx.io.CSVIter(str(path), (len(columns),), batch_size=2, usecols=columns)
