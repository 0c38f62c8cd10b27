"""What n ranks do together, check by check; results go to rank-N.json in the folder argv[1]."""

import hashlib
import itertools
import json
import logging
import os
import random
import sys
import time
import traceback

import agreement
import horovod_checks
import numpy as np
import training
import waiting

import cynet as mx
from cynet.module.ranks import Ranks
from tests.gluon import partly_fresh
from tests.module import partly_used

WORLD = mx.distributed.world()
RANK, SIZE = WORLD.rank, WORLD.size
TOTAL = SIZE * (SIZE + 1) // 2  # the sum of rank + 1
ARGUMENTS = sys.argv[1:]


def equal(found, wanted):
    found = found.asnumpy() if hasattr(found, "asnumpy") else found
    np.testing.assert_array_equal(found, wanted)


def store(name="dist_sync"):
    return mx.kv.create(name)


def check_rank_and_size():
    kv = store()
    assert (kv.rank, kv.num_workers, kv.local_rank) == (RANK, SIZE, RANK)
    assert store("dist_device_sync").type == "dist_device_sync"
    assert WORLD.gather(b"x" * RANK) == [b"x" * i for i in range(SIZE)]
    equal(WORLD.allreduce(np.arange(3.0) + RANK), np.arange(3.0) * SIZE + SIZE * (SIZE - 1) / 2)


def check_init_takes_the_values_of_rank_0():
    kv = store()
    for dtype in ("float32", "float16", "float64", "int32", "uint8", "bool"):
        value = mx.nd.array(np.full((2, 3), RANK + 1), dtype=dtype)
        kv.init(dtype, value)
        out = mx.nd.zeros((2, 3), dtype=dtype)
        kv.pull(dtype, out=out)
        equal(out, np.ones((2, 3)))
    out = [mx.nd.zeros(2), mx.nd.zeros(2)]
    kv.broadcast("b", mx.nd.full(2, RANK + 5), out)
    equal(out[1], [5, 5])


def check_only_rows_travel():
    """Sums of row_sparse arrays: of a table of 16 MB some kilobytes."""
    kv, shape, sent = store(), (1_000_000, 4), []
    kv.init("table", mx.nd.zeros(shape))
    hand_in = WORLD.hand_in
    WORLD.hand_in = lambda request, *rest: (sent.append(request.nbytes), hand_in(request, *rest))
    cases = (lambda rank: [rank, 70, 500_000 + rank], lambda rank: [70] * (rank == 0), lambda _: [])
    try:
        for dtype, rows_of in itertools.product(("float32", "float64", "float16"), cases):
            values = mx.nd.full((len(rows_of(RANK)), 4), RANK + 1, dtype=dtype)
            grad = mx.nd.sparse.row_sparse_array((values, rows_of(RANK)), shape=shape, dtype=dtype)
            kv.sum_up(f"grad {dtype}", [grad, grad.copy()])
            wanted = {}
            for rank in range(SIZE):
                for row in rows_of(rank):
                    wanted[row] = wanted.get(row, 0) + 2 * (rank + 1)
            assert grad.stype == "row_sparse" and np.dtype(grad.dtype) == dtype
            equal(grad.indices, sorted(wanted))
            equal(grad.data, np.repeat([wanted[n] for n in sorted(wanted)], 4).reshape(-1, 4))
        kv.set_optimizer(mx.optimizer.SGD(learning_rate=1.0))
        grad = mx.nd.sparse.row_sparse_array((mx.nd.ones((1, 4)), [RANK]), shape=shape)
        kv.push("table", grad)
    finally:
        WORLD.hand_in = hand_in
    out = mx.nd.sparse.zeros("row_sparse", shape)
    kv.row_sparse_pull("table", out=out, row_ids=mx.nd.arange(SIZE + 1))
    equal(out.data, [[-1] * 4] * SIZE + [[0] * 4])
    assert sum(sent) < 4_000, sent


def check_push_and_pull():
    kv = store("dist")
    kv.init(["a", "b"], [mx.nd.zeros((2, 2)), mx.nd.zeros(3)])
    for step in range(3):
        kv.push("a", mx.nd.full((2, 2), (RANK + 1) * step))
        kv.push("b", [mx.nd.full(3, RANK + 1), mx.nd.full(3, 10)], priority=5)
        out = [mx.nd.zeros((2, 2)), mx.nd.zeros(3)]
        kv.pull(["a", "b"], out=out)
        equal(out[0], np.full((2, 2), TOTAL * step))
        equal(out[1], np.full(3, TOTAL + 10 * SIZE))
    gradient = mx.nd.full(3, RANK + 1)
    kv.pushpull("b", gradient)
    equal(gradient, np.full(3, TOTAL))
    kv.push(["b", "b"], [mx.nd.ones(3), mx.nd.full(3, 2)])  # a key that comes twice
    kv.pull("b", out=gradient)
    equal(gradient, np.full(3, 3 * SIZE))


