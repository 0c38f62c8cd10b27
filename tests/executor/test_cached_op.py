"""CachedOp: the same values and gradients as eager calls, whatever comes in which order."""

import gc
import threading

import numpy as np
import pytest

import cynet as mx
from cynet import autograd as ag
from cynet import nd, sym
from cynet.executor import CachedOp


def leaf(values, req="write"):
    x = nd.array(values)
    x.attach_grad(req)
    return x


def network():
    """(symbol, the same as a function of a dict of arrays): all kinds of steps, two outputs."""
    data = sym.Variable("data")
    hidden = sym.FullyConnected(data, num_hidden=8, name="one")
    hidden = sym.BatchNorm(hidden, fix_gamma=False, name="bn")
    hidden = sym.Activation(hidden, act_type="relu")
    out = sym.FullyConnected(hidden, num_hidden=3, name="two")

    def eager(a):
        h = nd.FullyConnected(a["data"], a["one_weight"], a["one_bias"], num_hidden=8)
        h = nd.BatchNorm(
            h, a["bn_gamma"], a["bn_beta"], a["bn_moving_mean"], a["bn_moving_var"], fix_gamma=False
        )
        h = nd.FullyConnected(nd.relu(h), a["two_weight"], a["two_bias"], num_hidden=3)
        return [h, nd.softmax(h)]

    return sym.Group([out, sym.softmax(out)]), eager


def parameters(symbol, rng, req="write"):
    arg_shapes, _, aux_shapes = symbol.infer_shape(data=(4, 5))
    made = {
        name: leaf(rng.uniform(-1, 1, shape), req)
        for name, shape in zip(symbol.list_arguments(), arg_shapes)
        if name != "data"
    }
    made.update((n, nd.ones(s)) for n, s in zip(symbol.list_auxiliary_states(), aux_shapes))
    return made


def close(found, expected):
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), 2e-4, 2e-5)


@pytest.mark.parametrize("req", ["write", "add"])
def test_training_steps(req):
    symbol, eager = network()
    op = CachedOp(symbol)
    rng = np.random.default_rng(0)
    ours = parameters(symbol, rng, req)
    theirs = parameters(symbol, np.random.default_rng(0), req)
    for _ in range(3):
        values, weight = rng.uniform(-1, 1, (4, 5)), nd.array(rng.uniform(-1, 1, (4, 3)))
        results = []
        for made, function in (
            (ours, lambda a: op(*(a[name] for name in op.inputs))),
            (theirs, eager),
        ):
            made["data"] = leaf(values)
            with ag.record():
                h, p = function({**made, "data": made["data"] * 2})
                loss = (h * weight).sum() + (p * p).sum()
            loss.backward()
            results.append((h, p, loss))
        for found, expected in zip(*results):
            close(found, expected)
        for name in op.inputs:
            close(ours[name], theirs[name])
            if ours[name].grad is not None:
                close(ours[name].grad, theirs[name].grad)
    assert op.n_programs == 1


def test_predicting_and_other_shapes():
    symbol, eager = network()
    op = CachedOp(symbol)
    made = parameters(symbol, np.random.default_rng(1))
    kept = []
    for rows in (4, 2, 4, 7):
        made["data"] = nd.array(np.random.default_rng(rows).uniform(-1, 1, (rows, 5)))
        kept.append((op(*(made[n] for n in op.inputs)), eager(made)))
    made["two_weight"] *= 2  # what a plan keeps between runs is made anew
    kept.append((op(*(made[n] for n in op.inputs)), eager(made)))
    for found, expected in kept:
        for a, b in zip(found, expected):
            close(a, b)
    assert op.n_programs == 3


def product():
    return CachedOp(sym.Variable("x") * sym.Variable("w") + 1)


def test_two_calls_before_one_backward():
    op, w = product(), leaf([3, 4])
    a, b = leaf([1, 2]), nd.array([5, 6])
    with ag.record():
        (y,) = op(a, w)
        (z,) = op(y * 10, w)
        (u,) = op(b, w)
        loss = (z + u).sum()
    loss.backward()
    expected_a = 10 * w.asnumpy() ** 2
    assert a.grad.asnumpy().tolist() == expected_a.tolist()
    # z = 10 (a w + 1) w + 1, u = b w + 1
    expected = 20 * a.asnumpy() * w.asnumpy() + 10 + b.asnumpy()
    assert w.grad.asnumpy().tolist() == expected.tolist()


