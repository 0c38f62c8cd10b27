"""KVStore: values after every form of push as MXNet has them, updaters, states, errors by key."""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx

FIXTURE = json.loads((Path(__file__).parent.parent / "fixtures" / "kvstore.json").read_text())
KINDS = ("local", "device", "local_update_cpu", "local_allreduce_cpu", "local_allreduce_device")


def full(value, device=0, shape=(2, 3)):
    return mx.nd.full(shape, value, ctx=mx.cpu(device))


def values(store, keys):
    out = [mx.nd.zeros((2, 3)) for _ in keys]
    store.pull(keys, out=out)
    for each in out:  # the last bit may differ where a loop's rest is not in vectors
        np.testing.assert_allclose(each.asnumpy(), each.asnumpy()[1, 2], rtol=1e-6)
    return [float(o.asnumpy()[1, 2]) for o in out]


@pytest.mark.parametrize("case", FIXTURE)
def test_values_are_those_mxnet_has(case):
    kind, key = case.split("-")
    a, b = keys = [3, 5] if key == "3" else ["w", "b"]
    store = mx.kv.create(kind)
    seen = []
    store.init(a, full(1))
    store.init([b], [full(2)])
    seen.append(values(store, keys))
    store.push(a, full(5))
    seen.append(values(store, keys))
    store.push(a, [full(5), full(6, 1)])
    seen.append(values(store, keys))
    store.push(keys, [full(7), full(8)])
    seen.append(values(store, keys))
    store.push(keys, [[full(1), full(10, 1)], [full(100), full(1000, 1)]])
    seen.append(values(store, keys))
    store.push([a, a], [full(1), full(2)])
    seen.append(values(store, keys))
    value = full(9)
    store.pushpull(a, value)
    seen.append([float(value.asnumpy()[0, 0])])
    store = mx.kv.create(kind)
    store.init(keys, [full(9), full(1100)])
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9, wd=0.0))
    for _ in range(3):
        store.push(keys, [[full(1), full(2, 1)], [full(3), full(4, 1)]])
        seen.append(values(store, keys))
    assert len(seen) == len(FIXTURE[case])
    for found, expected in zip(seen, FIXTURE[case]):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_store_is(kind):
    store = mx.kv.create(kind)
    assert isinstance(store, mx.kv.KVStore)
    assert (store.type, store.rank, store.num_workers) == (kind, 0, 1)
    assert store.is_capable("optimizer")
    assert store.barrier() is None
    assert mx.kvstore.create(kind.upper()).type == kind


def test_init_keeps_a_copy_and_pull_makes_one():
    store = mx.kv.create()
    first = full(1)
    store.init("w", first)
    first[:] = 9
    out = full(0)
    store.pull("w", out)
    assert out.asnumpy()[0, 0] == 1
    out[:] = 7
    assert values(store, ["w"]) == [1]


@pytest.mark.parametrize("kind", KINDS)
def test_many_devices(kind, rng):
    gradients = rng.normal(size=(5, 4, 3)).astype("float32")
    store = mx.kv.create(kind)
    store.init("w", mx.nd.zeros((4, 3)))
    arrays = [mx.nd.array(g, ctx=mx.cpu(i)) for i, g in enumerate(gradients)]
    store.push("w", arrays)
    outs = [mx.nd.zeros((4, 3), ctx=mx.cpu(i)) for i in range(5)]
    store.pull("w", outs)
    for i, out in enumerate(outs):
        assert out.context == mx.cpu(i)
        np.testing.assert_allclose(out.asnumpy(), gradients.sum(0), rtol=1e-5, atol=1e-6)
    for array, gradient in zip(arrays, gradients):  # what was pushed stays as it was
        np.testing.assert_array_equal(array.asnumpy(), gradient)


def test_updater():
    store = mx.kv.create("device")
    calls = []

    def update(key, pushed, stored):
        calls.append((key, pushed.asnumpy()[0, 0]))
        stored += pushed * 2

    store.init(["w", "b"], [full(1), full(2)])
    store._set_updater(update)
    store.push("w", [full(1), full(2, 1)])
    store.push(["b", "w"], [full(5), full(10)])
    assert calls == [("w", 3), ("b", 5), ("w", 10)]
    assert values(store, ["w", "b"]) == [27, 12]
    with pytest.raises(TypeError, match="callable"):
        store.set_updater(3)


def test_an_updater_that_fails_is_heard_and_the_store_goes_on():
    store = mx.kv.create()
    store.init("w", full(1))

    def fail(key, pushed, stored):
        raise KeyError("my own mistake")

    store.set_updater(fail)
    with pytest.raises(KeyError, match="my own mistake"):
        store.push("w", full(1))
    store.set_updater(lambda key, pushed, stored: stored.__iadd__(pushed))
    store.push("w", full(1))
    assert values(store, ["w"]) == [2]


