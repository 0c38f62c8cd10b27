"""KVStoreBase: stores of one's own, by name and as objects, in Module and Trainer."""

import numpy as np
import pytest

import cynet as mx


@mx.kv.KVStoreBase.register
class Counting(mx.kv.KVStoreBase):
    """Sums gradients and says what it was asked for."""

    def __init__(self):
        self.calls = []

    type = "counting"
    rank, num_workers = 0, 1

    def is_capable(self, capability):
        return False

    def broadcast(self, key, value, out, priority=0):
        self.calls.append(("broadcast", key))
        for each in out if isinstance(out, (list, tuple)) else [out]:
            if each is not value:
                value.copyto(each)

    def pushpull(self, key, value, out=None, priority=0):
        self.calls.append(("pushpull", key))
        value = value if isinstance(value, (list, tuple)) else [value]
        total = value[0].copyto(mx.cpu(0))
        for each in value[1:]:
            total += each.as_in_context(mx.cpu(0))
        for each in value if out is None else out:
            total.copyto(each)


class Updating(Counting):
    """Also updates the weights that it keeps."""

    def is_capable(self, capability):
        return capability == mx.kv.KVStoreBase.OPTIMIZER

    def set_optimizer(self, optimizer):
        self.updater, self.weights = mx.optimizer.get_updater(optimizer), {}

    def broadcast(self, key, value, out, priority=0):
        self.weights[key] = value.copyto(mx.cpu(0))
        super().broadcast(key, value, out)

    def pushpull(self, key, value, out=None, priority=0):
        grad = mx.nd.add_n(*[each.as_in_context(mx.cpu(0)) for each in value])
        self.updater(key, grad, self.weights[key])
        for each in out:
            self.weights[key].copyto(each)


def trained(kvstore, devices=2, **options):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    random = np.random.RandomState(2)
    data = mx.io.NDArrayIter(random.randn(24, 4), np.arange(24) % 3, 8)
    module = mx.mod.Module(net, context=[mx.cpu(i) for i in range(devices)])
    options = {"optimizer": "adam", "optimizer_params": {"learning_rate": 0.1}, **options}
    module.fit(data, num_epoch=2, kvstore=kvstore, initializer=mx.init.One(), **options)
    return module.get_params()[0]["fc_weight"].asnumpy()


@pytest.mark.parametrize("devices", [1, 2])
def test_module(devices):
    wanted = trained("local", devices)
    for make in (lambda: "counting", Counting, Updating):
        np.testing.assert_allclose(trained(make(), devices), wanted, rtol=1e-5, atol=1e-6)


def test_an_object_is_used_on_one_device_too():
    store = Counting()
    trained(store, 1)
    assert store.calls[:2] == [("broadcast", "fc_weight"), ("broadcast", "fc_bias")]
    assert store.calls.count(("pushpull", "fc_weight")) == 6


@pytest.mark.parametrize("count", [1, 2])
def test_trainer(count):
    def run(kvstore):
        contexts = [mx.cpu(i) for i in range(count)]
        layer = mx.gluon.nn.Dense(1, in_units=3)
        layer.initialize(mx.init.One(), ctx=contexts)
        settings = {"learning_rate": 0.1}
        trainer = mx.gluon.Trainer(layer.collect_params(), "adam", settings, kvstore=kvstore)
        for _ in range(3):
            with mx.autograd.record():
                losses = [
                    (layer(mx.nd.ones((2, 3), ctx=c) * (i + 1)) ** 2).sum()
                    for i, c in enumerate(contexts)
                ]
            mx.autograd.backward(losses)
            trainer.step(2)
        return layer.weight.data(contexts[-1]).asnumpy()

    store = Counting()
    np.testing.assert_allclose(run(store), run("device"), rtol=1e-5)
    assert sum(call == "pushpull" for call, _ in store.calls) == 6
    np.testing.assert_allclose(run(Updating()), run("device"), rtol=1e-5)
    with pytest.raises(ValueError, match="Counting is a store of your own that sums gradients"):
        mx.gluon.Trainer(layer_params(), "sgd", kvstore=Counting(), update_on_kvstore=True).step(1)


def layer_params():
    layer = mx.gluon.nn.Dense(1, in_units=3)
    layer.initialize()
    return layer.collect_params()


def test_names():
    assert isinstance(mx.kv.create("Counting"), Counting)
    assert issubclass(mx.kv.KVStore, mx.kv.KVStoreBase)
    with pytest.raises(TypeError, match="takes a class, got 3"):
        mx.kv.KVStoreBase.register(3)
    with pytest.raises(NotImplementedError, match="KVStoreBase defines no pushpull"):
        mx.kv.KVStoreBase().pushpull("a", mx.nd.ones(1))
    with pytest.raises(ValueError, match="'dist_async' is not there: .* use 'dist_sync'"):
        mx.kv.create("dist_async")


def test_there_are_no_servers():
    server = mx.kvstore.KVStoreServer(mx.kv.create("local"))
    with pytest.raises(mx.base.MXNetError, match="no server"):
        server.run()


