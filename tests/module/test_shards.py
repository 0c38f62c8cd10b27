"""States of a Module's optimizer shared out over ranks that are threads: weights are those of a run
that does not share them, bit for bit; files go between numbers of ranks."""

import numpy as np
import pytest

import cynet as mx
from cynet.kvstore import shards as sharing
from tests.distributed.together import run

FEATURES, CLASSES, BATCH = 6, 3, 4


@pytest.fixture(params=[sharing._MIN_SPLIT_SIZE, 2], ids=["whole", "split"], autouse=True)
def split(request, monkeypatch):
    monkeypatch.setattr(sharing, "_MIN_SPLIT_SIZE", request.param)
    monkeypatch.setattr(sharing, "_MAX_SHARED_ENTRIES", 0)
    return request.param == 2


def symbol(layers=2):
    net = mx.sym.var("data")
    for i in range(layers):
        net = mx.sym.FullyConnected(net, num_hidden=8, name=f"fc{i}")
        net = mx.sym.Activation(net, act_type="tanh")
    net = mx.sym.FullyConnected(net, num_hidden=CLASSES, name="out")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def first_values():
    rng = np.random.RandomState(5)
    shapes, _, _ = symbol().infer_shape(data=(BATCH, FEATURES))
    names = symbol().list_arguments()
    return {
        name: mx.nd.array(rng.randn(*shape) * 0.3)
        for name, shape in zip(names, shapes)
        if name not in ("data", "softmax_label")
    }


def batches(rank, steps=3):
    """Whole numbers, of this rank."""
    rng = np.random.RandomState(rank)
    for _ in range(steps):
        x = mx.nd.array(rng.randint(-3, 4, (BATCH, FEATURES)))
        yield mx.io.DataBatch([x], [mx.nd.array(rng.randint(0, CLASSES, BATCH))])


def module_of(world, shards, name="adam", contexts=1, values=None, **settings):
    context = [mx.cpu(i) for i in range(contexts)]
    module = mx.mod.Module(symbol(), context=context, shard_states=shards)
    module.bind([("data", (BATCH, FEATURES))], [("softmax_label", (BATCH,))])
    module.init_params(arg_params=values or first_values())
    module.init_optimizer("dist_sync", name, {"learning_rate": 0.1, **settings})
    return module


def weights_of(module):
    return {name: each.asnumpy() for name, each in module.get_params()[0].items()}


def same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        for name in other:
            np.testing.assert_array_equal(one[name], other[name], name)


def arrays_of(state):
    if state is None:
        return []
    return [state] if isinstance(state, mx.nd.NDArray) else [a for s in state for a in arrays_of(s)]


def kept(module):
    return sum(a.size for each in module._updater.states.values() for a in arrays_of(each))


@pytest.mark.parametrize("name", ["sgd", "adam", "lamb", "rmsprop", "ftrl", "dcasgd", "muon"])
@pytest.mark.parametrize("contexts", [1, 2])
def test_weights_are_those_of_a_run_that_does_not_share(name, contexts, split, monkeypatch):
    def trained(shards):
        def everything(world):
            options = {"momentum": 0.9} if name == "sgd" else {}
            module = module_of(world, shards, name, contexts, **options)
            for i, batch in enumerate(batches(world.rank)):
                module.forward_backward(batch)
                if i == 1 and contexts == 1:
                    module.clip_gradients(0.1)
                module.update()
            return weights_of(module), kept(module)

        return run(monkeypatch, 3, everything)

    shared, wanted = trained(True), trained(False)
    same([each for each, _ in shared], [each for each, _ in wanted])
    same([each for each, _ in shared], [shared[0][0]] * 3)
    total = wanted[0][1]
    assert sum(numbers for _, numbers in shared) == total
    assert max(numbers for _, numbers in shared) < 0.7 * total
    assert not np.array_equal(shared[0][0]["fc0_weight"], first_values()["fc0_weight"].asnumpy())


