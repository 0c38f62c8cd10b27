"""Sets of processes, and the names of ``horovod.mxnet``."""

import inspect

import numpy as np
import pytest
from cynet.errors import ArgumentError, ArgumentTypeError, StateError

import cynet as mx
import cynet.contrib.horovod as hvd
from cynet import nd
from tests.distributed.together import run

# What `import horovod.mxnet as hvd` gives, release 0.28, from its documentation.
NAMES = (
    *("init", "shutdown", "is_initialized", "start_timeline", "stop_timeline"),
    *("size", "local_size", "cross_size", "rank", "local_rank", "cross_rank", "is_homogeneous"),
    *("mpi_threads_supported", "mpi_enabled", "mpi_built", "gloo_enabled", "gloo_built"),
    *("nccl_built", "ddl_built", "ccl_built", "cuda_built", "rocm_built"),
    *("ProcessSet", "global_process_set", "add_process_set", "remove_process_set"),
    *("allreduce", "allreduce_", "grouped_allreduce", "grouped_allreduce_"),
    *("allgather", "grouped_allgather", "broadcast", "broadcast_", "alltoall"),
    *("reducescatter", "grouped_reducescatter", "Compression"),
    *("Average", "Sum", "Min", "Max", "Product"),
    *("allgather_object", "broadcast_object", "broadcast_parameters"),
    *("DistributedOptimizer", "DistributedTrainer"),
)
SIZE = 3
RANKS = [2, 0]  # in an order of their own


def test_names_of_horovod():
    assert len(NAMES) == len(set(NAMES)) == 48
    assert [each for each in NAMES if not hasattr(hvd, each)] == []


def test_every_call_with_a_set(monkeypatch):
    """Members get what they have together; the other process is told that it is none."""

    def everything(world):
        hvd.init(process_sets=[hvd.ProcessSet(RANKS)])
        some = hvd.add_process_set([1])
        with pytest.raises(ArgumentError, match="has these processes already"):
            hvd.add_process_set([0, 2])
        with pytest.raises(ArgumentError, match="is there already"):
            hvd.add_process_set(some)
        assert hvd.remove_process_set(some) and some.process_set_id is None
        with pytest.raises(StateError, match="is not there: all processes give it to"):
            hvd.allreduce(nd.ones(1), process_set=some)
        pair = next(iter(mx.contrib.horovod.sets._state["sets"].values()))
        assert (pair.process_set_id, pair.ranks, pair.size()) == (1, RANKS, 2)
        mine = nd.array([[world.rank + 1.0, 2]])
        calls = {
            "allreduce": lambda: hvd.allreduce(mine, process_set=pair),
            "allreduce_": lambda: hvd.allreduce_(mine.copy(), process_set=pair),
            "grouped_allreduce": lambda: hvd.grouped_allreduce([mine], process_set=pair)[0],
            "grouped_allreduce_": lambda: hvd.grouped_allreduce_([mine.copy()], process_set=pair)[
                0
            ],
            "allgather": lambda: hvd.allgather(mine, process_set=pair),
            "grouped_allgather": lambda: hvd.grouped_allgather([mine], process_set=pair)[0],
            "reducescatter": lambda: hvd.reducescatter(mine.T, process_set=pair),
            "grouped_reducescatter": lambda: hvd.grouped_reducescatter(
                [mine.T], hvd.Sum, process_set=pair
            )[0],
            "alltoall": lambda: hvd.alltoall(mine.T, process_set=pair),
            "broadcast": lambda: hvd.broadcast(mine, 2, process_set=pair),
            "broadcast_": lambda: hvd.broadcast_(mine.copy(), 2, process_set=pair),
            "allgather_object": lambda: hvd.allgather_object(world.rank, process_set=pair),
            "broadcast_object": lambda: hvd.broadcast_object(world.rank, 2, process_set=pair),
            "barrier": lambda: hvd.barrier(pair),
        }
        taking = {
            name
            for name, each in vars(hvd).items()
            if inspect.isfunction(each) and "process_set" in inspect.signature(each).parameters
        }
        own = {"DistributedOptimizer", "add_process_set", "remove_process_set"}
        assert taking - own == set(calls)
        if not pair.included():
            for call in calls.values():
                with pytest.raises(StateError, match="rank 1 is not of the group of ranks .2, 0."):
                    call()
            with pytest.raises(StateError, match="process 1 is not in the set of .2, 0."):
                pair.rank()
            return None
        for call in (hvd.broadcast, hvd.broadcast_object):
            with pytest.raises(ArgumentError, match="root_rank is one of .2, 0., got 1"):
                call(mine, 1, process_set=pair)
        found = {name: call() for name, call in calls.items()}
        assert pair.rank() == RANKS.index(world.rank)
        return {n: f.asnumpy().tolist() if hasattr(f, "asnumpy") else f for n, f in found.items()}

    zero, one, two = run(monkeypatch, SIZE, everything)
    assert one is None
    wanted = {
        "allreduce": [[2, 2]],
        "allgather": [[3, 2], [1, 2]],
        "broadcast": [[3, 2]],
        "allgather_object": [2, 0],
        "broadcast_object": 2,
        "barrier": None,
    }
    for name in "allreduce", "broadcast":
        wanted[f"{name}_"] = wanted[name]
    for name in "allreduce", "allreduce_", "allgather":
        wanted[f"grouped_{name}"] = wanted[name]
    parts = {"reducescatter": ([[2]], [[2]]), "grouped_reducescatter": ([[4]], [[4]])}
    parts["alltoall"] = [[3], [1]], [[2], [2]]
    for rank, found in ((0, two), (1, zero)):
        assert found == wanted | {name: rows[rank] for name, rows in parts.items()}


