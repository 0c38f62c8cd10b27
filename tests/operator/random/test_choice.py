"""Multinomial draws and shuffles: frequencies, probabilities, gradient, requests, bad tables."""

import numpy as np
import pytest
from cynet.operator._testing import prepare_op, run_backward
from scipy import stats

import cynet as mx
from cynet._resource import seed_device
from cynet.operator import get_operator
from tests.operator.random.test_distributions import draw


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_frequencies(dtype, seed):
    seed_device(seed)
    weights = np.array([[0.1, 0.2, 0.7, 0], [0, 3, 1, 0]], dtype)  # rows need not add up to 1
    drawn = draw("_sample_multinomial", [weights], shape=(100, 200))
    assert (drawn.shape, drawn.dtype) == ((2, 100, 200), np.int32)
    for row, expected in zip(drawn, weights.astype("float64")):
        counts = np.bincount(row.ravel(), minlength=4)
        held = expected > 0
        assert (counts[~held] == 0).all()
        expected = expected[held] / expected.sum() * row.size
        assert stats.chisquare(counts[held], expected).pvalue > 1e-5, seed


def test_shapes():
    table = np.full((2, 3, 4), 0.25)
    assert draw("_sample_multinomial", [table]).shape == (2, 3)
    assert draw("_sample_multinomial", [table], shape=5).shape == (2, 3, 5)
    assert draw("_sample_multinomial", [table[0, 0]]).shape == (1,)
    assert draw("_sample_multinomial", [table[0, 0]], shape=(2, 5)).shape == (2, 5)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float16", "float32", "float64"])
def test_index_types(dtype):
    drawn = draw("_sample_multinomial", [np.array([0.0, 0, 1])], shape=(7,), dtype=dtype)
    assert drawn.dtype == dtype
    assert (drawn == 2).all()


def test_probabilities_of_what_was_drawn():
    weights = np.array([[0.5, 0.25, 0.25], [1.0, 1.0, 2.0]])
    drawn, logs = draw("_sample_multinomial", [weights], shape=(50,), get_prob=True)
    expected = np.log(weights / weights.sum(1, keepdims=True))
    np.testing.assert_allclose(logs, np.take_along_axis(expected, drawn, 1))


@pytest.mark.parametrize("req", [0, 1, 2, 3])
def test_gradient_reaches_the_weights(req, rng):
    weights = rng.uniform(0.5, 1, (2, 3))
    prop = get_operator("_sample_multinomial").prop(shape=(6,), get_prob=True)
    op, *_ = prepare_op(prop, [weights.shape], ["float64"])
    drawn, logs = draw("_sample_multinomial", [weights], shape=(6,), get_prob=True)
    out_grad = rng.normal(size=(2, 6))
    grad = np.full((2, 3), 9.0)
    run_backward(op, [None, out_grad], [weights], [drawn, logs], [req], [grad])
    expected = np.zeros((2, 3))
    for row in range(2):
        np.add.at(expected[row], drawn[row], out_grad[row] / weights[row, drawn[row]])
    wanted = {0: np.full((2, 3), 9.0), 1: expected, 2: expected, 3: expected + 9}[req]
    np.testing.assert_allclose(grad, wanted)


@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf])
def test_tables_that_are_none(bad):
    table = np.full((4, 3), 0.5)
    table[2, 1] = bad
    with pytest.raises(ValueError, match="expected probabilities in row 2 of data"):
        draw("_sample_multinomial", [table])
    with pytest.raises(ValueError, match="row 0"):
        draw("_sample_multinomial", [np.zeros(3)])


def test_wrong_types():
    with pytest.raises(ValueError, match="data must be"):
        draw("_sample_multinomial", [np.ones(3, "int32")])
    with pytest.raises(ValueError, match="'dtype' takes"):
        get_operator("_sample_multinomial").prop(dtype="bool")


@pytest.mark.parametrize("dtype", ["float32", "uint8", "float16", "int64", "bool"])
def test_shuffle_keeps_the_rows(dtype):
    data = np.arange(60).reshape(20, 3).astype(dtype)
    seed_device(4)
    mixed = draw("_shuffle", [data])
    assert sorted(map(tuple, mixed)) == sorted(map(tuple, data))
    if dtype != "bool":
        assert not (mixed == data).all()
    out = np.ones((20, 3), dtype)
    seed_device(4)
    draw("_shuffle", [data], req=3, out=[out])
    np.testing.assert_array_equal(out, mixed + np.ones(1, dtype))


def test_shuffle_is_fair(seed):
    seed_device(seed)
    orders = [tuple(draw("_shuffle", [np.arange(4)])) for _ in range(4800)]
    counts = np.unique(
        [o[0] * 64 + o[1] * 16 + o[2] * 4 + o[3] for o in orders], return_counts=True
    )
    assert len(counts[1]) == 24
    assert stats.chisquare(counts[1]).pvalue > 1e-5, seed


def test_bytes_do_not_depend_on_threads():
    table = np.random.default_rng(0).uniform(size=(100, 50))
    before = mx.get_num_threads()
    try:
        drawn = []
        for threads in (1, 2, 3):
            mx.set_num_threads(threads, beyond_cores=True)
            seed_device(5)
            drawn.append(
                draw("_sample_multinomial", [table], shape=(500,)).tobytes()
                + draw("_shuffle", [np.arange(40000)]).tobytes()
            )
    finally:
        mx.set_num_threads(before)
    assert drawn[0] == drawn[1] == drawn[2]
