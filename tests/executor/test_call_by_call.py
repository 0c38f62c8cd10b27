"""Graphs run operator by operator: which calls are, what comes of them, and when a plan follows."""

import threading

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, nd
from cynet._resource import random_state
from cynet.gluon import nn


@pytest.fixture(autouse=True)
def two_runs_before_a_plan(monkeypatch):
    monkeypatch.setenv("CYNET_RUNS_BEFORE_PLAN", "2")


def filled(net, seed=5):
    """`net` with parameters that are not alike."""
    rng = np.random.RandomState(seed)
    net.initialize()
    for each in net.collect_params().values():
        each.set_data(nd.array(rng.uniform(0.1, 1, each.shape)))
    return net


def layers(*made):
    net = nn.HybridSequential()
    net.add(*made)
    return net


def images():
    return filled(
        layers(
            nn.Conv2D(4, 3, padding=1, in_channels=2, activation="relu"),
            nn.BatchNorm(in_channels=4),
            nn.Conv2D(4, 3, padding=1, in_channels=4),
            nn.Conv2D(4, 3, padding=1, in_channels=4),
            nn.MaxPool2D(2),
            nn.GlobalAvgPool2D(),
            nn.Dropout(0.5),
            nn.Dense(3, in_units=4),
        )
    )


class Parts(mx.gluon.HybridBlock):
    """Several inputs, nested outputs, a node of which two outputs are read."""

    def hybrid_forward(self, F, x, y):
        first, second = F.split(F.concat(x, y, dim=0), num_outputs=2, axis=1)
        return first * 2, [F.softmax(second), F.transpose(x) + 1]


class Written(mx.gluon.HybridBlock):
    """Written in mx.np's operators."""

    def forward(self, x):
        return mx.np.tanh(x) * 2 + mx.np.sum(x, axis=0)


def words():
    return filled(layers(nn.Embedding(11, 6), mx.gluon.rnn.LSTM(5, input_size=6, layout="NTC")))


def pair(i):
    return nd.arange(4 * i).reshape((i, 4)), nd.ones((i, 4))


NETWORKS = {  # name: (network, function of a number that gives the arguments)
    "images": (images, lambda i: (nd.arange(2 * 6 * i).reshape((1, 2, 6, i)) / 10,)),
    "words": (words, lambda i: (nd.arange(2 * i).reshape((2, i)) % 11,)),
    "parts": (Parts, pair),
    "half": (
        lambda: filled(layers(nn.Dense(3, in_units=4, dtype="float16"))),
        lambda i: (nd.ones((i, 4), dtype="float16") * i,),
    ),
}


def arrays_of(out):
    if isinstance(out, (list, tuple)):
        return [array for each in out for array in arrays_of(each)]
    return [out]


def called(net):
    """How many signatures a hybridized Block runs call by call."""
    ops = [plan.op for plans in net._cached._plans.values() for plan in plans]
    return sum(key not in op._programs for op in ops for key in op._called)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_first_calls_of_another_shape_are_those_of_operators(name):
    """To the last bit; the plan that follows rounds as plans do."""
    make, arguments = NETWORKS[name]
    net = make()
    plain = [arrays_of(net(*arguments(i))) for i in range(8, 12)]
    net.hybridize()
    for number, wanted in enumerate(plain):
        given = arguments(8 + number)
        for turn in range(4):
            outs = arrays_of(net(*given))
            is_called = number > 0 and turn < 2
            assert called(net) == is_called
            assert [type(each) for each in outs] == [type(each) for each in wanted]
            for out, want in zip(outs, wanted):
                assert out.shape == want.shape and out.dtype == want.dtype
                if is_called:
                    np.testing.assert_array_equal(out.asnumpy(), want.asnumpy())
                else:
                    near = 2e-2 if name == "half" else 1e-5
                    np.testing.assert_allclose(out.asnumpy(), want.asnumpy(), near, near)


def test_the_setting_says_how_many(monkeypatch):
    net, (_, arguments) = images(), NETWORKS["images"]
    net.hybridize()
    net(*arguments(8))
    for runs in (0, 1, 5):
        monkeypatch.setenv("CYNET_RUNS_BEFORE_PLAN", str(runs))
        for turn in range(7):
            net(*arguments(20 + runs))
            assert called(net) == (turn < runs)


def chain(depth, width):
    return filled(layers(*(nn.Dense(width, in_units=width) for _ in range(depth))))