@pytest.mark.parametrize("name", ["local", "device", "teststore"])
@pytest.mark.parametrize("key", [3, "a"])
def test_every_store_broadcasts_and_sums(name, key):
    kv, shape = mx.kv.create(name), (4, 4)
    assert kv.type == name and (kv.rank, kv.num_workers) == (0, 1)
    one, many = mx.nd.zeros(shape), [mx.nd.zeros(shape, ctx=mx.cpu(i)) for i in range(3)]
    kv.broadcast(key, mx.nd.ones(shape), out=one)
    kv.broadcast(key * 2, mx.nd.ones(shape), out=many)
    assert all((each.asnumpy() == 1).all() for each in [one, *many])
    pushed = [mx.nd.ones(shape, ctx=mx.cpu(i)) for i in range(3)]
    kv.pushpull(key, pushed, out=many)
    assert all((each.asnumpy() == 3).all() for each in many)
    assert all((each.asnumpy() == 1).all() for each in pushed)
    kv.pushpull(key, pushed)
    assert all((each.asnumpy() == 3).all() for each in pushed)
    kv.pushpull(key, 2 * one, out=one)
    assert (one.asnumpy() == 2).all()


def test_the_store_of_tests_updates_nothing(tmp_path):
    kv = mx.kv.create("teststore")
    assert not kv.is_capable("optimizer") and not kv.is_capable("OPTIMIZER")
    with pytest.raises(ValueError, match="a capability is 'optimizer', got 'pull'"):
        kv.is_capable("pull")
    for call in (
        lambda: kv.set_optimizer(mx.optimizer.SGD()),
        lambda: kv.save_optimizer_states(tmp_path / "states"),
        lambda: kv.load_optimizer_states(tmp_path / "states"),
    ):
        with pytest.raises(NotImplementedError, match="TestStore defines no"):
            call()


@pytest.mark.filterwarnings("ignore:float16 weights lose small updates")
@pytest.mark.parametrize("name", ["local", "device", "dist_sync"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_updaters_get_gradients_of_the_dtype_that_was_pushed(name, dtype):
    """Halves are summed in float32 by some stores, and handed on as halves."""
    kv, seen = mx.kv.create(name), []
    kv.init("w", mx.nd.ones(2, dtype=dtype))
    kv.set_updater(lambda key, pushed, stored: seen.append((pushed.dtype, stored.dtype)))
    kv.push("w", mx.nd.ones(2, dtype=dtype))
    kv.push("w", [mx.nd.ones(2, ctx=mx.cpu(i), dtype=dtype) for i in range(2)])
    assert seen == [(np.dtype(dtype), np.dtype(dtype))] * 2
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
    kv.push("w", mx.nd.ones(2, dtype=dtype))
    out = mx.nd.zeros(2, dtype=dtype)
    kv.pull("w", out=out)
    assert out.asnumpy().tolist() == [0.5, 0.5]


@pytest.mark.parametrize("store", [mx.kv.KVStoreBase, type("Own", (mx.kv.KVStoreBase,), {})])
def test_what_a_store_does_not_define_is_told(store):
    """Every member that a store of one's own may have."""
    one, found = mx.nd.ones(1), store()
    calls = {
        "broadcast": lambda: found.broadcast("a", one, one),
        "pushpull": lambda: found.pushpull("a", one),
        "set_optimizer": lambda: found.set_optimizer(mx.optimizer.SGD()),
        "is_capable": lambda: found.is_capable("optimizer"),
        "save_optimizer_states": lambda: found.save_optimizer_states("x"),
        "load_optimizer_states": lambda: found.load_optimizer_states("x"),
        "type": lambda: found.type,
        "rank": lambda: found.rank,
        "num_workers": lambda: found.num_workers,
    }
    assert calls.keys() == {n for n, v in vars(mx.kv.KVStoreBase).items() if n[:1] != "_"} - {
        "OPTIMIZER",
        "kv_registry",
        "register",
    }
    for name, call in calls.items():
        with pytest.raises(NotImplementedError, match=f"^{store.__name__} defines no {name}$"):
            call()


def test_capabilities():
    for name in ("local", "device", "dist_sync"):
        kv = mx.kv.create(name)
        assert kv.is_capable("optimizer") is True and kv.is_capable("OPTIMIZER") is True
        for other in ("pull", "", None, 3, ["optimizer"]):
            assert kv.is_capable(other) is False
    for bad in ("pull", None, 3, ["optimizer"]):
        with pytest.raises(ValueError, match="TestStore: a capability is 'optimizer', got"):
            mx.kv.create("teststore").is_capable(bad)


@pytest.mark.parametrize("name", ["nccl", "dist_p3", "horovod", "byteps", "dist_device_async"])
def test_kinds_of_others_say_what_to_use(name):
    with pytest.raises(ValueError, match=f"kvstore '{name}' is not there: .*; kinds: 'local', "):
        mx.kv.create(name)


def test_what_a_store_tells_of_itself():
    kv = mx.kv.create("device")
    kv.init(["a", "b"], [mx.nd.ones(1)] * 2)
    assert kv._repr_settings() == {"type": "device", "keys": 2, "rank": None, "optimizer": None}
    kv.set_optimizer(own := mx.optimizer.SGD())
    assert kv._repr_settings()["optimizer"] is own
    kv.set_updater(lambda *given: None)
    assert kv._repr_settings()["optimizer"] is None


def test_a_name_that_is_registered_twice():
    class Named(mx.kv.KVStoreBase):
        pass

    first = mx.kv.KVStoreBase.register(Named)
    second = mx.kv.KVStoreBase.register(type("NAMED", (mx.kv.KVStoreBase,), {}))
    assert first is Named and type(mx.kv.create("named")) is type(mx.kv.create("NaMeD")) is second
