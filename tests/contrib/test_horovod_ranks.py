"""mx.contrib.horovod of several ranks, threads over an MPI that is made up: each call with each of
its settings, against NumPy over the arrays of all ranks."""

import itertools

import numpy as np
import pytest

import cynet as mx
import cynet.contrib.horovod as hvd
from cynet import nd
from tests.distributed.together import run

SIZE = 3


def given(shape, dtype="float32"):
    """What each rank has."""
    count = int(np.prod(shape))
    base = (np.arange(count).reshape(shape) % 7 - 2).astype(dtype)
    return [base * (rank + 1) for rank in range(SIZE)]


def each_rank(monkeypatch, do):
    return run(monkeypatch, SIZE, lambda world: do(world.rank))


def test_allreduce(monkeypatch):
    arrays = given((2, 3))
    ways = [
        {},
        {"average": True},
        {"average": False},
        {"op": hvd.Average},
        {"op": hvd.Sum},
        {"average": None, "op": None},
    ]
    factors = [
        {},
        {"prescale_factor": 0.5},
        {"postscale_factor": 3.0},
        {"prescale_factor": 2, "postscale_factor": 0.25},
    ]

    def everything(rank):
        for way, factor in itertools.product(ways, factors):
            wanted = sum(arrays) * factor.get("prescale_factor", 1)
            wanted = wanted * factor.get("postscale_factor", 1)
            if way.get("average") is not False and way.get("op") is not hvd.Sum:
                wanted = wanted / SIZE
            options = {**way, **factor}
            array = nd.array(arrays[rank])
            out = hvd.allreduce(array, name="w", priority=1, **options)
            np.testing.assert_allclose(out.asnumpy(), wanted, rtol=1e-6)
            np.testing.assert_array_equal(array.asnumpy(), arrays[rank])
            assert hvd.allreduce_(array, **options) is array
            np.testing.assert_allclose(array.asnumpy(), wanted, rtol=1e-6)
            several = [nd.array(arrays[rank]), nd.array(arrays[rank][0])]
            outs = hvd.grouped_allreduce(several, **options)
            for one, other in zip(outs, (wanted, wanted[0])):
                np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-6)
            np.testing.assert_array_equal(several[0].asnumpy(), arrays[rank])
            found = hvd.grouped_allreduce_(several, **options)
            assert all(a is b for a, b in zip(found, several))
            np.testing.assert_allclose(several[1].asnumpy(), wanted[0], rtol=1e-6)
        assert hvd.allreduce(nd.array(arrays[rank], mx.cpu(1))).context == mx.cpu(1)

    each_rank(monkeypatch, everything)


def test_rows_that_are_shared_out(monkeypatch):
    """As many rows as ranks, one less, one more, none: the first ranks have one more."""

    def everything(rank):
        for rows in range(3 * SIZE):
            arrays = given((rows, 2))
            parts = np.array_split(sum(arrays), SIZE)
            array = nd.array(arrays[rank]).reshape((rows, 2))
            for options, by in (({}, SIZE), ({"op": hvd.Average}, SIZE), ({"op": hvd.Sum}, 1)):
                out = hvd.reducescatter(array, name="x", priority=2, **options)
                assert out.shape == parts[rank].shape
                np.testing.assert_allclose(out.asnumpy(), parts[rank] / by, rtol=1e-6)
        for bad in (3, nd.array(1.0)):
            with pytest.raises(mx.MXNetError, match="NDArray with an axis|tensor"):
                hvd.reducescatter(bad)

    each_rank(monkeypatch, everything)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8"])
