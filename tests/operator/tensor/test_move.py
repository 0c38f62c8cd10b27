"""Moving operators: transposition in blocks, random slices, joins of many, bad arguments."""

import itertools

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, BoundsError, CynetError, ShapeError
from tests.operator.direct import call, gradients


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "float16"])
def test_every_transposition(dtype, rng):
    x = rng.integers(0, 100, (17, 5, 33, 2)).astype(dtype)
    for axes in itertools.permutations(range(4)):
        np.testing.assert_array_equal(call("transpose", x, axes=axes), x.transpose(axes))


def test_random_slices(rng):
    x = rng.uniform(-1, 1, (7, 6, 5))
    for _ in range(100):
        begin, end, step = ([], [], [])
        for n in x.shape[: rng.integers(1, 4)]:
            a, b = sorted(rng.choice(n + 1, 2, replace=False).tolist())
            k = int(rng.integers(1, 4))
            if rng.random() < 0.4:
                a, b, k = b - 1, (a - 1 if a else None), -k
            begin.append(a), end.append(b), step.append(k)
        key = tuple(slice(*each) for each in zip(begin, end, step))
        params = {"begin": tuple(begin), "end": tuple(end), "step": tuple(step)}
        np.testing.assert_array_equal(call("slice", x, **params), x[key])
        g = rng.uniform(-1, 1, x[key].shape)
        wanted = np.zeros_like(x)
        wanted[key] = g
        np.testing.assert_array_equal(gradients("slice", [g], x, **params)[0], wanted)


def test_concat_of_many(rng):
    parts = [rng.uniform(-1, 1, (3, int(n))) for n in rng.integers(1, 5, 60)]
    np.testing.assert_array_equal(call("Concat", *parts, num_args=60), np.concatenate(parts, 1))


@pytest.mark.parametrize(
    ("op", "shape", "params"),
    [
        ("Reshape", (2, 3), {"shape": (4, 2)}),
        ("Reshape", (2, 3), {}),
        ("Reshape", (2, 3), {"shape": (-4, 2)}),
        ("transpose", (2, 3), {"axes": (0, 0)}),
        ("SwapAxis", (2, 3), {"dim1": 5}),
        ("slice", (4,), {"begin": (2,), "end": (2,)}),
        ("slice", (4,), {"begin": (0, 0), "end": (1, 1)}),
        ("slice", (4,), {"begin": (0,), "end": (2,), "step": (0,)}),
        ("slice_axis", (4,), {"axis": 0, "begin": 3, "end": 9}),
        ("squeeze", (2, 1), {"axis": 0}),
        ("SliceChannel", (2, 5), {"num_outputs": 2}),
        ("tile", (2,), {"reps": (0,)}),
        ("repeat", (2,), {"repeats": 0}),
        ("broadcast_to", (2, 3), {"shape": (4, 3)}),
        ("broadcast_axis", (2, 3), {"axis": 0, "size": 4}),
        ("Pad", (2, 3), {"mode": "edge", "pad_width": (1, 1, 1, 1)}),
        ("Pad", (1, 1, 2, 2), {"mode": "reflect", "pad_width": (0, 0, 0, 0, 2, 0, 0, 0)}),
        ("depth_to_space", (1, 3, 2, 2), {"block_size": 2}),
        ("expand_dims", (2,), {"axis": 5}),
        ("diag", (2, 3), {"k": 7}),
        ("diag", (3, 3), {"k": 3}),
        ("diag", (3, 3), {"k": -3}),
    ],
)
def test_bad_arguments_are_explained(op, shape, params):
    with pytest.raises(CynetError, match=f"{op}|dim1 5|axis 5") as raised:
        call(op, np.ones(shape), **params)
    assert len(str(raised.value)) > 25


def test_shapes_that_do_not_join():
    with pytest.raises(ShapeError, match="do not agree"):
        call("Concat", np.ones((2, 3)), np.ones((3, 3)), num_args=2)
    with pytest.raises(ShapeError, match="do not agree"):
        call("stack", np.ones(2), np.ones(3), num_args=2)
    with pytest.raises(ShapeError, match=r"3 and 4|4.*3"):
        call("dot", np.ones((2, 3)), np.ones((4, 2)))


def test_take_refuses_what_is_out_of_bounds():
    with pytest.raises(ArgumentError, match=r"index 5 .* length 3"):
        call("take", np.ones((3, 2)), np.array([0, 5]), mode="raise")
    with pytest.raises(BoundsError, match=r"index 4 is .* axis 1 of length 4"):
        call("gather_nd", np.ones((3, 4)), np.array([[0, 1], [1, 4]]))
    with pytest.raises(ArgumentError, match=r"sequence_length 9"):
        call("SequenceLast", np.ones((3, 1)), np.array([9.0]), use_sequence_length=True)


def test_take_of_large_tables(rng):
    table = rng.uniform(-1, 1, (500, 64)).astype("float32")
    index = rng.integers(0, 500, 3000)
    np.testing.assert_array_equal(call("take", table, index), table[index])
    g = rng.integers(-3, 4, (3000, 64)).astype("float32")
    wanted = np.zeros_like(table)
    np.add.at(wanted, index, g)
    np.testing.assert_array_equal(gradients("take", [g], table, index)[0], wanted)


def test_order_of_large_arrays(rng):
    x = rng.integers(0, 50, (40, 3000)).astype("float32")
    np.testing.assert_array_equal(
        call("argsort", x, dtype="int32"), np.argsort(x, 1, kind="stable")
    )
    values, at = call("topk", x, k=7, ret_typ="both", dtype="int64")
    np.testing.assert_array_equal(at, np.argsort(-x, 1, kind="stable")[:, :7])
    np.testing.assert_array_equal(values, np.take_along_axis(x, at, 1))
    x[:, 5] = np.nan
    assert (
        np.isnan(call("sort", x)[:, -1]).all()
        and np.isnan(call("sort", x, is_ascend=False)[:, -1]).all()
    )


@pytest.mark.parametrize(
    ("op", "params"),
    [
        ("tile", {"reps": (2, 3)}),
        ("repeat", {"repeats": 2}),
        ("broadcast_to", {"shape": (5, 3)}),
        ("broadcast_axis", {"axis": 0, "size": 5}),
    ],
)
def test_gradients_of_repetitions_of_bool(op, params):
    """A sum of truths is whether there is one, as in MXNet and in NumPy."""
    x = np.array([[True, False, True]])
    out = call(op, x, **params)
    head = np.zeros(out.shape, bool)
    head.reshape(-1)[0] = True
    assert gradients(op, [head], x, **params)[0].tolist() == [[True, False, False]]
    assert gradients(op, [out], x, **params)[0].tolist() == x.tolist()


@pytest.mark.parametrize("place", [np.nan, np.inf, -np.inf])
def test_an_index_that_is_no_number_is_told_as_such(place):
    """Its cast to an int was: -9223372036854775808."""
    x = mx.nd.arange(3)
    with pytest.raises(ValueError, match=r"index NaN \(or one of more than 64 bits\) is out of"):
        mx.nd.take(x, mx.nd.array([place]), mode="raise").wait_to_read()
    for each in (x, x.as_np_ndarray()):
        with pytest.raises(ValueError, match=f"names places up to 16777216, got {place}"):
            each[np.array([1, place], "float32")]