def test_optimizer_states_go_through_a_file(tmp_path):
    def trained(steps, load=None):
        store = mx.kv.create()
        store.init(0, full(1))
        store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
        if load:
            store.load_optimizer_states(load)
        for _ in range(steps):
            store.push(0, full(1))
        return store

    store = trained(2)
    store.save_optimizer_states(tmp_path / "x.states")
    expected = trained(3)
    again = trained(0, tmp_path / "x.states")
    before = values(store, [0])[0]
    again.push(0, full(1))
    moved = values(again, [0])[0] - 1
    np.testing.assert_allclose(moved, values(expected, [0])[0] - before, rtol=1e-6)


def test_states_need_an_optimizer(tmp_path):
    store = mx.kv.create()
    with pytest.raises(mx.MXNetError, match="no optimizer is set"):
        store.save_optimizer_states(tmp_path / "x")
    store.set_updater(lambda *args: None)
    with pytest.raises(mx.MXNetError, match="no optimizer is set"):
        store.load_optimizer_states(tmp_path / "x")


def test_damaged_states(tmp_path):
    store = mx.kv.create()
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
    (tmp_path / "x").write_bytes(b"\x80\x04nonsense")
    with pytest.raises(
        mx.errors.FormatError, match="states: this is a pickle, as MXNet writes them; a pickle can"
    ):
        store.load_optimizer_states(tmp_path / "x")


def store_with_value():
    store = mx.kv.create()
    store.init("w", full(1))
    return store


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda s: s.init("w", full(2)), ValueError, "'w' has a value already"),
        (lambda s: s.init(3, full(2)), TypeError, "3 is int, the keys before were str"),
        (lambda s: s.init(2.5, full(2)), TypeError, "a str or an int, got float 2.5"),
        (lambda s: s.init("v", 3), TypeError, "'v' needs an NDArray, got int"),
        (lambda s: s.init("v", []), ValueError, "'v' has an empty list"),
        (lambda s: s.push("v", full(1)), KeyError, "push: key 'v' has no value; call init"),
        (lambda s: s.pull("v", full(1)), KeyError, "pull: key 'v' has no value; call init"),
        (
            lambda s: s.push("w", mx.nd.ones((2, 4))),
            ValueError,
            r"'w' has shape \(2, 3\).*\(2, 4\)",
        ),
        (
            lambda s: s.pull("w", mx.nd.ones((3, 2))),
            ValueError,
            r"'w' has shape \(2, 3\).*\(3, 2\)",
        ),
        (lambda s: s.pull("w"), ValueError, "'out' is missing"),
        (
            lambda s: s.push(["w", "w"], [full(1)]),
            ValueError,
            "2 keys need a list of as many.*got 1",
        ),
        (lambda s: s.push(["w"], full(1)), ValueError, "got NDArray"),
        (lambda s: s.row_sparse_pull("w", full(1), row_ids=full(1)), ValueError, "got .*'default'"),
        (lambda s: s.row_sparse_pull("w", row_ids=full(1)), ValueError, "'out' is missing"),
        (lambda s: s.row_sparse_pull("w", full(1)), ValueError, "'row_ids' is missing"),
        (lambda s: s.row_sparse_pull("w", full(1), row_ids=3), TypeError, "are NDArrays, got 3"),
        (
            lambda s: s.row_sparse_pull("w", full(1), row_ids=[full(1)] * 2),
            ValueError,
            "1 arrays to write to.*got 2",
        ),
        (
            lambda s: s.row_sparse_pull("v", full(1).tostype("row_sparse"), row_ids=full(1)),
            KeyError,
            "row_sparse_pull: key 'v' has no value; call init",
        ),
        (
            lambda s: s.row_sparse_pull(
                "w", mx.nd.ones((3, 3)).tostype("row_sparse"), row_ids=full(1)
            ),
            ValueError,
            r"row_sparse_pull: key 'w' has shape \(2, 3\), got an array of \(3, 3\)",
        ),
        (lambda s: s.pushpull("v", full(1)), KeyError, "pushpull: key 'v' has no value; call init"),
        (
            lambda s: s.pushpull("w", full(0), out=mx.nd.ones((3, 2))),
            ValueError,
            r"pushpull: key 'w' has shape \(2, 3\), got an array of \(3, 2\)",
        ),
        (
            lambda s: s.set_gradient_compression({"type": "2bit"}),
            ValueError,
            "does not compress.*2bit.*'device' does",
        ),
        (lambda s: s.set_optimizer(3), (TypeError, ValueError), "[Oo]ptimizer"),
    ],
)
def test_errors_name_the_key_and_change_nothing(call, error, match):
    store = store_with_value()
    with pytest.raises(error, match=match) as caught:
        call(store)
    assert isinstance(caught.value, mx.MXNetError)
    assert values(store, ["w"]) == [1]


