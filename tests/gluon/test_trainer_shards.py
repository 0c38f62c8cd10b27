"""States of the optimizer shared out over ranks, threads over an MPI that is made up: weights are
those of a run that does not share them, bit for bit; files go between numbers of ranks."""

import itertools

import numpy as np
import pytest

import cynet as mx
from cynet import gluon
from cynet.kvstore import shards as sharing
from cynet.kvstore.shards import assign_ranks
from tests.distributed.together import run

SHAPES = [(5, 4), (5,), (3, 5), (3,), (2, 2, 2), (40,)]
REFUSED = {"nadam", "sgld"}
NAMES = [
    name
    for name, kind in sorted(mx.optimizer.Optimizer.opt_registry.items())
    if kind.__module__.startswith("cynet.") and name not in {*REFUSED, "test"}
]


@pytest.fixture(params=[sharing._MIN_SPLIT_SIZE, 2], ids=["whole", "split"], autouse=True)
def split(request, monkeypatch):
    """Each test runs with weights that are too small to be split, and with pieces of them."""
    monkeypatch.setattr(sharing, "_MIN_SPLIT_SIZE", request.param)
    monkeypatch.setattr(sharing, "_MAX_SHARED_ENTRIES", 0)
    return request.param == 2


def parameters(contexts=(0,), first=0, shapes=SHAPES):
    rng = np.random.default_rng(3)
    made = []
    for i, shape in enumerate(shapes):
        each = gluon.Parameter(f"p{i}_weight", shape=shape)
        value = mx.nd.array(rng.normal(size=shape) + first)
        each.initialize(mx.init.Constant(value), ctx=[mx.cpu(d) for d in contexts])
        made.append(each)
    return made


def step(trainer, params, rank, number, size=3):
    """One step by the gradients of this rank: whole numbers, so that sums have one value."""
    for i, each in enumerate(params):
        if each.grad_req == "null":
            continue
        for d, (data, grad) in enumerate(zip(each.list_data(), each.list_grad())):
            rng = np.random.default_rng([i, d, rank, number])
            grad[:] = mx.nd.array(rng.integers(-8, 9, each.shape))
            data._fresh_grad = True
    trainer.step(size)


def values(params):
    return [[array.asnumpy().copy() for array in each.list_data()] for each in params]


def arrays_of(state):
    """The arrays of a state, nested or none."""
    if state is None:
        return []
    return [state] if isinstance(state, mx.nd.NDArray) else [a for s in state for a in arrays_of(s)]


def trained(monkeypatch, size, shards, name="adam", steps=3, contexts=(0,), look=None, **settings):
    """Weights behind some steps, and what `look` says, by rank."""
    options, given = settings.pop("options", {}), settings.pop("shapes", SHAPES)

    def everything(world):
        # all begin with rank 0's; GroupAdaGrad takes matrices alone
        shapes = [each for each in given if name != "groupadagrad" or len(each) == 2]
        params = parameters(contexts, world.rank, shapes)
        own = {k: v() if k == "lr_scheduler" else v for k, v in settings.items()}
        trainer = gluon.Trainer(
            params, name, own, kvstore="dist_sync", shard_states=shards, **options
        )
        for number in range(steps):
            step(trainer, params, world.rank, number)
        return values(params), None if look is None else look(trainer, params, world)

    return run(monkeypatch, size, everything)


def same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        for a, b in zip(one[0], other[0], strict=True):
            for x, y in zip(a, b, strict=True):
                np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_those_of_a_run_that_does_not_share(name, monkeypatch):
    shapes = [*SHAPES, (61, 137)]  # the last one has loops of vectors, and a rest
    found = trained(monkeypatch, 3, True, name, shapes=shapes)
    same(found, trained(monkeypatch, 3, False, name, shapes=shapes))
    same(found, [found[0]] * 3)
    start = parameters()[0].data().asnumpy()
    assert not np.array_equal(found[0][0][0][0], start)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("contexts", [(0,), (0, 1)])
