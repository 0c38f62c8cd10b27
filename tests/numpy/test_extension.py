"""mx.npx: normalization by groups, sums at places, masked softmax."""

import numpy as np
import pytest

import cynet as mx
from cynet import npx


def test_group_norm_scales_channels_or_groups(rng):
    x = rng.normal(size=(2, 6, 3, 2)).astype("float32")
    rows = x.reshape(2, 3, -1)
    mean, var = rows.mean(2, keepdims=True), rows.var(2, keepdims=True)
    normal = ((rows - mean) / np.sqrt(var + 1e-3)).reshape(x.shape)
    for n in (6, 3):
        gamma, beta = rng.normal(size=(2, n)).astype("float32")
        wide = [np.repeat(each, 6 // n).reshape(1, 6, 1, 1) for each in (gamma, beta)]
        given = [mx.np.array(each) for each in (x, gamma, beta)]
        out, *more = npx.group_norm(*given, num_groups=3, output_mean_var=True)
        np.testing.assert_allclose(out.asnumpy(), normal * wide[0] + wide[1], 1e-4, 1e-4)
        np.testing.assert_allclose(more[0].asnumpy(), mean[..., 0], 1e-4, 1e-5)
        again = npx.group_norm(*given, num_groups=3)
        np.testing.assert_allclose(again.asnumpy(), out.asnumpy(), 1e-6)
    with pytest.raises(ValueError, match=r"gamma has shape \(2,\)"):
        npx.group_norm(mx.np.array(x), mx.np.ones(2), mx.np.zeros(2), num_groups=3)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_index_add_at_places_named_twice(dtype, rng):
    x = rng.integers(0, 9, (3, 4)).astype(dtype)
    places = np.array([[0, 2, 0, -1], [1, 3, 1, 0]])
    values = rng.integers(1, 9, 4).astype(dtype)
    expected = x.copy()
    np.add.at(expected, tuple(places), values)
    given = mx.np.array(x, dtype=dtype), mx.np.array(places, dtype="int64")
    found = npx.index_add(*given, mx.np.array(values, dtype=dtype))
    assert found.dtype == dtype and found.tolist() == expected.tolist()
    np.add.at(expected, tuple(places), 1)
    assert npx.index_add(found, given[1], 1).tolist() == expected.tolist()
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 of length 3"):
        npx.index_add(given[0], mx.np.array([[9], [0]], dtype="int64"), 1).asnumpy()


def test_gradient_of_index_add():
    x, values = mx.np.ones((3,)), mx.np.array([2.0, 3.0])
    x.attach_grad()
    values.attach_grad()
    with mx.autograd.record():
        out = npx.index_add(x, mx.np.array([[1, 1]], dtype="int64"), values)
        y = (out * mx.np.array([1.0, 5, 9])).sum()
    y.backward()
    assert out.tolist() == [1, 6, 1]
    assert x.grad.tolist() == [1, 5, 9] and values.grad.tolist() == [5, 5]


@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_masked_softmax(axis, temperature, rng):
    x = rng.normal(size=(4, 5)).astype("float32")
    mask = np.tri(4, 5, 1) > 0
    e = np.where(mask, np.exp(x / temperature), 0)
    expected = e / e.sum(axis, keepdims=True).clip(1e-30)
    given = mx.np.array(x), mx.np.array(mask)
    more = {"axis": axis, "temperature": temperature}
    found = npx.masked_softmax(*given, **more).asnumpy()
    np.testing.assert_allclose(found, expected, 1e-5, 1e-6)
    logs = npx.masked_log_softmax(*given, **more).asnumpy()
    np.testing.assert_allclose(np.where(mask, logs, 0), np.log(np.where(mask, expected, 1)), 1e-4,
                               1e-5)  # fmt: skip
    assert np.isneginf(logs[~mask]).all()
