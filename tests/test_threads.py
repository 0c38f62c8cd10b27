"""The table of docs/guide/threads.md: what threads may share is shared by eight; what they may not
says so."""

import functools
import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import cynet as mx

PAGE = Path(__file__).parent.parent / "docs" / "guide" / "threads.md"
ROWS = dict(re.findall(r"^\| `(mx[\w.]+)` \| ([\w ]+) \|", PAGE.read_text(), re.M))
THREADS, ROUNDS = 8, 10


def together(run):
    """``run(thread, round)`` in eight threads; the errors that they raised."""
    errors, start = [], threading.Barrier(THREADS)

    def work(number):
        start.wait()
        for i in range(ROUNDS):
            try:
                run(number, i)
            except Exception as error:
                errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert errors == []


def resolved(name):
    return functools.reduce(getattr, name.split(".")[1:], mx)


def net(width=3):
    fc = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=width, no_bias=True, name="fc")
    return mx.sym.SoftmaxOutput(fc, name="softmax")


def rows_of(number, i):
    return np.random.RandomState(100 * number + i).randn(4, 5).astype("float32")


WEIGHT = np.random.RandomState(9).randn(3, 5).astype("float32")


def wanted(x):
    z = np.exp(x @ WEIGHT.T)
    return z / z.sum(axis=1, keepdims=True)


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def predicts(module):
    module.bind([("data", (4, 5))], [("softmax_label", (4,))], for_training=False)
    module.init_params(arg_params={"fc_weight": mx.nd.array(WEIGHT)}, aux_params={})

    def run(number, i):
        x = rows_of(number, i)
        close(module.predict(Bucketed(x)).asnumpy(), wanted(x))

    together(run)


class Bucketed(mx.io.NDArrayIter):
    """Batches for a BucketingModule, too."""

    def __init__(self, x):
        super().__init__(x, np.zeros(len(x)), len(x))

    def next(self):
        batch = super().next()
        batch.bucket_key = 5
        batch.provide_data, batch.provide_label = self.provide_data, self.provide_label
        return batch


def sequential():
    first = mx.mod.Module(mx.sym.identity(mx.sym.var("data"), name="same"), label_names=None)
    chain = mx.mod.SequentialModule().add(first)
    return chain.add(mx.mod.Module(net()), take_labels=True, auto_wiring=True)


def feed_forward():
    model = mx.model.FeedForward(net(), arg_params={"fc_weight": mx.nd.array(WEIGHT)})
    model.aux_params = {}

    def run(number, i):
        x = rows_of(number, i)
        close(model.predict(x), wanted(x))
        label = wanted(x).argmax(axis=1)
        assert model.score(mx.io.NDArrayIter(x, label, 4)) == 1.0

    together(run)


def block(kind):
    if kind == "SymbolBlock":
        made = mx.gluon.SymbolBlock(
            mx.sym.softmax(net().get_internals()["fc_output"]), mx.sym.var("data")
        )
        made.initialize()
        made.collect_params()["fc_weight"].set_data(mx.nd.array(WEIGHT))
    else:
        made = mx.gluon.nn.HybridSequential() if kind == "HybridBlock" else mx.gluon.nn.Sequential()
        made.add(mx.gluon.nn.Dense(3, use_bias=False, in_units=5))
        made.add(mx.gluon.nn.HybridLambda("softmax"))
        made.initialize()
        made[0].weight.set_data(mx.nd.array(WEIGHT))
        if kind == "HybridBlock":
            made.hybridize()

    def run(number, i):
        x = rows_of(number, i)[: 1 + number % 4]
        close(made(mx.nd.array(x)).asnumpy(), wanted(x))

    together(run)


def arrays():
    total = mx.nd.zeros(4)

    def run(number, i):
        x = rows_of(number, i)
        close((mx.nd.array(x) * 2 + 1).asnumpy(), x * 2 + 1)
        total[:] += 0  # reads and writes what all have
        total.asnumpy()

    together(run)
    assert total.asnumpy().tolist() == [0] * 4


