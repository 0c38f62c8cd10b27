"""DistKVStore of several ranks, threads over an MPI that is made up: values against NumPy's, every
request that a call makes, and what ranks refuse."""

import itertools

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, MismatchError, PeerError
from cynet.kvstore import dist
from tests.distributed.together import run

SIZES = (1, 3)
LARGE = 1 << 18  # entries of float32 that travel as they are, uncopied


def value(rank, shape, device=0, step=0):
    """Small whole numbers: every sum of them is exact."""
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) + 3 * rank + device + 7 * step) % 5 - 2.0


def total(size, shape, devices=1, step=0):
    return sum(value(r, shape, d, step) for r in range(size) for d in range(devices))


def same(found, wanted, dtype="float32"):
    found = found.asnumpy()
    assert found.dtype == (np.dtype(dtype) if dtype != "bfloat16" else found.dtype)
    np.testing.assert_array_equal(found.astype("float64"), wanted)


class Asked:
    """The World of a store; it notes what it is asked for."""

    def __init__(self, store):
        self.world, self.rows = store._world, []
        store._world = self

    def __getattr__(self, name):
        return getattr(self.world, name)

    def hand_in(self, request, reads=(), writes=()):
        row = (request.what, request.priority, request.nbytes, len(request.starts))
        self.rows.append((*row, [each.shape for each in reads], [each.shape for each in writes]))
        self.world.hand_in(request, reads, writes)


# --- values ---------------------------------------------------------------------------------------
FORMS = {
    "one": (["w"], [(2, 3)], 1, "float32"),
    "no entries": (["w", "v"], [(0, 3), (1,)], 1, "float32"),
    "devices": (["w"], [(4,)], 3, "float32"),
    "several": ([3, 5, 7], [(2, 3), (1,), (5, 1, 2)], 2, "float32"),
    "large": (["small", "w", "last"], [(3,), (LARGE,), (2,)], 1, "float32"),
    "large of two devices": (["w"], [(LARGE,)], 2, "float32"),
    "halves": (["w"], [(2, 3)], 2, "float16"),
    "large halves": (["w"], [(LARGE,)], 1, "float16"),
    "bfloat16": (["w"], [(2, 3)], 1, "bfloat16"),
    **{name: (["w"], [(2, 3)], 2, name) for name in ("float64", "int32", "int64", "int8")},
}


@pytest.mark.parametrize("size", SIZES)
def test_sums_of_every_form(size, monkeypatch):
    def check(world, kind, keys, shapes, devices, dtype):
        def arrays(step):
            return [
                [
                    mx.nd.array(value(world.rank, s, d, step), mx.cpu(d), dtype=dtype)
                    for d in range(devices)
                ]
                for s in shapes
            ]

        kv, firsts = mx.kv.create(kind), arrays(0)
        kv.sum_up(keys, firsts)
        for shape, each in zip(shapes, firsts):
            for device, array in enumerate(each):
                assert array.context == mx.cpu(device)
                same(array, total(size, shape, devices), dtype)
        kv.init(keys, [mx.nd.zeros(s, dtype=dtype) for s in shapes])
        for step in range(3):  # the second and third use the buckets of the first
            given = arrays(step)
            kept = [[array.copy() for array in each] for each in given]
            kv.push(keys, given)
            outs = [[mx.nd.zeros(s, mx.cpu(d), dtype) for d in range(2)] for s in shapes]
            kv.pull(keys, outs)
            for shape, pair in zip(shapes, outs):
                for each in pair:
                    same(each, total(size, shape, devices, step), dtype)
            pairs = zip(itertools.chain(*given), itertools.chain(*kept))
            for each, other in pairs:  # what is pushed stays
                same(each, other.asnumpy().astype("float64"), dtype)
        updated, seen = mx.kv.create(kind), []
        updated.init(keys, [mx.nd.ones(s, dtype=dtype) for s in shapes])

        def update(key, pushed, stored):
            seen.append((key, str(pushed.dtype), pushed.context))
            stored += 2 * pushed

        updated.set_updater(update)
        updated.push(keys, arrays(0))
        updated.pull(keys, outs)
        for shape, pair in zip(shapes, outs):
            same(pair[0], 1 + 2 * total(size, shape, devices), dtype)
        dtypes = str(mx.nd.zeros(1, dtype=dtype).dtype)
        assert seen == [(key, dtypes, mx.cpu(0)) for key in keys]
        if len(keys) == 1:
            twice = mx.kv.create(kind)
            twice.init(keys, [mx.nd.zeros(s, dtype=dtype) for s in shapes])
            twice.push(keys * 2, arrays(0) + arrays(1))
            twice.pull(keys, outs)
            same(outs[0][0], sum(total(size, shapes[0], devices, s) for s in (0, 1)), dtype)

    def everything(world):
        for name, form in FORMS.items():
            for kind in ("dist_sync", "dist_device_sync")[: 1 if "large" in name else 2]:
                check(world, kind, *form)

    if size == 1:
        monkeypatch.setattr(dist, "world", mx.distributed.world)
        everything(mx.distributed.world())
    else:
        run(monkeypatch, size, everything)