def test_numbers_of_ranks_and_contexts(size, contexts, split, monkeypatch):
    """More ranks than parameters, too: those keep time."""

    def states(trainer, params, world):
        updater = trainer._updaters[0]
        numbers = sum(a.size for state in updater.states.values() for a in arrays_of(state))
        return {*updater.states}, numbers, trainer.optimizer.num_update

    settings = {"momentum": 0.9, "learning_rate": 0.1, "contexts": contexts}
    found = trained(monkeypatch, size, True, "sgd", look=states, **settings)
    same(found, trained(monkeypatch, size, False, "sgd", **settings))
    assert_shared_out([each[1][0] for each in found], split and size > 1)
    assert {each[1][2] for each in found} == {3}
    whole, kept = sum(int(np.prod(s)) for s in SHAPES), [each[1][1] for each in found]
    assert sum(kept) == whole
    # 40 numbers are one parameter; pieces are of 16
    assert max(kept) <= (whole if size == 1 else 16 * 5 if split else max(whole / size + 8, 40))


def assert_shared_out(names, split):
    """Each state is on one rank, or in pieces on several."""
    assert len(set().union(*names)) == len(SHAPES)
    assert (sum(map(len, names)) > len(SHAPES)) == split


def test_a_large_weight_is_split_evenly(monkeypatch):
    """Nothing else is, and no optimizer whose step needs all entries."""
    monkeypatch.setattr(sharing, "_MIN_SPLIT_SIZE", 1 << 12)
    entries = {}
    for name in ("adam", "lamb"):

        def everything(world, name=name):
            params = parameters((0,), world.rank, [(100, 250), (30, 40)])
            trainer = gluon.Trainer(params, name, kvstore="dist_sync", shard_states=True)
            step(trainer, params, world.rank, 0)
            states = trainer._updaters[0].states
            return {key: sum(a.size for a in arrays_of(each)) for key, each in states.items()}

        entries[name] = run(monkeypatch, 2, everything)
    assert entries["adam"] == [{"p0_weight": 25024, "p1_weight": 2400}, {"p0_weight": 24976}]
    assert entries["lamb"] == [{"p0_weight": 50000}, {"p1_weight": 2400}]


@pytest.mark.parametrize("contexts", [(0,), (0, 1)])
def test_small_weights_are_updated_by_all(contexts, split, monkeypatch, tmp_path):
    """All ranks have their states, and give nothing; weights and files are as always."""
    monkeypatch.setattr(sharing, "_MAX_SHARED_ENTRIES", 10)
    small = {f"p{i}_weight" for i, shape in enumerate(SHAPES) if np.prod(shape) <= 10}

    def look(trainer, params, world):
        given = trainer._shards and trainer._parted._given._all
        trainer.gather_states()
        trainer.save_states(tmp_path / f"{trainer._shards}-{world.rank}.states")
        return {*trainer._updaters[0].states}, given

    found = trained(monkeypatch, 3, True, contexts=contexts, look=look)
    same(found, trained(monkeypatch, 3, False, contexts=contexts, look=look))
    names = [states for _, (states, _) in found]
    assert set.intersection(*names) == small if not split else set.intersection(*names) >= small
    for _, (_, given) in found:
        assert len(given) == (len(SHAPES) - len(small)) * len(contexts)
    files = [f"{shards}-{rank}.states" for shards in (True, False) for rank in range(3)]
    assert len({(tmp_path / each).read_bytes() for each in files}) == 1


def test_an_optimizer_of_a_users_own_is_given_whole_weights(monkeypatch):
    seen = []

    class Mine(mx.optimizer.SGD):
        def update(self, index, weight, grad, state):
            seen.append(weight.shape)
            super().update(index, weight, grad, state)

    def everything(world):
        params = parameters((0,), world.rank)
        trainer = gluon.Trainer(params, Mine(), kvstore="dist_sync", shard_states=True)
        step(trainer, params, world.rank, 0)

    run(monkeypatch, 2, everything)
    assert sorted(seen) == sorted(SHAPES)


def test_what_each_rank_gets():
    sizes = {f"w{i}": n for i, n in enumerate([100, 1, 50, 49, 3, 97, 0])}
    owners = assign_ranks(sizes, 3)
    loads = [sum(n for name, n in sizes.items() if owners[name] == r) for r in range(3)]
    assert loads == [100, 100, 100] and assign_ranks({}, 2) == {}


