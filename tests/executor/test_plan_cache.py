"""PlanCache: what is kept, what goes first; hybridized Blocks, Modules and buckets that see many
shapes."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, nd
from cynet.executor import cached_op, executor, plan_cache
from cynet.executor.plan_cache import PlanCache
from cynet.gluon import nn
from tests.steady import assert_flat

MIB = 1 << 20


def plan(mib=0.25, cached_results=()):
    return SimpleNamespace(nbytes=int(mib * MIB), cached_results=cached_results)


class Shared:
    def __init__(self, mib):
        self.nbytes = int(mib * MIB)


@pytest.fixture
def alone(monkeypatch):
    """No cache but those of the test, and a limit of 1 MiB."""
    monkeypatch.setattr(plan_cache, "_caches", type(plan_cache._caches)())
    monkeypatch.setattr(plan_cache, "_cache_age", 0.0)
    monkeypatch.setenv("CYNET_PLAN_CACHE_MB", "1")


def kept(cache):
    return sorted(cache)


def test_within_the_limit_all_stay(alone):
    cache = PlanCache()
    for i in range(4):
        cache.add_plan(i, plan(), 1.0)
    assert kept(cache) == [0, 1, 2, 3]
    assert cache.nbytes == MIB


def test_the_least_recently_used_goes_first(alone):
    cache = PlanCache()
    for i in range(4):
        cache.add_plan(i, plan(), 1.0)
    cache.add_plan(4, plan(), 1.0)  # all alike: any of the four; from here on they have ages
    for key in (gone := [i for i in range(4) if i not in cache]):
        cache.add_plan(key, plan(), 1.0)
    assert len(gone) == 1 and len(cache) == 4
    oldest, *others = [key for key in kept(cache) if key != gone[0]]
    for _ in range(2):
        for key in (*others, gone[0]):
            assert cache.get(key) is not None
    cache.add_plan(9, plan(), 1.0)
    assert oldest not in cache and len(cache) == 4


def test_what_costs_more_stays_longer(alone):
    cache = PlanCache()
    cache.add_plan("dear", plan(), 60.0)
    for i in range(40):
        cache.add_plan(i, plan(), 1.0)
        assert "dear" in cache and cache.nbytes <= MIB
    for i in range(40, 400):  # but not for ever
        cache.add_plan(i, plan(), 1.0)
    assert "dear" not in cache


def test_small_plans_stay_longer_than_large_ones(alone):
    cache = PlanCache()
    cache.add_plan("small", plan(0.01), 1.0)
    cache.add_plan("large", plan(0.7), 1.0)
    cache.add_plan("last", plan(0.5), 1.0)
    assert kept(cache) == ["last", "small"]


def test_the_last_plan_of_each_cache_stays(alone):
    caches = [PlanCache() for _ in range(3)]
    for cache in caches:
        cache.add_plan("a", plan(), 1.0)
        cache.add_plan("b", plan(5), 1.0)
    assert [kept(cache) for cache in caches] == [["b"]] * 3


def test_the_limit_is_that_of_all_caches(alone):
    first, second = PlanCache(), PlanCache()
    for i in range(3):
        first.add_plan(i, plan(), 1.0)
        second.add_plan(i, plan(), 1.0)
    assert first.nbytes + second.nbytes <= MIB
    del first
    for i in range(3):
        second.add_plan(i, plan(), 1.0)
    assert len(second) >= 3


def test_parts_of_a_plan_count_with_it(alone):
    outer, inner = PlanCache(), PlanCache(apart=False)
    inner.add_plan("part", plan(3), 1.0)
    assert "part" in inner
    outer.add_plan("owner", inner, 1.0)
    outer.add_plan("next", plan(), 1.0)
    assert kept(outer) == ["next"]


def test_what_plans_share_counts_once_and_goes_with_the_last(alone, monkeypatch):
    first, second = PlanCache(), PlanCache()
    weights, others = Shared(0.5), Shared(0.4)
    monkeypatch.setattr(plan_cache, "cached_bytes", lambda: weights.nbytes + others.nbytes)
    for i in range(4):
        first.add_plan(i, plan(0.1, [weights]), 1.0)
    second.add_plan("a", plan(0.05, [weights, weights]), 1.0)
    assert kept(first) == [0, 1, 2, 3]  # 0.95 MiB in all
    assert first.cached_results == [weights] * 4 and second.cached_results == [weights]
    second.add_plan("b", plan(0.05, [others]), 1.0)  # 1.4: four plans are not enough to go
    assert kept(second) == ["b"] and kept(first) == [3]
    first.add_plan(4, plan(0.05, [others]), 1.0)  # now the weights have no user
    assert kept(second) == ["b"] and kept(first) == [4]
    for i in range(5, 11):
        first.add_plan(i, plan(0.05, [others]), 1.0)
    assert kept(second) == ["b"] and kept(first) == list(range(4, 11))


def test_a_thread_that_was_faster(alone):
    cache = PlanCache()
    one = cache.add_plan("a", plan(), 1.0)
    assert cache.add_plan("a", plan(), 1.0) is one
    cache.keep_only("b")
    assert cache.get("a") is None


# --- how many plans are made ----------------------------------------------------------------------
@pytest.fixture
def made(monkeypatch):
    """A list that grows with each plan."""
    found = []
    for module in (cached_op, executor):

        def counted(*args, lower=module.lower, **kwargs):
            found.append(1)
            return lower(*args, **kwargs)

        monkeypatch.setattr(module, "lower", counted)
    return found


@pytest.fixture(autouse=True)
def plans_at_once(monkeypatch):
    """All shapes have plans from their first call on."""
    monkeypatch.setenv("CYNET_RUNS_BEFORE_PLAN", "0")


def network(rng):
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(3, 3, padding=1, in_channels=2, activation="relu"),
        nn.BatchNorm(in_channels=3),
        nn.GlobalAvgPool2D(),
        nn.Dense(4, in_units=3),
    )
    net.initialize()
    for each in net.collect_params().values():
        low = 0.5 if each.name.endswith("var") else -1
        each.set_data(nd.array(rng.uniform(low, 1, each.shape)))
    return net


def image(size, rng):
    return nd.array(rng.uniform(-1, 1, (2, 2, size, 5)))


def values(params):
    return {name.split("_", 1)[1]: each.data().asnumpy() for name, each in params.items()}


def step(net, x, trainer):
    with autograd.record():
        out = net(x)
        loss = (out * out).sum()
    loss.backward()
    trainer.step(1)
    return out.asnumpy()


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_each_shape_is_planned_once(made, rng, training, static):
    net = network(rng)
    net.hybridize(static_alloc=static)
    images = [image(4 + i, rng) for i in range(24)]
    for _ in range(3):
        for x in images:
            if training:
                with autograd.record():
                    loss = net(x).sum()
                loss.backward()
            else:
                net(x)
    nd.waitall()
    assert len(made) == 24


def test_plans_of_one_block_share_their_arena(rng):
    net = network(rng)
    net.hybridize()
    for i in range(30):
        with autograd.record():
            loss = net(image(4 + i, rng)).sum()
        loss.backward()
    del loss
    (arenas,) = net._cached._arenas.values()
    assert len(arenas) == 1


@pytest.mark.parametrize("limit", ["", "1"])
def test_training_over_many_shapes_is_that_of_operators(monkeypatch, rng, limit, made):
    """Weights, aux states and results, whatever of the plans is kept."""
    monkeypatch.setenv("CYNET_PLAN_CACHE_MB", limit)
    if limit:
        monkeypatch.setattr(plan_cache, "_STEP_BYTES", 20_000)  # so that 1 MiB is not enough
    state = rng.bit_generator.state
    results = []
    for hybridize in (False, True):
        rng.bit_generator.state = state
        net = network(rng)
        images = [image(4 + i, rng) for i in range(20)]
        if hybridize:
            net.hybridize()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
        outs = []
        for x in (*images, *images[::-1], images[3]):
            outs.append(step(net, x, trainer))
            outs.append(net(x).asnumpy())  # a prediction behind each step: packed weights follow
        results.append((outs, values(net.collect_params())))
    (plain, weights), (outs, found) = results
    assert (len(made) > 60) == bool(limit)  # some were dropped and made anew
    for a, b in zip(plain, outs):
        np.testing.assert_allclose(b, a, rtol=2e-3, atol=1e-4)
    for (_, a), (_, b) in zip(sorted(weights.items()), sorted(found.items())):
        np.testing.assert_allclose(b, a, rtol=2e-3, atol=1e-4)


def test_the_limit_holds(monkeypatch, rng):
    monkeypatch.setenv("CYNET_PLAN_CACHE_MB", "1")
    monkeypatch.setattr(plan_cache, "_STEP_BYTES", 100_000)
    net = network(rng)
    net.hybridize()
    for i in range(30):
        net(image(4 + i, rng))
    (served,) = {id(plan): plan for plan in net._cached._plan_by_signature.values()}.values()
    assert 1 <= served.op.n_programs < 10
    assert served.op.nbytes <= MIB


def test_backward_of_a_plan_that_was_dropped(monkeypatch, rng):
    monkeypatch.setenv("CYNET_PLAN_CACHE_MB", "1")
    monkeypatch.setattr(plan_cache, "_STEP_BYTES", MIB)
    net = network(rng)
    images = [image(4 + i, rng) for i in range(6)]
    grads = []
    for hybridize in (False, True):
        if hybridize:
            net.hybridize()
        with autograd.record():
            losses = [(net(x) ** 2).sum() for x in images]
        for loss in losses:
            loss.backward()
        grads.append(net[0].weight.grad().asnumpy())
    np.testing.assert_allclose(grads[1], grads[0], rtol=2e-3, atol=1e-4)


def test_threads_use_plans_that_others_drop(monkeypatch, rng):
    net = network(rng)
    images = [image(4 + i, rng) for i in range(6)]
    expected = [net(x).asnumpy() for x in images]
    net.hybridize()
    monkeypatch.setenv("CYNET_PLAN_CACHE_MB", "1")
    monkeypatch.setattr(plan_cache, "_STEP_BYTES", MIB)
    wrong = []

    def run(first):
        try:
            for k in range(30):
                i = (first + k) % len(images)
                np.testing.assert_allclose(
                    net(images[i]).asnumpy(), expected[i], rtol=2e-3, atol=1e-4
                )
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


class Looks(mx.gluon.HybridBlock):
    """Its graph serves one shape."""

    traced = 0

    def forward(self, x):
        self.traced_now()
        return x.reshape((x.shape[0], -1)).sum(axis=1) * x.shape[1]

    @classmethod
    def traced_now(cls):
        cls.traced += 1


def test_graphs_that_looked_at_shapes_are_kept(made, rng, monkeypatch):
    monkeypatch.setattr(Looks, "traced", 0)
    net = Looks()
    net.hybridize()
    arrays = [nd.array(rng.uniform(-1, 1, (2, n))) for n in range(3, 27)]
    for _ in range(3):
        for x in arrays:
            a = x.asnumpy()
            np.testing.assert_allclose(net(x).asnumpy(), a.sum(1) * a.shape[1], rtol=1e-4)
    assert Looks.traced == len(made) == 24
    monkeypatch.setenv("CYNET_PLAN_CACHE_MB", "1")
    for n in range(27, 300):
        net(nd.ones((2, n)))
    assert net._cached._exact_plans.nbytes <= MIB


RANDOM_SHAPES = """
os.environ["CYNET_PLAN_CACHE_MB"] = "4"
net = mx.gluon.nn.HybridSequential()
net.add(mx.gluon.nn.Conv2D(3, 3, in_channels=2), mx.gluon.nn.BatchNorm(in_channels=3),
        mx.gluon.nn.GlobalAvgPool2D(), mx.gluon.nn.Dense(4, in_units=3))