@pytest.mark.parametrize("size", SIZES)
def test_sums_of_rows(size, monkeypatch):
    """Row_sparse arrays: any rank may have none, one or all rows, in any device."""
    cases = [
        [[[0, 2]], [[2, 4]], [[1]]],
        [[[]], [[3]], [[]]],
        [[[]], [[]], [[]]],
        [[[0, 1], [1]], [[4], []], [[], []]],
        [[[0, 1, 2, 3, 4]], [[0, 1, 2, 3, 4]], [[2]]],
    ]

    def check(world, ids, dtype, tail):
        dense, arrays = np.zeros((5, *tail)), []
        for rank in range(size):
            for device, rows in enumerate(ids[rank]):
                values = value(rank, (len(rows), *tail), device)
                np.add.at(dense, rows, values)
                if rank == world.rank:
                    rows = np.array(rows, "int64")
                    made = mx.nd.sparse.row_sparse_array(
                        (values, rows), (5, *tail), mx.cpu(device), dtype
                    )
                    arrays.append(made)
        union = sorted({row for each in ids[:size] for rows in each for row in rows})
        kv = mx.kv.create("dist_sync")
        kv.init("w", mx.nd.zeros((5, *tail), dtype=dtype))
        before = [each.copy() for each in arrays]
        seen = []
        kv.set_updater(lambda key, pushed, stored: seen.append((key, pushed)))
        kv.push("w", arrays)
        ((key, found),) = seen
        assert (key, found.stype) == ("w", "row_sparse")
        assert found.indices.asnumpy().tolist() == union
        same(found, dense, dtype)
        for each, other in zip(arrays, before):
            same(each, other.asnumpy(), dtype)
        kv.sum_up("w", arrays)
        for device, each in enumerate(arrays):
            assert each.stype == "row_sparse" and each.context == mx.cpu(device)
            assert each.indices.asnumpy().tolist() == union
            same(each, dense, dtype)
        plain = mx.kv.create("dist_sync")
        plain.init("w", mx.nd.zeros((5, *tail), dtype=dtype))
        plain.push("w", before)
        out = mx.nd.zeros((5, *tail), dtype=dtype)
        plain.pull("w", out)
        same(out, dense, dtype)

    def everything(world):
        for ids in cases:
            for dtype, tail in (("float32", (2,)), ("float64", ()), ("float32", (2, 2))):
                check(world, ids, dtype, tail)

    if size == 1:
        everything(mx.distributed.world())
    else:
        run(monkeypatch, size, everything)


@pytest.mark.parametrize("size", SIZES)
def test_first_values_are_those_of_one_rank(size, monkeypatch):
    def everything(world):
        kv = mx.kv.create("dist_sync")
        kv.init(["a", "b"], [mx.nd.full(2, world.rank + 1), mx.nd.full((1, 3), world.rank + 5)])
        outs = [mx.nd.zeros(2), mx.nd.zeros((1, 3))]
        kv.pull(["a", "b"], outs)
        same(outs[0], np.full(2, 1))
        same(outs[1], np.full((1, 3), 5))
        sparse = mx.nd.full((3, 2), world.rank + 2).tostype("row_sparse")
        kv.init("rows", sparse)
        kv.pull("rows", out := mx.nd.zeros((3, 2)))
        same(out, np.full((3, 2), 2))
        for root in range(size):
            given = {
                "a": [mx.nd.full(2, 10 * world.rank + d, mx.cpu(d)) for d in range(2)],
                "large": [mx.nd.full(LARGE, world.rank + 1)],
                "bool": [mx.nd.array([world.rank == root, False], dtype="bool")],
                "half": [mx.nd.full(3, world.rank / 2, dtype="float16")],
            }
            kv.share(given, root)
            for array in given["a"]:
                same(array, [10 * root] * 2)
            assert [each.context for each in given["a"]] == [mx.cpu(0), mx.cpu(1)]
            same(given["large"][0], np.full(LARGE, root + 1))
            same(given["bool"][0], [True, False], "bool")
            same(given["half"][0], np.full(3, root / 2), "float16")

    if size == 1:
        everything(mx.distributed.world())
    else:
        run(monkeypatch, size, everything)


