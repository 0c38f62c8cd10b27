"""Labels that are no class: an error, where MXNet takes the nearest class."""

import numpy as np
import pytest

import cynet as mx


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("wrong", [3, -1])
def test_label_that_is_no_class(hybridize, wrong):
    loss = mx.gluon.loss.SoftmaxCELoss()
    if hybridize:
        loss.hybridize()
    pred = mx.nd.array([[1, 2, 3], [1, 1, 1]])
    with pytest.raises(ValueError, match=f"index {wrong} is out of bounds for an axis of length 3"):
        loss(pred, mx.nd.array([2, wrong])).asnumpy()
    pred.attach_grad()
    with mx.autograd.record():
        out = loss(pred, mx.nd.array([2, 0]))
    out.backward()
    np.testing.assert_allclose(out.asnumpy(), [0.4076038, 1.0986100], 1e-5)
    np.testing.assert_allclose(pred.grad.asnumpy()[0], [0.0900308, 0.2447290, -0.3347576], 1e-5)


def test_label_of_weight_zero_may_be_anything():
    loss = mx.gluon.loss.SoftmaxCELoss()
    pred = mx.nd.array([[1, 2, 3], [1, 1, 1]])
    found = loss(pred, mx.nd.array([2, -1]), mx.nd.array([[1], [0]])).asnumpy()
    np.testing.assert_allclose(found, [0.4076038, 0], 1e-5)