def runs_before_plan(net, x):
    """How many calls of a new shape go call by call; 70 at most."""
    before, found = called(net), 0
    while found < 70:
        net(x)
        if called(net) == before:
            break
        found += 1
    return found


@pytest.mark.parametrize("training", [False, True], ids=["prediction", "training"])
def test_a_plan_is_made_when_the_runs_have_cost_as_much(monkeypatch, training):
    """More runs of what runs fast, never fewer than 2 or more than 64; another time as many."""
    monkeypatch.delenv("CYNET_RUNS_BEFORE_PLAN")
    found = {}
    for width, rows in ((4, 3), (64, 300), (200, 20000)) * 2:
        net = chain(3, width)
        net.hybridize()
        x = nd.ones((rows, width))
        with autograd.record() if training else autograd.pause():
            net(nd.ones((2, width)))
            runs = runs_before_plan(net, x)
        assert found.setdefault(width, runs) == runs
    assert found[4] > found[64] > 2
    assert 20 < found[4] <= 64
    assert found[200] == 0  # longer than planning: at once


def test_slow_runs_have_a_plan_after_two(monkeypatch):
    monkeypatch.delenv("CYNET_RUNS_BEFORE_PLAN")
    net = chain(3, 200)
    net.hybridize()
    net(nd.ones((2, 200)))
    assert runs_before_plan(net, nd.ones((400, 200))) == 2


def test_nothing_is_moved_and_nothing_held():
    """Statistics stay, parameters are read anew, each call has arrays of its own."""
    net, (_, arguments) = images(), NETWORKS["images"]
    net.hybridize()
    net(*arguments(8))
    before = {k: v.data().asnumpy() for k, v in net.collect_params().items()}
    first, second = net(*arguments(9)), net(*arguments(9))
    assert called(net) == 1
    first[:] = 0
    assert abs(second.asnumpy()).max() > 0
    for name, each in net.collect_params().items():
        np.testing.assert_array_equal(each.data().asnumpy(), before[name])
    net(*arguments(10))
    net[-1].bias.set_data(net[-1].bias.data() + 100)
    assert called(net) == 2
    assert net(*arguments(10)).asnumpy().min() > 50


def trained(net, arguments, train_mode=True, req="write"):
    """(outputs, gradients and states) of a recorded call, as NumPy arrays."""
    params = net.collect_params()
    for each in params.values():
        if each.grad_req != "null":
            each.grad_req = req
    mx.random.seed(11)
    inputs = [each.copy() for each in arguments]
    for each in inputs:
        each.attach_grad()
    with autograd.record(train_mode=train_mode):
        outs = arrays_of(net(*inputs))
        loss = sum((out * out).sum() for out in outs)
    loss.backward()
    grads = [each.grad() for each in params.values() if each.grad_req != "null"]
    states = [each.data() for each in params.values() if each.grad_req == "null"]
    found = [*outs, *(each.grad for each in inputs), *grads, *states]
    return [each.asnumpy() for each in found]


@pytest.mark.parametrize("train_mode", [True, False], ids=["training", "prediction"])
@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "half"])
def test_recorded_calls_of_another_shape_are_those_of_operators(name, train_mode):
    """Outputs, gradients, statistics and Dropout's masks, to the last bit."""
    make, arguments = NETWORKS[name]
    plain, net = make(), make()
    net.hybridize()
    for i in range(8, 11):
        for turn in range(4):
            wanted = trained(plain, arguments(i), train_mode)
            found = trained(net, arguments(i), train_mode)
            is_called = i > 8 and turn < 2
            assert called(net) == is_called
            for one, other in zip(found, wanted):
                if is_called:
                    np.testing.assert_array_equal(one, other)
                else:
                    near = 1e-4
                    if name == "images" and train_mode:
                        # a bias in front of a BatchNorm has a gradient that is all rounding
                        near = max(near, 1e-5 * max(np.abs(each).max() for each in wanted))
                    np.testing.assert_allclose(one, other, 1e-4, near)
        # what plans have rounded otherwise is not to add up
        for one, other in zip(plain.collect_params().values(), net.collect_params().values()):
            other.set_data(one.data())


def test_gradients_of_another_shape_add_up():
    net, (_, arguments) = words(), NETWORKS["words"]
    net.hybridize()
    trained(net, arguments(8))
    once = trained(net, arguments(9))
    net.collect_params().zero_grad()
    trained(net, arguments(10), req="add")
    net.collect_params().zero_grad()
    trained(net, arguments(9), req="add")
    twice = trained(net, arguments(9), req="add")
    assert called(net) > 0
    for name, a, b in zip(net.collect_params(), once[-5:], twice[-5:]):
        np.testing.assert_allclose(2 * a, b, 1e-6, 1e-6, err_msg=name)