def test_gradients_in_two_bits(monkeypatch):
    """Against the rule itself: the sum of a rank's devices, and of what it has left, is cut."""
    size, threshold = 3, 0.5
    rng = np.random.RandomState(4)
    given = rng.uniform(-1.5, 1.5, (3, size, 2, 3, 7)).astype("float32")  # step, rank, device

    def everything(world):
        kv = mx.kv.create("dist_sync")
        kv.set_gradient_compression({"type": "2bit", "threshold": threshold})
        kv.init("w", mx.nd.zeros((3, 7)))
        summed = []
        for step in given:
            arrays = [mx.nd.array(each, mx.cpu(d)) for d, each in enumerate(step[world.rank])]
            kv.push("w", arrays)
            kv.pull("w", out := mx.nd.zeros((3, 7)))
            kv.sum_up("other", arrays)
            summed.append((out.asnumpy(), [each.asnumpy() for each in arrays]))
        with pytest.raises(ArgumentError, match="threshold"):
            kv.set_gradient_compression({"type": "2bit", "threshold": -1})
        return summed

    found = run(monkeypatch, size, everything)
    left = np.zeros((size, 3, 7), "float32")
    for i, step in enumerate(given):
        left += step[:, 0] + step[:, 1]
        sent = ((left >= threshold).astype(int) - (left <= -threshold)) * np.float32(threshold)
        left -= sent
        for rank in range(size):
            np.testing.assert_array_equal(found[rank][i][0], sent.sum(0))
            for each in found[rank][i][1]:
                np.testing.assert_array_equal(each, sent.sum(0))


def test_dense_values_of_sparse_arrays_in_two_bits(monkeypatch):
    def everything(world):
        kv = mx.kv.create("dist_sync")
        kv.set_gradient_compression({"type": "2bit", "threshold": 1})
        array = mx.nd.array([[0, 3], [0, 0], [-2, 0.5]]).tostype("row_sparse")
        kv.sum_up("w", array)
        assert array.stype == "row_sparse"
        same(array, [[0, 2], [0, 0], [-2, 0]])

    run(monkeypatch, 2, everything)


# --- requests -------------------------------------------------------------------------------------
def test_what_ranks_are_asked_for(monkeypatch):
    """Each request of each call: its text, priority, bytes, pieces, and the arrays it waits for."""

    def everything(world):
        kv = mx.kv.create("dist_sync")
        asked = Asked(kv)
        taken = lambda: (asked.rows.copy(), asked.rows.clear())[0]  # noqa: E731
        ones, large = mx.nd.ones((2, 3)), mx.nd.ones(LARGE)
        kv.init(["a", "b"], [ones, large])
        assert taken() == [
            ("broadcast of 'a' (2, 3) float32", 0, 24, 1, [], [(6,)]),
            (f"broadcast of 'b' ({LARGE},) float32", -1, 1 << 20, 1, [], [(LARGE,)]),
        ]
        kv.share({"x": [mx.nd.ones(3 * LARGE)]}, 1)
        row = (f"broadcast of 'x' ({3 * LARGE},) float32 from rank 1", 0, 3 << 20, 2, [])
        assert taken() == [(*row, [(3 * LARGE,)])]
        kv.push(["a", "b"], [[ones, ones], large], priority=5)
        direct = (f"sum of 'b' ({LARGE},) float32", 4, 1 << 20, 1)
        assert taken() == [
            (*direct, [(LARGE,)], [(LARGE,)]),
            ("sum of 'a' (2, 3) float32", 5, 24, 1, [], [(6,)]),
        ]
        kv.sum_up(["a", "b"], [ones, large], priority=2)
        assert taken() == [
            (f"sum of 'b' ({LARGE},) float32", 1, 1 << 20, 1, [], [(LARGE,)]),
            ("sum of 'a' (2, 3) float32", 2, 24, 1, [], [(6,)]),
        ]
        rows = mx.nd.ones((2, 3)).tostype("row_sparse")
        for call in (kv.push, kv.sum_up):
            call("a", rows, 3)
            assert taken() == [
                ("sum of 'a: how many rows' (2,) int64", 3, 16, 1, [], [(2,)]),
                ("sum of 'a: which rows' (4,) int64", 3, 32, 1, [], [(4,)]),
                ("sum of 'a: values of rows' (2, 3) float32", 3, 24, 1, [], [(6,)]),
            ]
        kv.set_gradient_compression({"type": "2bit", "threshold": 0.25})
        kv.push("b", large)
        note = " in 2 bits, 0.25"
        assert taken() == [(f"sum of 'b' ({LARGE},) float32{note}", 0, 1 << 20, 1, [], [(LARGE,)])]
        kv.barrier()
        return world.times[0]

    assert run(monkeypatch, 2, everything) == [2, 2]  # one for each push of the first key