def symbols():
    shared = net()
    json = shared.tojson()

    def run(number, i):
        shapes = shared.infer_shape(data=(1 + number, 5))[1]
        assert shapes == [(1 + number, 3)]
        assert shared.tojson() == json and (shared * 2).list_arguments()[0] == "data"
        executor = shared.simple_bind(mx.cpu(), data=(4, 5))
        executor.arg_dict["fc_weight"][:] = WEIGHT
        x = rows_of(number, i)
        close(executor.forward(data=mx.nd.array(x))[0].asnumpy(), wanted(x))

    together(run)


def parameters():
    param = mx.gluon.Parameter("w", shape=(3, 5))
    param.initialize()
    param.set_data(mx.nd.array(WEIGHT))
    together(lambda number, i: close(param.data().asnumpy(), WEIGHT))


def datasets():
    data = mx.gluon.data.ArrayDataset(np.arange(100), np.arange(100) * 2)
    scaled = data.transform_first(lambda x: x + 1)

    def run(number, i):
        for k in range(number, 100, 7):
            assert scaled[k] == (k + 1, 2 * k)

    together(run)


def loaders():
    data = mx.gluon.data.ArrayDataset(mx.nd.arange(20), mx.nd.arange(20) * 2)
    loader = mx.gluon.data.DataLoader(data, batch_size=6)

    def run(number, i):
        found = np.concatenate([x.asnumpy() for x, _ in loader])
        assert found.tolist() == list(range(20))

    together(run)


def stores():
    store = mx.kv.create("local")
    store.init("w", mx.nd.zeros(3))
    store._set_updater(lambda key, grad, weight: weight.__iadd__(grad))

    def run(number, i):
        out = mx.nd.zeros(3)
        store.pushpull("w", mx.nd.ones(3), out=out)
        assert len(set(out.asnumpy().tolist())) == 1

    together(run)
    out = mx.nd.zeros(3)
    store.pull("w", out=out)
    assert out.asnumpy().tolist() == [THREADS * ROUNDS] * 3


def records(kind, folder):
    names = [str(folder / "index"), str(folder / "records")]
    indexed = kind == "MXIndexedRecordIO"
    args = names if indexed else names[1:]
    made = getattr(mx.recordio, kind)
    writer = made(*args, "w")

    def write(number, i):
        content = bytes([number, i]) * (1 + i)
        if indexed:
            writer.write_idx(100 * number + i, content)
        else:
            writer.write(content)

    together(write)
    writer.close()
    reader, got = made(*args, "r"), []
    together(lambda number, i: got.append(reader.read()))
    assert sorted(got) == sorted(bytes([n, i]) * (1 + i) for n in range(8) for i in range(ROUNDS))
    if indexed:
        together(lambda n, i: got.append(reader.read_idx(100 * n + i) == bytes([n, i]) * (1 + i)))
        assert all(got)


def initializers():
    made = mx.init.Xavier()

    def run(number, i):
        array = mx.nd.zeros((50, 50))
        made("x_weight", array)
        assert 0.1 < float(array.abs().max().asscalar()) <= np.sqrt(3 / 50) + 1e-6

    together(run)


def draws():
    seen = []

    def run(number, i):
        x = mx.nd.random.uniform(shape=(1000,)).asnumpy()
        assert x.min() >= 0 and x.max() < 1 and 0.4 < x.mean() < 0.6
        seen.append(x.tobytes())

    together(run)
    assert len(set(seen)) == THREADS * ROUNDS


def recording():
    def run(number, i):
        x = mx.nd.array(rows_of(number, i))
        assert not mx.autograd.is_recording()
        if number % 2:
            x.attach_grad()
            with mx.autograd.record():
                y = (x * x).sum()
            y.backward()
            close(x.grad.asnumpy(), 2 * rows_of(number, i))
        assert not mx.autograd.is_training()

    together(run)


def scopes(kind):
    def run(number, i):
        if kind == "Context":
            with mx.cpu(number):
                assert mx.nd.zeros(1).context == mx.cpu(number)
        elif kind == "AttrScope":
            with mx.AttrScope(number=str(number)):
                assert mx.sym.var("x").attr("number") == str(number)
        else:
            with mx.name.Prefix(f"p{number}_"):
                assert (mx.sym.var("x") + 1).name.startswith(f"p{number}_")

    together(run)


