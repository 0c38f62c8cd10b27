"""Batches that the first step reads where they lie: as if they had been copied before the run."""

import ctypes
import gc
import os

import numpy as np
import pytest
from cynet.operator.nn.fully_connected.gemm import suits

import cynet as mx
from cynet import nd
from cynet.base.errors import ArgumentError, CynetError, ShapeError
from cynet.kernels.conv import onednn
from tests.engine.test_fork import in_child

FEEDS = onednn.available() and suits(16, 40, 40)
SIZES = [(16, 24, 40), (17, 30, 37), (33, 70, 19), (100, 47, 3), (128, 64, 784)]  # N, M, K


def _net(hidden):
    first = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=hidden, name="first")
    return mx.sym.FullyConnected(mx.sym.tanh(first), num_hidden=3, name="second")


def _bound(net, rng, **shapes):
    executor = net.simple_bind(mx.cpu(), **shapes)
    for name, array in executor.arg_dict.items():
        if name not in shapes:
            array[:] = rng.uniform(-1, 1, array.shape)
    return executor


def _given(executor, **arrays):
    """Outputs and gradients after the arrays were copied first; the bound arrays become NaN."""
    for name, value in arrays.items():
        executor.arg_dict[name][:] = value
    found = _run(executor)
    for name in arrays:
        executor.arg_dict[name][:] = np.nan
    return found


def _run(executor, **arrays):
    executor.forward(is_train=True, **arrays)
    return _results(executor)


def _results(executor):
    executor.backward([nd.ones(each.shape) for each in executor.outputs])
    grads = [each for each in executor.grad_dict.values() if each is not None]
    return [each.asnumpy() for each in [*executor.outputs, *grads]]


def _same(found, wanted):
    assert len(found) == len(wanted) > 1
    for ours, theirs in zip(found, wanted):
        np.testing.assert_array_equal(ours, theirs)


def _fed(executor, wanted):
    """Whether that many batches were not copied before; where no kernel copies them, all were."""
    return executor._plan.feed.n_fed == (wanted if FEEDS else 0)


@pytest.fixture(autouse=True)
def _all_passes(monkeypatch):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "all")


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("zeros", [0, 0.8])
def test_as_if_copied_before(size, zeros, rng):
    batch, hidden, inputs = size
    executor = _bound(_net(hidden), rng, data=(batch, inputs))
    for i in range(3):
        data = rng.uniform(-1, 1, (batch, inputs)).astype(np.float32)
        data[rng.uniform(size=data.shape) < zeros] = 0
        wanted = _given(executor, data=data)
        given = nd.array(data)
        _same(_run(executor, data=given), wanted)
        assert _fed(executor, i + 1)
        np.testing.assert_array_equal(executor.arg_dict["data"].asnumpy(), data)
        np.testing.assert_array_equal(given.asnumpy(), data)
        _same(_run(executor), wanted)  # the bound array, again


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32"])
def test_batches_of_another_type_are_converted(dtype, rng):
    executor = _bound(_net(200), rng, data=(20, 6))
    data = rng.integers(-3, 4, (20, 6)).astype(dtype)
    wanted = _given(executor, data=data)
    for given in (nd.array(data, dtype=dtype), data):
        _same(_run(executor, data=given), wanted)
        np.testing.assert_array_equal(executor.arg_dict["data"].asnumpy(), data)


def test_a_batch_that_changes_after_the_call(rng):
    """Forward and backward of what it was at the call."""
    executor = _bound(_net(40), rng, data=(64, 300))
    data = rng.uniform(-1, 1, (64, 300)).astype(np.float32)
    wanted = _given(executor, data=data)
    for _ in range(20):
        given = nd.array(data)
        executor.forward(is_train=True, data=given)
        given[:] = np.nan
        _same(_results(executor), wanted)
    assert _fed(executor, 20)


def _lent(executor, wanted):
    """Whether so many runs backward read the batch itself."""
    return executor._plan.feed.n_lent == (wanted if FEEDS else 0)


@pytest.mark.parametrize("size", [(128, 64, 784), (128, 128, 80), (33, 200, 70)], ids=str)
def test_backward_reads_the_batch_again(size, rng):
    batch, hidden, inputs = size
    executor = _bound(_net(hidden), rng, data=(batch, inputs))
    for i in range(3):
        data = rng.uniform(-1, 1, (batch, inputs)).astype(np.float32)
        wanted = _given(executor, data=data)
        assert _lent(executor, i)
        _same(_run(executor, data=nd.array(data)), wanted)
        assert _lent(executor, i + 1)
        _same(_results(executor), wanted)  # again, of the bound array
        assert _lent(executor, i + 1)