def check_a_push_does_not_change_what_is_pushed():
    kv = store()
    for size in (5, 1 << 18, (1 << 20) + 3):
        kv.init(size, mx.nd.zeros(size))
        gradient = mx.nd.full(size, RANK + 1)
        for _ in range(3):
            kv.push(size, gradient)
            out = mx.nd.zeros(size)
            kv.pull(size, out=out)
            equal(out, np.full(size, TOTAL))
            equal(gradient, np.full(size, RANK + 1))
            out[:] = -1  # it is a copy
            kv.pull(size, out=gradient)
            equal(gradient, np.full(size, TOTAL))
            gradient[:] = RANK + 1


def check_halves_are_summed_in_float32():
    kv = store()
    for dtype in ("float16", "bfloat16"):
        large = mx.nd.full(4, 2048 if RANK == 0 else 1).astype(dtype)
        kv.init(dtype, large)
        devices = [large, mx.nd.full(4, 1).astype(dtype)]
        kv.pushpull(dtype, devices)
        wanted = mx.nd.array([2048 + (SIZE - 1) + SIZE]).astype(dtype).asnumpy()[0]
        assert devices[0].dtype == large.dtype
        equal(devices[0].astype("float32"), np.full(4, wanted, np.float32))


def check_several_devices_and_dtypes_in_one_call():
    kv = store("dist_device_sync")
    keys = ["a", "b", "c", "d"]
    shapes = [(3,), (2, 5), (1 << 18,), ()]
    dtypes = ["float32", "float64", "float32", "int32"]
    shapes[3] = (1,)
    given = [
        [mx.nd.full(s, RANK + 1, ctx=mx.cpu(i), dtype=d) for i in range(2)]
        for s, d in zip(shapes, dtypes)
    ]
    kv.sum_up(keys, given)
    for shape, arrays in zip(shapes, given):
        equal(arrays[0], np.full(shape, 2 * TOTAL))
        equal(arrays[1], np.full(shape, 2 * TOTAL))


def check_updates_in_the_store():
    kv = store()
    kv.init("w", mx.nd.full(3, RANK + 1))
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5, rescale_grad=1 / SIZE))
    weight, momentum = np.ones(3), np.zeros(3)
    out = mx.nd.zeros(3)
    for step, rate in enumerate((0.5, 0.5, 0.25, 0.25)):
        kv.updater.optimizer.set_learning_rate(rate)
        if step == 3:  # states are those that were saved
            path = os.path.join(ARGUMENTS[0], f"states-{RANK}")
            kv.save_optimizer_states(path)
            kv.set_optimizer(kv.updater.optimizer)
            kv.load_optimizer_states(path)
        kv.push("w", mx.nd.full(3, RANK + 1))
        kv.pull("w", out=out)
        momentum = 0.5 * momentum - rate * np.full(3, TOTAL / SIZE)
        weight = weight + momentum
        np.testing.assert_allclose(out.asnumpy(), weight, rtol=1e-6)


def check_two_bits():
    rng = np.random.RandomState(3)
    gradients = rng.randn(6, SIZE, 2, 37).astype(np.float32)  # steps, ranks, keys
    kv = store()
    kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    kv.init(["a", "b"], [mx.nd.zeros(37), mx.nd.zeros(37)])
    left = np.zeros((SIZE, 2, 37), np.float32)
    for step in gradients:
        left += step
        sent = np.where(left >= 0.5, 1, np.where(left <= -0.5, -1, 0))
        left -= sent.astype(np.float32) * np.float32(0.5)
        arrays = [mx.nd.array(each) for each in step[RANK]]
        kv.pushpull(["a", "b"], arrays)
        for array, wanted in zip(arrays, sent.sum(axis=0)):
            equal(array, wanted.astype(np.float32) * np.float32(0.5))


