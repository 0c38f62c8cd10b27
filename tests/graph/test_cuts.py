"""Backward in parts: the same gradients, the first of them before the last."""

import numpy as np
import pytest

import cynet as mx
from cynet.graph.cuts import backward_cut_indices, set_gradient_parts


@pytest.fixture
def in_parts():
    yield set_gradient_parts
    set_gradient_parts(1)


def network():
    net = mx.sym.Variable("data")
    for i in range(6):
        net = mx.sym.FullyConnected(net, num_hidden=64, name=f"fc{i}")
        net = mx.sym.BatchNorm(net, fix_gamma=False, name=f"bn{i}")
        net = mx.sym.Activation(net, act_type="tanh")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def gradients():
    """{name: gradient} of a step of Module, and of a hybridized Block."""
    rng = np.random.RandomState(2)
    x, y = mx.nd.array(rng.randn(8, 64)), mx.nd.array(rng.randint(0, 64, 8))
    values = {}
    module = mx.mod.Module(network())
    module.bind([("data", (8, 64))], [("softmax_label", (8,))])
    for name, array in zip(module._param_names, module._exec_group.param_arrays):
        values[name] = mx.nd.array(rng.randn(*array[0].shape) * 0.1)
    module.init_params(arg_params=values, allow_missing=True)
    module.forward_backward(mx.io.DataBatch([x], [y]))
    found = zip(module._param_names, module._exec_group.grad_arrays)
    out = {name: arrays[0].asnumpy() for name, arrays in found}
    block = mx.gluon.SymbolBlock(network().get_internals()["bn5_output"], mx.sym.var("data"))
    block.initialize()
    for name, each in block.collect_params().items():
        if name in values:
            each.set_data(values[name])
    block.hybridize()
    with mx.autograd.record():
        loss = (block(x) ** 2).sum()
    loss.backward()
    for name, each in block.collect_params().items():
        if each.grad_req != "null":
            out[f"block {name}"] = each.grad().asnumpy()
    return out


def test_gradients_are_the_same(in_parts):
    wanted = gradients()
    in_parts(8)
    found = gradients()
    assert found.keys() == wanted.keys() and len(found) > 20
    for name, array in found.items():
        np.testing.assert_array_equal(array, wanted[name], err_msg=name)


def test_where_backward_is_cut(in_parts):
    module = mx.mod.Module(network())

    def cuts():
        module.bind([("data", (8, 64))], [("softmax_label", (8,))], force_rebind=True)
        graph = module._exec_group.execs[0]._graph
        found = sorted(backward_cut_indices(graph))
        assert all(i >= graph.n_forward for i in found)
        return found

    assert not cuts()
    in_parts(3)
    assert 2 <= len(cuts()) <= 3
    in_parts(100)
    assert len(cuts()) == 6  # 16 KiB each: a layer's weight