net.initialize()
net.hybridize()

def body():
    x = nd.ones((1, 2, *dims(4, 40, 2)))
    net(x).wait_to_read()
    with mx.autograd.record():
        loss = net(x).sum()
    loss.backward()
"""


def test_memory_stays_flat_over_random_shapes():
    assert_flat(RANDOM_SHAPES, rounds=600, within=0.03)


# --- Modules --------------------------------------------------------------------------------------
def classifier():
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=3, pad=(1, 1), name="c")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, name="bn"), act_type="relu")
    net = mx.sym.Pooling(net, global_pool=True, kernel=(1, 1), pool_type="avg")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3, name="f"), name="softmax")


def module(rng, shape, params=None):
    made = mx.mod.Module(classifier())
    made.bind([("data", shape)], [("softmax_label", shape[:1])])
    made.init_params(mx.init.Uniform(0.5))
    if params is not None:
        made.set_params(*params)
    made.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 0.1})
    return made


def batch(size, rng, rows=2):
    label = nd.array(rng.integers(0, 3, rows))
    return mx.io.DataBatch([nd.array(rng.uniform(-1, 1, (rows, 2, size, 5)))], [label])


def test_a_module_plans_each_shape_once(made, rng):
    net = module(rng, (2, 2, 4, 5))
    batches = [batch(4 + i % 20, rng, 2 + i // 20) for i in range(24)]
    for _ in range(3):
        for each in batches:
            net.forward_backward(each)
            net.update()
    assert len(made) == 24


@pytest.mark.parametrize("limit", ["", "1"])
def test_a_module_of_many_shapes_trains_as_one_of_each(monkeypatch, rng, limit, made):
    monkeypatch.setenv("CYNET_PLAN_CACHE_MB", limit)
    if limit:
        monkeypatch.setattr(plan_cache, "_STEP_BYTES", 50_000)
    batches = [batch(4 + i, rng) for i in range(12)]
    net = module(rng, (2, 2, 4, 5))
    params = net.get_params()
    params = [{name: each.copy() for name, each in part.items()} for part in params]
    for each in (*batches, *batches[::-1]):
        net.forward_backward(each)
        net.update()
        found = net.get_outputs()[0].asnumpy()
        fresh = module(rng, each.data[0].shape, params)
        del made[-1]
        fresh.forward_backward(each)
        fresh.update()
        params = fresh.get_params()
        np.testing.assert_allclose(found, fresh.get_outputs()[0].asnumpy(), rtol=1e-4, atol=1e-6)
        for mine, other in zip(net.get_params(), params):
            for name in other:
                np.testing.assert_allclose(
                    mine[name].asnumpy(), other[name].asnumpy(), rtol=1e-4, atol=1e-5
                )
    assert (len(made) > 12) == bool(limit)


def test_a_module_of_bfloat16_is_counted():
    net = mx.sym.FullyConnected(mx.sym.Variable("data", dtype="bfloat16"), num_hidden=3)
    made = mx.mod.Module(net, label_names=None)
    made.bind([mx.io.DataDesc("data", (4, 5), "bfloat16")], for_training=False)
    made.init_params()
    made.forward(mx.io.DataBatch([nd.ones((6, 5), dtype="bfloat16")]), is_train=False)
    assert made.get_outputs()[0].shape == (6, 3)
    assert made._exec_group.nbytes > 2 * (4 + 6) * (5 + 3)


def generate(length):
    net = mx.sym.reshape(mx.sym.var("data"), shape=(-1, length, 2))
    net = mx.sym.FullyConnected(mx.sym.sum(net, axis=1), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)


def bucket(length, rng):
    data = nd.array(rng.standard_normal((4, 2 * length)))
    return mx.io.DataBatch(
        [data],
        [nd.array(rng.integers(0, 3, 4))],
        bucket_key=length,
        provide_data=[mx.io.DataDesc("data", data.shape)],
        provide_label=[mx.io.DataDesc("softmax_label", (4,))],
    )


def test_buckets_that_went_are_bound_again(monkeypatch, rng, tmp_path):
    results = []
    batches = [bucket(2 + i, rng) for i in range(8)]
    for limit in ("", "1"):
        monkeypatch.setenv("CYNET_PLAN_CACHE_MB", limit)
        if limit:
            monkeypatch.setattr(plan_cache, "_STEP_BYTES", 50_000)
        net = mx.mod.BucketingModule(generate, default_bucket_key=9)
        net.bind([("data", (4, 18))], [("softmax_label", (4,))])
        net.init_params(mx.init.One())
        net.init_optimizer(optimizer="sgd", optimizer_params={"momentum": 0.9})
        outs = []
        for each in (*batches, *batches):
            net.forward_backward(each)
            net.update()
            outs.append(net.get_outputs()[0].asnumpy())
        results.append((outs, net.get_params()[0]["fc_weight"].asnumpy()))
        assert (len(net._bucket_cache) < 7) == bool(limit)
        prefix = str(tmp_path / f"net{limit}")
        net.save_checkpoint(prefix, 1)
        saved = {path.name for path in tmp_path.glob(f"net{limit}-*-symbol.json")}
        assert saved == {f"net{limit}-{2 + i}-symbol.json" for i in range(8)}
    for a, b in zip(*(outs for outs, _ in results)):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(results[0][1], results[1][1])


# --- executors that share an arena ----------------------------------------------------------------
def bound(rows, shared=None):
    if shared is not None:
        return shared.reshape(data=(rows, 2, 4, 5), softmax_label=(rows,), allow_up_sizing=True)
    made = classifier().simple_bind(mx.cpu(), data=(rows, 2, 4, 5))
    for name, array in made.arg_dict.items():
        if name != "softmax_label":
            array[:] = 0.1 * nd.arange(array.size).reshape(array.shape)
    return made


def test_growing_executors_have_one_arena():
    first = made = bound(1)
    for rows in range(2, 30):
        made = bound(rows, made)
        made.forward(True)
        made.backward()
    assert len(made._arena_pool._leases) == 1
    held = {id(each.array) for each in (first._lease, made._lease) if each.array is not None}
    assert len(held) == 1


def test_two_forwards_before_two_backwards(rng):
    grads, data = [], [rng.uniform(-1, 1, (rows, 2, 4, 5)) for rows in (2, 3)]
    for shared in (False, True):
        one = bound(2)
        two = bound(3, one if shared else None)
        found = []
        for each, x in zip((one, two), data):
            each.arg_dict["data"][:] = nd.array(x)
            each.forward(True)
        for each in (one, two):
            each.backward()
            found.append(each.grad_dict["c_weight"].asnumpy())
        grads.append(found)
    for a, b in zip(*grads):
        np.testing.assert_allclose(b, a, rtol=1e-5)


def test_backward_of_what_is_gone_is_refused():
    one = bound(2)
    two = bound(2, one)
    one.forward(True)
    one.backward()
    two.forward(True)
    two.backward()
    with pytest.raises(mx.base.errors.CynetError, match="an executor that shares memory"):
        one.backward()
    one.forward(True)
    one.backward()