def test_steps_are_counted(monkeypatch):
    def everything(world):
        kv = mx.kv.create("dist_sync")
        kv.init(["a", "b"], [mx.nd.ones(1)] * 2)
        counts = []
        for key in ("b", "a", "a", "b", ["a", "b"]):
            kv.push(key, mx.nd.ones(1) if isinstance(key, str) else [mx.nd.ones(1)] * 2)
            counts.append(world.times[0])
        for optimizer in (None, SGD(), SGD()):  # sums of other things are no steps
            kv.sum_up("c", mx.nd.ones(1), optimizer=optimizer)
            counts.append(world.times[0])
        return counts

    assert run(monkeypatch, 2, everything) == [[1, 1, 1, 2, 3, 3, 4, 5]] * 2


def test_buckets_are_kept_of_the_last_calls(monkeypatch):
    def everything(world):
        kv = mx.kv.create("dist_sync")
        kv.share({"w": [mx.nd.ones(1)]})
        kv.sum_up("r", mx.nd.ones((2, 1)).tostype("row_sparse"))
        assert [key[0] for key in kv._calls] == ["sum"]  # of no array: the dense ones of sum_up
        for i in range(dist._MAX_CACHED_CALLS + 4):
            kv.sum_up(i, mx.nd.ones(1)) if i else kv._calls.clear()
            kv._key_type = None
        first = kv._buckets_for("sum", kv._array_specs({4: [mx.nd.ones(1)]}), 0)
        assert [key[1][0][0] for key in kv._calls] == [*range(5, dist._MAX_CACHED_CALLS + 4), 4]
        assert len(kv._calls) == dist._MAX_CACHED_CALLS
        assert kv._buckets_for("sum", kv._array_specs({4: [mx.nd.ones(1)]}), 0) is first
        assert kv._buckets_for("sum", kv._array_specs({4: [mx.nd.ones(1)]}), 1) is not first
        assert kv._buckets_for("sum", kv._array_specs({4: [mx.nd.ones(1)]}), 0, keep=False) is first
        assert kv._buckets_for("sum", kv._array_specs({4: [mx.nd.ones(1)]}), 0) is not first

    run(monkeypatch, 2, everything)


def test_who_it_is(monkeypatch):
    def everything(world):
        kv = mx.kv.create("DIST")
        return kv.rank, kv.num_workers, kv.local_rank, kv.type, kv._repr_settings()["rank"]

    assert [row[4] for row in run(monkeypatch, 2, everything)] == ["0 of 2", "1 of 2"]
    found = run(monkeypatch, 3, everything, hosts=["a", "b", "a"])
    assert [row[:4] for row in found] == [(0, 3, 0, "dist"), (1, 3, 0, "dist"), (2, 3, 1, "dist")]


# --- what ranks refuse ----------------------------------------------------------------------------
def failing(monkeypatch, do, size=2):
    """The errors of all ranks."""
    monkeypatch.setattr("cynet.distributed.communication._FAREWELL_SECONDS", 0.1)
    return run(monkeypatch, size, do, end=False)