def test_a_bound_array_that_changes_before_backward(rng):
    executor = _bound(_net(40), rng, data=(64, 300))
    first, second = (rng.uniform(-1, 1, (64, 300)).astype(np.float32) for _ in range(2))
    executor.forward(is_train=True, data=nd.array(first))
    executor.arg_dict["data"][:] = second
    wanted = _results(executor)
    executor.forward(is_train=True, data=nd.array(first))
    executor.outputs[0].wait_to_read()
    given = nd.array(second)
    executor.arg_dict["data"][:] = given
    _same(_results(executor), wanted)
    assert not np.array_equal(wanted[2], _given(executor, data=first)[2])


def test_a_batch_that_changed_before_backward(rng):
    """By the engine, after forward has ended, and by who has its memory."""
    executor = _bound(_net(40), rng, data=(64, 300))
    data = rng.uniform(-1, 1, (64, 300)).astype(np.float32)
    wanted = _given(executor, data=data)
    given = nd.array(data)
    executor.forward(is_train=True, data=given)
    executor.outputs[0].wait_to_read()
    given[:] = np.nan
    given.wait_to_read()
    _same(_results(executor), wanted)
    given = nd.array(data)
    memory = np.ctypeslib.as_array((ctypes.c_float * given.size).from_address(given.data_ptr))
    executor.forward(is_train=True, data=given)
    executor.outputs[0].wait_to_read()
    memory[:] = np.nan
    _same(_results(executor), wanted)
    assert _fed(executor, 2)
    assert _lent(executor, 1)  # pushed, but when it ran the batch was another one


def test_a_batch_that_could_not_be_computed_anew_before_backward(rng):
    executor = _bound(_net(40), rng, data=(64, 300))
    data = rng.uniform(-1, 1, (64, 300)).astype(np.float32)
    wanted = _given(executor, data=data)
    given = nd.array(data)
    executor.forward(is_train=True, data=given)
    Moody.fails = True
    nd.Custom(nd.array(data), op_type="feed_moody").copyto(given)
    with pytest.raises(CynetError, match="in a bad mood"):
        given.wait_to_read()
    Moody.fails = False
    _same(_results(executor), wanted)


def test_a_batch_that_is_a_gradient(rng):
    """What backward writes cannot be what it reads."""
    executor = _bound(_net(40), rng, data=(64, 300))
    data = rng.uniform(-1, 1, (64, 300)).astype(np.float32)
    wanted = _given(executor, data=data)
    grad = executor.grad_dict["data"]
    grad[:] = data
    _same(_run(executor, data=grad), wanted)
    assert _lent(executor, 0)


def test_a_batch_that_is_still_computed(rng):
    executor = _bound(_net(40), rng, data=(64, 300))
    data = rng.integers(-9, 10, (64, 300)).astype(np.float32)
    wanted = _given(executor, data=data)
    for _ in range(20):
        given = nd.array(data - 8)
        for _ in range(8):
            given += 1
        executor.forward(is_train=True, data=given)
        del given
        gc.collect()
        _same(_results(executor), wanted)
    assert _fed(executor, 20)


def test_a_batch_behind_others_in_the_same_memory(rng):
    """Rows of a larger array, as data iterators hand out, aligned or not to 64 bytes."""
    executor = _bound(_net(200), rng, data=(20, 7))
    whole = nd.array(rng.uniform(-1, 1, (60, 7)))
    for begin in (0, 1, 13, 40):
        data = whole[begin : begin + 20]
        _same(_run(executor, data=data), _given(executor, data=data.asnumpy()))
    assert _fed(executor, 4)