def check_sums_are_byte_equal():
    random.seed(RANK)
    kv = store()
    digests = []
    for size in (7, 1000, 70000, 1 << 20):
        values = np.random.RandomState(100 + RANK).randn(size).astype(np.float32)
        for _ in range(3):
            time.sleep(random.random() / 200)
            array = mx.nd.array(values)
            kv.sum_up("v", array)
            digests.append(hashlib.sha256(array.asnumpy().tobytes()).hexdigest())
        assert len(set(digests[-3:])) == 1
    everywhere = WORLD.gather("".join(digests).encode())
    assert len(set(everywhere)) == 1


def check_calls_become_ready_in_another_order_on_each_rank():
    kv = store()
    slow = mx.nd.zeros((300, 300))
    arrays = []
    for i in range(2 * SIZE):
        array = mx.nd.full(4, i + RANK)
        for _ in range(6 * ((i + RANK) % SIZE)):  # so much later is it there
            slow = mx.nd.dot(slow, slow)
        arrays.append(array + slow[0, :4])
        kv.sum_up(i, arrays[i], priority=i % 3)
    for i, array in enumerate(arrays):
        equal(array, np.full(4, SIZE * i + SIZE * (SIZE - 1) / 2))


def training_checks():
    """Weights after 50 steps of batches of b by n ranks, and by one process of n * b; each way to
    train with each optimizer for some n (`training.rows`)."""
    x, y = training.data(SIZE)
    mine = training.part(x, RANK, SIZE), training.part(y, RANK, SIZE)
    several = training.B * SIZE

    def weights(way, optimizer, kvstore, rows, batch, seed, **options):
        if way == "module":
            return training.module_weights(kvstore, *rows, batch, optimizer, seed)
        hybrid = way == "hybrid"
        return training.gluon_weights(
            kvstore, *rows, batch, optimizer, hybrid, several, seed, **options
        )

    def trained(way, optimizer, **options):
        found = [
            weights(way, optimizer, "dist_sync", mine, training.B, 1 + RANK, **options)
            for _ in range(2)
        ]
        digests = [digest(each) for each in found]
        assert WORLD.gather(digests[0]) == [digests[1]] * SIZE
        if RANK == 0:
            wanted = weights(way, optimizer, None, (x, y), several, 1)
            assert training.differ(found[0], wanted) < 1e-5
            first = weights(way, optimizer, None, (x[:several], y[:several]), several, 1)
            assert training.differ(found[0], first) > 1e-2  # there was something to learn

    for way, optimizer in training.rows(SIZE):
        yield f"{way}_{optimizer}", lambda w=way, o=optimizer: trained(w, o)
    yield "update_in_store", lambda: trained("hybrid", "sgd", update_on_kvstore=True)


def digest(weights):
    text = b"".join(weights[name].tobytes() for name in sorted(weights))
    return hashlib.sha256(text).hexdigest().encode()


def check_clipped_by_the_norm_of_all_ranks_gradients():
    x, y = training.data(SIZE)
    mine = training.part(x, RANK, SIZE), training.part(y, RANK, SIZE)
    norm = {"clip_global_norm": 0.2}
    found = training.module_weights("dist_sync", *mine, training.B, "sgd", **norm)
    if RANK == 0:
        wanted = training.module_weights(None, x, y, training.B * SIZE, "sgd", **norm)
        free = training.module_weights(None, x, y, training.B * SIZE, "sgd")
        assert training.differ(found, wanted) < 1e-5 < training.differ(wanted, free)


def check_states_that_are_shared_out():
    """Weights are those of a run that does not share them, bit for bit; so they are behind a
    checkpoint of an Estimator."""
    x, y = training.data(SIZE)
    mine = training.part(x, RANK, SIZE), training.part(y, RANK, SIZE)
    found = {}
    for shards in (False, True):
        weights = training.gluon_weights(
            "dist_sync", *mine, training.B, "adam", True, training.B * SIZE, shard_states=shards
        )
        folder = os.path.join(ARGUMENTS[0], f"shards-{shards}")
        for epochs in (1, 2):
            fitted = training.estimated(*mine, epochs, folder, shard_states=shards)
        batch = training.B
        by_module = training.module_weights(
            "dist_sync", *mine, batch, "adam", shard_states=shards, clip_global_norm=0.2
        )
        found[shards] = digest(weights), digest(fitted), digest(by_module)
    assert found[True] == found[False]
    assert WORLD.gather(found[True][1]) == [found[True][1]] * SIZE


