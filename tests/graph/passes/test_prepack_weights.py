"""The pack pass: a prediction gives what the plain plan gives, whatever is written between two of
them."""

import ctypes
import io

import numpy as np
import pytest

import cynet as mx
from cynet.graph.compile import lower
from cynet.kernels.conv import onednn
from cynet.kernels.isa.dispatch import cpu_capability

needs_onednn = pytest.mark.skipif(not onednn.available(), reason="oneDNN's wheel is not installed")
PASSES = ["all", "layout,pack", "layout,fuse,pack", "-pack", "-layout"]


def convolution(x, filters=6, kernel=(3, 3), **kwargs):
    return mx.sym.Convolution(x, num_filter=filters, kernel=kernel, **kwargs)


def norm(x, **kwargs):
    return mx.sym.BatchNorm(x, **{"fix_gamma": False, **kwargs})


def relu(x):
    return mx.sym.Activation(x, act_type="relu")


def dense(x, **kwargs):
    return mx.sym.FullyConnected(x, num_hidden=5, **kwargs)


def shared(x):
    """One weight, two norms."""
    w = mx.sym.var("w")
    a, b = (convolution(x, 4, pad=(p, p), weight=w, no_bias=True) for p in (0, 1))
    return mx.sym.Group([norm(a), relu(norm(b))])


def residual(x):
    y = relu(norm(convolution(x, 16, pad=(1, 1), no_bias=True)))
    z = norm(convolution(y, 16, pad=(1, 1), no_bias=True))
    return relu(z + norm(convolution(x, 16, (1, 1))))


NETS = {
    "bias": lambda x: norm(convolution(x)),
    "no bias": lambda x: norm(convolution(x, no_bias=True), eps=0.1),
    "fixed gamma": lambda x: norm(convolution(x), fix_gamma=True),
    "given statistics": lambda x: relu(norm(convolution(x), use_global_stats=True)),
    "groups": lambda x: relu(norm(convolution(x, 8, num_group=4, stride=(2, 1)))),
    "large": lambda x: relu(norm(convolution(norm(convolution(x, 32)), 48, pad=(1, 1)))),
    "wide": lambda x: relu(norm(convolution(norm(convolution(x, 32)), 48, (5, 5)))),
    "layout": lambda x: relu(convolution(x, 48, layout="NHWC")),
    "dense": lambda x: relu(norm(dense(x))),
    "dense last axis": lambda x: norm(dense(x, flatten=False), axis=-1),
    "deconvolution": lambda x: norm(mx.sym.Deconvolution(x, num_filter=3, kernel=(2, 2))),
    "made weight": lambda x: norm(
        convolution(x, 4, weight=mx.sym.var("w", shape=(4, 4, 3, 3)) * 2)
    ),
    "shared weight": shared,
    "residual": residual,
}


def bind(net, shape=(3, 4, 9, 8), dtype="float32", seed=3):
    """An executor without gradients, its arrays filled."""
    types = dict.fromkeys((*net.list_arguments(), *net.list_auxiliary_states()), dtype)
    executor = net.simple_bind(mx.cpu(), grad_req="null", type_dict=types, x=shape)
    rng = np.random.RandomState(seed)
    for name, array in (*executor.arg_dict.items(), *executor.aux_dict.items()):
        low = 0.5 if "var" in name or "gamma" in name else -1
        array[:] = rng.uniform(low, 1, array.shape)
    return executor


def pair(net, passes, monkeypatch, **options):
    """The same network with `passes` and with none: portable row-major operators, the slower
    independent implementation."""
    made = []
    for chosen in (passes, "none"):
        monkeypatch.setenv("CYNET_GRAPH_PASSES", chosen)
        made.append(bind(net, **options))
    return made


def compare(got, want, is_train=False, rtol=1e-4):
    for a, b in zip(got.forward(is_train), want.forward(is_train), strict=True):
        a, b = a.asnumpy(), b.asnumpy()
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1, np.abs(b).max()))


def steps_of(executor, name):
    return [step for step in executor._graph.steps if step.prop.op_name == name]


