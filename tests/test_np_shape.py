"""mx.util.np_shape: what MXNet 1.9.1 does with NumPy's shapes (values found by running it)."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import cynet as mx

V, W = mx.sym.var("v"), mx.sym.var("w")


def on(function):
    with mx.util.np_shape(True):
        return function()


def test_switch():
    assert mx.util.is_np_shape() is False
    assert mx.util.set_np_shape(True) is False and mx.util.set_np_shape(0) is True
    with mx.np_shape():
        found = []
        thread = threading.Thread(target=lambda: found.append(mx.util.is_np_shape()))
        thread.start()
        thread.join()
        assert mx.is_np_shape() and found == [False]
        with mx.np_shape(False), mx.np_shape(True):
            assert mx.is_np_shape()
        assert mx.is_np_shape()
    with pytest.raises(ZeroDivisionError, match="^$"), mx.np_shape():
        raise ZeroDivisionError
    assert not mx.is_np_shape()
    for wrong in ("a", None, 2.5):
        with pytest.raises(TypeError, match="set_np_shape"):
            mx.util.set_np_shape(wrong)
    with pytest.raises(TypeError, match="use_np_shape"):
        mx.util.use_np_shape(3)


def test_decorators():
    @mx.util.use_np_shape
    class Inside:
        """Methods and properties."""

        def __init__(self):
            self.made = mx.is_np_shape()

        def method(self):
            return mx.is_np_shape()

        @property
        def value(self):
            return mx.is_np_shape()

    inside = Inside()
    assert inside.made and inside.method() and inside.value and not mx.is_np_shape()

    @mx.util.np_shape(True)
    def function(a, b=1):
        """Its words."""
        return a, b, mx.is_np_shape()

    assert function(1, b=2) == (1, 2, True) and function.__doc__ == "Its words."


@pytest.mark.parametrize(
    "ask, off, under",
    [
        (lambda: (V + W).infer_shape_partial(v=(0, 3)), ([(0, 3)] * 2, [(0, 3)], []), None),
        (
            lambda: (V + W).infer_shape_partial(v=(-1, 3)),
            ([(0, 3)] * 2, [(0, 3)], []),
            ([(-1, 3)] * 2, [(-1, 3)], []),
        ),
        (lambda: (V + W).infer_shape(v=(-1, 3), w=(2, -1)), ([(2, 3)] * 2, [(2, 3)], []), None),
        (lambda: (V + W).infer_shape_partial(v=()), ([()] * 2, [()], []), None),
        (lambda: (V + W).infer_shape_partial(), ([()] * 2, [()], []), ([None] * 2, [None], [])),
        (lambda: mx.sym.sum(V).infer_shape(v=(2, 3)), ([(2, 3)], [(1,)], []), None),
        (
            lambda: (mx.sym.var("q", shape=(-1, 3)) + W).infer_shape_partial(),
            ([(0, 3)] * 2, [(0, 3)], []),
            ([(-1, 3)] * 2, [(-1, 3)], []),
        ),
        (
            lambda: (mx.sym.var("q", shape=(0, 3)) + W).infer_shape_partial(),
            ([(0, 3)] * 2, [(0, 3)], []),
            None,
        ),
        (lambda: mx.sym.zeros((0, 3)).infer_shape_partial(), ([], [(0, 3)], []), None),
        (
            lambda: mx.sym.zeros((-1, 3)).infer_shape_partial(),
            ([], [(0, 3)], []),
            ([], [(-1, 3)], []),
        ),
    ],
)
def test_inference(ask, off, under):
    assert ask() == off
    assert on(ask) == (off if under is None else under)


def test_sizes_of_zero_are_known_under_it():
    net = mx.sym.FullyConnected(V, num_hidden=2, name="fc")
    with pytest.warns(UserWarning, match="0s in shape means unknown"):
        assert net.infer_shape(v=(0, 3)) == (None, None, None)
    assert on(lambda: net.infer_shape(v=(0, 3))) == ([(0, 3), (2, 3), (2,)], [(0, 2)], [])
    assert on(lambda: (V + W).infer_shape(v=())) == ([(), ()], [()], [])
    with mx.util.np_shape(True):
        with pytest.warns(UserWarning, match="-1s in shape means unknown"):
            assert net.infer_shape() == (None, None, None)
        executor = net.simple_bind(mx.cpu(), v=(0, 3), grad_req="write")
        executor.arg_dict["fc_weight"][:] = 1
        assert executor.forward(is_train=True)[0].shape == (0, 2)
        executor.backward([mx.nd.zeros((0, 2))])
        assert executor.grad_dict["fc_weight"].asnumpy().tolist() == [[0] * 3] * 2
        scalar = (V * 2).simple_bind(mx.cpu(), v=(), grad_req="write")
        scalar.arg_dict["v"][:] = 4
        assert scalar.forward(is_train=True)[0].asnumpy().tolist() == 8
        scalar.backward([mx.nd.array(3.0)])
        assert scalar.grad_dict["v"].asnumpy().tolist() == 6
        with pytest.raises(mx.MXNetError, match="do not determine"):
            (V * 2).simple_bind(mx.cpu(), v=(-1, 3))


def test_arrays():
    x = mx.nd.array([[1, 2, 3], [4, 5, 6]])
    assert x[0, 1].shape == (1,) and x[0][1].shape == (1,)
    with mx.util.np_shape(True):
        assert x[0, 1].shape == x[0][1].shape == mx.nd.array([5])[0].shape == ()
        assert x[0, 1].asnumpy().tolist() == 2 and x[0].shape == (3,) and x[0, 0:1].shape == (1,)
        assert [each.shape for each in x[0]] == [()] * 3
        assert (mx.nd.array(3.0) * mx.nd.ones(2)).shape == (2,)
        assert mx.nd.relu(mx.nd.zeros(())).shape == () and x.sum().shape == (1,)
        assert mx.nd.FullyConnected(mx.nd.zeros((0, 3)), x, num_hidden=2, no_bias=True).shape == (
            0,
            2,
        )
        x.attach_grad()
        with mx.autograd.record():
            y = x[1][2] * x[0, 1]
        assert y.shape == ()
        y.backward()
        assert x.grad.asnumpy().tolist() == [[0, 6, 0], [0, 0, 2]]


def test_files(tmp_path):
    name = str(tmp_path / "a.params")
    arrays = [mx.nd.array(3.0), mx.nd.zeros((0, 3)), mx.nd.ones(2)]

    def magics():
        mx.nd.save(name, arrays)
        data = (tmp_path / "a.params").read_bytes()
        assert data.startswith(bytes.fromhex("120100000000000000000000000000000300000000000000"))
        return [data.count(bytes.fromhex(word)) for word in ("c9fa93f9", "cafa93f9")]

    # of an array without axes: MXNet 1.9.1 writes V2 without the switch, and cannot load it
    assert magics() == [2, 1] and on(magics) == [0, 3]
    for ask in (lambda: mx.nd.load(name), lambda: on(lambda: mx.nd.load(name))):
        for a, b in zip(arrays, ask()):
            assert a.shape == b.shape
            np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    with mx.util.np_shape(True):
        mx.nd.save(name, [arrays[0]])
    record = "cafa93f90000000000000000010000000000000000000000000040400000000000000000"
    assert (tmp_path / "a.params").read_bytes()[24:].hex() == record  # as MXNet writes it


@pytest.mark.parametrize("hybridize", [False, True])
def test_gluon(hybridize):
    with mx.util.np_shape(True):
        net = mx.gluon.nn.Dense(2)
        assert net.weight.shape == (2, -1) and repr(net) == "Dense(-1 -> 2, linear)"
        net.initialize()
        if hybridize:
            net.hybridize()
        assert net(mx.nd.zeros((0, 3))).shape == (0, 2) and net.weight.shape == (2, 3)
        assert net(mx.nd.zeros((4, 3))).shape == (4, 2)


def in_a_thread(function=mx.util.is_np_shape):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def test_all_threads():
    """2 is for all threads, until one switches it off; what a thread has on stays on there."""
    assert mx.util.set_np_shape(2) is False
    try:
        assert mx.util.is_np_shape() and in_a_thread()
        assert in_a_thread(lambda: mx.util.set_np_shape(False))
        assert mx.util.is_np_shape() and not in_a_thread()
    finally:
        assert mx.util.set_np_shape(False)
    assert not mx.util.is_np_shape() and not in_a_thread()
    with mx.util.np_shape(True):
        assert not in_a_thread()