def check_gradients_that_a_part_of_the_ranks_has():
    for contexts, stype, update, in_one_call in itertools.product(
        (1, 2), ("default", "row_sparse"), (True, False), (True, False)
    ):
        if in_one_call or not update:
            partly_fresh.check(contexts, stype, "dist_sync", update, in_one_call, RANK, SIZE)


def check_parameters_that_a_part_of_the_ranks_uses():
    for contexts in (1, 2):
        partly_used.check(contexts, "dist_sync", RANK, SIZE)
    partly_used.check(1, "dist_sync", RANK, SIZE, clips=True)


def check_ranks_have_one_optimizer():
    agreement.unlike_optimizers(RANK, SIZE)


def check_values_that_ranks_set():
    agreement.values_that_are_set(RANK)
    agreement.moving_means(RANK, SIZE)


def check_ranks_load_the_same_states():
    agreement.unlike_states(RANK, ARGUMENTS[0])


def check_parts_of_data():
    sampler = mx.gluon.data.PartSampler(4 * SIZE + 1, seed=3)
    assert len(sampler) == 4
    for _ in range(2):
        parts = [json.loads(each) for each in WORLD.gather(json.dumps(list(sampler)).encode())]
        assert len({i for part in parts for i in part}) == 4 * SIZE


def check_sync_batch_norm_is_batch_norm_of_all_rows():
    rows = [3 + rank for rank in range(SIZE)]
    rng = np.random.RandomState(9)
    x = (rng.randn(sum(rows), 2, 3) * 2 + 5).astype(np.float32)
    head = rng.randn(*x.shape).astype(np.float32)
    mine = slice(sum(rows[:RANK]), sum(rows[: RANK + 1]))

    def run(layer, part, total=None):
        layer.initialize()
        layer.gamma.set_data(mx.nd.array([1.5, 0.5]))
        array = mx.nd.array(x[part])
        array.attach_grad()
        with mx.autograd.record():
            out = layer(array)
        out.backward(mx.nd.array(head[part]))
        grads = layer.gamma.grad(), layer.beta.grad()
        if total is not None:
            total.sum_up(["gamma", "beta"], list(grads))
        states = layer.running_mean.data(), layer.running_var.data()
        return [each.asnumpy() for each in (*grads, *states)], out.asnumpy(), array.grad.asnumpy()

    wanted = run(mx.gluon.nn.BatchNorm(in_channels=2), slice(None))
    for hybrid in (False, True):
        layer = mx.gluon.contrib.nn.SyncBatchNorm(in_channels=2)
        if hybrid:
            layer.hybridize()
        found = run(layer, mine, store())
        for one, other in zip(found[0], wanted[0]):
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(found[1], wanted[1][mine], rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(found[2], wanted[2][mine], rtol=2e-5, atol=2e-5)


def check_sync_batch_norms_that_run_at_once_find_their_own():
    """Graphs run in any order on each rank; a layer may come twice in a step."""
    rng = np.random.RandomState(11)
    x = rng.randn(4, 6 * SIZE, 3).astype(np.float32) * [[[1]], [[2]], [[3]], [[4]]]
    mine = slice(6 * RANK, 6 * RANK + 6)

    def run(kind, part):
        nets = [mx.gluon.nn.HybridSequential() for _ in range(3)]
        for net in nets:
            net.add(mx.gluon.nn.Dense(2, in_units=3, use_bias=False), kind(in_channels=2))
            net.initialize()
            net[0].weight.set_data(mx.nd.array([[1, 2, 0], [0, 1, -1]]))
            net.hybridize()
        arrays = [mx.nd.array(each[part]) for each in x]
        for _ in range(3):
            with mx.autograd.record():
                outs = [nets[i](arrays[i]) for i in (0, 1, 2)] + [nets[0](arrays[3])]
                loss = sum((out**3).sum() for out in outs)
            time.sleep(random.random() / 100)
            loss.backward()
        grads = [net[0].weight.grad() for net in nets]
        states = [net[1].running_var.data().asnumpy() for net in nets]
        return grads, states, [out.asnumpy() for out in outs]

    random.seed(RANK)
    grads, states, outs = run(mx.gluon.contrib.nn.SyncBatchNorm, mine)
    store().sum_up(["a", "b", "c"], grads)
    wanted = run(mx.gluon.nn.BatchNorm, slice(None))
    for one, other in zip([*grads, *states], [*wanted[0], *wanted[1]]):
        one, other = (np.asarray(getattr(e, "asnumpy", lambda e=e: e)()) for e in (one, other))
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)
    for one, other in zip(outs, wanted[2]):
        np.testing.assert_allclose(one, other[mine], rtol=1e-4, atol=1e-4)