def test_rows_of_all_and_for_all(dtype, monkeypatch):
    def everything(rank):
        for lengths in ([1, 1, 1], [0, 2, 3], [0, 0, 0], [4, 0, 1]):
            for tail in ((), (2,), (0,), (2, 1)):
                arrays = [
                    (np.arange(n * int(np.prod(tail))).reshape(n, *tail) + 10 * i) % 50
                    for i, n in enumerate(lengths)
                ]
                arrays = [each.astype(dtype) for each in arrays]
                own = nd.array(arrays[rank], mx.cpu(1), dtype=dtype)
                out = hvd.allgather(own, name="x")
                assert out.dtype == own.dtype and out.context == mx.cpu(1)
                np.testing.assert_array_equal(out.asnumpy(), np.concatenate(arrays))
        plan = [[2, 0, 1], [1, 1, 1], [0, 3, 0]]  # rank, to whom
        arrays = [
            (np.arange(2 * sum(row)).reshape(-1, 2) + 20 * i).astype(dtype)
            for i, row in enumerate(plan)
        ]
        begins = [np.cumsum([0, *row]) for row in plan]
        wanted = [a[b[rank] : b[rank + 1]] for a, b in zip(arrays, begins)]
        own = nd.array(arrays[rank], mx.cpu(1), dtype=dtype)
        for splits in (plan[rank], tuple(plan[rank]), nd.array(plan[rank], dtype="int32")):
            out, counts = hvd.alltoall(own, splits, name="x", priority=1)
            assert out.dtype == own.dtype and out.context == mx.cpu(1)
            np.testing.assert_array_equal(out.asnumpy(), np.concatenate(wanted))
            assert counts.dtype == np.int32
            assert counts.asnumpy().tolist() == [row[rank] for row in plan]
        out = hvd.alltoall(own)
        np.testing.assert_array_equal(out.asnumpy(), np.stack([a[rank] for a in arrays]))

    each_rank(monkeypatch, everything)


def test_splits_that_do_not_fit(monkeypatch):
    def everything(rank):
        for bad in ([1, 1], [1, 1, 1, 0], [1, 1, 2], [1, 1, 0], [4, -1, 0]):
            with pytest.raises(mx.MXNetError, match="3 rows are shared out among 3 processes, got"):
                hvd.alltoall(nd.ones(3), bad)
        with pytest.raises(mx.MXNetError, match="4 rows are shared out among 3 .*1, 1, 1"):
            hvd.alltoall(nd.ones(4))
        for call in (hvd.alltoall, hvd.allgather):
            with pytest.raises(mx.MXNetError, match=f"{call.__name__} takes an NDArray with an"):
                call(nd.array(1.0))

    each_rank(monkeypatch, everything)


def test_values_of_one_rank(monkeypatch):
    arrays = given((2, 2))

    def everything(rank):
        for root in range(SIZE):
            own = nd.array(arrays[rank])
            out = hvd.broadcast(own, root, name="w", priority=1)
            np.testing.assert_array_equal(out.asnumpy(), arrays[root])
            np.testing.assert_array_equal(own.asnumpy(), arrays[rank])
            assert hvd.broadcast_(own, root) is own
            np.testing.assert_array_equal(own.asnumpy(), arrays[root])
            rows = {"a": nd.array(arrays[rank]), "b": nd.array([rank])}
            hvd.broadcast_parameters(rows, root, prefix="x")
            np.testing.assert_array_equal(rows["a"].asnumpy(), arrays[root])
            assert rows["b"].asscalar() == root
            net = mx.gluon.nn.Dense(2, in_units=2, use_bias=False)
            net.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
            net.weight.set_data(nd.array(arrays[rank]))
            hvd.broadcast_parameters(net.collect_params(), root_rank=root)
            for each in net.weight.list_data():
                np.testing.assert_array_equal(each.asnumpy(), arrays[root])
            mine = {"rank": rank, "more": [rank, None]}
            found = hvd.broadcast_object(mine, root, name="o")
            assert found == {"rank": root, "more": [root, None]}
            assert hvd.allgather_object(mine, "o") == [
                {"rank": i, "more": [i, None]} for i in range(SIZE)
            ]
            others = mine if rank == root else object()  # not looked at
            assert hvd.broadcast_object(others, root)["rank"] == root
        assert hvd.broadcast_object({"rank": rank}) == {"rank": 0}
        rows = {"b": nd.array([rank])}
        hvd.broadcast_parameters(rows)
        assert rows["b"].asscalar() == 0
        hvd.broadcast_parameters({})
        waits = mx.gluon.nn.Dense(2)
        waits.initialize()
        hvd.broadcast_parameters({"b": nd.ones(1), **waits.collect_params()})
        with pytest.raises(mx.MXNetError, match="shape of '.*weight' is not known .* not from 1"):
            hvd.broadcast_parameters(waits.collect_params(), 1)
        for bad in (-1, SIZE, "0", None, 1.0):
            for call in (hvd.broadcast, hvd.broadcast_):
                with pytest.raises(mx.MXNetError, match="root_rank"):
                    call(nd.ones(1), bad)
            with pytest.raises(mx.MXNetError, match="root_rank"):
                hvd.broadcast_parameters({"a": nd.ones(1)}, bad)
            with pytest.raises(mx.MXNetError, match="root_rank"):
                hvd.broadcast_object(1, bad)
        with pytest.raises(TypeError, match="broadcast_parameters takes a dict, got .1, 2."):
            hvd.broadcast_parameters([1, 2])
        with pytest.raises(TypeError, match="expected a Parameter or NDArray as 'a', got 3"):
            hvd.broadcast_parameters({"a": 3})

    each_rank(monkeypatch, everything)


