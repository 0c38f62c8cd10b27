"""Helpers that scripts with executor groups of their own import."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError
from cynet.executor_manager import _bind_exec
from cynet.module.executor_group import _load_general, _merge_multi_context, _prepare_group2ctxs


def test_load_along_an_axis():
    source = np.arange(12).reshape(3, 4)
    halves = [mx.nd.zeros((3, 2)), mx.nd.zeros((3, 2), mx.cpu(1))]
    parts = [(slice(0, 2), halves[0]), (slice(2, 4), halves[1])]
    _load_general([mx.nd.array(source)], [parts], [1])
    np.testing.assert_array_equal(halves[1].asnumpy(), source[:, 2:])
    whole = mx.nd.zeros((3, 4))
    _load_general([mx.nd.array(source)], [[(slice(0, 3), whole)]], [-1])
    np.testing.assert_array_equal(whole.asnumpy(), source)


def test_merge():
    two = [mx.nd.ones((2, 3)), mx.nd.zeros((1, 3), mx.cpu(1))]
    merged, first = _merge_multi_context([two, two], [0, -1])
    assert merged.asnumpy().tolist() == [[1, 1, 1]] * 2 + [[0, 0, 0]]
    assert first is two[0]


def test_groups():
    both = {"a": [mx.cpu(0), mx.cpu(1)], "b": mx.cpu(3)}
    split = _prepare_group2ctxs(both, 2)
    assert split == [{"a": mx.cpu(0), "b": mx.cpu(3)}, {"a": mx.cpu(1), "b": mx.cpu(3)}]
    assert _prepare_group2ctxs(None, 2) == [None, None]
    with pytest.raises(ArgumentError, match=r"group2ctxs\['a'\] has 2 contexts for 3"):
        _prepare_group2ctxs(both, 3)


def test_bind_exec(rng):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    params, shared = ["fc_weight", "fc_bias"], {}
    first = _bind_exec(net, mx.cpu(), {"data": (4, 3)}, params, True, shared_data_arrays=shared)
    assert first.grad_dict["data"] is None and first.grad_dict["fc_weight"].shape == (2, 3)
    second = _bind_exec(
        net, mx.cpu(), {"data": (2, 3)}, params, {"data"}, first, shared_data_arrays=shared
    )
    assert second.grad_dict["data"].shape == (2, 3) and second.grad_dict["fc_bias"] is None
    first.arg_dict["fc_weight"][:] = rng.normal(size=(2, 3))
    data = rng.normal(size=(2, 3)).astype("f")
    expected = data @ second.arg_dict["fc_weight"].asnumpy().T
    np.testing.assert_allclose(second.forward(data=mx.nd.array(data))[0].asnumpy(), expected, 1e-5)
    first.arg_dict["data"][:] = 7  # the inputs' memory is shared, too
    assert second.arg_dict["data"].asnumpy().tolist() == [[7] * 3] * 2
    with pytest.raises(ArgumentError, match="need_grad has no argument label"):
        _bind_exec(net, mx.cpu(), {"data": (4, 3)}, params, {"label"})