@pytest.mark.parametrize("store", ["one", "two"])
def test_calls_that_are_refused_on_each_rank(store, monkeypatch):
    def everything(world):
        kv = mx.kv.create("dist_sync")
        kv.init("w", mx.nd.ones(2))
        refusals = {
            "key 'w' has a value already": lambda: kv.init(["v", "w"], [mx.nd.ones(2)] * 2),
            "key 'b' is bool, of which ranks make no sum": lambda: kv.sum_up(
                "b", mx.nd.zeros(2, dtype="bool")
            ),
            "push: key 'v' has no value": lambda: kv.push("v", mx.nd.ones(2)),
            "key 'w' has shape .2,., got an array of .3,.": lambda: kv.push("w", mx.nd.ones(3)),
            "takes a callable, got int": lambda: kv.set_updater(3),
            "no optimizer is set": lambda: kv.load_optimizer_states("nowhere"),
        }
        if world.size == 1:
            del refusals["key 'b' is bool, of which ranks make no sum"]
        for text, call in refusals.items():
            with pytest.raises(mx.MXNetError, match=text):
                call()
        assert "v" not in kv._values
        kv.sum_up("x", array := mx.nd.ones(1))  # it goes on
        same(array, [world.size])

    if store == "one":
        everything(mx.distributed.world())
    else:
        run(monkeypatch, 2, everything)


SGD, ADAM = mx.optimizer.SGD, mx.optimizer.Adam
UNLIKE = {
    "a class": (SGD(), ADAM(), "optimizer is 'SGD' on rank 0 and 'Adam' on rank 1"),
    "a rate": (SGD(learning_rate=1), SGD(learning_rate=2), "learning_rate is 1 on rank 0 and 2"),
    "a momentum": (SGD(momentum=0.5), SGD(), "momentum is 0.5 on rank 0 and 0.0 on rank 1"),
}


@pytest.mark.parametrize("what", UNLIKE)
@pytest.mark.parametrize("call", ["set_optimizer", "agree_on"])
def test_optimizers_that_differ(what, call, monkeypatch):
    *optimizers, text = UNLIKE[what]

    def everything(world):
        kv = mx.kv.create("dist_sync")
        getattr(kv, call)(SGD())  # the same on both
        getattr(kv, call)(optimizers[world.rank])

    where = "optimizer" if call == "agree_on" else call
    for each in failing(monkeypatch, everything):
        assert isinstance(each, MismatchError), each
        assert str(each).startswith(
            f"{where}: ranks must have the same optimizer, each of them updates its own weights: "
        )
        assert text.replace("'", "") in str(each).replace("'", "")


@pytest.mark.parametrize("settings", [{}, {"momentum": 0.5}])
def test_unlike_batch_sizes_are_told_what_to_do(settings, monkeypatch):
    def everything(world):
        own = SGD(rescale_grad=1 / (1 + world.rank), **(settings if world.rank else {}))
        mx.kv.create("dist_sync").agree_on(own, "Trainer")

    for each in failing(monkeypatch, everything):
        assert str(each).startswith("Trainer: ranks must have the same optimizer")
        assert "rescale_grad is 1.0 on rank 0 and 0.5 on rank 1" in str(each)
        assert str(each).endswith(
            "; give step() the same number on all ranks (of fit: batches of the same size)"
        )


def test_many_settings_that_differ_are_cut(monkeypatch):
    def everything(world):
        kv, own = mx.kv.create("dist_sync"), ADAM()
        for i in range(8):
            setattr(own, f"more{i}", world.rank)
        kv.agree_on(own)

    for each in failing(monkeypatch, everything):
        assert str(each).count(" on rank 1") == 5


def test_updaters_that_differ(monkeypatch):
    def one(key, pushed, stored):
        pass

    def other(key, pushed, stored):
        pass

    class Callable:
        def __call__(self, key, pushed, stored):
            pass

    def same_ones(world):
        kv = mx.kv.create("dist_sync")
        for each in (one, Callable(), mx.optimizer.get_updater(SGD())):
            kv.set_updater(each)
            assert kv.updater is each

    run(monkeypatch, 2, same_ones)
    for second, name in ((other, "other"), (Callable(), "Callable")):

        def everything(world, second=second):
            mx.kv.create("dist_sync").set_updater(second if world.rank else one)

        for each in failing(monkeypatch, everything):
            assert "set_updater: ranks must have" in str(each)
            assert "one on rank 0 and " in str(each) and f"{name} on rank 1" in str(each)