@pytest.mark.parametrize(
    "hosts", [["a", "a", "a"], ["a", "b", "b"], ["a", "b", "c"], ["a", "a", "b", "b"]]
)
def test_ranks_and_machines(hosts, monkeypatch):
    def everything(world):
        assert not hvd.is_initialized()
        hvd.init()
        assert hvd.is_initialized()
        return (
            hvd.rank(),
            hvd.size(),
            hvd.local_rank(),
            hvd.local_size(),
            hvd.cross_rank(),
            hvd.cross_size(),
            hvd.is_homogeneous(),
        )

    found = run(monkeypatch, len(hosts), everything, hosts)
    for rank, row in enumerate(found):
        count = hosts.count(hosts[rank])
        assert row[:4] == (rank, len(hosts), hosts[:rank].count(hosts[rank]), count)
        assert row[6] == (len(hosts) % count == 0)
        if len({hosts.count(each) for each in hosts}) == 1:
            assert row[4:6] == (sorted(set(hosts)).index(hosts[rank]), len(set(hosts)))


def test_requests(monkeypatch):
    """Names and priorities, as other ranks see them."""

    def everything(world):
        rows, hand_in = [], world.hand_in

        def note(request, *arrays):
            rows.append((request.what, request.priority))
            hand_in(request, *arrays)

        world.hand_in = note
        hvd.allreduce(nd.ones(1), priority=3)
        hvd.allreduce_(nd.ones(1), name="w", priority=4)
        hvd.grouped_allreduce([nd.ones(1), nd.ones(2)], priority=5)
        hvd.grouped_allreduce_([nd.ones(1), nd.ones(2)], name="g", priority=6)
        hvd.reducescatter(nd.ones(3), name="r", priority=7)
        hvd.broadcast(nd.ones(1), 0)
        hvd.broadcast_(nd.ones(1), 1, name="w")
        return rows

    assert run(monkeypatch, 2, everything)[0] == [
        ("sum of 'tensor' (1,) float32", 3),
        ("sum of 'w' (1,) float32", 4),
        ("sum of 'tensor.0' (1,) float32, 'tensor.1' (2,) float32", 5),
        ("sum of 'g.0' (1,) float32, 'g.1' (2,) float32", 6),
        ("sum of 'r' (3,) float32", 7),
        ("broadcast of 'tensor' (1,) float32", 0),
        ("broadcast of 'w' (1,) float32 from rank 1", 0),
    ]


# --- training -------------------------------------------------------------------------------------
WAYS = [
    {},
    {"gradient_predivide_factor": 4.0},
    {"compression": hvd.Compression.fp16},
    {"compression": None, "num_groups": 3, "prefix": "p"},
    {"compression": hvd.Compression.fp16, "gradient_predivide_factor": 0.5},
]