def test_outputs_fed_back(rng):
    """The last run's outputs as the next one's batch: what they were before they are written."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=30, name="only")
    executor = _bound(net, rng, data=(16, 30))
    weight, bias = (executor.arg_dict[f"only_{key}"].asnumpy() / 3 for key in ("weight", "bias"))
    executor.arg_dict["only_weight"][:], executor.arg_dict["only_bias"][:] = weight, bias
    state = rng.uniform(-1, 1, (16, 30)).astype(np.float32)
    executor.forward(data=nd.array(state))
    for _ in range(5):
        state = state @ weight.T + bias
        np.testing.assert_allclose(executor.outputs[0].asnumpy(), state, rtol=1e-4, atol=1e-5)
        executor.forward(data=executor.outputs[0])
    assert _fed(executor, 1)  # only the first


class Doubled(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


@mx.operator.register("feed_doubled")
class DoubledProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Doubled()


def test_outputs_of_an_earlier_segment_fed_back(rng):
    """The step that could read them runs after they were written anew."""
    twice = mx.sym.Custom(mx.sym.var("first"), op_type="feed_doubled")
    late = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=500, name="late")
    net = mx.sym.Group([twice, mx.sym.broadcast_add(late, mx.sym.sum(twice) * 0)])
    executor = _bound(net, rng, first=(20, 5), data=(20, 5))
    first, second = (rng.uniform(-1, 1, (20, 5)).astype(np.float32) for _ in range(2))
    executor.forward(first=nd.array(first), data=nd.array(second))
    wanted = _given(executor, first=second, data=2 * first)
    executor.forward(first=nd.array(first), data=nd.array(second))
    assert _fed(executor, 2)
    _same(_run(executor, first=nd.array(second), data=executor.outputs[0]), wanted)
    assert _fed(executor, 2)


def test_bound_arrays_as_batches(rng):
    """Of two inputs, each other's; their copies are made in the order they are given."""
    net = mx.sym.FullyConnected(mx.sym.var("a"), num_hidden=400) + mx.sym.FullyConnected(
        mx.sym.var("b"), num_hidden=400
    )
    executor = _bound(net, rng, a=(20, 5), b=(20, 5))
    first, second = (rng.uniform(-1, 1, (20, 5)).astype(np.float32) for _ in range(2))
    bound = executor.arg_dict
    for arrays, wanted in [
        (lambda: {"a": bound["b"], "b": bound["a"]}, (second, second)),
        (lambda: {"a": bound["a"]}, (first, second)),
        (lambda: {"b": bound["a"]}, (first, first)),
    ]:
        results = _given(executor, a=wanted[0], b=wanted[1])
        bound["a"][:], bound["b"][:] = first, second
        _same(_run(executor, **arrays()), results)
    assert _fed(executor, 0)
    one = nd.array(first)
    _same(_run(executor, a=one, b=one), _given(executor, a=first, b=first))
    assert _fed(executor, 1)  # a, which is as large as b


def test_one_memory_for_two_inputs(rng):
    """The last that is given is what both are."""
    net = mx.sym.FullyConnected(mx.sym.var("a"), num_hidden=400, no_bias=True, name="x")
    net = net + mx.sym.FullyConnected(mx.sym.var("b"), num_hidden=400, no_bias=True, name="y")
    shared, w = nd.zeros((20, 5)), nd.array(rng.uniform(-1, 1, (400, 5)))
    executor = net.bind(mx.cpu(), {"a": shared, "b": shared, "x_weight": w, "y_weight": w})
    first, second = (nd.array(rng.uniform(-1, 1, (20, 5))) for _ in range(2))
    found = executor.forward(a=first, b=second)[0].asnumpy()
    wanted = 2 * second.asnumpy() @ w.asnumpy().T
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert _fed(executor, 0)


def test_read_by_several_steps(rng):
    data = mx.sym.var("data")
    first = mx.sym.FullyConnected(data, num_hidden=200, name="a")
    other = mx.sym.FullyConnected(data, num_hidden=200, name="b")
    net = mx.sym.Group([first * other, data * 2, mx.sym.exp(data)])
    executor = _bound(net, rng, data=(20, 6))
    given = rng.uniform(-1, 1, (20, 6)).astype(np.float32)
    _same(_run(executor, data=nd.array(given)), _given(executor, data=given))
    assert _fed(executor, 1)
    assert ("<- data where it is given" in executor.debug_str()) is FEEDS


def test_images_are_flattened(rng):
    net = mx.sym.FullyConnected(mx.sym.Flatten(mx.sym.var("data")), num_hidden=60)
    executor = _bound(net, rng, data=(20, 2, 3, 3))
    given = rng.uniform(-1, 1, (20, 2, 3, 3)).astype(np.float32)
    found = _run(executor, data=nd.array(given))
    assert _fed(executor, 1)
    np.testing.assert_array_equal(executor.arg_dict["data"].asnumpy(), given)
    _same(found, _given(executor, data=given))


def test_watched_runs(rng):
    executor = _bound(_net(200), rng, data=(20, 6))
    seen = {}
    executor.set_monitor_callback(lambda name, array: seen.update({name: array.asnumpy()}), True)
    given = rng.uniform(-1, 1, (20, 6)).astype(np.float32)
    executor.forward(is_train=True, data=nd.array(given))
    weight, bias = (executor.arg_dict[f"first_{key}"].asnumpy() for key in ("weight", "bias"))
    np.testing.assert_allclose(seen["first_output"], given @ weight.T + bias, rtol=1e-4, atol=1e-5)


