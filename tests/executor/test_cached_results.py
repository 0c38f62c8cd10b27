"""CachedResult: weights as kernels read them, made once for all plans that read them so."""

import gc
import threading
import weakref

import numpy as np
import pytest
from cynet.executor.cached_results import CachedResult, cached_bytes, cached_groups

import cynet as mx
from cynet import autograd, nd
from cynet.gluon import nn
from cynet.kernels.conv import onednn
from tests.pairs import pairwise

needs_onednn = pytest.mark.skipif(not onednn.available(), reason="oneDNN's wheel is not installed")
SIZES = (9, 12, 15, 9, 20)


@pytest.fixture(autouse=True)
def plans_at_once(monkeypatch):
    """All shapes have plans from their first call on."""
    monkeypatch.setenv("CYNET_RUNS_BEFORE_PLAN", "0")


def network(seed=3, channels=32):
    """Convolutions by oneDNN, by Winograd's products and by a product of matrices."""
    rng = np.random.RandomState(seed)
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(32, 3, in_channels=4, activation="relu"),
        nn.Conv2D(channels, 3, padding=1, in_channels=32, use_bias=False),
        nn.BatchNorm(in_channels=channels),
        nn.Conv2D(48, 1, in_channels=channels, activation="relu"),
        nn.GlobalAvgPool2D(),
        nn.Dense(5, in_units=48),
    )
    net.initialize()
    for each in net.collect_params().values():
        low = 0.5 if each.name.endswith("var") else -1
        each.set_data(nd.array(rng.uniform(low, 1, each.shape)))
    return net


def image(size, seed=0):
    return nd.array(np.random.RandomState(seed + size).uniform(-1, 1, (2, 4, size, size - 2)))


def alone(net, x):
    """What a network of the same parameters, that has seen no other shape, says to `x`."""
    other = network()
    for mine, its in zip(other.collect_params().values(), net.collect_params().values()):
        mine.set_data(its.data().copy())
    other.hybridize()
    return other(x).asnumpy()


def all_kept():
    """Bytes, of what somebody still has."""
    nd.waitall()
    gc.collect()
    return cached_bytes()


def by_operators(net, x):
    net.hybridize(active=False)
    try:
        return net(x).asnumpy()
    finally:
        net.hybridize()


def plans_of(net):
    (graphs,) = net._cached._plans.values()
    return graphs[0].op._programs.values()


# --- one memory -----------------------------------------------------------------------------------
@needs_onednn
def test_plans_of_all_shapes_share_what_they_pack():
    net = network()
    net.hybridize()
    before = all_kept()
    net(image(9)).wait_to_read()
    assert cached_bytes() > before
    for size in range(9, 21):
        np.testing.assert_array_equal(net(image(size)).asnumpy(), alone(net, image(size)))
    gc.collect()
    plans = plans_of(net)
    assert len(plans) == 12
    kept = {*net._cached._plans[1, 0][0].op.cached_results}
    assert len(kept) <= 3 * 2  # each weight has as many forms as there are kernels for it
    assert sum(each.nbytes for each in kept) == cached_bytes() - before
    del plans, kept, net
    assert all_kept() == before


def test_modules_of_other_shapes_share_them_too():
    data = mx.sym.var("data")
    net = mx.sym.Convolution(data, num_filter=32, kernel=(3, 3), name="c")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (1, 16, 9, 9))], for_training=False)
    module.init_params(mx.init.Uniform(1))
    found = []
    for scale in (1, 2):
        weight = mx.nd.full((32, 16, 3, 3), 0.5 * scale)
        module.set_params({"c_weight": weight, "c_bias": mx.nd.full((32,), scale)}, {})
        for size in (9, 11, 30, 9):
            module.forward(mx.io.DataBatch([nd.ones((1, 16, size, size))]), is_train=False)
            out = module.get_outputs()[0].asnumpy()
            assert out.shape == (1, 32, size - 2, size - 2)
            np.testing.assert_allclose(out, scale * (0.5 * 16 * 9 + 1), rtol=1e-5)
            found += module._exec_group.execs[0].cached_results
    assert len(set(found)) < len(found)
    array = module._exec_group.execs[0].arg_dict["c_weight"]
    assert all(each.sources[0] is array for each in found)