def profiles(folder):
    mx.profiler.set_config(profile_all=True, filename=str(folder / "profile.json"))
    mx.profiler.set_state("run")
    try:
        together(lambda n, i: close((mx.nd.ones(3) * n).asnumpy(), [n] * 3))
    finally:
        mx.profiler.set_state("stop")
        mx.profiler.dump()
        mx.profiler.set_config(profile_all=False, filename="profile.json")
    assert (folder / "profile.json").stat().st_size > 1000


HAMMERS = {
    "mx.nd.NDArray": lambda _: arrays(),
    "mx.sym.Symbol": lambda _: symbols(),
    "mx.mod.Module": lambda _: predicts(mx.mod.Module(net())),
    "mx.mod.BucketingModule": lambda _: predicts(
        mx.mod.BucketingModule(lambda _: (net(), ("data",), ("softmax_label",)), 5)
    ),
    "mx.mod.SequentialModule": lambda _: predicts(sequential()),
    "mx.model.FeedForward": lambda _: feed_forward(),
    "mx.gluon.Block": lambda _: block("Block"),
    "mx.gluon.HybridBlock": lambda _: block("HybridBlock"),
    "mx.gluon.SymbolBlock": lambda _: block("SymbolBlock"),
    "mx.gluon.Parameter": lambda _: parameters(),
    "mx.gluon.data.Dataset": lambda _: datasets(),
    "mx.gluon.data.DataLoader": lambda _: loaders(),
    "mx.kv.KVStore": lambda _: stores(),
    "mx.recordio.MXRecordIO": lambda folder: records("MXRecordIO", folder),
    "mx.recordio.MXIndexedRecordIO": lambda folder: records("MXIndexedRecordIO", folder),
    "mx.init.Initializer": lambda _: initializers(),
    "mx.random": lambda _: draws(),
    "mx.autograd": lambda _: recording(),
    "mx.Context": lambda _: scopes("Context"),
    "mx.AttrScope": lambda _: scopes("AttrScope"),
    "mx.name.NameManager": lambda _: scopes("NameManager"),
    "mx.profiler": profiles,
}
ALONE = [name for name, may in ROWS.items() if may == "no"]


def test_the_table_has_a_test_for_each_row():
    assert set(ROWS.values()) == {"yes", "for prediction", "no"}
    assert set(HAMMERS) == {name for name, may in ROWS.items() if may != "no"}


@pytest.mark.parametrize("hybrid", [False, True, None])
def test_first_calls_find_the_shapes_once(hybrid):
    """One of the threads fills the parameters; None: of a SymbolBlock."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(5):
            if hybrid is None:
                output = net().get_internals()["fc_output"]
                made = mx.gluon.SymbolBlock(output, mx.sym.var("data"))
            else:
                made = mx.gluon.nn.HybridSequential()
                made.add(mx.gluon.nn.Dense(4), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(3))
                made.hybridize(hybrid)
            made.initialize()
            x, found = mx.nd.ones((2, 5)), set()
            together(lambda *_: found.add(made(x).asnumpy().tobytes()))  # noqa: B023
            assert len(found) == 1
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("name", HAMMERS)
def test_what_threads_may_share(name, tmp_path):
    resolved(name)
    HAMMERS[name](tmp_path)


@pytest.mark.parametrize("name", ALONE)
def test_what_they_may_not_share_says_so(name):
    assert "One thread at a time uses" in " ".join(resolved(name).__doc__.split())


BASES = {resolved(name) for name in ROWS if isinstance(resolved(name), type)}


@pytest.mark.parametrize("place", ["io", "metric", "optimizer", "lr_scheduler", "mod", "kv"])
def test_every_public_class_of_these_is_in_the_table(place):
    """By itself or by a class that it is made from."""
    known = {"DataDesc", "Registry"}
    lost = [
        name
        for name, value in vars(getattr(mx, place)).items()
        if isinstance(value, type)
        and not name.startswith("_")
        and name not in known
        and value.__module__.startswith("cynet.")
        and not value.__module__.startswith("cynet.base.")
        and not issubclass(value, Exception)
        and not BASES & set(value.__mro__)
    ]
    assert set(lost) <= {"BaseModule", "KVStoreBase", "MXDataIter", "KVStoreServer"}
