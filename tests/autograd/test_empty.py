"""Gradients of gradients of arrays without elements."""

import pytest

from cynet import autograd as ag
from cynet import nd


@pytest.mark.parametrize(
    "call",
    [
        lambda x: nd.contrib.box_nms(x, topk=3, valid_thresh=0.1),
        lambda x: nd.Pooling_v1(x, global_pool=True),
        lambda x: nd.Convolution(
            x, nd.ones((2, 6, 1, 1)), kernel=(1, 1), num_filter=2, no_bias=True
        ),
    ],
)
def test_nothing_has_a_gradient_of_nothing(call):
    """Operators that a gradient is rewritten by are not asked about outputs without elements."""
    x = nd.zeros((2, 0, 6) if "box_nms" in call.__code__.co_names else (0, 6, 4, 4))
    x.attach_grad()
    with ag.record():
        y = call(x)
        (first,) = ag.grad([y], [x], create_graph=True)
        total = (first * first).sum() + (x * x).sum()
    total.backward()
    assert y.size == 0 and first.shape == x.grad.shape == x.shape