def test_one_array_for_two_inputs():
    for req, expected in (("write", [6, 8]), ("add", [12, 16])):
        op, w = product(), leaf([3, 4], req)
        for _ in range(2):
            with ag.record():
                (y,) = op(w, w)
            y.backward()
        assert w.grad.asnumpy().tolist() == expected


def test_backward_again():
    """Backward overwrites intermediate values, which a retained graph needs once more."""
    x = sym.Variable("x")
    op = CachedOp(sym.exp(sym.sin(x) * sym.exp(x)))
    a = leaf([0.5, 1.0], "add")
    with ag.record():
        (y,) = op(a)
    y.backward(retain_graph=True)
    once = a.grad.asnumpy()
    y.backward(retain_graph=True)
    y.backward()
    np.testing.assert_allclose(a.grad.asnumpy(), 3 * once, 1e-6)
    with pytest.raises(mx.MXNetError, match="retain_graph"):
        y.backward()


def test_outputs_outlive_the_next_call():
    op, w = product(), nd.array([3, 4])
    kept = [op(nd.array([i, i]), w)[0] for i in range(20)]
    assert [y.asnumpy().tolist() for y in kept] == [[3 * i + 1, 4 * i + 1] for i in range(20)]


def test_grad_leaves_buffers_alone():
    op, w, a = product(), leaf([3, 4]), leaf([1, 2])
    with ag.record():
        (y,) = op(a, w)
    (found,) = ag.grad(y, [a])
    assert found.asnumpy().tolist() == [3, 4]
    assert not a.grad.asnumpy().any() and not w.grad.asnumpy().any()


def test_changed_after_recording():
    op, w, a = product(), leaf([3, 4]), nd.array([1, 2])
    with ag.record():
        (y,) = op(a, w)
    a[:] = 0
    with pytest.raises(mx.MXNetError, match=r"test_cached_op.py:\d+: input 'x' .* was changed"):
        y.backward()


def test_dropout_and_modes():
    x = sym.Variable("x")
    op = CachedOp(sym.Dropout(x, p=0.5))
    a = leaf(np.ones(1000))
    assert (op(a)[0].asnumpy() == 1).all()
    for _ in range(2):
        with ag.record():
            (y,) = op(a)
            (z,) = op(a)
        ag.backward([y, z])
        assert set(np.unique(y.asnumpy())) == {0, 2}
        assert (y.asnumpy() != z.asnumpy()).any()
        assert (a.grad.asnumpy() == y.asnumpy() + z.asnumpy()).all()
    with ag.record(train_mode=False):
        assert (op(a)[0].asnumpy() == 1).all()


@pytest.mark.parametrize("training", [True, False])
def test_gradients_of_gradients(training):
    """As of the same network called eagerly."""
    symbol, eager = network()
    op = CachedOp(symbol)
    found = []
    for function in (lambda a: op(*(a[name] for name in op.inputs)), eager):
        made = parameters(symbol, np.random.default_rng(3))
        made["data"] = leaf(np.random.default_rng(4).uniform(-1, 1, (4, 5)))
        with ag.record(train_mode=training):
            h, p = function({**made, "data": made["data"] * 1})
            score = (h * h).sum() + p[:, 0].sum()
            (slope,) = ag.grad(score, [made["data"]], create_graph=True)
            penalty = nd.square(nd.norm(slope, axis=1) - 1).sum()
        penalty.backward()
        names = [n for n in op.inputs if made[n].grad is not None]
        found.append([penalty, slope, *(made[n].grad for n in names)])
    for ours, theirs in zip(*found):
        close(ours, theirs)
    assert found[0][0].asscalar() > 0.1