def test_gradients_of_gradients_of_another_shape():
    """A plan has no gradient of its backward: it runs node by node; what was recorded so has."""
    net = layers(nn.HybridLambda(lambda F, x: F.tanh(x) * x))
    for hybridize in (False, True):
        net.hybridize(hybridize)
        for n in (2, 3, 4):
            x = nd.arange(n) / n
            x.attach_grad()
            with autograd.record():
                (dx,) = autograd.grad(net(x), [x], create_graph=True)
            dx.backward()
            t = np.tanh(np.arange(n) / n)
            wanted = 2 * (1 - t * t) - 2 * t * (1 - t * t) * np.arange(n) / n
            np.testing.assert_allclose(x.grad.asnumpy(), wanted, 1e-5)
    assert called(net) == 2


class TwoLosses(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.make_loss(x * 3), x * 2


def test_recorded_calls_that_have_plans(monkeypatch):
    """Several outputs of which one is a loss: it gives its gradient whichever is differentiated."""
    net = TwoLosses()
    net.hybridize()
    for n in (2, 3, 4):
        x = nd.ones(n)
        x.attach_grad()
        with autograd.record():
            _, second = net(x)
        second.backward()
        assert called(net) == 0
        np.testing.assert_array_equal(x.grad.asnumpy(), np.full(n, 5))
    monkeypatch.setenv("CYNET_BACKWARD_DO_MIRROR", "1")
    net, (_, arguments) = images(), NETWORKS["images"]
    net.hybridize()
    for i in (8, 9):
        trained(net, arguments(i))
        assert called(net) == 0


def test_each_mode_has_a_plan_first():
    """Who predicts and then trains with one shape meets plans alone."""
    net, (_, arguments) = images(), NETWORKS["images"]
    net.hybridize()
    net(*arguments(8))
    trained(net, arguments(9))
    trained(net, arguments(9), train_mode=False)
    with autograd.train_mode():
        net(*arguments(9))
    assert called(net) == 0
    trained(net, arguments(10))
    assert called(net) == 1


class Noisy(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return x + F.random.uniform(shape=(1,))


class Looped(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.contrib.foreach(lambda row, total: (row + total, row + total), x, F.zeros((4,)))[0]


class Twice(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        y = F.tanh(x)
        return y, y


class _PlusOne(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + 1)


@mx.operator.register("call_by_call_plus_one")
class _PlusOneProp(mx.operator.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=True)

    def create_operator(self, ctx, shapes, dtypes):
        return _PlusOne()


class Custom(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.Custom(x, op_type="call_by_call_plus_one")


@pytest.mark.parametrize(
    "make", [Noisy, Looped, Twice, Custom], ids=["random", "foreach", "one output twice", "Python"]
)
def test_what_only_plans_run(make):
    net = make()
    net.hybridize()
    for i in range(4, 8):
        out = net(nd.ones((i, 4)))
        assert called(net) == 0
        assert all(np.isfinite(each.asnumpy()).all() for each in arrays_of(out))


def test_random_numbers_are_those_of_plans():
    """A Dropout that draws in prediction, too, does not see whether shapes are new."""
    found = []
    for runs in (0, 1):
        net = layers(nn.HybridLambda(lambda F, x: F.Dropout(x, p=0.5, mode="always")))
        net.hybridize()
        for _ in range(runs):
            net(nd.ones((3, 3)))
        mx.random.seed(7)
        found.append(net(nd.ones((50, 40))).asnumpy())
    np.testing.assert_array_equal(*found)


class Noise(mx.operator.Operator):
    def forward(self, ctx, in_data, req, out_data, aux_states):
        mx.operator.simple.assign(out_data[0], req[0], in_data[0])

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        drawn = ctx.requested[0].get_random().random(in_data[0].shape)
        mx.operator.simple.assign(in_grad[0], req[0], drawn)


@mx.operator.register("test_noisy_gradient")
class NoiseProperty(mx.operator.OperatorProperty):
    """Draws in backward alone."""

    def backward_resource(self, in_shapes):
        return [mx.operator.ResourceRequest.random]

    def create_operator(self, ctx, in_shapes, in_types):
        return Noise()


@pytest.mark.parametrize("noisy", [False, True], ids=["forward", "backward"])
def test_training_draws_as_many_streams_with_a_plan_as_without(noisy):
    """A backward run draws only what its own operators read, so seeds give the same numbers whether
    a shape has a plan, is run call by call, or the net is not hybridized."""
    found = []
    for hybridize in (False, True):
        net = layers(nn.Dropout(0.5), nn.Dense(4, in_units=6), nn.Dropout(0.3))
        if noisy:
            net.add(nn.HybridLambda(lambda F, x: F.test_noisy_gradient(x)))
        filled(net)
        if hybridize:
            net.hybridize()
        mx.random.seed(4)
        rows = []
        for i in (8, 5, 3) * 4:
            x = nd.ones((i, 6))
            x.attach_grad()
            with autograd.record():
                out = net(x)
            out.backward()
            rows.append((out.asnumpy(), x.grad.asnumpy(), random_state()[1]))
        found.append(rows)
    for plain, hybridized in zip(*found):
        for one, other in zip(plain[:2], hybridized[:2]):
            np.testing.assert_allclose(one, other, 1e-5, 1e-5)
        assert plain[2] == hybridized[2]
    assert found[0][-1][2][0][3] == len(found[0]) * (3 if noisy else 2)


def test_np_arrays_stay_np_arrays():
    net = Written()
    net.hybridize()
    for i in range(3, 7):
        given = mx.np.arange(4.0 * i).reshape(i, 4)
        out = net(given)
        assert type(out) is mx.np.ndarray
        wanted = np.tanh(given.asnumpy()) * 2 + given.asnumpy().sum(0)
        np.testing.assert_allclose(out.asnumpy(), wanted, 1e-6)


def test_an_array_without_elements_has_a_plan():
    net = filled(layers(nn.Dense(3, in_units=4)))
    net.hybridize()
    for i in (2, 0, 0):
        assert net(nd.ones((i, 4))).shape == (i, 3)
        assert called(net) == 0


def test_a_run_that_takes_long_has_a_plan():
    net = filled(layers(nn.Dense(256, in_units=256), nn.Dense(256, in_units=256)))
    net.hybridize()
    net(nd.ones((1, 256)))
    net(nd.ones((2, 256)))
    assert called(net) == 1
    net(nd.ones((9000, 256)))
    assert called(net) == 1


class Factor(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.linalg.potrf(x)


def test_errors_name_the_layer():
    """What does not fit, and what fails while it runs."""
    net = Factor(prefix="factor_")
    net.hybridize()
    net(nd.array([[1, 0], [0, 1]]))
    with pytest.raises(mx.base.MXNetError, match="node 'factor_potrf0'.*not positive definite"):
        net(-nd.ones((3, 3))).asnumpy()
    assert called(net) == 1
    deep = filled(layers(nn.Dense(4, in_units=4), nn.Dense(2, in_units=4)))
    deep.hybridize()
    deep(nd.ones((2, 4)))
    with pytest.raises(mx.base.MXNetError, match=deep[0].name):
        deep(nd.ones((2, 5)))


def test_the_profiler_sees_a_plan():
    net, (_, arguments) = images(), NETWORKS["images"]
    net.hybridize()
    net(*arguments(8))
    mx.profiler.set_config(profile_symbolic=True, aggregate_stats=True)
    mx.profiler.set_state("run")
    try:
        net(*arguments(9)).wait_to_read()
    finally:
        mx.profiler.set_state("stop")
        mx.profiler.dumps(reset=True)
    assert called(net) == 0


def test_threads_meet_the_same_new_shapes():
    net, (_, arguments) = images(), NETWORKS["images"]
    wanted = {i: net(*arguments(i)).asnumpy() for i in range(8, 20)}
    net.hybridize()
    net(*arguments(8))
    errors = []

    def work():
        try:
            for turn in range(3):
                for i in range(8, 20):
                    found = net(*arguments(i)).asnumpy()
                    np.testing.assert_allclose(found, wanted[i], 1e-5, err_msg=f"{turn} {i}")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not errors, errors[0]


def test_export_follows_one_call(tmp_path):
    net, (_, arguments) = images(), NETWORKS["images"]
    net.hybridize()
    net(*arguments(8))
    wanted = net(*arguments(9)).asnumpy()
    net.export(str(tmp_path / "net"))
    files = str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    same = mx.gluon.SymbolBlock.imports(*files)
    for i in (8, 9, 9, 9):
        found = same(*arguments(i)).asnumpy()
    np.testing.assert_allclose(found, wanted, 1e-5)