def check_requests_are_in_the_profilers_trace():
    path = os.path.join(ARGUMENTS[0], f"trace-{RANK}.json")
    mx.profiler.set_config(profile_all=True, filename=path)
    mx.profiler.set_state("run")
    gradient = mx.nd.ones(5)
    store().sum_up("traced", gradient)
    gradient.wait_to_read()
    mx.profiler.set_state("stop")
    mx.profiler.dump()
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    rows = [each for each in events if each.get("cat") == "communication"]
    names = {each["name"] for each in rows}
    assert names == {"sum of 'traced' (5,) float32", "wait: sum of 'traced' (5,) float32"}, names
    assert sorted(each["ph"] for each in rows) == ["b", "b", "e", "e"]


class _Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def _estimated(rows, batch, kvstore, folder, epochs, resume=False):
    """What `training.symbol` learns by an Estimator: weights, figures, lines of the log, and random
    numbers of afterwards."""
    nn, data = mx.gluon.nn, mx.gluon.data
    mx.random.seed(7 + RANK)
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        features = training.FEATURES
        net.add(nn.Dense(8, activation="tanh", in_units=features), nn.Dense(3, in_units=8))
    net.initialize()
    for each, value in zip(net.collect_params().values(), training.first_values(1).values()):
        each.set_data(value)
    trainer = mx.gluon.Trainer(
        net.collect_params(), "adam", {"learning_rate": 0.01}, kvstore=kvstore
    )
    contrib = mx.gluon.contrib.estimator
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    estimator = contrib.Estimator(net, loss, trainer=trainer)
    handler = _Lines()
    estimator.logger.handlers = [handler]
    loader = data.DataLoader(data.ArrayDataset(*map(mx.nd.array, rows)), batch)
    checkpoint = contrib.CheckpointHandler(
        folder,
        epoch_period=1,
        monitor=estimator.val_metrics[0],
        save_best=True,
        mode="max",
        resume_from_checkpoint=resume,
    )
    monitor = estimator.val_metrics[0]
    stopping = contrib.EarlyStoppingHandler(monitor, patience=1000, mode="max")
    estimator.fit(loader, loader, epochs, [checkpoint, stopping])
    figures = [m.get() for m in estimator.train_metrics + estimator.val_metrics]
    weights = {name: each.data().asnumpy() for name, each in net.collect_params().items()}
    return weights, figures, handler.lines, mx.nd.random.uniform(shape=3).asnumpy()


def check_an_estimator_of_all_ranks():
    x, y = (each[: 10 * training.B * SIZE] for each in training.data(SIZE))
    mine = [each.reshape(10, SIZE, training.B, *each.shape[1:])[:, RANK] for each in (x, y)]
    # rank 1 has a further batch, which no other one has
    mine = [np.concatenate([*each, *([each[0]] if RANK == 1 else [])]) for each in mine]
    folder = os.path.join(ARGUMENTS[0], "estimator")
    found = _estimated(mine, training.B, store(), folder, 3)
    assert bool(found[2]) == (RANK == 0), found[2]
    assert len(set(WORLD.gather(digest(found[0])))) == 1
    assert len(set(WORLD.gather(repr(found[1]).encode()))) == 1
    names = ["best.params", "best.states"]
    names += [f"epoch{i}batch{10 * i + 10}.{s}" for i in range(3) for s in ("params", "states")]
    names += [f"epoch{i}batch{10 * i + 10}.random" for i in range(3)]
    assert sorted(os.listdir(folder)) == sorted(f"model-{name}" for name in names)
    if RANK == 0:
        alone = os.path.join(ARGUMENTS[0], "alone")
        wanted = _estimated((x, y), training.B * SIZE, None, alone, 3)
        assert training.differ(found[0], wanted[0]) < 1e-5
        for one, other in zip(found[1][:2], wanted[1]):
            assert one[0] == other[0] and abs(one[1] - other[1]) < 1e-5
    WORLD.barrier()
    if RANK == 0:  # what is left is as after two epochs
        for name in os.listdir(folder):
            if "epoch2" in name:
                os.remove(os.path.join(folder, name))
    WORLD.barrier()
    again = _estimated(mine, training.B, store(), folder, 3, resume=True)
    assert training.differ(found[0], again[0]) == 0
    equal(again[3], found[3])
    assert len(set(WORLD.gather(again[3].tobytes()))) == SIZE


