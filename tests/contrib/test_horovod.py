"""mx.contrib.horovod in one process: settings that are honoured or refused by name."""

import numpy as np
import pytest

import cynet as mx
import cynet.contrib.horovod as hvd
from cynet import gluon, nd


def test_factors_and_ops():
    x = nd.array([2, 4])
    assert hvd.allreduce(x, prescale_factor=0.5, postscale_factor=3).asnumpy().tolist() == [3, 6]
    assert hvd.allreduce(x, op=hvd.Sum).asnumpy().tolist() == [2, 4]
    assert x.asnumpy().tolist() == [2, 4]
    assert hvd.grouped_allreduce_([x], prescale_factor=2)[0] is x
    assert x.asnumpy().tolist() == [4, 8]
    assert hvd.reducescatter(x, op=hvd.Sum).asnumpy().tolist() == [4, 8]
    assert hvd.alltoall(x).asnumpy().tolist() == [4, 8]


def test_after_shutdown_it_can_begin_again():
    hvd.init()
    hvd.shutdown()
    assert not hvd.is_initialized()
    hvd.init()
    assert hvd.is_initialized()
    assert hvd.allreduce(nd.ones(1)).asscalar() == 1


@pytest.mark.parametrize("value", [None, 3, 0.5, "a", True, [1, [2]], {"a": {"b": []}}])
def test_objects(value):
    assert hvd.broadcast_object(value) == value and hvd.allgather_object(value) == [value]


@pytest.mark.parametrize("value", [(1, 2), {1: 2}, object(), np.ones(2), {"a": {2}}, b"x"])
def test_objects_that_json_does_not_hold(value):
    with pytest.raises(TypeError, match="travel as JSON, which does not hold"):
        hvd.allgather_object(value)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: hvd.allreduce(nd.ones(1), True, op=hvd.Sum), "give op or average, not both"),
        (
            lambda: hvd.allreduce(nd.ones(1), op="sum"),
            "op is Average, Sum, Min, Max or Product, got",
        ),
        (
            lambda: hvd.allreduce(nd.ones(1), process_set=[0]),
            "process_set is a ProcessSet, got .0.",
        ),
        (lambda: hvd.init(process_sets=[1]), "ProcessSet takes numbers of processes, got 1"),
        (lambda: hvd.reducescatter(nd.array(1.0)), "reducescatter takes an NDArray with an axis"),
        (
            lambda: hvd.alltoall(nd.ones(3), splits=[2]),
            r"3 rows are shared out among 1 .*splits \[2\]",
        ),
        (lambda: hvd.alltoall(nd.ones(1), splits=[2, -1]), "splits"),
        (lambda: hvd.broadcast_object(1, root_rank=1), "root_rank is from 0 to 0, got 1"),
        (lambda: trainer(compression="bf16"), "Compression.none or Compression.fp16, got 'bf16'"),
        (
            lambda: trainer(gradient_predivide_factor=0),
            "gradient_predivide_factor is above 0, got 0",
        ),
        (lambda: trainer(process_set=[0]), "process_set is a ProcessSet, got .0."),
        (lambda: hvd.DistributedOptimizer(mx.optimizer.SGD(), -1.0), "is above 0, got -1.0"),
        (lambda: hvd.DistributedOptimizer(mx.optimizer.SGD(), "a"), "must be a number"),
    ],
)
def test_refused(call, says):
    with pytest.raises(mx.MXNetError, match=says):
        call()


def trainer(**options):
    net = gluon.nn.Dense(1, in_units=1)
    net.initialize()
    return hvd.DistributedTrainer(net.collect_params(), "sgd", **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": hvd.Compression.none},
        {"compression": hvd.Compression.fp16},
        {"gradient_predivide_factor": 2.0},
        {"num_groups": 2},
    ],
)
def test_one_process_trains_as_without(options):
    net = gluon.nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(mx.init.One())
    step = hvd.DistributedTrainer(net.collect_params(), "sgd", {"learning_rate": 0.5}, **options)
    with mx.autograd.record():
        loss = net(nd.array([[1, 3]])).sum()
    loss.backward()
    step.step(1)
    np.testing.assert_allclose(net.weight.data().asnumpy(), [[0.5, -0.5]])


def test_a_copied_optimizer_has_its_settings():
    own = mx.optimizer.Adam(learning_rate=0.3, beta1=0.5)
    made = hvd.DistributedOptimizer(own)
    assert type(made).__name__ == "DistributedAdam" and isinstance(made, mx.optimizer.Adam)
    assert (made.lr, made.beta1) == (0.3, 0.5) and type(own) is mx.optimizer.Adam
