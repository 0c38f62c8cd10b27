"""Indexing against NumPy: random keys for reading and writing, views, masks, errors."""

import numpy as np
import pytest

import cynet as mx


def random_key(rng, shape, advanced):
    """A key of ints, slices, None, Ellipsis and, when `advanced`, index arrays."""
    key = []
    for size in shape[: rng.integers(0, len(shape) + 1)]:
        kind = rng.integers(0, 5 if advanced else 3)
        if kind == 0:
            key.append(int(rng.integers(-size, size)))
        elif kind in (1, 2):
            bounds = [
                None if rng.random() < 0.3 else int(rng.integers(-size - 1, size + 2)) for _ in "ab"
            ]
            step = int(rng.choice([-3, -2, -1, 1, 2, 3]))
            key.append(slice(*bounds, step))
        else:
            key.append(rng.integers(-size, size, (3,)).tolist())
    if rng.random() < 0.3:
        key.insert(int(rng.integers(0, len(key) + 1)), None)
    if rng.random() < 0.3:
        key.append(Ellipsis)
    return tuple(key)


@pytest.mark.parametrize("advanced", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int8", "float64", "bool"])
def test_random_keys_agree_with_numpy(rng, advanced, dtype):
    for _ in range(150):
        shape = tuple(rng.integers(1, 6, rng.integers(1, 5)))
        values = rng.integers(0, 100, shape).astype(dtype)
        array = mx.nd.array(values, dtype=dtype)
        key = random_key(rng, shape, advanced)
        expected = values[key]
        got = array[key]
        np.testing.assert_array_equal(
            got.asnumpy(), expected.reshape(expected.shape or (1,)), err_msg=str(key)
        )
        new = rng.integers(0, 100, expected.shape).astype(dtype)
        values[key] = new
        array[key] = new
        np.testing.assert_array_equal(array.asnumpy(), values, err_msg=str(key))
        array[key] = 1
        values[key] = 1
        np.testing.assert_array_equal(array.asnumpy(), values, err_msg=str(key))


@pytest.mark.parametrize(
    "key", [None, ..., (), True, False, (None,), (None, 1), (..., None), (True, 0), (False, None)]
)
def test_keys_without_ints_read_and_write_as_numpys(key):
    """Written by the key None, arrays of mx.np stayed as they were."""
    values = np.arange(6.0, dtype="float32").reshape(2, 3)
    array = mx.np.array(values)
    assert np.array_equal(array[key].asnumpy(), values[key])
    for new in (7.0, np.full(values[key].shape, 5.0, "float32")):
        array[key] = new
        values[key] = new
        assert array.asnumpy().tolist() == values.tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "NumPy's"])
def test_floats_are_places_up_to_those_that_they_tell_apart(dtype):
    """Each float is looked at, the first and the last, NaN too."""
    x = mx.nd.arange(5)
    given = "float64" if dtype == "NumPy's" else dtype
    largest = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53}[given]
    index = lambda v: np.array(v) if dtype == "NumPy's" else mx.nd.array(v, dtype=dtype)  # noqa: E731
    assert x[index([4.0, 0.0, -1.0])].asnumpy().tolist() == [4, 0, 4]
    for values in ([2.0 * largest, 0, 1], [0, 1, -2.0 * largest], [0, np.nan, 1]):
        with pytest.raises(
            ValueError, match=f"index array of {given} names places up to {largest}"
        ):
            x[index(values)]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_fractions_are_places_without_what_follows_the_point(dtype):
    """As in MXNet; one among whole floats, too."""
    x = mx.nd.arange(12).reshape((3, 4))
    one, two = (mx.nd.array(v, dtype=dtype) for v in ([0, 1.75, -1.5], [2, -0.25, 3.5]))
    assert x[one].asnumpy()[:, 0].tolist() == [0, 4, 8]
    assert x[one, two].asnumpy().tolist() == [2, 4, 11]
    assert x[:, two].asnumpy()[0].tolist() == [2, 0, 3]


