"""Heads without gradients, graphs that backward has let go of, and writes between record and
backward."""

import ctypes
import threading

import numpy as np
import pytest

import cynet as mx
from cynet import autograd as ag
from cynet import gluon, nd


def test_frozen_heads_again_and_again():
    """What needs no gradient goes back with what does, in every thread and any number of times."""
    frozen, free = nd.ones(3), nd.ones(3)
    frozen.attach_grad("null")
    free.attach_grad()

    def steps(x, y, out):
        for _ in range(3):
            with ag.record():
                heads = [nd.tanh(x), y * 2, x.copy(), x.reshape((3, 1)), x[0:2]]
            ag.backward(heads)
            out.append(y.grad.asnumpy().tolist())

    found = []
    steps(frozen, free, found)
    other = nd.ones(3)
    other.attach_grad()
    thread = threading.Thread(target=steps, args=(frozen, other, found))
    thread.start()
    thread.join()
    assert found == [[2, 2, 2]] * 6
    for _ in range(2):
        with ag.record():
            heads = [nd.tanh(frozen), free * 3]
        (grad,) = ag.grad(heads, [free])
        assert grad.asnumpy().tolist() == [3, 3, 3]
    with ag.record():
        head = nd.tanh(frozen)
    with pytest.raises(mx.MXNetError, match="none of the arrays"):
        head.backward()


def test_an_array_of_a_finished_graph_is_a_constant():
    w = nd.array([2.0])
    w.attach_grad()
    h, seen = nd.array([1.0]), []
    for _ in range(3):
        with ag.record():
            h = h * w
        h.backward()
        seen.append(w.grad.asscalar())
    assert seen == [1, 2, 4]  # h of the step before is a number
    with pytest.raises(mx.MXNetError, match="let go of"):
        h.backward()


@pytest.mark.parametrize("hybridize", [False, True])
def test_the_state_of_a_recurrent_network(hybridize):
    """As in chapters of d2l: the state of the last batch comes into the next one."""
    cell = gluon.rnn.LSTM(4)
    cell.initialize(mx.init.One())
    if hybridize:
        cell.hybridize()
    state = cell.begin_state(batch_size=2)
    for _ in range(3):
        for each in state:
            each.detach()  # which changes nothing
        numbers = [each.copy().asnumpy() for each in state]
        with ag.record():
            y, state = cell(nd.ones((3, 2, 5)), state)
            loss = y.sum()
        loss.backward()
        found = cell.l0_i2h_weight.grad().asnumpy()
        with ag.record():
            y, _ = cell(nd.ones((3, 2, 5)), [nd.array(each) for each in numbers])
            loss = y.sum()
        loss.backward()
        np.testing.assert_array_equal(found, cell.l0_i2h_weight.grad().asnumpy())


def test_a_graph_that_waits_notices_that_a_part_is_gone():
    w = nd.array([2.0])
    w.attach_grad()
    with ag.record():
        h = w * 3
        a, b = h * h, h * w
    a.backward()
    with pytest.raises(mx.MXNetError, match="is gone"):
        b.backward()


def test_in_one_scope_a_used_up_array_is_no_constant():
    """A gradient would be missing without a word."""
    w = nd.array([2.0])
    w.attach_grad()
    with ag.record():
        h = w * 3
        (slope,) = ag.grad((h * h).sum(), [w])
        with ag.pause(), ag.record():
            pass
        loss = (h * w * slope).sum()
    with pytest.raises(mx.MXNetError, match="is gone"):
        loss.backward()
    with ag.record():
        loss = h * w
    loss.backward()
    assert w.grad.asscalar() == 6
    ag.set_recording(True)
    h = w * 3
    ag.set_recording(False)
    h.backward()
    ag.set_recording(True)
    h = h * w
    ag.set_recording(False)
    h.backward()
    assert w.grad.asscalar() == 6


def test_a_finished_array_may_be_written_while_others_record():
    w, buffer = nd.array([2.0]), nd.zeros(1)
    w.attach_grad()
    with ag.record():
        y = w * 3
    y.backward()
    with ag.record():
        y[:] = 5
        z = y * w
        buffer[:] = y
    z.backward()
    assert w.grad.asscalar() == 5 and buffer.asscalar() == 5