def test_schedules_groups_clipping_and_frozen_parameters(monkeypatch):
    def options():
        return {
            "clip_global_norm": 2.0,
            "groups": [
                {"select": "p0", "lr": 0.02, "wd": 0.1},
                {"select": "p1", "grad_req": "null"},
            ],
        }

    def schedule():
        return mx.lr_scheduler.FactorScheduler(step=1, factor=0.5, base_lr=0.1)

    found, wanted = (
        trained(monkeypatch, 3, shards, learning_rate=0.1, lr_scheduler=schedule, options=options())
        for shards in (True, False)
    )
    same(found, wanted)


@pytest.mark.parametrize(("before", "after"), [(3, 3), (3, 2), (2, 4), (3, 1), (1, 3)])
def test_files_go_between_numbers_of_ranks(before, after, split, monkeypatch, tmp_path):
    """The file is, byte for byte, that of a run that does not share; so is what follows."""

    def write(trainer, params, world):
        trainer.gather_states()
        if world.rank == 0:
            trainer.save_states(tmp_path / f"{trainer._shards}.states")
        return None

    for shards in (True, False):
        found = trained(monkeypatch, before, shards, look=write)
    content = (tmp_path / "True.states").read_bytes()
    assert content == (tmp_path / "False.states").read_bytes()

    def goes_on(shards):
        def everything(world):
            params = parameters()
            for each, value in zip(params, found[0][0]):
                each.set_data(mx.nd.array(value[0]))
            trainer = gluon.Trainer(params, "adam", kvstore="dist_sync", shard_states=shards)
            trainer.load_states(tmp_path / "True.states")
            for number in range(2):
                step(trainer, params, world.rank, 10 + number)
            return values(params), {*trainer._updaters[0].states}

        return run(monkeypatch, after, everything)

    shared = goes_on(True)
    same(shared, goes_on(False))
    assert_shared_out([each[1] for each in shared], split and after > 1)


def test_whole_trainings_are_saved_and_loaded(monkeypatch, tmp_path):
    def everything(world):
        net = gluon.nn.Dense(3, in_units=4)
        net.initialize(mx.init.One())
        params = net.collect_params()
        trainer = gluon.Trainer(params, "adam", kvstore="dist_sync", shard_states=True)
        step(trainer, list(params.values()), world.rank, 0)
        with pytest.raises(RuntimeError, match="all of them call trainer.gather_states"):
            gluon.save_training(tmp_path / "x", net, trainer)
        trainer.gather_states()
        path = tmp_path / f"run{world.rank}"
        gluon.save_training(path, net, trainer)
        step(trainer, list(params.values()), world.rank, 1)
        wanted = values(params.values())
        with pytest.raises(RuntimeError, match="the states are shared out over the ranks"):
            trainer.save_states(tmp_path / "y")  # a step has come since
        gluon.load_training(path, net, trainer)
        step(trainer, list(params.values()), world.rank, 1)
        for a, b in zip(itertools.chain(*wanted), itertools.chain(*values(params.values()))):
            np.testing.assert_array_equal(a, b)

    run(monkeypatch, 2, everything)


def test_what_is_refused(monkeypatch):
    def everything(world):
        for name, told in (("nadam", "has a schedule of"), ("sgld", "draws random numbers for")):
            params = parameters()
            trainer = gluon.Trainer(params, name, kvstore="dist_sync", shard_states=True)
            with pytest.raises(ValueError, match=f"shard_states does not go with .*{told} all"):
                step(trainer, params, world.rank, 0)
        params = parameters()
        trainer = gluon.Trainer(
            params, "sgd", kvstore="dist_sync", shard_states=True, update_on_kvstore=True
        )
        with pytest.raises(ValueError, match="shard_states needs update_on_kvstore=False"):
            step(trainer, params, world.rank, 0)

    run(monkeypatch, 2, everything)
    with pytest.raises(TypeError, match="shard_states"):
        gluon.Trainer(parameters(), "sgd", shard_states="yes")
    alone = gluon.Trainer(parameters(), "nadam", shard_states=True)  # nothing is shared
    step(alone, alone._params, 0, 0)
    alone.gather_states()
