"""What fit and score of several processes print and agree on, by a world that is made up."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import cynet as mx
from cynet.module.ranks import Ranks, SingleProcess, create_ranks


class World:
    """Rank `rank` of some ranks that say the same but for what `others` give."""

    def __init__(self, size=3, rank=0):
        self.size, self.rank, self.times = size, rank, (4, 1.0, 2.0)
        self.others, self.asked = [], []

    def gather(self, content, what):
        self.asked.append(what)
        return [content, *(self.others or [content] * (self.size - 1))]

    def allreduce(self, values, what):
        self.asked.append((what, values.dtype.name))
        return values * self.size


@pytest.fixture
def world():
    return World()


def ranks_in(world):
    return Ranks(SimpleNamespace(_world=world))


def test_what_is_said_at_the_end(world):
    ranks = ranks_in(world)
    world.times = (14, 1.5, 2.25)  # 10 steps: 0.5 s of moving, 0.25 s of waiting
    assert ranks.log_lines_at_end(2.0) == [
        "fit: a step took 200.00 ms on rank 0; for 50.00 ms of it data moved between ranks, beside"
        " the computation, and for 25.00 ms ranks waited for one another"
    ]
    world.times = (5, 1.0, 2.0)
    assert [
        part
        for part in ("step took 7.00 ms", "for 0.00 ms of it")
        if part in ranks.log_lines_at_end(7e-3)[0]
    ] == ["step took 7.00 ms", "for 0.00 ms of it"]


def test_no_steps_have_no_figures(world):
    assert ranks_in(world).log_lines_at_end(3.0) == []
    assert SingleProcess().log_lines_at_end(3.0) == []


def test_what_is_said_at_the_start(world):
    assert ranks_in(world).log_lines_at_start(8) == [
        "fit: 3 ranks with batches of 8: 24 examples a step; gradients are summed over the ranks"
        " and divided by 24, the learning rate is taken as it is given"
    ]
    assert SingleProcess().log_lines_at_start(8) == []


def test_totals(world):
    assert ranks_in(world).sum_over_ranks(7) == 21 and world.asked == [
        ("examples of a step", "int64")
    ]
    assert SingleProcess().sum_over_ranks(7) == 7


def test_figures_are_summed_and_the_metric_is_left_alone(world):
    metric = mx.metric.create(["acc", "mse"])
    rows = mx.nd.array([[0.2, 0.8], [0.9, 0.1]]), mx.nd.array([1, 1])
    metric.metrics[0].update([rows[1]], [rows[0]])
    metric.metrics[1].update([mx.nd.array([1, 2])], [mx.nd.array([1, 4])])
    before = metric.get_global_name_value()
    own = [each._state_of_this_rank() for each in metric.metrics]
    two = mx.metric.create(["acc", "mse"])
    two.metrics[0].update([mx.nd.array([0, 0, 1])], [mx.nd.array([[1, 0]] * 3)])
    two.metrics[1].update([mx.nd.array([0.0])], [mx.nd.array([5.0])])
    other = json.dumps([each._state_of_this_rank() for each in two.metrics]).encode()
    answers = [[json.dumps(own).encode(), other], None]

    def gather(content, what):
        found = answers.pop(0)
        return [content] if found is None else found

    world.gather = gather
    found = dict(ranks_in(world).metric_values(metric))
    assert found["accuracy"] == pytest.approx((1 + 2) / 5)
    assert found["mse"] == pytest.approx((2 + 25) / 2)  # a mean of batches, as everywhere
    assert str(metric.get_global_name_value()) == str(before)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_file_of_rank_0(world, rank, tmp_path):
    world.rank = rank
    path, content = tmp_path / "a file", b"of rank 0"
    ranks = ranks_in(world)
    assert ranks.is_first == (rank == 0)
    with ranks.first_rank_file(str(path)) as found:  # it is on no rank
        assert found is None
    path.write_bytes(b"mine")
    if rank:
        world.gather = lambda given, what: [content, given, given] if not given else pytest.fail()
    with ranks.first_rank_file(str(path)) as found:
        with open(found, "rb") as file_:
            assert file_.read() == (content if rank else b"mine")
        assert (found == str(path)) == (rank == 0)
    assert path.read_bytes() == b"mine"


def test_means_of_states(world):
    """Those of whole numbers stay."""
    states = {"mean": mx.nd.array([2.0, 4.0]), "count": mx.nd.array([5], dtype="int32")}
    kept, summed = {}, []

    class Store:
        _world = world

        def sum_up(self, names, arrays):
            summed.append(names)
            for each in arrays:
                each *= 6

    class Module:
        def get_params(self):
            return {"w": "weights"}, states

        def set_params(self, args, auxs):
            kept.update(args, **auxs)

    Ranks(Store()).average_states(Module())
    assert summed == [["mean"]] and kept["w"] == "weights"
    assert kept["mean"].asnumpy().tolist() == [4, 8] and kept["count"].asnumpy().tolist() == [5]
    states.pop("mean")
    kept.clear()
    ranks_in(world).average_states(Module())
    assert not kept


def test_whose_ranks():
    assert type(create_ranks(None, "local", mx.kv.create("local"))) is SingleProcess
    one_process = "dist_sync", mx.kv.create("dist_sync")
    assert type(create_ranks(*one_process)) is SingleProcess
    assert np.isfinite(SingleProcess().sum_over_ranks(1))