def test_executors_that_share_a_weight_share_its_form():
    """Also within one network; not those of another weight, nor what computes something else."""
    x, w = mx.sym.var("x"), mx.sym.var("w")

    def bound(net, weight, size=9):
        arrays = {"x": nd.ones((1, 32, size, size)), "w": weight}
        return net.bind(mx.cpu(), arrays, grad_req="null")

    def convolution(weight, x=x, **kwargs):
        return mx.sym.Convolution(
            x, weight, num_filter=32, kernel=(3, 3), pad=(1, 1), no_bias=True, **kwargs
        )

    first, second = (nd.full((32, 32, 3, 3), value) for value in (0.5, 1))
    twice = bound(convolution(w, convolution(w)), first)
    one, larger, other = bound(convolution(w), first), bound(convolution(w), first, 10), None
    other = bound(convolution(w), second)
    scaled = [bound(convolution(w * s), first, n) for s, n in ((2.0, 9), (2.0, 10), (4.0, 9))]
    for each, value in ((twice, 0.5 * 0.5 * 288), (one, 0.5), (larger, 0.5), (other, 1)):
        got = each.forward()[0].asnumpy()[0, 0, 4, 4]
        np.testing.assert_allclose(got, 288 * value, rtol=1e-5)
    for each, value in zip(scaled, (2, 2, 4)):
        np.testing.assert_allclose(each.forward()[0].asnumpy()[0, 0, 4, 4], 144 * value, rtol=1e-5)
    if onednn.available():
        assert len(twice.cached_results) == 2 and {*twice.cached_results} == {
            *one.cached_results
        } == {*larger.cached_results}
        assert not {*one.cached_results} & {*other.cached_results}
    (a,), (b,), (c,) = (each.cached_results for each in scaled)
    assert a is b and a is not c


# --- what is the same -----------------------------------------------------------------------------
WINDOWS = pairwise(
    [(1, 1), (3, 3), (5, 5), (2, 3)],
    [(1, 1), (2, 2), (1, 2)],
    [(0, 0), (1, 1)],
    [1, 4],
    [16, 24, 64],
)


@pytest.mark.parametrize("algorithm", ["", "gemm", "winograd", "onednn", "scatter"])
@pytest.mark.parametrize("name", ["Convolution", "Deconvolution"])
def test_equal_forms_are_equal_bytes(name, algorithm, monkeypatch):
    """Of one weight, packed apart for images of many sizes."""
    monkeypatch.setenv("CYNET_CONV_ALGORITHM", algorithm)
    pairs = 0
    for kernel, stride, pad, groups, filters in WINDOWS:
        net = getattr(mx.sym, name)(
            mx.sym.var("x"),
            mx.sym.var("w"),
            kernel=kernel,
            stride=stride,
            pad=pad,
            num_group=groups,
            num_filter=filters,
            no_bias=True,
        )
        found = {}
        for batch, size in ((1, 5), (1, 8), (4, 8), (2, 17), (1, 40)):
            bound = net.simple_bind(mx.cpu(), grad_req="null", x=(batch, 16, size, size))
            shape = bound.arg_dict["w"].shape
            bound.arg_dict["w"][:] = np.random.RandomState(1).uniform(-1, 1, shape)
            for kept in bound.cached_results:
                kept.array[:] = 7  # gaps, which nobody reads
            bound.forward()
            for group, kept in zip(cached_groups(bound._graph), bound.cached_results, strict=True):
                assert group.form is not None
                now = kept.array.asnumpy().tobytes()
                pairs += group.form in found
                assert found.setdefault(group.form, now) == now, group.form
    if name == "Convolution" and onednn.available() and algorithm != "scatter":
        assert pairs > 20


def test_forms_differ_by_parameters_and_order():
    w, v = mx.sym.var("w"), mx.sym.var("v")
    weights = {
        "double": w * 2.0,
        "negative zero": w * -0.0,
        "zero": w * 0.0,
        "sum": w + v,
        "difference": w - v,
        "the other way": v - w,
        "square": w * w,
        "product": w * v,
        "both": (w + v) * v,
        "both, the other": (w + v) * w,
        "root": mx.sym.sqrt(mx.sym.abs(w)),
        "clip": mx.sym.clip(w, -0.5, 0.5),
        "clip more": mx.sym.clip(w, -0.5, 0.25),
        "cast": mx.sym.cast(mx.sym.cast(w, dtype="float16"), dtype="float32"),
    }
    forms = {}
    arrays = {name: nd.array(np.random.RandomState(2).randn(16, 16, 3, 3)) for name in "wv"}
    for name, weight in weights.items():
        for size in (8, 9):
            net = mx.sym.Convolution(
                mx.sym.var("x"), weight, num_filter=16, kernel=(3, 3), no_bias=True
            )
            args = {n: arrays[n] for n in net.list_arguments() if n in arrays}
            args["x"] = nd.ones((1, 16, size, size))
            bound = net.bind(mx.cpu(), args, grad_req="null")
            want = (
                args["x"].asnumpy()[0, :, :3, :3]
                * weight.eval(**{n: a for n, a in args.items() if n != "x"})[0].asnumpy()
            )
            got = bound.forward()[0].asnumpy()[0, :, 0, 0]
            np.testing.assert_allclose(got, want.sum((1, 2, 3)), rtol=1e-4, atol=1e-4)
            for group in cached_groups(bound._graph):
                key = group.form, *[source.name for source in group.sources]
                assert forms.setdefault(key, name) == name
    assert len(forms) >= len(weights) - 2


# --- what is written in between -------------------------------------------------------------------
def set_data(net):
    for each in net.collect_params().values():
        each.set_data(each.data() * 0.75 + 0.125)


def in_place(net):
    for each in net.collect_params().values():
        array = each.data()
        array *= 1.5


def one_value(net):
    net[1].weight.data()[3, 2] = 7


