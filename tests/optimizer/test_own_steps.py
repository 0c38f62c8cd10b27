"""Steps that users define of an optimizer: what they are given, and that they count."""

import pickle

import numpy as np
import pytest

import cynet as mx
from cynet import nd

# what joins the updates of all weights, and what does not
RULES = (
    "sgd",
    "nag",
    "adam",
    "adamw",
    "adagrad",
    "rmsprop",
    "ftrl",
    "signum",
    "lars",
    "lamb",
    "lbsgd",
    "sgld",
)


def step(optimizer, count=3, dtypes=("float32",) * 3):
    """The weights after one call of an Updater with several."""
    weights = [nd.ones((2,), dtype=each) for each in dtypes[:count]]
    update = mx.optimizer.get_updater(optimizer)
    update(list(range(count)), [each * 0.5 for each in weights], weights)
    return [each.asnumpy().astype("float32") for each in weights]


def rule(name, **methods):
    kind = type(mx.optimizer.create(name))
    return type("Mine", (kind,), methods)


@pytest.mark.parametrize("on_object", [False, True])
@pytest.mark.parametrize("name", RULES)
def test_an_update_that_does_nothing(name, on_object):
    for method in ("update", "update_multi_precision"):

        def nothing(*args):
            pass

        if on_object:
            optimizer = mx.optimizer.create(name)
            setattr(optimizer, method, nothing)
        else:
            optimizer = rule(name, **{method: nothing})()
        for weight in step(optimizer):
            assert weight.tolist() == [1, 1], method


@pytest.mark.parametrize("on_object", [False, True])
@pytest.mark.parametrize("method", ["_get_lr", "_get_lrs", "_get_wd", "_get_wds"])
@pytest.mark.parametrize("name", ["sgd", "nag", "adam", "adagrad", "lars", "lamb"])
def test_rates_and_decays(name, method, on_object):
    """The same step as of an optimizer whose setting that is."""
    several = method.endswith("s")

    def own(*args):  # (self, index), or (index) of one that is set on the object
        return [0.25] * len(args[-1]) if several else 0.25

    settings = {"learning_rate": 0.1, "wd": 0.1}
    settings["param_idx2name"] = {i: f"{i}_weight" for i in range(3)}
    meant = settings | ({"learning_rate": 0.25} if "lr" in method else {"wd": 0.25})
    right = step(mx.optimizer.create(name, **meant))
    if on_object:
        optimizer = mx.optimizer.create(name, **settings)
        setattr(optimizer, method, own)
    else:
        optimizer = rule(name, **{method: own})(**settings)
    np.testing.assert_array_equal(step(optimizer), right)


@pytest.mark.parametrize(
    "most, groups",
    [(0, [0, 1, 2, 3, 4]), (1, [(0,), (2,), (4,), (1,), (3,)]), (2, [(0, 2), (4,), (1, 3)])],
)
@pytest.mark.parametrize("name", ["sgd", "adam", "sgld", "lamb"])
def test_groups(name, most, groups):
    """Weights of one dtype, so many of them in a call."""
    seen = []

    class Grouped(type(mx.optimizer.create(name))):
        def update_multi_precision(self, index, weight, grad, state):
            seen.append(index)
            kinds = {type(each) for each in (index, weight, grad)}
            assert kinds == ({tuple} if most else {int, nd.NDArray}), kinds
            assert not most or (type(state) is list and len(state) == len(index))
            super().update_multi_precision(index, weight, grad, state)

    optimizer = Grouped()
    optimizer.aggregate_num = most
    mx.random.seed(1)
    got = step(optimizer, 5, ("float32", "float64") * 3)
    assert seen == groups
    if name != "sgld":  # which draws
        plain = mx.optimizer.create(name)
        np.testing.assert_array_equal(got, step(plain, 5, ("float32", "float64") * 3))


def test_a_gradient_that_an_override_changes_is_changed_once():
    class Doubles(mx.optimizer.SGLD):
        def update_multi_precision(self, index, weight, grad, state):
            super().update_multi_precision(index, weight, [each * 2 for each in grad], state)

        def _prepare_gradient(self, grad, decay=None):
            Doubles.seen.append(grad.asnumpy().tolist())
            return super()._prepare_gradient(grad, decay)

    Doubles.seen, Doubles.aggregate_num = [], 4
    step(Doubles(), 2)
    assert Doubles.seen == [[1, 1], [1, 1]]