def test_gradients_of_gradients_of_random_numbers():
    op = CachedOp(sym.Dropout(sym.Variable("x"), p=0.5, name="drop"))
    x = leaf([1, 2])
    with ag.record():
        (y,) = op(x)
    with pytest.raises(mx.MXNetError, match="operator Dropout .node 'drop'. draws other numbers"):
        ag.grad(y, [x], create_graph=True)


def test_loss_needs_no_head_gradient():
    op = CachedOp(sym.SoftmaxOutput(sym.Variable("x"), sym.Variable("label")))
    x = leaf([[1, 2, 3]])
    with ag.record():
        (y,) = op(x, nd.array([0]))
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), y.asnumpy() - [[1, 0, 0]], 1e-6)


def test_custom_operators():
    class Double(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @mx.operator.register("cached_double")
    class DoubleProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Double()

    x = sym.Variable("x")
    op = CachedOp(sym.Custom(sym.exp(x), op_type="cached_double") + x)
    a = leaf([0, 1])
    for _ in range(3):
        with ag.record():
            (y,) = op(a)
            (z,) = op(y)
        z.backward()
        inner = 2 * np.exp(a.asnumpy()) + a.asnumpy()
        slope = 2 * np.exp(a.asnumpy()) + 1
        np.testing.assert_allclose(a.grad.asnumpy(), (2 * np.exp(inner) + 1) * slope, 1e-5)


def test_threads():
    symbol, eager = network()
    op = CachedOp(symbol)
    made = parameters(symbol, np.random.default_rng(2))
    wrong = []

    def work(number):
        rng = np.random.default_rng(number)
        for _ in range(30):
            mine = {**made, "data": nd.array(rng.uniform(-1, 1, (4, 5)))}
            found = op(*(mine[n] for n in op.inputs))
            for a, b in zip(found, eager(mine)):
                if not np.allclose(a.asnumpy(), b.asnumpy(), 2e-4, 2e-5):
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_failing_run_is_said_and_the_next_one_is_right():
    class Fails(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            if in_data[0].asnumpy()[0] < 0:
                raise ZeroDivisionError("negative")
            self.assign(out_data[0], req[0], in_data[0])

    @mx.operator.register("cached_fails")
    class FailsProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Fails()

    op = CachedOp(sym.Custom(sym.Variable("x"), op_type="cached_fails") * 2)
    for value in (1, -1, 2, -1, -1, 3):
        (y,) = op(nd.array([value]))
        if value > 0:
            assert y.asscalar() == 2 * value
        else:
            with pytest.raises(ZeroDivisionError, match="negative"):
                y.wait_to_read()
            with pytest.raises(mx.MXNetError, match="has no values: what was to compute it failed"):
                y.asnumpy()


def test_nothing_is_left():
    op, w = product(), leaf([3, 4])
    for _ in range(50):
        with ag.record():
            (y,) = op(nd.array([1, 2]), w)
        del y
    program = next(iter(op._programs.values()))
    gc.collect()
    assert len(program._free) == 1


@pytest.mark.parametrize(
    "arrays, message",
    [
        ([nd.ones(2)], "takes 2 arrays"),
        ([nd.ones(2), 3], "input 'w' of a CachedOp must be an NDArray"),
        ([nd.ones(2), nd.ones(3)], "do not agree|shape"),
        ([nd.ones(2), nd.ones(2, ctx=mx.cpu(1))], "are on cpu"),
    ],
)
def test_errors(arrays, message):
    with pytest.raises(mx.MXNetError, match=message):
        product()(*arrays)


def test_a_value_inside_with_too_many_axes():
    """Also one that no array outside has: its shape was written past the end of its place."""
    x = mx.sym.Variable("x")
    for wide in (9, 200):
        net = mx.sym.reshape(mx.sym.reshape(x, shape=(2, 3) + (1,) * (wide - 2)) * 2, shape=(-1,))
        with pytest.raises(mx.errors.ShapeError, match=f"has {wide} axes.* at most 8"):
            net.simple_bind(mx.cpu(), x=(2, 3))
        with pytest.raises(mx.errors.ShapeError, match=f"has {wide} axes.* at most 8"):
            CachedOp(net)(mx.nd.ones((2, 3)))