def train(net):
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e-4})
    for size in (10, 9):
        with autograd.record():
            loss = (net(image(size)) ** 2).sum()
        loss.backward()
        trainer.step(1)


def new_arrays(net):
    net.initialize(mx.init.Uniform(1), force_reinit=True)


def other_dtype(net):
    net.cast("float64")
    net.cast("float32")


def by_numpy(net):
    """Memory that somebody else has: each run looks anew."""
    view = np.from_dlpack(net[3].weight.data())
    np.copyto(np.asarray(view), 0.5) if view.flags.writeable else net[3].weight.set_data(
        mx.nd.full(view.shape, 0.5)
    )


def load(net, path):
    other = network(seed=8)
    other.save_parameters(str(path / "params"))
    net.load_parameters(str(path / "params"))


@pytest.mark.parametrize(
    "change", [set_data, in_place, one_value, train, new_arrays, other_dtype, by_numpy, load]
)
def test_each_shape_sees_what_was_written(change, tmp_path):
    """Whichever plan comes first after the change, and whichever made what they share."""
    net = network()
    net.hybridize()
    for size in SIZES:
        net(image(size)).wait_to_read()
    for turn in (0, 2):  # first comes a plan that came first before, or one that did not
        change(net, *([tmp_path] if change is load else []))
        for size in SIZES[turn:] + SIZES[:turn]:
            got = net(image(size)).asnumpy()
            np.testing.assert_array_equal(got, alone(net, image(size)))
        np.testing.assert_allclose(got, by_operators(net, image(size)), rtol=1e-3, atol=1e-3)
        for size in SIZES:  # what was not hybridized meanwhile has plans anew
            net(image(size))


def test_what_an_old_array_was_packed_to_goes_with_it():
    net = network()
    net.hybridize()
    before = all_kept()
    sizes = []
    for _ in range(4):
        for size in SIZES:
            net(image(size)).wait_to_read()
        sizes.append(all_kept() - before)
        new_arrays(net)
    assert len(set(sizes)) == 1


def test_weights_that_are_data():
    """Each call has other ones; they are let go."""

    class Hyper(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, weight):
            return F.Convolution(x, weight, num_filter=32, kernel=(3, 3), pad=(1, 1), no_bias=True)

    before = all_kept()
    net = Hyper()
    net.hybridize()
    known = [nd.full((32, 32, 3, 3), value) for value in (1, 2)]
    for i in range(31):
        size = 7 + i % 3
        weight = known[i % 2] if i % 5 else nd.full((32, 32, 3, 3), i)
        value = weight.asnumpy().flat[0]
        got = net(nd.ones((1, 32, size, size)), weight).asnumpy()
        np.testing.assert_allclose(got[0, :, 3, 3], 288 * value, rtol=1e-5)
    last = weakref.ref(weight)
    del weight, net
    assert all_kept() == before and last() is None


def test_threads_see_one_weight_or_the_other():
    """Several plans run at once while the weight that they share is written."""
    net = nn.HybridSequential()
    net.add(nn.Conv2D(64, 3, in_channels=64, use_bias=False))
    net.initialize()
    net.hybridize()
    weight, wrong, stop = net[0].weight.data(), [], threading.Event()
    weight[:] = 1
    images = [nd.ones((1, 64, size, 6)) for size in (5, 6, 7, 8)]
    for x in images:
        net(x).wait_to_read()

    def predict(x):
        while not stop.is_set():
            found = set(np.unique(net(x).asnumpy()))
            if len(found) != 1 or not found <= {576.0, 1152.0}:
                wrong.append(found)
                return

    threads = [threading.Thread(target=predict, args=(x,)) for x in images + images[:2]]
    for each in threads:
        each.start()
    for i in range(300):
        weight[:] = 1 + i % 2
        if i % 3 == 0:
            weight.wait_to_read()
    stop.set()
    for each in threads:
        each.join()
    assert not wrong


def test_a_failed_write_is_made_good_for_all_shapes():
    class Fails(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            raise ValueError("no weights today")

    @mx.operator.register("kept_fails")
    class FailsProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Fails()

    net = network()
    net.hybridize()
    for size in SIZES:
        net(image(size)).wait_to_read()
    weight = net[1].weight.data()
    for turn in range(3):
        with pytest.raises(Exception, match="no weights today"):
            nd.Custom(weight, op_type="kept_fails", out=weight)
            net(image(SIZES[turn])).wait_to_read()
        weight[:] = 0.5 + turn
        for size in SIZES:
            np.testing.assert_array_equal(net(image(size)).asnumpy(), alone(net, image(size)))


# --- how it counts --------------------------------------------------------------------------------
def test_a_kept_is_freed_with_its_last_user():
    before, array = all_kept(), nd.ones((4,))

    class Value:
        name, shape, dtype, ctx = "w_packed", (3, 5), "float64", mx.cpu()

    kept = CachedResult(Value, [array])
    assert kept.nbytes == 120 and cached_bytes() == before + 120
    assert kept.array.shape == (3, 5) and kept.sources == [array]
    del kept
    assert cached_bytes() == before
