"""SequenceMask and SequenceReverse: lengths outside of the axis, as MXNet 1.9.1 takes them."""

import numpy as np
import pytest

import cynet as mx

X = np.arange(24, dtype="float32").reshape(4, 3, 2)


def call(name, lengths, **kwargs):
    return getattr(mx.nd, name)(
        mx.nd.array(X), mx.nd.array(lengths), use_sequence_length=True, **kwargs
    ).asnumpy()


@pytest.mark.parametrize(
    "lengths", [[5, 1, 2], [0, 1, 2], [-1, 1, 2], [100, 4, 0], [1.7, 2.2, 3.9]]
)
def test_mask(lengths):
    keep = np.arange(4)[:, None] < np.trunc(lengths)
    np.testing.assert_array_equal(call("SequenceMask", lengths), X * keep[:, :, None])


@pytest.mark.parametrize("lengths", [[0, 1, 2], [-1, 1, 2], [4, 3, 0], [1.7, 2.2, 3.9]])
def test_reverse(lengths):
    expected = X.copy()
    for i, n in enumerate(np.maximum(np.trunc(lengths), 0).astype(int)):
        expected[:n, i] = expected[:n, i][::-1]
    np.testing.assert_array_equal(call("SequenceReverse", lengths), expected)


@pytest.mark.parametrize(
    "name, lengths",
    [("SequenceReverse", [5, 1, 1]), ("SequenceLast", [0, 1, 1]), ("SequenceLast", [5, 1, 1])],
)
def test_lengths_that_mean_foreign_memory(name, lengths):
    """MXNet reads past the array here."""
    with pytest.raises(mx.MXNetError, match=rf"{name}: sequence_length {lengths[0]} is outside"):
        call(name, lengths)
