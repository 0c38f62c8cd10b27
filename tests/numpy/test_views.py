"""expand_dims of mx.np: a view where values are there, an operator in a graph."""

import numpy as onp
import pytest

from cynet import autograd as ag
from cynet import np


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3, (0, 2), (-1, 0)])
def test_expand_dims_is_a_view(axis):
    x = np.arange(6).reshape(2, 3)
    wide = np.expand_dims(x, axis)
    assert wide.shape == onp.expand_dims(x.asnumpy(), axis).shape
    x[0, 0] = 9
    assert wide.reshape(-1)[0].item() == 9


@pytest.mark.parametrize("axis", [3, -4])
def test_an_axis_that_is_not_there(axis):
    with pytest.raises(IndexError, match="expand_dims"):
        np.expand_dims(np.zeros((2, 3)), axis)


def test_gradients_go_through():
    x = np.ones((2, 3))
    x.attach_grad()
    with ag.record():
        y = (np.expand_dims(x, 1) * np.arange(3)).sum()
    y.backward()
    assert x.grad.tolist() == [[0, 1, 2], [0, 1, 2]]