@pytest.mark.parametrize("shape", [(5, 6, 7), (300, 200, 7)])
def test_arrays_for_each_axis_and_among_slices(rng, shape):
    values = rng.standard_normal(shape).astype("float32")
    array = mx.nd.array(values)
    one, two = rng.integers(-5, 5, (3, 4)), rng.integers(-5, 5, (3, 4))
    for key in [
        (one, two),
        (one, 3),
        (-2, one),
        (one, two, two),
        (one, 1, two),
        (slice(None), one),
        (slice(1, 9, 2), slice(None), two),
        (one, slice(3, 1, -1)),
        (slice(4, 2), one),
        (one, two[0]),
    ]:
        np.testing.assert_array_equal(array[key].asnumpy(), values[key], err_msg=str(key))
        array[key], values[key] = -1, -1
        np.testing.assert_array_equal(array.asnumpy(), values, err_msg=str(key))
    rows, columns, _ = shape
    beyond = np.full((3, 4), columns)
    for key in [(one, beyond), (one, -1 - columns), (np.array([rows]), slice(None), slice(None))]:
        with pytest.raises(IndexError, match="is out of bounds for axis"):
            array[key]
    with pytest.raises(
        IndexError, match="mismatch: indexing arrays could not be broadcast together with"
    ):
        array[one, two[:, :3]]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_keys_of_arrays_of_each_type_and_of_none(dtype):
    values = np.arange(60).reshape(3, 4, 5)
    array = mx.nd.array(values, dtype="int64")
    rows, columns = np.array([2, 0, 1], dtype), np.array([[1], [3], [0]], dtype)
    none = np.array([], dtype)
    keys = [(rows, rows), (rows, columns), (rows, 1), (-1, rows), (rows, slice(None), 2)]
    keys += [(slice(None), rows), (slice(2, 2), rows), (rows, slice(3, 0, -1)), (none, none)]
    keys += [(slice(None), none), (rows[:1], rows[:1]), (rows[:1], columns), (rows, rows, rows)]
    for key in keys:
        wanted = values[key]
        np.testing.assert_array_equal(array[key].asnumpy(), wanted)
        for kind in {dtype, "float32", "float64"} - {"uint64"}:  # no type of an NDArray
            own = [mx.nd.array(k, dtype=kind) if type(k) is np.ndarray else k for k in key]
            np.testing.assert_array_equal(array[tuple(own)].asnumpy(), wanted)
            if len(own) == 2 and type(own[1]) is slice:
                np.testing.assert_array_equal(array[own[0]].asnumpy(), values[key[0]])
    for key in [(rows, rows + 2), (rows + 1, 0), (slice(None), rows + 3), (rows, 4), (rows, -5)]:
        with pytest.raises(IndexError, match="is out of bounds for axis"):
            array[key]
        with pytest.raises(IndexError, match="is out of bounds for axis"):
            array[key] = 0
    np.testing.assert_array_equal(array.asnumpy(), values)


def test_masks_select_and_set(rng):
    values = rng.standard_normal((4, 5)).astype("float32")
    array = mx.nd.array(values)
    for mask in (values > 0, values[:, 0] > 0):
        np.testing.assert_array_equal(array[mask].asnumpy(), values[mask])
        np.testing.assert_array_equal(array[mx.nd.array(mask, dtype=bool)].asnumpy(), values[mask])
    mask = values > 0
    array[mask] = -1
    values[mask] = -1
    np.testing.assert_array_equal(array.asnumpy(), values)
    assert array[np.zeros((4, 5), bool)].shape == (0,)
    with pytest.raises(
        IndexError, match="boolean index did not match indexed array along axis 0; size"
    ):
        array[np.zeros((3, 5), bool)]


def test_leading_keys_are_views_that_write_through():
    array = mx.nd.zeros((4, 3, 2))
    array[1][2][0] = 5
    array[2:4][0, 0] = 7
    array[1:3].reshape((-1,))[0] = 9
    expected = np.zeros((4, 3, 2), "float32")
    expected[1, 2, 0], expected[2, 0], expected[1, 0, 0] = 5, 7, 9
    np.testing.assert_array_equal(array.asnumpy(), expected)
    assert array[1].shares_memory(array) and not array[:, 1].shares_memory(array)
    assert array[1].data_ptr == array.data_ptr + 24


def test_a_view_keeps_the_memory_alive():
    view = mx.nd.ones((100, 100))[50]
    for _ in range(10):
        mx.nd.zeros((100, 100))
    assert view.asnumpy().sum() == 100


def test_overlapping_views_are_copied_as_if_at_once():
    array = mx.nd.arange(10)
    array[1:] = array[:-1]
    assert array.asnumpy().tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]
    array[:] = array[::-1]
    assert array.asnumpy().tolist() == [8, 7, 6, 5, 4, 3, 2, 1, 0, 0]
    array[:] = np.asarray(array)[::-1]  # NumPy's view of the same memory
    assert array.asnumpy().tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    "source", ["float64", "float32", "float16", "int64", "int16", "uint8", "bool"]
)
@pytest.mark.parametrize("size", [7, 100_000])
def test_full_assignment_from_numpy(rng, source, size):
    values = rng.integers(0, 2, (2, size)).astype(source)
    array = mx.nd.empty((2, size))
    array[:] = values
    np.testing.assert_array_equal(array.asnumpy(), values.astype("float32"))
    array[:] = values[::-1, ::-1]
    np.testing.assert_array_equal(array.asnumpy(), values[::-1, ::-1].astype("float32"))
    array[:] = values[:1]
    np.testing.assert_array_equal(
        array.asnumpy(), np.broadcast_to(values[:1], (2, size)).astype("float32")
    )