def check_uneven_batches_end_the_epoch_together():
    rows = 4 * (3 + RANK)
    module = mx.mod.Module(training.symbol())
    seen = []
    module.fit(
        mx.io.NDArrayIter(np.ones((rows, training.FEATURES), np.float32), np.zeros(rows), 4),
        num_epoch=2,
        kvstore="dist_sync",
        batch_end_callback=lambda param: seen.append(param.nbatch),
        verbose=False,
    )
    assert seen == [0, 1, 2] * 2


def check_figures_are_those_of_all_ranks():
    labels = np.resize([0, 1, 1, 0, 1, 0, 0, 1], 4 * SIZE)
    rng = np.random.RandomState(5)
    scores = rng.rand(4 * SIZE, 2).astype(np.float32)

    def figures(part):
        out = [mx.metric.create(name) for name in ("acc", "ce", "f1", "mcc", "pcc")]
        out += [mx.metric.F1(average="micro"), mx.metric.Perplexity(None)]
        for metric in out:
            for i in part:
                rows = slice(4 * i, 4 * i + 4)
                metric.update([mx.nd.array(labels[rows])], [mx.nd.array(scores[rows])])
        return mx.metric.CompositeEvalMetric(out)

    wanted = figures(range(SIZE)).get_global_name_value()
    mine = figures([RANK])
    before = mine.get_global_name_value()
    found = Ranks(store()).metric_values(mine)
    assert [name for name, _ in found] == [name for name, _ in wanted]
    np.testing.assert_allclose([v for _, v in found], [v for _, v in wanted], rtol=1e-6)
    assert str(mine.get_global_name_value()) == str(before)


def check_score_is_that_of_all_data():
    x, y = training.data(SIZE)
    module = mx.mod.Module(training.symbol())
    rows = slice(40 * RANK, 40 * RANK + 40 - 4 * RANK)
    mine = mx.io.NDArrayIter(x[rows], y[rows], 4)
    module.bind(mine.provide_data, mine.provide_label)
    module.init_params(arg_params=training.first_values(1))
    module.init_optimizer(kvstore="dist_sync")
    (found,) = module.score(mine, "acc")
    taken = np.concatenate([np.arange(40 * r, 40 * r + 40 - 4 * r) for r in range(SIZE)])
    alone = mx.mod.Module(training.symbol())
    everything = mx.io.NDArrayIter(x[taken], y[taken], 4)
    alone.bind(everything.provide_data, everything.provide_label)
    alone.init_params(arg_params=training.first_values(1))
    (wanted,) = alone.score(everything, "acc")
    assert abs(found[1] - wanted[1]) < 1e-7


def check_groups_of_ranks():
    groups = [mx.distributed.group(range(k, SIZE, 2)) for k in range(2)]
    groups.append(mx.distributed.group(reversed(range(SIZE))))
    mine = [each for each in groups if each.is_member]
    assert len(mine) == 2
    for each in (mine, mine[::-1])[RANK % 2]:
        found = each.allreduce(np.full(70_000, RANK + 1))
        np.testing.assert_array_equal(found, sum(each.ranks) + each.size)
        assert each.gather(bytes([RANK])) == [bytes([rank]) for rank in each.ranks]
    kv = mx.kv.create("dist_sync", group=mine[0])
    arrays = [mx.nd.full(n, RANK) for n in (5, 400_000)]
    kv.sum_up(["a", "b"], arrays)
    for each in arrays:
        np.testing.assert_array_equal(each.asnumpy(), sum(mine[0].ranks))
    WORLD.barrier()


def check_times_tell_waiting_from_moving():
    waiting.times(WORLD)


def check_waiting_takes_a_tenth_of_a_core():
    waiting.share(WORLD)


def main():
    out = {}
    checks = {**globals(), **vars(horovod_checks)}
    named = [(n.removeprefix("check_"), f) for n, f in checks.items() if n.startswith("check_")]
    for name, check in [*named, *training_checks()]:
        began = time.perf_counter()
        try:
            out[name] = ["passed", check()]
        except mx.errors.PeerError:
            raise
        except Exception:
            out[name] = ["failed", traceback.format_exc()]
        WORLD.barrier()
        if os.environ.get("SHOW_TIMES") and RANK == 0:
            print(name, time.perf_counter() - began, flush=True)
    with open(os.path.join(ARGUMENTS[0], f"rank-{RANK}.json"), "w") as file:
        json.dump(out, file)


if __name__ == "__main__":
    main()