def test_trainers(monkeypatch):
    """The mean of gradients, of examples of one rank, whichever way it travels."""

    def everything(rank):
        for way, contexts in itertools.product(WAYS, ([mx.cpu(0)], [mx.cpu(0), mx.cpu(1)])):
            net = mx.gluon.nn.Dense(2, use_bias=False, in_units=3)
            net.initialize(mx.init.Constant(rank + 1), ctx=contexts)
            settings = {"learning_rate": 0.5, "wd": 0}
            trainer = hvd.DistributedTrainer(net.collect_params(), "sgd", settings, **way)
            losses = []
            with mx.autograd.record():
                for i, context in enumerate(contexts):
                    losses.append(net(nd.full((1, 3), rank + 1 + i, context)).sum())
            mx.autograd.backward(losses)
            dtypes = [grad.dtype for grad in net.weight.list_grad()]
            trainer.step(2)
            total = sum(r + 1 + i for r in range(SIZE) for i in range(len(contexts)))
            wanted = np.full((2, 3), 1 - 0.5 * total / SIZE / 2)  # all begin with rank 0's 1
            for each in net.weight.list_data():
                np.testing.assert_allclose(each.asnumpy(), wanted, rtol=1e-3)
            assert dtypes == [np.float32] * len(contexts)

    each_rank(monkeypatch, everything)


def test_halves_travel_where_they_were_asked_for(monkeypatch):
    """1 + 2^-12 is no float16."""

    def everything(world):
        rows, hand_in = [], world.hand_in

        def note(request, *arrays):
            rows.append(request.what)
            hand_in(request, *arrays)

        world.hand_in = note
        found = []
        for compression in (None, hvd.Compression.none, hvd.Compression.fp16):
            net = mx.gluon.nn.Dense(1, use_bias=False, in_units=1)
            net.initialize(mx.init.Zero())
            trainer = hvd.DistributedTrainer(
                net.collect_params(), "sgd", {"learning_rate": 1}, compression=compression
            )
            with mx.autograd.record():
                loss = net(nd.full((1, 1), 1 + 2.0**-12))
            loss.backward()
            rows.clear()
            trainer.step(1)
            found.append((rows[-1].rpartition(" ")[2], -net.weight.data().asscalar()))
        return found

    for found in run(monkeypatch, 2, everything):
        whole = ("float32", np.float32(1 + 2.0**-12))
        assert found == [whole, whole, ("float16", 1.0)]


def test_optimizers(monkeypatch):
    def everything(rank):
        for factor, rescale in itertools.product((1.0, 4.0), (1.0, 0.5)):
            own = mx.optimizer.SGD(learning_rate=1, rescale_grad=rescale, momentum=0.9)
            made = hvd.DistributedOptimizer(own, factor, num_groups=2)
            assert type(made).__module__ == "cynet.contrib.horovod.training"
            assert type(hvd.DistributedOptimizer(own)) is type(made)
            assert made.__doc__ == own.__doc__ and own.rescale_grad == rescale
            assert made.rescale_grad == rescale / SIZE * factor
            values = [nd.ones(2), nd.ones(3)]
            states = [made.create_state(i, each) for i, each in enumerate(values)]
            grads = [nd.full(2, rank + 1), nd.full(3, 2 * rank)]
            made.update_all([0, 1], values, grads, states)
            for each, mean in zip(values, (2, 2)):
                np.testing.assert_allclose(each.asnumpy(), 1 - rescale * mean, rtol=1e-5)
            assert made.joined_update([0], values, grads, states) is None
            made.update_all([], [], [], [])
        for bad in (3, "sgd", mx.optimizer.SGD):
            with pytest.raises(TypeError, match="DistributedOptimizer takes an Optimizer, got"):
                hvd.DistributedOptimizer(bad)
        for bad in (0, -1, float("inf"), float("nan")):
            with pytest.raises(mx.MXNetError, match="gradient_predivide_factor"):
                hvd.DistributedOptimizer(own, bad)

    each_rank(monkeypatch, everything)


def test_an_optimizer_that_is_unlike_the_others(monkeypatch):
    monkeypatch.setattr("cynet.distributed.communication._FAREWELL_SECONDS", 0.1)

    def everything(world):
        made = hvd.DistributedOptimizer(mx.optimizer.SGD(learning_rate=world.rank + 1))
        made.update_all([0], [nd.ones(1)], [grad := nd.ones(1)], [None])
        grad.wait_to_read()

    for each in run(monkeypatch, 2, everything, end=False):
        assert "'gradient 0' (1,) float32 for a step with learning_rate=1, rank 1" in str(each)
        assert "for a step with learning_rate=2; all ranks must have the same optimizer" in str(
            each
        )
