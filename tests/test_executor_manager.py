"""Splitting batches, and names that come twice."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError
from cynet.executor_manager import _check_arguments, _split_input_slice


@pytest.mark.parametrize(
    "size, loads, expected",
    [
        (8, [1, 1], [(0, 4), (4, 8)]),
        (9, [1, 1], [(0, 4), (4, 9)]),
        (6, [1, 2], [(0, 2), (2, 6)]),
        (10, [1, 1, 1], [(0, 3), (3, 6), (6, 10)]),
        (3, [1], [(0, 3)]),
    ],
)
def test_slices(size, loads, expected):
    assert [(part.start, part.stop) for part in _split_input_slice(size, loads)] == expected


def test_refused():
    with pytest.raises(ArgumentError, match="Too many slices"):
        _split_input_slice(2, [1, 1, 1])
    with pytest.raises(ArgumentError, match="more than 0"):
        _split_input_slice(2, [0, 0])


def test_check_arguments():
    _check_arguments(mx.sym.var("a") + mx.sym.var("b"))
    with pytest.raises(ArgumentError, match="'a' comes twice"):
        _check_arguments(mx.sym.var("a") + mx.sym.var("a"))


# --- executors before Module ----------------------------------------------------------------------
def network(hidden=3):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=hidden, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def arrays_of(batch):
    random = np.random.RandomState(4)
    return mx.io.NDArrayIter(random.randn(16, 4), np.arange(16) % 3, batch)


WEIGHTS = {"fc_weight": mx.nd.array(np.arange(12).reshape(3, 4) / 10), "fc_bias": mx.nd.zeros(3)}


@pytest.mark.parametrize("loads", [None, [1, 3]])
def test_a_manager_computes_what_a_module_does(loads):
    data = arrays_of(8)
    manager = mx.executor_manager.DataParallelExecutorManager(
        network(), [mx.cpu(0), mx.cpu(1)], data, work_load_list=loads
    )
    assert manager.param_names == ["fc_weight", "fc_bias"] and manager.aux_names == []
    with pytest.raises(mx.MXNetError, match="load_data_batch first"):
        manager.forward()
    manager.set_params(WEIGHTS, {})
    module = mx.mod.Module(network())
    module.bind(data.provide_data, data.provide_label)
    module.set_params(WEIGHTS, {})
    metric, other = mx.metric.create("ce"), mx.metric.create("ce")
    for batch in data:
        manager.load_data_batch(batch)
        manager.forward(is_train=True)
        manager.backward()
        manager.update_metric(metric, batch.label)
        module.forward_backward(batch)
        module.update_metric(other, batch.label)
        for i in range(2):
            total = sum(each.asnumpy() for each in manager.grad_arrays[i])
            wanted = module._exec_group.grad_arrays[i][0].asnumpy()
            np.testing.assert_allclose(total, wanted, rtol=1e-5, atol=1e-6)
    assert metric.get()[1] == pytest.approx(other.get()[1], rel=1e-5)
    group = manager.execgrp
    first = 2 if loads else 4
    assert [part for part, _ in group.data_arrays[0]] == [slice(0, first), slice(first, 8)]
    assert (group.data_names, group.label_names, group.param_idx) == (
        ["data"],
        ["softmax_label"],
        [1, 2],
    )
    manager.param_arrays[0][1][:] = 0
    copied = {name: mx.nd.zeros(value.shape) for name, value in WEIGHTS.items()}
    manager.copy_to(copied, {})
    np.testing.assert_allclose(
        copied["fc_weight"].asnumpy(), WEIGHTS["fc_weight"].asnumpy() / 2, rtol=1e-6
    )


def test_buckets_share_parameters():
    def generate(key):
        net = mx.sym.sum(mx.sym.var("data"), axis=1)
        net = mx.sym.FullyConnected(net, num_hidden=3, name="fc")
        return mx.sym.SoftmaxOutput(net, name="softmax")

    def batch(length):
        data, label = mx.nd.ones((4, length, 4)), mx.nd.zeros(4)
        return mx.io.DataBatch(
            [data],
            [label],
            bucket_key=length,
            provide_data=[("data", data.shape)],
            provide_label=[("softmax_label", label.shape)],
        )

    first = batch(5)
    first.default_bucket_key, first.batch_size = 5, 4
    manager = mx.executor_manager.DataParallelExecutorManager(
        generate(5), [mx.cpu(0), mx.cpu(1)], first, sym_gen=generate
    )
    manager.set_params(WEIGHTS, {})
    seen = []
    for length in (5, 2, 5):
        manager.load_data_batch(batch(length))
        manager.forward(is_train=True)
        manager.backward()
        seen.append(manager.grad_arrays[0][0].asnumpy())
    assert len(manager.execgrp_bucket) == 2
    np.testing.assert_array_equal(seen[0], seen[2])
    assert not np.array_equal(seen[0], seen[1])
    other = manager.execgrp_bucket[2]
    assert other.param_arrays[0][0] is manager.param_arrays[0][0]
    with pytest.raises(ValueError, match="a Monitor goes with one symbol only"):
        manager.install_monitor(mx.mon.Monitor(1))


def test_a_manager_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="work_load_list has 1 numbers for 2 devices"):
        mx.executor_manager.DataParallelExecutorManager(
            network(), [mx.cpu(0), mx.cpu(1)], arrays_of(8), work_load_list=[1]
        )
