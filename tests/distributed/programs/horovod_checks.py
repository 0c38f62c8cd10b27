"""What n ranks do with the calls of Horovod: checks of checks.py."""

import warnings

import numpy as np
import training

import cynet as mx
import cynet.contrib.horovod as hvd

WORLD = mx.distributed.world()
RANK, SIZE = WORLD.rank, WORLD.size
TOTAL = SIZE * (SIZE + 1) // 2  # the sum of rank + 1


def equal(found, wanted):
    found = found.asnumpy() if hasattr(found, "asnumpy") else found
    np.testing.assert_array_equal(found, wanted)


def check_horovod_calls():
    hvd.init()
    assert (hvd.rank(), hvd.size(), hvd.local_rank()) == (RANK, SIZE, RANK)
    mine = mx.nd.full((2, 2), RANK + 1)
    equal(hvd.allreduce(mine), np.full((2, 2), TOTAL / SIZE))
    equal(hvd.allreduce(mine, average=False, name="w"), np.full((2, 2), TOTAL))
    equal(mine, np.full((2, 2), RANK + 1))
    gathered = hvd.allgather(mx.nd.full((RANK + 1, 2), RANK))
    equal(gathered, np.repeat(np.arange(SIZE), np.arange(SIZE) + 1)[:, None] * np.ones(2))
    equal(hvd.broadcast(mine, SIZE - 1), np.full((2, 2), SIZE))
    params = {"a": mx.nd.full(2, RANK), "b": mx.nd.full(3, RANK)}
    hvd.broadcast_parameters(params, root_rank=1)
    equal(params["b"], np.ones(3))


def check_horovod_calls_of_later_versions():
    mine = mx.nd.full((2, 2), RANK + 1)
    equal(hvd.allreduce(mine, op=hvd.Sum, prescale_factor=0.5), np.full((2, 2), TOTAL / 2))
    equal(
        hvd.allreduce(mine, op=hvd.Average, postscale_factor=3), np.full((2, 2), 3 * TOTAL / SIZE)
    )
    both = hvd.grouped_allreduce([mine, mx.nd.full(1, RANK)], average=False)
    equal(both[0], np.full((2, 2), TOTAL))
    equal(both[1], [TOTAL - SIZE])
    rows = mx.nd.arange(2 * SIZE + 1)  # the first rank gets three
    part = hvd.reducescatter(rows * (RANK + 1), op=hvd.Sum)
    begin = 2 * RANK + min(RANK, 1)
    equal(part, np.arange(2 * SIZE + 1)[begin : begin + 2 + (RANK == 0)] * TOTAL)
    sent = mx.nd.arange(SIZE) + 10 * RANK
    equal(hvd.alltoall(sent), RANK + 10 * np.arange(SIZE))
    counts = [(RANK + k) % 2 for k in range(SIZE)]
    found, numbers = hvd.alltoall(mx.nd.full(sum(counts), RANK), splits=counts)
    wanted = [(k + RANK) % 2 for k in range(SIZE)]
    equal(numbers, wanted)
    equal(found, np.repeat(np.arange(SIZE), wanted))
    assert hvd.allgather_object({"rank": RANK}) == [{"rank": k} for k in range(SIZE)]
    assert hvd.broadcast_object([RANK, "a"], root_rank=SIZE - 1) == [SIZE - 1, "a"]
    assert (hvd.cross_rank(), hvd.cross_size(), hvd.is_homogeneous()) == (0, 1, True)


def check_horovod_ways_of_gradients():
    x, weight = mx.nd.full((1, 3), RANK + 1), []
    ways = [{}, {"gradient_predivide_factor": 4.0}, {"compression": hvd.Compression.fp16}]
    for way in ways:
        net = mx.gluon.nn.Dense(2, use_bias=False, in_units=3)
        net.initialize(mx.init.One())
        trainer = hvd.DistributedTrainer(net.collect_params(), "sgd", {"learning_rate": 1}, **way)
        with mx.autograd.record():
            loss = net(x).sum()
        loss.backward()
        trainer.step(1)
        weight.append(net.weight.data().asnumpy())
        assert weight[-1].dtype == np.float32
        np.testing.assert_allclose(weight[-1], np.full((2, 3), 1 - TOTAL / SIZE), rtol=1e-3)
    optimizers = [mx.optimizer.SGD(learning_rate=1) for _ in range(2)]
    for each, factor in zip(optimizers, (1.0, 4.0)):
        made, value = hvd.DistributedOptimizer(each, factor), mx.nd.ones(2)
        made.update_all([0], [value], [mx.nd.full(2, RANK + 1)], [None])
        np.testing.assert_allclose(value.asnumpy(), [1 - TOTAL / SIZE] * 2, rtol=1e-5)


def check_horovod_trains():
    x, y = training.data(SIZE)
    x_mine, y_mine = training.part(x, RANK, SIZE), training.part(y, RANK, SIZE)
    optimizer = mx.optimizer.create(
        "adam", rescale_grad=1 / training.B, **training.SETTINGS["adam"]
    )
    module = mx.mod.Module(training.symbol())
    data = mx.io.NDArrayIter(x_mine, y_mine, training.B)
    module.bind(data.provide_data, data.provide_label)
    module.init_params(arg_params=training.first_values(RANK))
    args, auxs = module.get_params()
    hvd.broadcast_parameters(args, root_rank=0)
    module.set_params(args, auxs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rescale_grad is not that of a batch
        module.fit(
            data,
            num_epoch=1,
            kvstore=None,
            optimizer=hvd.DistributedOptimizer(optimizer),
            verbose=False,
        )
    args, _ = module.get_params()
    if RANK == 0:
        wanted = training.module_weights(None, x, y, training.B * SIZE, "adam", 0)
        assert training.differ({n: a.asnumpy() for n, a in args.items()}, wanted) < 1e-5
    net = mx.gluon.nn.Dense(2)
    net.initialize(mx.init.Normal(RANK + 1))
    hvd.broadcast_parameters(net.collect_params())
    trainer = hvd.DistributedTrainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    with mx.autograd.record():
        loss = (net(mx.nd.full((1, 3), RANK + 1)) * mx.nd.array([1, 2])).sum()
    first = net.weight.data().asnumpy()
    assert len(set(WORLD.gather(first.tobytes()))) == 1
    loss.backward()
    trainer.step(1)
    gradient = np.outer([1, 2], np.full(3, TOTAL / SIZE))
    np.testing.assert_allclose(net.weight.data().asnumpy(), first - 0.5 * gradient, rtol=1e-5)
