"""States of a Module's optimizer shared out over ranks, threads over an MPI that is made up:
weights are those of a run that does not share them, bit for bit; files go between numbers of
ranks."""

import numpy as np
import pytest
from cynet.errors import ArgumentError, StateError, UndefinedError

import cynet as mx
from cynet.distributed import communication
from tests.distributed.together import run

RNG = np.random.default_rng(5)
X = RNG.normal(size=(48, 6)).astype("float32")
Y = (X[:, 0] > X[:, 1]).astype("float32")


def network():
    hidden = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=9, name="a")
    hidden = mx.sym.Activation(mx.sym.BatchNorm(hidden, name="n"), act_type="relu")
    out = mx.sym.FullyConnected(hidden, num_hidden=2, name="b")
    return mx.sym.SoftmaxOutput(out, name="softmax")


def fitted(world, shards, contexts=(0,), optimizer="adam", epochs=2, **options):
    """(weights, Module) behind epochs of this rank's part."""
    part = slice(world.rank, None, world.size)
    data = mx.io.NDArrayIter(X[part], Y[part], 4)
    module = mx.mod.Module(network(), context=[mx.cpu(i) for i in contexts])
    rng = np.random.default_rng(7)
    shapes = {"a_weight": (9, 6), "a_bias": (9,), "n_gamma": (9,), "n_beta": (9,)}
    shapes |= {"b_weight": (2, 9), "b_bias": (2,)}
    first = {name: mx.nd.array(rng.normal(size=shape)) for name, shape in shapes.items()}
    module.fit(
        data,
        num_epoch=epochs,
        arg_params=first,
        kvstore="dist_sync",
        optimizer=optimizer,
        optimizer_params={"learning_rate": 0.05},
        shard_states=shards,
        verbose=False,
        **options,
    )
    return {n: a.asnumpy() for n, a in module.get_params()[0].items()}, module


def same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


@pytest.mark.parametrize("size, contexts", [(2, (0,)), (3, (0,)), (2, (0, 1))])
@pytest.mark.parametrize("optimizer", ["adam", "ftrl", "adagrad", "lamb"])
def test_weights_are_those_of_a_run_that_does_not_share(size, contexts, optimizer, monkeypatch):
    def trained(shards):
        def everything(world):
            weights, module = fitted(world, shards, contexts, optimizer)
            data = mx.io.NDArrayIter(X[:4], Y[:4], 4)
            module.train_step(next(data))  # states that were gathered go
            return weights, {*module._updater.states}, module._optimizer.num_update

        return run(monkeypatch, size, everything)

    found, wanted = trained(True), trained(False)
    same([each[0] for each in found], [each[0] for each in wanted])
    assert [each[2] for each in found] == [each[2] for each in wanted]
    states = [each[1] for each in found]
    assert sum(map(len, states)) == len(set().union(*states)) == len(wanted[0][1])
    assert max(map(len, states)) < len(wanted[0][1])


def test_files_of_all_ranks(monkeypatch, tmp_path):
    """A callback of rank 0 writes what one process would; any number of ranks goes on from it."""

    def with_files(size, shards, begin):
        folder = tmp_path / f"{size}{shards}{begin}"
        folder.mkdir()

        def everything(world):
            save = mx.callback.FitCallback()
            save.epoch_trained = lambda state: (
                state.module.save_optimizer_states(str(folder / "a.states"))
                if world.rank == 0
                else None
            )
            _, module = fitted(world, shards, epochs=1, callbacks=[save])
            if begin:
                module.load_optimizer_states(str(tmp_path / "2True0" / "a.states"))
            data = mx.io.NDArrayIter(X[:4], Y[:4], 4)
            module.train_step(next(data))
            if shards:
                with pytest.raises(StateError, match="all of them call.*module.gather_states"):
                    module.save_optimizer_states(str(folder / "b.states"))
            module.gather_states()
            module.save_optimizer_states(str(folder / f"b{world.rank}.states"))
            return {n: a.asnumpy() for n, a in module.get_params()[0].items()}

        found = run(monkeypatch, size, everything)
        files = [(folder / f"b{rank}.states").read_bytes() for rank in range(size)]
        assert len({*files}) == 1
        return found, (folder / "a.states").read_bytes(), files[0]

    one, other = with_files(2, True, 0), with_files(2, False, 0)
    assert one[1:] == other[1:]
    for size in (2, 3):
        one, other = with_files(size, True, 1), with_files(size, False, 1)
        same(one[0], other[0])
        assert one[2] == other[2]


def test_going_on_from_a_file_of_fit(monkeypatch, tmp_path):
    """Two epochs at once, and one after another by other Modules, shared or not."""

    def halves(first, second):
        prefix = str(tmp_path / f"{first}{second}")
        for shards, epochs in ((first, 1), (second, 2)):
            found = run(
                monkeypatch,
                2,
                lambda world, s=shards, e=epochs: fitted(world, s, epochs=e, resume=prefix)[0],
            )
        return found

    whole = run(monkeypatch, 2, lambda world: fitted(world, True)[0])
    for first, second in ((True, True), (True, False), (False, True)):
        same(halves(first, second), whole)


def test_what_is_refused(monkeypatch):
    monkeypatch.setattr(communication, "_FAREWELL", 0.1)

    def everything(world):
        for name, told in (("nadam", "has a schedule of"), ("sgld", "draws random numbers for")):
            with pytest.raises(ArgumentError, match=f"does not go with .*{told} all weights"):
                fitted(world, True, optimizer=name)

    run(monkeypatch, 2, everything)


def test_a_process_that_is_alone():
    module = mx.mod.Module(network())
    module.bind([("data", (4, 6))], [("softmax_label", (4,))])
    module.init_params()
    with pytest.raises(TypeError, match="shard_states"):
        module.init_optimizer(shard_states="yes")
    module.init_optimizer("dist_sync", "nadam", shard_states=True)  # alone: nothing is shared
    assert type(module._updater) is mx.optimizer.Updater
    module.gather_states()
    buckets = mx.mod.BucketingModule(lambda key: (network(), ["data"], ["softmax_label"]), 3)
    with pytest.raises(UndefinedError, match="BucketingModule does not share out optimizer states"):
        buckets.fit(mx.io.NDArrayIter(X, Y, 4), num_epoch=1, shard_states=True)