# --- writes between record and backward -----------------------------------------------------------
def _layer(hybridize, width=3):
    net = gluon.nn.Dense(width, in_units=2)
    net.initialize(mx.init.Constant(0.5))
    if hybridize:
        net.hybridize()
    return net


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("grad_req", ["write", "null"])
def test_set_data_leaves_what_was_recorded(hybridize, grad_req):
    """The gradient is that of the values that forward read."""
    net = _layer(hybridize)
    net.weight.grad_req = grad_req
    x = nd.array([[1.0, 2.0]])
    x.attach_grad()
    with ag.record():
        y = (net(x) ** 2).sum()
        with ag.pause():
            net.weight.set_data(nd.ones((3, 2)) * 7)
    y.backward()
    assert x.grad.asnumpy().tolist() == [[4.5, 4.5]]  # 3 outputs of 1.5, weights of 0.5
    if grad_req == "write":
        assert net.weight.grad().asnumpy().tolist() == [[3, 6]] * 3
    assert net.weight.data().asnumpy().tolist() == [[7, 7]] * 3
    with ag.record():
        y = net(x).sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [[21, 21]]


def test_set_data_twice_between_two_uses():
    p = gluon.Parameter("p", shape=(2,), init="ones")
    p.initialize()
    x = nd.array([3.0, 4.0])
    x.attach_grad()
    with ag.record():
        a = x * p.data()
        with ag.pause():
            p.set_data(nd.array([10.0, 20.0]))
        b = x * p.data().reshape((2, 1)).reshape((2,)) * p.data()
        with ag.pause():
            p.set_data(nd.array([-1.0, -1.0]))
        c = (a + b).sum()
    c.backward()
    assert x.grad.asnumpy().tolist() == [101, 401]
    with ag.record():
        a = x * p.data()
        p.data().detach()[:] = 5  # any other write is refused
    with pytest.raises(mx.MXNetError, match="was changed in place"):
        a.backward()


def test_spectral_norm():
    """example/gluon/sn_gan: the vector of the power iteration moves inside of record."""
    u, w = (gluon.Parameter(n, shape=s, init="ones") for n, s in (("u", (1, 4)), ("w", (4, 3))))
    for each in (u, w):
        each.initialize()
    values = np.arange(12, dtype="float32").reshape(4, 3) / 10
    w.set_data(nd.array(values))
    before = u.data().asnumpy()
    with ag.record():
        v = nd.L2Normalization(nd.dot(u.data(), w.data()))
        with ag.pause():
            u.set_data(nd.L2Normalization(nd.dot(v, w.data().T)))
        sigma = nd.sum(nd.dot(u.data(), w.data()) * v)
        loss = (w.data() / sigma).sum()
    loss.backward()
    after = u.data().asnumpy()
    fresh = nd.array(values)
    fresh.attach_grad()
    with ag.record():
        v = nd.L2Normalization(nd.dot(nd.array(before), fresh))
        loss = (fresh / nd.sum(nd.dot(nd.array(after), fresh) * v)).sum()
    loss.backward()
    np.testing.assert_array_equal(w.grad().asnumpy(), fresh.grad.asnumpy())


@pytest.mark.parametrize("door", ["dlpack", "to_dlpack_for_write", "address"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("hybridize", [False, True])
def test_a_write_from_outside_is_seen(door, when, hybridize):
    """Memory that another package has to write in: backward refuses where it was written since the
    recording, and goes on where it was only read."""

    def lend(x):
        if door == "dlpack":
            return nd.from_dlpack(x.to_dlpack_for_read())
        if door == "to_dlpack_for_write":
            return nd.from_dlpack(x.to_dlpack_for_write())
        return np.frombuffer((ctypes.c_float * x.size).from_address(x.data_ptr), "float32")

    net = _layer(hybridize)
    for writes in (False, True):
        x = nd.array([[1.0, 2.0]])
        view = lend(x) if when == "before" else None
        x.attach_grad()
        with ag.record():
            y = (net(x) * x.sum()).sum()
        view = lend(x) if view is None else view
        if writes:
            view[:] = 9
            if isinstance(view, nd.NDArray):
                view.wait_to_read()
            with pytest.raises(mx.MXNetError, match="was changed in place"):
                y.backward()
        else:
            y.backward()
            assert net.weight.grad().asnumpy().tolist() == [[3, 6]] * 3