@pytest.mark.parametrize("passes", PASSES)
@pytest.mark.parametrize("name", NETS)
def test_predicts_and_runs_in_training_mode(name, passes, monkeypatch):
    """One executor, both kinds of forward, in any order; states stay as they are."""
    got, want = pair(NETS[name](mx.sym.var("x")), passes, monkeypatch)
    for is_train in (False, True, True, False, False, True):
        compare(got, want, is_train, 3e-4)
    for a, b in zip(got.aux_arrays, want.aux_arrays, strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


@pytest.mark.parametrize("shape", [(2, 3, 11), (1, 2, 5, 6, 7)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_and_three_spatial_axes(shape, dtype, monkeypatch):
    net = relu(norm(convolution(mx.sym.var("x"), 5, (3,) * (len(shape) - 2))))
    got, want = pair(net, "all", monkeypatch, shape=shape, dtype=dtype)
    compare(got, want, rtol=1e-4 if dtype == "float32" else 1e-12)


# --- what is written between two predictions ------------------------------------------------------
def deep(x):
    """One convolution that oneDNN computes, one by Winograd's products, one row-major dense map."""
    x = relu(norm(convolution(x, 32, name="direct"), name="norm"))
    x = relu(norm(convolution(x, 32, pad=(1, 1), no_bias=True, name="winograd"), name="other"))
    return dense(mx.sym.Flatten(norm(x, name="last")), name="dense")


def write_slice(executor, name):
    executor.arg_dict[name][1:2] = 0.25


def write_whole(executor, name):
    array = executor.arg_dict[name]
    array[:] = np.random.RandomState(1).uniform(0.5, 1, array.shape)


def write_in_place(executor, name):
    array = executor.arg_dict[name]
    array *= -0.5


def write_view(executor, name):
    executor.arg_dict[name].reshape((-1,))[3:9] = 1


def write_by_operator(executor, name):
    weight = executor.arg_dict[name]
    mx.nd.sgd_update(weight, mx.nd.ones(weight.shape), lr=0.1, wd=0.0, out=weight)


def write_copy(executor, name):
    mx.nd.ones(executor.arg_dict[name].shape).copyto(executor.arg_dict[name])


def write_params(executor, name):
    executor.copy_params_from({name: executor.arg_dict[name] * 2})


def write_by_forward(executor, name):
    weight = executor.arg_dict[name]
    executor.forward(**{name: weight.asnumpy() + 0.5})


def write_buffer(executor, name):
    io.BytesIO(np.full(5, 2, np.float32).tobytes()).readinto(executor.arg_dict[name])


def write_dlpack(executor, name):
    array = mx.nd.from_dlpack(executor.arg_dict[name].__dlpack__())
    array[0] = 3
    array.wait_to_read()


def write_address(executor, name):
    array = executor.arg_dict[name]
    array.wait_to_write()
    ctypes.cast(array.data_ptr, ctypes.POINTER(ctypes.c_float))[2] = 4


WRITES = [value for key, value in sorted(globals().items()) if key.startswith("write_")]
NAMES = ["direct_weight", "direct_bias", "winograd_weight", "norm_gamma", "other_beta"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("write", WRITES)
def test_sees_what_was_written(write, name, monkeypatch):
    """Everything a user may write with, again and again."""
    got, want = pair(deep(mx.sym.var("x")), "all", monkeypatch)
    compare(got, want)
    for _ in range(2):
        for executor in (got, want):
            write(executor, name)
        compare(got, want)
        compare(got, want)


@pytest.mark.parametrize("name", ["direct_weight", "winograd_weight"])
def test_sees_what_is_noted(name, monkeypatch):
    """A write that waits in a bulk when the executor runs."""
    got, want = pair(deep(mx.sym.var("x")), "all", monkeypatch)
    compare(got, want)
    with mx.engine.bulk(40):
        for executor in (got, want):
            write_in_place(executor, name)
        compare(got, want)
    compare(got, want)


@pytest.mark.parametrize("name", ["norm_moving_mean", "other_moving_var"])
def test_sees_new_statistics(name, monkeypatch):
    got, want = pair(deep(mx.sym.var("x")), "all", monkeypatch)
    compare(got, want)
    for executor in (got, want):
        executor.aux_dict[name][:] = np.linspace(0.5, 2, 32)
    compare(got, want)


def test_sees_another_executors_training(monkeypatch):
    """Weights and statistics that a bound training executor shares and moves."""
    net = mx.sym.LinearRegressionOutput(deep(mx.sym.var("x")), mx.sym.var("y"))
    data = np.random.RandomState(0).uniform(-1, 1, (3, 4, 9, 8))
    found = []
    for passes in ("all", "none"):
        monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
        trainer = net.simple_bind(mx.cpu(), x=data.shape, y=(3, 5))
        rng = np.random.RandomState(3)
        for name, array in (*trainer.arg_dict.items(), *trainer.aux_dict.items()):
            array[:] = rng.uniform(0.5 if "var" in name else -0.3, 1, array.shape)
        trainer.arg_dict["x"][:] = data
        predictor = net.bind(
            mx.cpu(), trainer.arg_dict, grad_req="null", aux_states=trainer.aux_dict
        )
        for _ in range(3):
            found.append(predictor.forward()[0].asnumpy())
            trainer.forward(is_train=True)
            trainer.backward()
            for name in ("direct_weight", "winograd_weight", "norm_gamma"):
                trainer.arg_dict[name] -= 1e-3 * trainer.grad_dict[name]
        found.append(predictor.forward()[0].asnumpy())
    half = len(found) // 2
    for a, b in zip(found[:half], found[half:], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3 * np.abs(b).max())
    assert not np.allclose(found[0], found[3], rtol=1e-3)


def test_arrays_over_foreign_memory(monkeypatch):
    """NumPy's own memory, bound by DLPack: what NumPy writes there is seen."""
    net = norm(convolution(mx.sym.var("x"), 32, name="c"), name="n")
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "all")
    made = bind(net)
    weight = np.ones(made.arg_dict["c_weight"].shape, np.float32)
    args = {**made.arg_dict, "c_weight": mx.nd.from_dlpack(weight)}
    executor = net.bind(mx.cpu(), args, grad_req="null", aux_states=made.aux_dict)
    first = executor.forward()[0].asnumpy()
    weight *= 2
    second = executor.forward()[0].asnumpy()
    beta, mean = made.arg_dict["n_beta"].asnumpy(), made.aux_dict["n_moving_mean"].asnumpy()
    gamma, var = made.arg_dict["n_gamma"].asnumpy(), made.aux_dict["n_moving_var"].asnumpy()
    bias = made.arg_dict["c_bias"].asnumpy()
    fixed = ((bias - mean) * gamma / np.sqrt(var + 1e-3) + beta)[:, None, None]
    np.testing.assert_allclose(second - fixed, 2 * (first - fixed), rtol=1e-4, atol=1e-4)


def runs(executor, n):
    """How often each kept step ran in `n` predictions."""
    executor._plan.set_profiled(True)
    for _ in range(n):
        executor.forward()
    mx.nd.waitall()
    calls = [count for _, count in executor._plan.profile()]
    executor._plan.set_profiled(False)
    return [c for step, c in zip(executor._graph.steps, calls) if step.cached is not None]


@needs_onednn
def test_packs_only_what_changed(monkeypatch):
    """Kept steps run once, then those whose inputs were written; all of an exposed array's, every
    time."""
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "all")
    executor = bind(deep(mx.sym.var("x")))
    assert sum(step.cached is not None for step in executor._graph.steps) == 2
    assert runs(executor, 3) == [1, 1]
    assert runs(executor, 3) == [0, 0]
    executor.arg_dict["x"][:] = 1
    executor.arg_dict["norm_beta"][:] = 1
    executor.arg_dict["dense_weight"][:] = 1
    assert runs(executor, 2) == [0, 0]
    executor.arg_dict["direct_weight"][:] = 1
    assert runs(executor, 3) == [1, 0]
    executor.arg_dict["winograd_weight"].__dlpack__()
    assert runs(executor, 3) == [0, 3]


def test_nothing_is_allocated_when_nothing_changes(monkeypatch):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "all")
    executor = bind(deep(mx.sym.var("x")))
    for is_train in (False, True, False):
        executor.forward(is_train)
    mx.nd.waitall()
    before = mx.storage.stats(mx.cpu())
    for i in range(20):
        executor.arg_dict["direct_weight"][:] = i
        executor.forward(is_train=i % 3 == 0)
    mx.nd.waitall()
    after = mx.storage.stats(mx.cpu())
    assert (after["hits"], after["misses"]) == (before["hits"], before["misses"])


def test_a_failed_write_is_raised_and_then_made_good(monkeypatch):
    """Weights that nothing could be computed for are not taken for the old ones."""

    class Fails(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            raise ValueError("no weights today")

    @mx.operator.register("pack_fails")
    class FailsProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Fails()

    got, want = pair(deep(mx.sym.var("x")), "all", monkeypatch)
    compare(got, want)
    weight = got.arg_dict["winograd_weight"]
    with pytest.raises(Exception, match="no weights today"):
        mx.nd.Custom(weight, op_type="pack_fails", out=weight)
        got.forward()[0].wait_to_read()
    for executor in (got, want):
        executor.arg_dict["winograd_weight"][:] = 0.5
    compare(got, want)


@needs_onednn
@pytest.mark.skipif(cpu_capability() != "amx", reason="no AMX")
@pytest.mark.parametrize(
    "stride, size", [((1, 1), (14, 14)), ((2, 2), (28, 27)), ((1, 3), (14, 40))]
)
def test_convolutions_of_one_pixel_by_packed_products(stride, size, monkeypatch):
    net = relu(norm(convolution(mx.sym.var("x"), 512, (1, 1), stride=stride, name="c")))
    got, want = pair(net, "all", monkeypatch, shape=(2, 256, *size))
    (step,) = [step for step in got._graph.steps if step.name == "c"]
    assert step.algorithms["forward"].name == "gemm" and len(steps_of(got, "_pack_weight")) == 1
    compare(got, want)
    for value in (1e-36, 0.25):  # a block that is not split, and is again
        for executor in got, want:
            executor.arg_dict["c_weight"][7, 40] = value
        compare(got, want)


# --- weights that the network makes ---------------------------------------------------------------
def array(name, *shape):
    return mx.sym.var(name, shape=shape)


def norm_weight(shape):
    """Weight normalization (Salimans and Kingma, 2016): the direction is read twice."""
    v = mx.sym.sin(array("v", *shape)) + 2
    axes = tuple(range(1, len(shape)))
    length = mx.sym.sqrt(mx.sym.sum(v * v, axis=axes, keepdims=True))
    scale = mx.sym.broadcast_div(array("g", shape[0], *[1] * len(axes)), length)
    return mx.sym.broadcast_mul(v, scale)


def two_readers(x):
    w = array("v", 5, 16) * 2
    return mx.sym.Group([dense(x, weight=w, name="a"), dense(x * 2, weight=w, name="b")])


def seen_weight(x):
    w = array("v", 5, 16) * 2
    return mx.sym.Group([dense(x, weight=w), w])


def sample_bilinear(x):
    w = mx.sym.sqrt(array("v", 5, 16) + 2)
    return mx.sym.Group([dense(x, weight=w * 2), mx.sym.sum(w)])


MADE = {  # the network, and how many arrays of weights stay
    "dense": (lambda x: dense(x, weight=norm_weight((5, 16)), no_bias=True), 1),
    "convolution": (lambda x: convolution(x, 8, weight=norm_weight((8, 4, 3, 3)), no_bias=True), 1),
    "turned": (lambda x: dense(x, weight=mx.sym.transpose(array("v", 16, 5))), 1),
    "turned and shaped": (
        lambda x: dense(x, weight=mx.sym.reshape(mx.sym.transpose(array("v", 80)) * 2, (5, 16))),
        1,
    ),
    "two readers": (two_readers, 1),
    "a view": (lambda x: dense(x, weight=mx.sym.reshape(array("v", 80), (5, 16))), 0),
    "seen": (seen_weight, 0),
    "read between": (sample_bilinear, 0),
    "random": (lambda x: dense(x, weight=mx.sym.Dropout(array("v", 5, 16), mode="always", p=0)), 0),
    "of data": (lambda x: mx.sym.FullyConnected(x, num_hidden=3, weight=x * 2), 1),
}


@needs_onednn
@pytest.mark.parametrize("name", MADE)
def test_keeps_weights_that_are_made_of_arrays(name, monkeypatch):
    """Made again whenever one of those arrays is written, the data among them."""
    net, count = MADE[name]
    shape = (3, 4, 9, 8) if name == "convolution" else (3, 16)
    got, want = pair(net(mx.sym.var("x")), "all", monkeypatch, shape=shape)
    assert len(got._graph.cached_values()) == count
    for array in (None, *got.arg_dict):
        for executor in (got, want):
            if array is not None:
                executor.arg_dict[array][1:2] = 0.75
        compare(got, want)
        compare(got, want)


@needs_onednn
def test_keeps_the_turned_weight_of_a_convolution_over_words(monkeypatch):
    net = convolution(mx.sym.var("x"), 6, (3, 40), name="c")
    got, want = pair(net, "all", monkeypatch, shape=(2, 1, 12, 40))
    assert [v.name for v in got._graph.cached_values()] in (
        ["c_weight_columns"],
        ["c_weight_columns_packed"],
    )
    for value in (0.5, -0.25):
        for executor in (got, want):
            executor.arg_dict["c_weight"][:, :, 1, 7:9] = value
        compare(got, want)


DECONVOLUTIONS = [  # shape of data, parameters, whether a packed weight stays
    ((1, 20, 1, 1), {"num_filter": 70, "kernel": (4, 4)}, 1),
    ((2, 37, 4, 5), {"num_filter": 33, "kernel": (4, 3), "stride": (2, 1), "pad": (1, 1)}, 1),
    ((1, 37, 8, 8), {"num_filter": 9, "kernel": (5, 5), "stride": (3, 3), "adj": (1, 2)}, 1),
    ((1, 37, 9, 8), {"num_filter": 9, "kernel": (3, 3)}, 0),  # more pixels
    ((1, 8, 4, 4), {"num_filter": 6, "kernel": (3, 3), "num_group": 2}, 0),
    ((1, 8, 4, 4), {"num_filter": 6, "kernel": (3, 3), "dilate": (2, 1)}, 0),
    ((1, 8, 4), {"num_filter": 6, "kernel": (3,)}, 0),
]


@needs_onednn
@pytest.mark.parametrize("no_bias", [False, True])
@pytest.mark.parametrize("shape, options, count", DECONVOLUTIONS, ids=str)
def test_packs_deconvolutions_of_few_pixels(shape, options, count, no_bias, monkeypatch):
    net = mx.sym.Deconvolution(mx.sym.var("x"), name="d", no_bias=no_bias, **options)
    got, want = pair(relu(net), "all", monkeypatch, shape=shape)
    packs = cpu_capability() != "baseline"
    assert len(got._graph.cached_values()) == count * packs
    for value in (None, 0.5, -0.75):
        for executor in (got, want):
            if value is not None:
                executor.arg_dict["d_weight"][3:5, 1] = value
        compare(got, want)
        compare(got, want)


# --- the plan -------------------------------------------------------------------------------------
@needs_onednn
def test_packs_where_there_is_an_order_to_pack_for(monkeypatch):
    """The steps that pack stand in front of all others; debug_str counts what stays."""
    net = deep(mx.sym.var("x"))
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "all")
    executor = bind(net)
    names = [step.prop.op_name for step in executor._graph.steps]
    packs = [i for i, name in enumerate(names) if name == "_pack_weight"]
    assert packs == [0, 1] and names.count("Convolution") == 2
    kept = executor._graph.cached_values()
    assert [v.name for v in kept] == ["direct_weight_packed", "winograd_weight_packed"]
    assert "MB kept between runs" in executor.debug_str()


@needs_onednn
def test_training_plans_keep_nothing(monkeypatch):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "all")
    net = deep(mx.sym.var("x"))
    shapes = {n: v.shape for n, v in bind(net).arg_dict.items()}
    aux = dict.fromkeys(net.list_auxiliary_states(), (32,))
    graph = lower(net.entries, mx.cpu(), {**shapes, **aux}, {}, {"dense_weight": "write"})
    assert not graph.cached_values()