def test_states_that_differ(monkeypatch, tmp_path):
    def everything(world, differ):
        kv = mx.kv.create("dist_sync")
        kv.init("w", mx.nd.ones(2))
        kv.set_optimizer(SGD(learning_rate=0.5, momentum=0.9))
        kv.push("w", mx.nd.ones(2))
        path = str(tmp_path / f"{world.rank}.states")
        kv.save_optimizer_states(path)
        kv.load_optimizer_states(path)
        kv.agree_on_states(kv.updater, "here")
        if differ and world.rank:
            kv.updater.states["w"][:] = 3
            kv.save_optimizer_states(path)
        kv.load_optimizer_states(path)

    run(monkeypatch, 2, lambda world: everything(world, False))
    for each in failing(monkeypatch, lambda world: everything(world, True)):
        assert isinstance(each, MismatchError)
        assert "load_optimizer_states: ranks must have the same optimizer" in str(each)
        assert "the digest of the states is" in str(each)


@pytest.mark.parametrize("call", ["push", "sum_up", "rows"])
def test_a_step_of_settings_that_differ(call, monkeypatch):
    """The first request of a step tells them, and no later one."""

    def everything(world):
        kv, own = mx.kv.create("dist_sync"), SGD(learning_rate=0.5)
        kv.init("w", mx.nd.ones((2, 1)))
        given = mx.nd.ones((2, 1))
        given = given.tostype("row_sparse") if call == "rows" else given
        if call == "push":
            kv.set_optimizer(own)
        for _ in range(2):
            kv.push("w", given) if call == "push" else kv.sum_up("w", given, optimizer=own)
            assert kv._terms == ""
        own.rescale_grad = 1 / (world.rank + 1)
        kv.push("w", given) if call == "push" else kv.sum_up("w", given, optimizer=own)
        given.wait_to_read()
        kv.pull("w", out := mx.nd.zeros((2, 1)))
        out.wait_to_read()
        kv.barrier()

    for each in failing(monkeypatch, everything):
        assert isinstance(each, (MismatchError, PeerError)), each
        assert "for a step with rescale_grad=1.0, rank 1 (here) for the" in str(each)
        assert (
            "for a step with rescale_grad=0.5; give step() the same number on all ranks (of fit:"
            " batches of the same size)"
        ) in str(each)


@pytest.mark.parametrize("call", ["push", "sum_up", "share"])
def test_after_a_failure_every_call_says_so(call, monkeypatch):
    def everything(world):
        kv = mx.kv.create("dist_sync")
        kv.init("w", mx.nd.ones(2))
        kv.barrier()
        if world.rank:
            raise ValueError("the disk is full")
        while not world.has_failed:
            pass
        before = world.times[0]
        asked = Asked(kv)
        with pytest.raises(PeerError, match="the disk is full"):
            kv.share({"w": [mx.nd.ones(2)]}) if call == "share" else getattr(kv, call)(
                "w", mx.nd.ones(2)
            )
        assert not asked.rows and world.times[0] == before and kv._first is None
        return "told"

    found = failing(monkeypatch, everything)
    assert found[0] == "told" and str(found[1]) == "the disk is full"


@pytest.mark.parametrize("dtype", ["float32", "float16", "bool"])
@pytest.mark.parametrize("size", [5, 1 << 18, (1 << 20) + 3])
def test_share_of_large_arrays_needs_no_copy(size, dtype, monkeypatch):
    """All devices and ranks have what one rank has; also as a part of an array."""

    def everything(world):
        kv = mx.kv.create("dist_sync")
        whole = mx.nd.full(size + 2, world.rank == 1, dtype=dtype)
        kv.share({"w": [whole[1:-1], mx.nd.full(size, 0, dtype=dtype)]}, 2)
        middle = mx.nd.full(size, world.rank == 1, dtype=dtype)
        other = mx.nd.full(size, 0, mx.cpu(1), dtype=dtype)
        kv.share({"w": [middle, other]}, 1)
        return whole.asnumpy(), middle.asnumpy(), other.asnumpy()

    for rank, (whole, middle, other) in enumerate(run(monkeypatch, 3, everything)):
        assert whole[[0, -1]].tolist() == [rank == 1] * 2 and not whole[1:-1].any()
        assert middle.all() and other.all()