class Moody(mx.operator.CustomOp):
    fails = False

    def forward(self, is_train, req, in_data, out_data, aux):
        if Moody.fails:
            raise ValueError("in a bad mood")
        self.assign(out_data[0], req[0], in_data[0])


@mx.operator.register("feed_moody")
class MoodyProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Moody()


def test_after_a_run_that_failed(rng):
    """Behind the step that reads the batch, and before it."""
    for net in (
        mx.sym.Custom(_net(200), op_type="feed_moody"),
        _net(200) + mx.sym.Custom(mx.sym.var("other"), op_type="feed_moody"),
    ):
        shapes = {"data": (20, 6), "other": (20, 3)}
        executor = _bound(net, rng, **{k: shapes[k] for k in net.list_arguments() if k in shapes})
        first, second = (rng.uniform(-1, 1, (20, 6)).astype(np.float32) for _ in range(2))
        wanted = executor.forward(data=nd.array(second))[0].asnumpy()
        Moody.fails = True
        with pytest.raises(CynetError, match="in a bad mood"):
            executor.forward(data=nd.array(first))[0].asnumpy()
        Moody.fails = False
        found = executor.forward(data=nd.array(second))[0].asnumpy()
        np.testing.assert_array_equal(found, wanted)


def test_a_batch_that_could_not_be_computed(rng):
    executor = _bound(_net(200), rng, data=(20, 6))
    given = rng.uniform(-1, 1, (20, 6)).astype(np.float32)
    wanted = executor.forward(data=nd.array(given))[0].asnumpy()
    Moody.fails = True
    bad = nd.Custom(nd.array(given), op_type="feed_moody")
    with pytest.raises(CynetError, match="in a bad mood"):
        executor.forward(data=bad)[0].asnumpy()
    Moody.fails = False
    np.testing.assert_array_equal(executor.forward(data=nd.array(given))[0].asnumpy(), wanted)


def test_a_failure_in_front_of_the_step_that_reads_the_batch(rng):
    """The batch is in the bound array all the same, and the next run is of it."""
    draw = mx.sym.sample_multinomial(mx.sym.var("p"), shape=30, dtype="float32")
    dense = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=30, no_bias=True, name="dense")
    executor = (draw * 0 + dense).simple_bind(mx.cpu(), "null", data=(40, 50), p=(40, 3))
    executor.arg_dict["dense_weight"][:] = 1
    good = nd.array(np.tile(np.array([1, 0, 0]), (40, 1)))
    executor.forward(data=nd.ones((40, 50)), p=good)
    assert (executor.outputs[0].asnumpy() == 50).all()
    executor.forward(data=nd.ones((40, 50)) * 2, p=nd.array(-np.ones((40, 3))))
    with pytest.raises(CynetError, match="multinomial"):
        executor.outputs[0].asnumpy()
    assert (executor.arg_dict["data"].asnumpy() == 2).all()
    assert (executor.forward(p=good)[0].asnumpy() == 100).all()


def test_a_weight_that_could_not_be_computed(rng):
    """Nothing of the run takes place, but the batch is copied."""
    executor = _bound(_net(200), rng, data=(20, 6))
    data = rng.uniform(-1, 1, (20, 6)).astype(np.float32)
    weight = executor.arg_dict["first_weight"]
    kept = weight.asnumpy()
    wanted = executor.forward(data=nd.array(data))[0].asnumpy()
    executor.forward(data=nd.zeros((20, 6)))
    Moody.fails = True
    nd.Custom(nd.zeros(kept.shape), op_type="feed_moody").copyto(weight)
    executor.forward(data=nd.array(data))
    with pytest.raises(CynetError, match="in a bad mood"):
        executor.outputs[0].asnumpy()
    Moody.fails = False
    np.testing.assert_array_equal(executor.arg_dict["data"].asnumpy(), data)
    weight[:] = kept
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), wanted)
    executor.forward(data=nd.array(data))
    assert _fed(executor, 3)  # again


def test_labels_that_could_not_be_computed(rng):
    """The batch that came with them is in the bound array."""
    net = mx.sym.SoftmaxOutput(_net(200), name="softmax")
    executor = _bound(net, rng, data=(20, 6), softmax_label=(20,))
    data = rng.uniform(-1, 1, (20, 6)).astype(np.float32)
    executor.forward(data=nd.zeros((20, 6)), softmax_label=nd.zeros(20))
    Moody.fails = True
    label = nd.Custom(nd.zeros(20), op_type="feed_moody")
    executor.forward(data=nd.array(data), softmax_label=label)
    with pytest.raises(CynetError, match="in a bad mood"):
        executor.outputs[0].asnumpy()
    Moody.fails = False
    np.testing.assert_array_equal(executor.arg_dict["data"].asnumpy(), data)