@pytest.mark.parametrize(("before", "after"), [(3, 2), (2, 4), (3, 1), (1, 3)])
def test_files_go_between_numbers_of_ranks(before, after, monkeypatch, tmp_path):
    """The file is, byte for byte, that of a run that does not share; so is what follows."""

    def write(shards):
        def everything(world):
            module = module_of(world, shards)
            for batch in batches(world.rank):
                module.train_step(batch)
            if shards and world.size > 1:
                with pytest.raises(RuntimeError, match="save_optimizer_states: the states are sh"):
                    module.save_optimizer_states(tmp_path / "x")
            module.gather_states()
            if world.rank == 0:
                module.save_optimizer_states(tmp_path / f"{shards}.states")
            return module.get_params()[0]

        return run(monkeypatch, before, everything)[0]

    values = write(True)
    write(False)
    content = (tmp_path / "True.states").read_bytes()
    assert content == (tmp_path / "False.states").read_bytes()

    def goes_on(shards):
        def everything(world):
            module = module_of(world, shards, values=values)
            module.load_optimizer_states(tmp_path / "True.states")
            for batch in batches(10 + world.rank):
                module.train_step(batch)
            return weights_of(module), kept(module)

        return run(monkeypatch, after, everything)

    shared, wanted = goes_on(True), goes_on(False)
    same([each for each, _ in shared], [each for each, _ in wanted])
    assert sum(numbers for _, numbers in shared) == wanted[0][1]


@pytest.mark.parametrize("shards", [True, False])
def test_fit_gathers_for_its_files(shards, monkeypatch, tmp_path):
    """Checkpoints and `resume` have all states; a training that was stopped ends as a whole one."""

    def fitted(folder, *epochs):
        def everything(world):
            rng = np.random.RandomState(world.rank)
            x = rng.randint(-3, 4, (12, FEATURES)).astype("f")
            y = rng.randint(0, CLASSES, 12).astype("f")
            for each in epochs:
                module = mx.mod.Module(symbol(), shard_states=shards)
                save = mx.callback.module_checkpoint(
                    module, f"{folder}/net", save_optimizer_states=True
                )
                module.fit(
                    mx.io.NDArrayIter(x, y, BATCH),
                    num_epoch=each,
                    kvstore="dist_sync",
                    optimizer="adam",
                    arg_params=first_values(),
                    epoch_end_callback=save if world.rank == 0 else (lambda *_: None),
                    resume=f"{folder}/run",
                    verbose=False,
                )
            return weights_of(module)

        return run(monkeypatch, 2, everything)

    folders = [tmp_path / name for name in ("stopped", "whole")]
    for each in folders:
        each.mkdir()
    same(fitted(folders[0], 1, 3), fitted(folders[1], 3))
    name = "net-0003.states"
    loaded = [mx.optimizer.get_updater(mx.optimizer.Adam()) for _ in folders]
    for updater, folder in zip(loaded, folders):
        updater.load(folder / name)
    assert len(loaded[0].states) == len(first_values())
    for key, state in loaded[0].states.items():
        for a, b in zip(arrays_of(state), arrays_of(loaded[1].states[key]), strict=True):
            np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


def test_buckets(split, monkeypatch):
    """Ranks are in buckets of other parameters; all are updated by whoever has their states."""

    def sym_gen(key):
        return symbol(key), ["data"], ["softmax_label"]

    def trained(shards):
        def everything(world):
            module = mx.mod.BucketingModule(sym_gen, 2, shard_states=shards)
            shapes = [("data", (BATCH, FEATURES))], [("softmax_label", (BATCH,))]
            module.bind(*shapes)
            module.init_params(arg_params=first_values())
            module.init_optimizer("dist_sync", "adam", {"learning_rate": 0.1})
            for i, batch in enumerate(batches(world.rank, 6)):
                batch.bucket_key = 2 if (i + world.rank) % 3 else 1
                batch.provide_data, batch.provide_label = shapes
                module.train_step(batch)
            module.gather_states()
            states = module._updater_to_save("test").states
            return weights_of(module), sum(a.size for s in states.values() for a in arrays_of(s))

        return run(monkeypatch, 2, everything)

    shared, wanted = trained(True), trained(False)
    same([each for each, _ in shared], [each for each, _ in wanted])
    assert {numbers for _, numbers in shared} == {numbers for _, numbers in wanted}


def test_what_is_refused(monkeypatch):
    def everything(world):
        with pytest.raises(ValueError, match="Module: shard_states does not go with Nadam"):
            module_of(world, True, "nadam")

    run(monkeypatch, 2, everything)
    for kind, argument in ((mx.mod.Module, symbol()), (mx.mod.BucketingModule, symbol)):
        with pytest.raises(TypeError, match="shard_states"):
            kind(argument, shard_states="yes")