@pytest.mark.parametrize("key", [1.5, None, True, b"w", ("w", None), [np.float32(1), "w"]])
@pytest.mark.parametrize("name", ["init", "push", "pull", "pushpull", "broadcast"])
def test_keys_of_other_types_are_refused(name, key):
    """By each method: a float is no int, though it equals one."""
    store, two = mx.kv.create("local"), isinstance(key, (tuple, list))
    given = [full(1), full(1)] if two else full(1)
    more = {"out": given} if name == "broadcast" else {}
    said = f"kvstore {name if name != 'broadcast' else 'init'}: a key must be a str or an int"
    with pytest.raises(TypeError, match=said):
        getattr(store, name)(key, given, **more)
    with pytest.raises(KeyError, match="key 'w' has no value"):
        store.pull("w", out=full(1))


def test_a_push_of_several_keys_with_one_wrong_changes_none():
    store = store_with_value()
    store.init("b", full(2))
    with pytest.raises(mx.MXNetError, match="'nowhere'"):
        store.push(["w", "b", "nowhere"], [full(5), full(6), full(7)])
    assert values(store, ["w", "b"]) == [1, 2]


@pytest.mark.parametrize(
    "name, match",
    [
        ("dist_async", "use 'dist_sync'"),
        ("dist_device_async", "use 'dist_sync'"),
        ("horovod", "'dist_sync' does the same"),
        ("nccl", "'device' sums on the GPUs of this process"),
        ("foo", "not known"),
        ("", "not known"),
    ],
)
def test_kinds_there_are_not(name, match):
    with pytest.raises(ValueError, match=match):
        mx.kv.create(name)


def test_the_kind_is_a_str():
    with pytest.raises(TypeError, match="must be a str"):
        mx.kv.create(3)


@pytest.mark.parametrize("kind", KINDS)
def test_where_values_are(kind):
    """On the CPU, or where the first array is; sums are made there, and copied to the value."""
    store, device = mx.kv.create(kind), "device" in kind
    store.init("w", full(1, 2))
    assert store._values["w"].context == (mx.cpu(2) if device else mx.cpu(0))
    seen = []
    store.set_updater(lambda key, pushed, stored: seen.append((pushed.context, stored.context)))
    store.push("w", full(1, 3))
    store.push("w", [full(1, 3), full(1, 4)])
    place = mx.cpu(2) if device else mx.cpu(0)
    assert seen == [(place, place)] * 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_what_is_pushed_stays(kind, count, stype):
    """Whatever it is summed with, and wherever."""
    store = mx.kv.create(kind)
    store.init("w", full(0).tostype(stype))
    arrays = [full(2**i, device).tostype(stype) for i, device in enumerate((0, 0, 1, 2)[:count])]
    store.push("w", arrays)
    assert [each.asnumpy()[0, 0] for each in arrays] == [2**i for i in range(count)]
    out = full(9)
    store.pull("w", out)
    assert out.asnumpy()[0, 0] == 2**count - 1
    arrays[0][:] = 50
    store.pull("w", out)
    assert out.asnumpy()[0, 0] == 2**count - 1


@pytest.mark.parametrize("name", ["push", "pull", "pushpull", "init", "broadcast"])
def test_lists_of_keys_need_as_many_arrays(name):
    store = mx.kv.create()
    if name not in ("init", "broadcast"):
        store.init([1, 2], [full(1), full(2)])
    shown = "init" if name == "broadcast" else name
    for bad, found in (([full(1)], "1"), ([full(1)] * 3, "3"), (full(1), "NDArray"), ([], "0")):
        more = {"out": bad} if name == "broadcast" else {}
        with pytest.raises(
            ValueError, match=f"kvstore {shown}: 2 keys need a list of as many values, got {found}"
        ):
            getattr(store, name)([1, 2], bad, **more)
    more = {"out": (full(0), full(0))} if name == "broadcast" else {}
    getattr(store, name)((1, 2), (full(1), full(2)), **more)


def test_pushpull_changes_nothing_where_its_out_is_wrong():
    store = store_with_value()
    with pytest.raises(ValueError, match=r"pushpull: key 'w' has shape .2, 3., got an array of .3"):
        store.pushpull("w", full(5), out=mx.nd.ones((3, 2)))
    assert values(store, ["w"]) == [1]
    out = full(0).tostype("row_sparse")
    store.pushpull("w", full(5), out=out)
    assert (out.asnumpy() == 5).all()


def test_states_with_and_without_the_optimizer(tmp_path):
    store = mx.kv.create()
    store.init(0, full(1))
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.25, momentum=0.9))
    store.push(0, full(1))
    for dump, name in ((False, "a"), (True, "b")):
        store.save_optimizer_states(tmp_path / name, *([dump] if dump else []))
        other = mx.kv.create()
        other.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
        other.load_optimizer_states(tmp_path / name)
        assert other.updater.optimizer.lr == (0.25 if dump else 0.5)