def test_an_update_of_ones_own_takes_groups_as_it_asks_for():
    class Mine(mx.optimizer.Optimizer):
        aggregate_num = 2

        def create_state(self, index, weight):
            return None

        def update(self, index, weight, grad, state):
            for i, each, slope in zip(index, weight, grad):
                each[:] -= (i + 1) * slope

    np.testing.assert_array_equal(step(Mine()), [[0.5] * 2, [0] * 2, [-0.5] * 2])


def test_multi_precision_goes_by_the_float32_copy():
    class Watches(mx.optimizer.SGD):
        def update(self, index, weight, grad, state):
            assert weight.dtype == grad.dtype == np.float32
            super().update(index, weight, grad, state)

    optimizer = Watches(multi_precision=True, momentum=0.9, learning_rate=0.5)
    assert [each.tolist() for each in step(optimizer, 2, ("float16",) * 2)] == [[0.75, 0.75]] * 2


def test_counts_of_updates():
    class Counts(mx.optimizer.Adam):
        def _update_count(self, index):
            Counts.seen.append(index)
            super()._update_count(index)

    Counts.seen = []
    step(Counts())
    assert Counts.seen == [0, 1, 2]  # one after another, as MXNet's Adam


def test_schedules_and_states_of_a_subclass():
    class Rate(mx.lr_scheduler.LRScheduler):
        def __call__(self, num_update):
            return 0.25

    class Kept(mx.optimizer.SGD):
        def create_state(self, index, weight):
            return nd.full(weight.shape, 1)

    assert step(mx.optimizer.SGD(lr_scheduler=Rate()), 1)[0].tolist() == [0.875, 0.875]
    got = step(Kept(momentum=0.5, learning_rate=1), 1)[0]
    assert got.tolist() == [1, 1]  # 1 + 0.5 * 1 - 0.5


def test_a_class_of_cynet_whose_method_is_replaced(monkeypatch):
    monkeypatch.setattr(mx.optimizer.SGD, "update_multi_precision", lambda *args: None)
    assert step(mx.optimizer.SGD(), 1)[0].tolist() == [1, 1]
    monkeypatch.undo()
    assert step(mx.optimizer.SGD(learning_rate=1), 1)[0].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("name", ["sgd", "adam", "lamb", "sgld", "ftml"])
def test_every_optimizer_has_aggregate_num(name):
    optimizer = mx.optimizer.create(name)
    mxnets = {"sgd": 4, "lamb": 45}
    assert optimizer.aggregate_num == mxnets.get(name, 0)
    assert mx.optimizer.get_updater(optimizer).aggregate_updates == (name in mxnets)
    optimizer.aggregate_num = 7
    assert pickle.loads(pickle.dumps(optimizer)).aggregate_num == 7


class Packed(mx.optimizer.Updater):
    """States in a form of its own."""

    def get_states(self, dump_optimizer=False):
        return b"mine" + super().get_states(dump_optimizer)

    def set_states(self, states):
        assert states[:4] == b"mine"
        super().set_states(states[4:])


@pytest.mark.parametrize("way", ["store", "module", "trainer"])
def test_states_in_a_form_of_ones_own(way, tmp_path):
    path = str(tmp_path / "states")
    optimizer = mx.optimizer.SGD(momentum=0.5, learning_rate=1)
    mine = Packed(optimizer)
    if way == "store":
        store = mx.kv.create("local")
        store.init(0, nd.ones(2))
        store.set_updater(mine)
        store.push(0, nd.ones(2))
        save, load = store.save_optimizer_states, store.load_optimizer_states
    elif way == "module":
        net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")
        module = mx.mod.Module(net, label_names=None)
        module.bind([("data", (1, 2))])
        module.init_params(mx.init.One())
        module.init_optimizer(optimizer=optimizer)
        module._updater = mine
        module.forward(mx.io.DataBatch([nd.ones((1, 2))]), is_train=True)
        module.backward([nd.ones((1, 1))])
        module.update()
        save, load = module.save_optimizer_states, module.load_optimizer_states
    else:
        weight = mx.gluon.Parameter("w", shape=(2,))
        weight.initialize(mx.init.One())
        trainer = mx.gluon.Trainer([weight], optimizer)
        trainer._updaters = [mine]
        with mx.autograd.record():
            loss = weight.data().sum()
        loss.backward()
        trainer.step(1)
        save, load = trainer.save_states, trainer.load_states
    before = {key: each.asnumpy().tolist() for key, each in mine.states.items()}
    save(path)
    assert (tmp_path / "states").read_bytes()[:4] == b"mine"
    mine.states.clear()
    load(path)
    assert {key: each.asnumpy().tolist() for key, each in mine.states.items()} == before != {}
