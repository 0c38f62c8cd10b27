"""A Trainer of several ranks, threads over an MPI that is made up: sums, gradients that only some
ranks or contexts have, what is agreed on; against NumPy."""

import itertools

import numpy as np
import pytest

import cynet as mx
from cynet import gluon, nd
from cynet.module.ranks import Ranks
from tests.distributed.together import run

SIZE, RATE = 3, 0.5
NAMES = "abc"


def parameters(rank, contexts):
    made = [
        gluon.Parameter(name, shape=(2,), init=mx.init.Constant(10 * rank + i), dtype="float32")
        for i, name in enumerate(NAMES)
    ]
    for each in made:
        each.initialize(ctx=contexts)
    return made


def backward(params, rank, has):
    """Gradients of those that ``has(rank, context, parameter)`` says: 1 + all three numbers."""
    for (i, each), d in itertools.product(enumerate(params), range(len(params[0].list_ctx()))):
        if has(rank, d, i):
            with mx.autograd.record():
                loss = each.data(mx.cpu(d)) * (1 + rank + d + i)
            loss.backward()


def total(has, contexts, i):
    return sum(1 + r + d + i for r in range(SIZE) for d in range(contexts) if has(r, d, i))


ALL = {
    "all": lambda r, d, i: True,
    "one rank": lambda r, d, i: r == 1,
    "one context": lambda r, d, i: d == 0,
    "other ranks": lambda r, d, i: i == r,
    "nobody": lambda r, d, i: i != 2,
    "none": lambda r, d, i: False,
}


@pytest.mark.parametrize("contexts", [1, 2])
@pytest.mark.parametrize("on_store", [False, True])
def test_steps(contexts, on_store, monkeypatch):
    """All begin with rank 0's values; what nobody has a gradient of stays."""

    def everything(world):
        for what, has in ALL.items():
            places = [mx.cpu(d) for d in range(contexts)]
            params = parameters(world.rank, places)
            settings = {"kvstore": "dist_sync", "update_on_kvstore": on_store}
            trainer = gluon.Trainer(params, "sgd", {"learning_rate": RATE}, **settings)
            backward(params, world.rank, has)
            trainer.step(2, ignore_stale_grad=what != "all")
            for i, each in enumerate(params):
                wanted = i - RATE / 2 * total(has, contexts, i)
                for place in places:
                    np.testing.assert_allclose(
                        each.data(place).asnumpy(), [wanted] * 2, rtol=1e-6, err_msg=f"{what} {i}"
                    )

    run(monkeypatch, SIZE, everything)


