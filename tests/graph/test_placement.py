"""The placement pass: groups of nodes and their contexts."""

import numpy as np
import pytest

import cynet as mx


def two_groups():
    with mx.AttrScope(ctx_group="first"):
        x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc0")
    with mx.AttrScope(ctx_group="second"):
        return mx.sym.FullyConnected(mx.sym.tanh(x), num_hidden=2, name="fc1")


@pytest.mark.parametrize("second", [mx.cpu(1), [mx.cpu(3)], mx.cpu_pinned()])
def test_groups_on_the_host(second):
    groups = {"first": mx.cpu(0), "second": second}
    results = []
    for group2ctx in (None, groups):
        executor = two_groups().simple_bind(mx.cpu(), group2ctx=group2ctx, data=(4, 5))
        for name, array in executor.arg_dict.items():
            array[:] = mx.nd.array(np.sin(np.arange(array.size) + len(name)).reshape(array.shape))
        executor.forward(is_train=True)
        executor.backward([mx.nd.ones((4, 2))])
        results.append(
            [executor.outputs[0].asnumpy()] + [g.asnumpy() for g in executor.grad_arrays]
        )
    for got, want in zip(*results, strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_group_on_another_device_is_refused():
    with pytest.raises(mx.base.MXNetError, match=r"'second' puts node 'tanh\d+' on gpu\(0\), the "):
        two_groups().simple_bind(mx.cpu(), group2ctx={"second": mx.gpu(0)}, data=(4, 5))


def test_a_group_that_is_no_context():
    with pytest.raises(ValueError, match="group 'first' of node 'data' is 'cpu', not a Context"):
        two_groups().simple_bind(mx.cpu(), group2ctx={"first": "cpu"}, data=(4, 5))