def test_training_of_a_set(monkeypatch):
    def everything(world):
        pair, rest = hvd.add_process_set(RANKS), hvd.add_process_set([1])
        some = pair if pair.included() else rest
        weights = []
        for way in ({}, {"gradient_predivide_factor": 2.0}):
            net = mx.gluon.nn.Dense(1, use_bias=False, in_units=1)
            net.initialize(mx.init.Constant(world.rank))
            trainer = hvd.DistributedTrainer(
                net.collect_params(), "sgd", {"learning_rate": 1}, process_set=some, **way
            )
            with mx.autograd.record():
                loss = net(nd.full((1, 1), world.rank + 1)).sum()
            loss.backward()
            trainer.step(1)
            weights.append(net.weight.data().asscalar())
            own = mx.optimizer.SGD(learning_rate=1)
            made = hvd.DistributedOptimizer(own, process_set=some, **way)
            value = nd.zeros(1)
            made.update_all([0], [value], [nd.full(1, world.rank + 1)], [None])
            weights.append(value.asscalar())
        return weights

    found = run(monkeypatch, SIZE, everything)
    assert found == [[0, -2] * 2, [-1, -2] * 2, [0, -2] * 2]


def test_ways_to_reduce(monkeypatch):
    ways = {hvd.Min: np.minimum, hvd.Max: np.maximum, hvd.Product: np.multiply, hvd.Sum: np.add}

    def everything(world):
        rows = np.array([[3.0, -1, 4], [1, 5, -9], [-2, 6, 5]], np.float32)
        for dtype in ("float32", "int32", "float16"):
            for op, way in ways.items():
                mine = nd.array(rows[world.rank], dtype=dtype)
                wanted = way.reduce(rows.astype(dtype))
                out = hvd.allreduce(mine, op=op)
                assert out.dtype == mine.dtype
                np.testing.assert_array_equal(out.asnumpy(), wanted)
                part = hvd.reducescatter(mine, op).asnumpy()
                np.testing.assert_array_equal(part, wanted[world.rank : world.rank + 1])
        with pytest.raises(ArgumentError, match="op is Average, Sum, Min, Max or Product, got 1"):
            hvd.allreduce(nd.ones(1), op=1)

    run(monkeypatch, SIZE, everything)


def test_what_is_no_set():
    for bad in (3, "01", None):
        with pytest.raises(ArgumentTypeError, match="ProcessSet takes numbers of processes, got"):
            hvd.ProcessSet(bad)
    with pytest.raises(ArgumentError, match="group: ranks are numbers from 0 to 0"):
        hvd.add_process_set([1])
    with pytest.raises(ArgumentTypeError, match="process_set is a ProcessSet, got .0."):
        hvd.allreduce(nd.ones(1), process_set=[0])
    assert hvd.remove_process_set(hvd.global_process_set) is False
    assert hvd.allreduce(nd.ones(1), process_set=hvd.global_process_set).asscalar() == 1


def test_a_timeline(tmp_path):
    hvd.start_timeline(str(tmp_path / "t.json"), mark_cycles=True)
    (nd.ones(3) + 1).wait_to_read()
    hvd.stop_timeline()
    assert "traceEvents" in (tmp_path / "t.json").read_text()