@pytest.mark.parametrize("contexts", [1, 2])
def test_sums_without_a_step(contexts, monkeypatch):
    """`allreduce_grads`, then `update`: those that are set by hand are summed, too."""

    def everything(world):
        for has in (ALL["all"], ALL["none"]):
            places = [mx.cpu(d) for d in range(contexts)]
            params = parameters(world.rank, places)
            params[1].grad_req = "null"
            trainer = gluon.Trainer(
                params, "sgd", {"learning_rate": RATE}, kvstore="dist_sync", update_on_kvstore=False
            )
            backward([params[0], params[2]], world.rank, has)
            if has is ALL["none"]:
                for each in (params[0], params[2]):
                    for grad in each.list_grad():
                        grad[:] = world.rank + 1
            trainer.allreduce_grads()
            for i in (0, 2):
                place = i // 2
                wanted = total(has, contexts, place) if has is ALL["all"] else 6 * contexts
                for grad in params[i].list_grad():
                    np.testing.assert_allclose(grad.asnumpy(), [wanted] * 2)
            trainer.update(1, ignore_stale_grad=has is ALL["none"])
            for i in (0, 2):
                moved = RATE * total(has, contexts, i // 2) if has is ALL["all"] else 0
                for place in places:
                    np.testing.assert_allclose(params[i].data(place).asnumpy(), [i - moved] * 2)
            assert params[1].data(places[-1]).asnumpy().tolist() == [1, 1]

    run(monkeypatch, SIZE, everything)


def test_a_stale_gradient_is_told(monkeypatch):
    def everything(world):
        params = parameters(world.rank, [mx.cpu(0), mx.cpu(1)])
        trainer = gluon.Trainer(params, "sgd", kvstore="dist_sync")
        backward(params, world.rank, lambda r, d, i: (d, i) != (1, 2))
        text = r"the gradient of parameter 'c' on cpu\(1\) is that of an earlier step: no backward"
        with pytest.raises(UserWarning, match=text):
            trainer.step(1)
        assert params[0].data(mx.cpu(0)).asnumpy().tolist() in ([0, 0], [10 * world.rank] * 2)
        backward(params, world.rank, ALL["all"])
        trainer.step(1)

    run(monkeypatch, SIZE, everything)


def test_what_is_asked_of_the_ranks(monkeypatch):
    """Gradients travel together, and whether there are some is one request before."""

    def everything(world):
        rows, talk = [], world._communication
        hand_in = type(talk).hand_in

        def note(request, *arrays, **more):
            rows.append(request.what)
            return hand_in(talk, request, *arrays, **more)

        params = parameters(world.rank, [mx.cpu(0)])
        trainer = gluon.Trainer(params, "sgd", kvstore="dist_sync", update_on_kvstore=False)
        backward(params, world.rank, ALL["all"])
        trainer.step(1)
        talk.hand_in = note
        found = []
        for ignore in (False, True):
            backward(params, world.rank, ALL["all"])
            trainer.step(1, ignore_stale_grad=ignore)
            found.append(rows.copy())
            rows.clear()
        return found

    sums = "sum of 'a' (2,) float32, 'b' (2,) float32, 'c' (2,) float32"
    asks = "sum of which gradients are of this step (3,) int64"
    assert run(monkeypatch, 2, everything) == [[[sums], [asks, sums]]] * 2


# --- figures and states of a module ---------------------------------------------------------------
def test_figures_votes_and_states_of_ranks(monkeypatch, tmp_path):
    class Module:
        def __init__(self, rank):
            self.auxs = {"mean": nd.array([2.0 * rank, rank])}
            self.auxs["half"] = nd.array([rank], dtype="float16")
            self.auxs["count"] = nd.array([rank], dtype="int32")

        def get_params(self):
            return {"w": "weights"}, self.auxs

        def set_params(self, args, auxs):
            self.args, self.set = args, auxs

    def everything(world):
        rank = world.rank
        ranks = Ranks(mx.kv.create("dist_sync"))
        assert (ranks.size, ranks.rank, ranks.is_first) == (SIZE, rank, rank == 0)
        assert ranks.sum_over_ranks(rank + 1) == 6
        assert ranks.gather_bytes(b"x" * rank) == [b"", b"x", b"xx"]
        for votes in ((True,) * 3, (True, False, True)):
            assert bool(ranks.vote_on_next_batch(votes[rank])()) is all(votes)
        metric = mx.metric.create(["acc", "mse"])
        for _ in range(rank + 1):
            metric.metrics[0].update([nd.array([1, 1])], [nd.array([[0, 1], [1, 0]])])
            metric.metrics[1].update([nd.array([float(rank)])], [nd.array([0.0])])
        before = metric.get_global_name_value()
        names, values = zip(*ranks.metric_values(metric))
        assert names == ("accuracy", "mse")
        np.testing.assert_allclose(values, [0.5, (2 * 1 + 3 * 4) / 6], rtol=1e-6)
        assert metric.get_global_name_value() == before
        module = Module(rank)
        ranks.average_states(module)
        assert module.args == {"w": "weights"}
        means = {name: each.asnumpy().tolist() for name, each in module.set.items()}
        assert means == {"mean": [2.0, 1.0], "half": [1.0], "count": [rank]}
        path = tmp_path / f"of {rank}"
        with ranks.first_rank_file(str(path)) as found:  # on no rank
            assert found is None
        world.barrier()
        if rank == 0:
            path.write_bytes(b"of rank 0")
        with ranks.first_rank_file(str(path)) as found:
            with open(found, "rb") as file:
                assert file.read() == b"of rank 0"
            assert (found == str(path)) == (rank == 0)
        assert path.exists() == (rank == 0)
        for _ in range(4):
            world.count_step()
        (text,) = ranks.log_lines_at_end(0.5)
        assert text.startswith("fit: a step took 125.00 ms on rank 0; for ")

    run(monkeypatch, SIZE, everything)


@pytest.mark.parametrize("at_once", [True, False])
def test_a_step_that_is_another_one_on_each_rank(at_once, monkeypatch):
    monkeypatch.setattr("cynet.distributed.communication._FAREWELL_SECONDS", 0.1)

    def everything(world):
        params = parameters(world.rank, [mx.cpu(0)])
        trainer = gluon.Trainer(params, "sgd", kvstore="dist_sync", update_on_kvstore=False)
        for size in (world.rank + 1,) if at_once else (1, world.rank + 1):
            backward(params, world.rank, ALL["all"])
            trainer.step(size)
        params[0].data(mx.cpu(0)).asnumpy()

    says = "rescale_grad is 1.0 on rank 0" if at_once else "for a step with rescale_grad=0.5; "
    for each in run(monkeypatch, 2, everything, end=False):
        assert says in str(each) and "give step() the same number on all ranks" in str(each)