def test_assignment_keeps_engine_order():
    array = mx.nd.zeros((200, 1000))
    kept = []
    for i in range(50):
        array[:] = np.full((200, 1000), i, "float32")
        kept.append(array + 0)
    for i, each in enumerate(kept):
        assert (each.asnumpy() == i).all()


def test_duplicate_indices_keep_the_last():
    array = mx.nd.zeros((3,))
    array[[0, 1, 0]] = [1, 2, 3]
    assert array.asnumpy().tolist() == [3, 2, 0]


@pytest.mark.parametrize("row", [(), (3,), (700, 2), (5001,)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bool", "int64"])
def test_rows_set_to_numbers_and_arrays(rng, row, dtype):
    """Wide rows are shared out: of equal ones the last still stays, in all its parts."""
    values = rng.integers(0, 2, (60, *row)).astype(dtype)
    array = mx.nd.array(values, dtype=dtype)
    for count in (0, 1, 200):
        rows = rng.integers(-60, 60, count)
        given = rng.integers(0, 100, (count, *row)).astype(dtype)
        for value in (given, 2.75, True, np.float32(1.5), np.int8(3), 0):
            array[rows] = values[rows] = value
            np.testing.assert_array_equal(array.asnumpy(), values)


@pytest.mark.parametrize(
    "key, error",
    [
        (2, IndexError),
        (-3, IndexError),
        ((0, 3), IndexError),
        ((0, 0, 0), IndexError),
        ("x", TypeError),
        (1.0, TypeError),
        ((Ellipsis, Ellipsis), IndexError),
        (slice(0, 2, 0), ValueError),
        ([0, 2], IndexError),
        (["a"], TypeError),
        (1 << 70, IndexError),
        (np.array([1j]), TypeError),
        (slice("a", None), TypeError),
        (np.zeros((3, 3), bool), IndexError),
        ((None,) * 20, IndexError),
        (object(), TypeError),
    ],
)
def test_bad_keys(key, error):
    array = mx.nd.zeros((2, 3))
    with pytest.raises(
        error,
        match="axes, new ones included|index|indexed by ints, slices|indices|slice step cannot be",
    ):
        array[key]
    with pytest.raises(
        error,
        match="axes, new ones included|index|indexed by ints, slices|indices|slice step cannot be",
    ):
        array[key] = 1
    assert not array.asnumpy().any()


@pytest.mark.parametrize(
    "value, error",
    [
        (np.zeros((3, 3)), ValueError),
        (np.zeros(2), ValueError),
        ([1, 2], ValueError),
        ("x", TypeError),
        (None, TypeError),
        ([[1, 2, 3], [4, 5]], TypeError),
        (mx.nd.zeros((3, 2)), ValueError),
        (1j, TypeError),
        (np.zeros((2, 2, 3)), ValueError),
        (1 << 70, ValueError),
        (object(), TypeError),
    ],
)
def test_bad_values(value, error):
    array = mx.nd.zeros((2, 3))
    with pytest.raises(error, match="value"):
        array[:] = value
    with pytest.raises(error, match="value"):
        array[0:2] = value
    with pytest.raises(error, match="value"):
        array[[0, 1]] = value
    assert not array.asnumpy().any()


def test_iteration():
    array = mx.nd.arange(6).reshape((3, 2))
    assert [row.asnumpy().tolist() for row in array] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(TypeError, match="iteration over an array without axes"):
        iter(mx.nd.array(5)).__next__()
    with pytest.raises(TypeError, match="of an array without axes"):
        len(mx.nd.array(5))


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
def test_large_copies_begin_and_end_anywhere(dtype):
    """What several threads share is written past the caches, in whole vectors where they lie."""
    n = 300_007
    source = (np.arange(n) % 1000).astype(dtype)
    given = mx.nd.array(source, dtype=dtype)
    for begin, end in ((0, 0), (1, 0), (0, 3), (5, 7), (13, 1)):
        target = mx.nd.ones((n + 16,), dtype=dtype)
        wanted = np.ones(n + 16, dtype)
        for part in (target, wanted):
            part[3 + begin : 3 + n - end] = (given if part is target else source)[begin : n - end]
        np.testing.assert_array_equal(target.asnumpy(), wanted)


def test_slice_assign():
    """As MXNet's: parts of the array itself."""
    array = mx.nd.zeros((4, 5))
    again = array.slice_assign(mx.nd.ones((2, 2)), (1, 1), (3, 3), (None, None))
    assert again is array
    array.slice_assign_scalar(5, (0, None), (1, 2), ())
    expected = np.zeros((4, 5))
    expected[1:3, 1:3], expected[0:1, :2] = 1, 5
    np.testing.assert_array_equal(array.asnumpy(), expected)
    with pytest.raises(mx.base.MXNetError, match="as long as each other"):
        array.slice_assign_scalar(5, (0,), (1, 2), ())