class Lazy(list):
    """Makes an array each time it is asked."""

    def __getitem__(self, index):
        return nd.array(list.__getitem__(self, index))

    def __iter__(self):
        return map(nd.array, list.__iter__(self))


def test_batches_whose_arrays_are_made_when_asked_for(rng):
    module = mx.mod.Module(_net(50), label_names=None)
    module.bind([("data", (16, 30))], for_training=False)
    module.init_params(mx.init.Uniform(0.5))
    for _ in range(20):
        data = rng.uniform(-1, 1, (16, 30)).astype(np.float32)
        module.forward(mx.io.DataBatch(Lazy([data]), None))
        bound = module._exec_group.execs[0].arg_dict["data"].asnumpy()
        np.testing.assert_array_equal(bound, data)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forks_within_a_run(rng):
    """A child's plan reads what the child gives it, and nothing of the run it was forked in."""
    net = _net(300)
    for i in range(6):
        net = mx.sym.FullyConnected(mx.sym.tanh(net), num_hidden=300, name=f"more{i}")
    executor = _bound(net, rng, data=(1000, 700))
    batches = [nd.array(rng.uniform(-1, 1, (1000, 700))) for _ in range(2)]
    wanted = [executor.forward(data=each)[0].asnumpy() for each in batches]

    def runs():
        executor.forward(data=batches[1])
        right = np.array_equal(executor.outputs[0].asnumpy(), wanted[1])
        right &= np.array_equal(executor.arg_dict["data"].asnumpy(), batches[1].asnumpy())
        executor.arg_dict["data"][:] = batches[0]
        return not (right and np.array_equal(executor.forward()[0].asnumpy(), wanted[0]))

    for _ in range(8):
        executor.forward(data=batches[0])
        assert in_child(runs) == 0
        np.testing.assert_array_equal(executor.outputs[0].asnumpy(), wanted[0])


def test_arguments_that_are_trained_may_be_given(rng):
    executor = _bound(_net(200), rng, data=(20, 6))
    weight = rng.uniform(-1, 1, (200, 6)).astype(np.float32)
    data = rng.uniform(-1, 1, (20, 6)).astype(np.float32)
    found = _run(executor, data=nd.array(data), first_weight=nd.array(weight))
    _same(found, _given(executor, data=data, first_weight=weight))


def test_the_switch(monkeypatch, rng):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "-feed")
    executor = _bound(_net(200), rng, data=(20, 6))
    given = rng.uniform(-1, 1, (20, 6)).astype(np.float32)
    _same(_run(executor, data=nd.array(given)), _given(executor, data=given))
    assert _fed(executor, 0)


def test_wrong_batches_change_nothing(rng):
    executor = _bound(_net(200), rng, data=(20, 6))
    executor.forward(data=nd.ones((20, 6)))
    with pytest.raises(ShapeError, match=r"'data' has shape \(6, 20\), bound was \(20, 6\)"):
        executor.forward(first_weight=nd.zeros((200, 6)), data=nd.ones((6, 20)))
    assert (executor.arg_dict["data"].asnumpy() == 1).all()
    assert (executor.arg_dict["first_weight"].asnumpy() != 0).all()


def test_modules_read_batches_where_they_lie(rng):
    net = mx.sym.SoftmaxOutput(_net(20), name="softmax")
    module = mx.mod.Module(net, context=mx.cpu())
    module.bind([("data", (16, 30))], [("softmax_label", (16,))])
    module.init_params(mx.init.Uniform(0.5))
    data, label = nd.array(rng.uniform(-1, 1, (16, 30))), nd.array(rng.integers(0, 3, 16))
    executor = module._exec_group.execs[0]
    executor.forward(is_train=True, data=data, softmax_label=label)
    executor.backward()
    wanted = [module.get_outputs()[0].asnumpy(), executor.grad_dict["first_weight"].asnumpy()]
    executor.arg_dict["data"][:] = np.nan
    module.forward_backward(mx.io.DataBatch([data], [label]))
    assert _fed(executor, 2)
    found = [module.get_outputs()[0].asnumpy(), executor.grad_dict["first_weight"].asnumpy()]
    _same(found, wanted)
    np.testing.assert_array_equal(executor.arg_dict["data"].asnumpy(), data.asnumpy())
    with pytest.raises(ArgumentError, match="the batch has 2 data arrays, the module takes 1"):
        module.forward(mx.io.DataBatch([data, data], [label]))
