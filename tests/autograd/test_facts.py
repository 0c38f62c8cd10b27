"""Autograd as MXNet 1.9.1 behaves: each statement was run there, its values are from there."""

import threading

import numpy as np
import pytest

import cynet as mx
from cynet import autograd as ag
from cynet import nd


def leaf(values, req="write", dtype="float32"):
    x = nd.array(values, dtype=dtype)
    x.attach_grad(req)
    return x


def is_grad(x, values):
    np.testing.assert_allclose(x.grad.asnumpy(), np.asarray(values, dtype=x.dtype), 1e-6)


def test_square():
    x = leaf([1, 2, 3])
    with ag.record():
        y = x * x
    y.backward()
    is_grad(x, [2, 4, 6])


def test_head_gradient():
    x = leaf([1, 2, 3])
    with ag.record():
        y = x * x
    y.backward(nd.array([10, 1, 0.1]))
    is_grad(x, [20, 4, 0.6])


def test_a_variable_in_several_places():
    x = leaf([3])
    with ag.record():
        y = x * 2 + x * x + x
    y.backward()
    is_grad(x, [9])


@pytest.mark.parametrize("req, times, expected", [("write", 2, 2), ("add", 3, 6)])
def test_requests(req, times, expected):
    x = leaf([1], req)
    for _ in range(times):
        with ag.record():
            y = x * 2
        y.backward()
    is_grad(x, [expected])


def test_null_request():
    x = nd.array([1])
    x.attach_grad("null")
    with ag.record():
        y = x * 2
    with pytest.raises(mx.MXNetError, match="none of the arrays .* wants a gradient"):
        y.backward()
    with pytest.raises(KeyError, match="foo"):
        x.attach_grad("foo")


def test_grad_before_and_after_attach():
    x = nd.ones((2, 3))
    assert x.grad is None
    x.attach_grad()
    assert x.grad.shape == (2, 3) and not x.grad.asnumpy().any()


def test_backward_of_what_was_not_recorded():
    x = leaf([1])
    y = x * 2
    with pytest.raises(mx.MXNetError, match="belongs to no recorded graph"):
        y.backward()


def test_backward_of_a_leaf():
    x = leaf([1, 2])
    with ag.record():
        x.backward()
    is_grad(x, [1, 1])


@pytest.mark.parametrize("req, expected", [("write", [2, 4]), ("add", [4, 8])])
def test_second_backward(req, expected):
    x = leaf([1, 2], req)
    with ag.record():
        y = x * x
    y.backward(retain_graph=True)
    y.backward()
    is_grad(x, expected)
    with pytest.raises(mx.MXNetError, match="belongs to no recorded graph"):
        y.backward()


def test_several_heads():
    x = leaf([1, 2])

    def heads():
        with ag.record():
            return [x * x, 3 * x]

    ag.backward(heads())
    is_grad(x, [5, 7])
    ag.backward(heads(), [None, nd.array([10, 10])])
    is_grad(x, [32, 34])
    with pytest.raises(AssertionError, match="lists of the same length"):
        ag.backward(heads(), [None])


def test_heads_that_share_a_part():
    x = leaf([1])
    with ag.record():
        t = x * x
        y, z = 2 * t, 3 * t
    y.backward()
    with pytest.raises(mx.MXNetError, match="retain_graph"):
        z.backward()
    with ag.record():
        t = x * x
        y, z = 2 * t, 3 * t
    y.backward(retain_graph=True)
    z.backward()
    is_grad(x, [6])


def test_several_losses():
    x = leaf([1], "add")
    with ag.record():
        losses = [k * x for k in (1, 2, 3)]
    for loss in losses:
        loss.backward()
    is_grad(x, [6])
    x.attach_grad()
    with ag.record():
        losses = [k * x for k in (1, 2, 3)]
    ag.backward(losses)
    is_grad(x, [6])


@pytest.mark.parametrize(
    "write",
    [
        lambda x, y: x.__iadd__(1),
        lambda x, y: y.__iadd__(1),
        lambda x, y: x.__setitem__(slice(None), 5),
        lambda x, y: y.__setitem__(slice(None), 5),
        lambda x, y: y.__setitem__(0, 5),
        lambda x, y: y.__setitem__(slice(0, 1), x[1:2]),
        lambda x, y: nd.square(x, out=y),
        lambda x, y: nd.ones(2).copyto(y),
    ],
)
def test_writing_what_is_recorded(write):
    x = leaf([1, 2])
    with ag.record():
        y = x * 2
        with pytest.raises(mx.MXNetError, match="must not be written"):
            write(x, y)


def test_writing_a_recorded_value_into_a_part():
    x = leaf([1, 2])
    with ag.record():
        b = nd.zeros(2)
        with pytest.raises(mx.MXNetError, match="cannot be written into a part of an array"):
            b[0] = x[1]


def test_out_is_recorded():
    x = leaf([1, 2, 3])
    with ag.record():
        y = nd.zeros(3)
        nd.square(x, out=y)
        z = y * 1
    z.backward()
    is_grad(x, [2, 4, 6])


def test_changed_after_recording():
    """MXNet takes the new values: a gradient that is wrong without a word."""
    x = leaf([1, 2])
    with ag.record():
        y = x * x
    x[:] = 10
    with pytest.raises(mx.MXNetError, match=r"test_facts.py:\d+: input 'lhs' .* was changed"):
        y.backward()
    with ag.record():
        y = x * 2  # whose gradient does not read x
    x[:] = 1
    y.backward()
    is_grad(x, [2, 2])


def test_what_stops_gradients():
    x = leaf([2])
    for stop in (
        lambda y: y.detach(),
        nd.BlockGrad,
        nd.stop_gradient,
        lambda y: nd.array(y.asnumpy()),
    ):
        with ag.record():
            z = stop(x * x) * x
        z.backward()
        is_grad(x, [4])
    with ag.record():
        z = nd.BlockGrad(x * x)
    z.backward()
    is_grad(x, [0])


def test_attach_grad_cuts():
    x = leaf([2])
    with ag.record():
        y = x * x
        y.attach_grad()
        z = 3 * y
    z.backward()
    is_grad(x, [0])
    is_grad(y, [3])


def test_a_loop_of_unknown_length():
    a = leaf([1.5])
    with ag.record():
        c = a * 2
        while nd.norm(c).asscalar() < 1000:
            c = c * 2
    c.backward()
    is_grad(a, [1024])


def test_pause():
    x = leaf([1])
    with ag.record():
        y = x * 2
        with ag.pause():
            assert (ag.is_recording(), ag.is_training()) == (False, False)
            hidden = 100 * y
        z = y + hidden
    z.backward()
    is_grad(x, [2])


def flags():
    return ag.is_recording(), ag.is_training()


def test_flags():
    assert flags() == (False, False)
    with ag.record():
        assert flags() == (True, True)
        with ag.predict_mode():
            assert flags() == (True, False)
        with ag.pause():
            assert flags() == (False, False)
        with ag.pause(train_mode=True):
            assert flags() == (False, True)
        assert flags() == (True, True)
    with ag.record(train_mode=False):
        assert flags() == (True, False)
    with ag.train_mode():
        assert flags() == (False, True)
    with ag.predict_mode():
        assert flags() == (False, False)
    assert flags() == (False, False)


def test_set_flags():
    assert ag.set_recording(True) is False
    assert ag.set_recording(False) is True
    assert ag.set_training(True) is False
    assert ag.set_training(False) is True


def test_scopes_restore_the_flags():
    scope = ag.record()
    with pytest.raises(ZeroDivisionError, match="^$"), scope:
        raise ZeroDivisionError
    assert flags() == (False, False)
    for _ in range(2):
        with scope, scope:
            assert flags() == (True, True)
        assert flags() == (False, False)
    seen = []
    with scope:
        thread = threading.Thread(target=lambda: seen.append(flags()))
        thread.start()
        thread.join()
    assert seen == [(False, False)]


def test_grad():
    x = leaf([2])
    for variables in ([x], x):
        with ag.record():
            y = x * x * x
        found = ag.grad(y, variables)
        assert isinstance(found, list) and found[0].asscalar() == 12
    is_grad(x, [0])


def test_grad_errors():
    x, other = leaf([2]), leaf([1])
    with ag.record():
        y = x * x
        z = y * 3
    with pytest.raises(mx.MXNetError, match="belongs to no recorded graph"):
        ag.grad(z, nd.ones(1))
    with pytest.raises(mx.MXNetError, match="heads do not depend on variable 1"):
        ag.grad(z, [x, other])
    with pytest.raises(mx.MXNetError, match="variable 0 was not marked"):
        ag.grad(z, [y])
    with pytest.raises(AssertionError, match="variables must not be an empty list"):
        ag.grad(z, [])
    assert ag.grad(z, [x])[0].asscalar() == 12


def test_mark_variables():
    x, gradient = nd.array([1, 2]), nd.zeros(2)
    ag.mark_variables([x], [gradient])
    with ag.record():
        y = x * x
    y.backward()
    assert gradient.asnumpy().tolist() == [2, 4]
    ag.mark_variables(x, gradient, "add")
    with ag.record():
        y = x * x
    y.backward()
    assert gradient.asnumpy().tolist() == [4, 8]
    with pytest.raises(ValueError, match="shape"):
        ag.mark_variables(x, nd.zeros(3))


def test_get_symbol():
    x, z = leaf([1]), leaf([2])
    with ag.record():
        one, two = x * x + 2, x * x + 2 * z
    assert len(ag.get_symbol(one).list_arguments()) == 1
    assert len(ag.get_symbol(two).list_arguments()) == 2
    found = ag.get_symbol(two).bind(mx.cpu(), [x, z]).forward()[0]
    assert found.asscalar() == two.asscalar()
    with pytest.raises(mx.MXNetError, match="not computed while autograd recorded"):
        ag.get_symbol(nd.ones(1))


def test_beyond_the_scope():
    x = leaf([2])
    with ag.record():
        y = x * x
    w = y * 5
    with pytest.raises(mx.MXNetError, match="belongs to no recorded graph"):
        w.backward()
    with ag.record():
        z = y * 3
    z.backward()
    is_grad(x, [12])


def test_indexing():
    x = leaf([[1, 2], [3, 4]])
    with ag.record():
        y = x[1] * 10 + x[:, 0] + x[0, 1]
    y.backward()
    is_grad(x, [[1, 2], [11, 10]])
    with ag.record():
        y = (x.reshape(4)[1:3] * nd.array([5, 7])).sum() + x.T.sum()
    y.backward()
    is_grad(x, [[1, 6], [8, 1]])


def test_dtypes():
    x = leaf([1, 2])
    with ag.record():
        y = x.astype("float64") * 3
    y.backward()
    assert x.grad.dtype == np.float32
    is_grad(x, [3, 3])
    for dtype in ("float16", "int32"):
        x = leaf([1, 2], dtype=dtype)
        with ag.record():
            y = x * x
        y.backward()
        assert np.dtype(x.grad.dtype) == dtype
        is_grad(x, [2, 4])


@pytest.mark.parametrize(
    "copy",
    [
        lambda x: x.as_in_context(mx.cpu(1)),
        lambda x: x.copyto(mx.cpu(1)),
        lambda x: x.copy(),
        lambda x: x.copyto(nd.zeros(2)),
        nd.array,
    ],
)
def test_copies(copy):
    x = leaf([1, 2])
    with ag.record():
        y = copy(x) * 3
    y.backward()
    is_grad(x, [3, 3])
    assert x.grad.context == mx.cpu(0)


def gradient(function, values, out_grad=None):
    x = leaf(values)
    with ag.record():
        y = function(x)
    y.backward(None if out_grad is None else nd.array(out_grad))
    return x.grad.asnumpy().tolist()


def test_reductions_and_ties():
    assert gradient(lambda x: x.sum(axis=1), np.ones((2, 3)), [1, 2]) == [[1] * 3, [2] * 3]
    assert gradient(lambda x: x.max(), [1, 2, 2]) == [0, 1, 1]
    assert gradient(lambda x: x.clip(0, 1), [-1, 0, 1, 2]) == [0, 1, 1, 0]
    a, b = leaf([1]), leaf([1])
    with ag.record():
        y = nd.maximum(a, b)
    y.backward()
    assert (a.grad.asscalar(), b.grad.asscalar()) == (1, 0)


def test_edges():
    assert gradient(nd.abs, [0]) == [0]
    assert gradient(nd.relu, [0]) == [0]
    assert gradient(nd.sqrt, [0]) == [np.inf]
    assert gradient(nd.sign, [2]) == [0]
    assert gradient(nd.norm, [0, 0]) == [0, 0]  # nan in MXNet
    assert gradient(lambda x: nd.argmax(x, axis=0), [1, 2]) == [0, 0]
    assert gradient(lambda x: (x > 1) * x, [1, 2]) == [0, 1]
    assert gradient(lambda x: nd.where(x > 0, 2 * x, 3 * x), [1, -2]) == [2, 3]


def test_softmax_output_ignores_its_gradient():
    x = leaf([[1, 2, 3]])
    with ag.record():
        y = nd.SoftmaxOutput(x, nd.array([0]))
    y.backward(nd.ones((1, 3)) * 5)
    is_grad(x, [[-0.9099694, 0.2447285, 0.6652409]])


def test_some_outputs():
    x = leaf(np.ones((3, 2)))
    b, c = np.array([[1, 2]]), np.array([[3, 4]])
    with ag.record():
        parts = nd.split(x, 3, axis=0)
    ag.backward(list(parts), [None, nd.array(b), nd.array(c)])
    is_grad(x, np.concatenate([np.ones((1, 2)), b, c]))


def test_not_reached_in_the_second_pass():
    x, other = leaf([1]), leaf([1])
    for inputs in ((x, other), (other,)):
        with ag.record():
            y = sum(inputs[1:], inputs[0] * 1)
        y.backward()
    is_grad(x, [1])


def test_fresh_grad():
    x = leaf([1])
    assert not x._fresh_grad
    with ag.record():
        y = x.detach() * x.detach() + leaf([1])
    y.backward()
    assert not x._fresh_grad
    with ag.record():
        y = x * 2
    y.backward()
    assert x._fresh_grad
    x._fresh_grad = False
    assert not x._fresh_grad


def test_handles_of_a_gradient():
    x = leaf([1])
    with ag.record():
        y = x * 2
    y.backward()
    x.grad[:] = 7
    is_grad(x, [7])
    x.attach_grad()
    is_grad(x, [0])
    x.detach()[:] = 9
    assert x.asscalar() == 9


def test_dropout():
    x = leaf(np.ones(1000))
    with ag.record():
        y = nd.Dropout(x, p=0.5)
        with ag.pause():
            assert (nd.Dropout(x, p=0.5).asnumpy() == 1).all()
    y.backward()
    assert set(np.unique(y.asnumpy())) == {0, 2}
    assert (x.grad.asnumpy() == y.asnumpy()).all()
    with ag.train_mode():
        assert set(np.unique(nd.Dropout(x, p=0.5).asnumpy())) == {0, 2}
    assert (nd.Dropout(x, p=0.5).asnumpy() == 1).all()


@pytest.mark.parametrize("train_mode", [False, True])
def test_batch_norm_goes_back_in_the_mode_it_ran_in(train_mode):
    """In MXNet only ``backward(train_mode=False)`` gives these values."""
    x = leaf([[1], [5]])
    gamma, beta = leaf([1]), leaf([0])
    with ag.record(train_mode=False):
        y = nd.BatchNorm(x, gamma, beta, nd.zeros(1), nd.ones(1), eps=1e-5, fix_gamma=False)
    y.backward(train_mode=train_mode)
    is_grad(x, [[0.999995], [0.999995]])


def test_head_gradient_of_another_shape():
    """MXNet takes the first numbers."""
    x = leaf([1, 2])
    with ag.record():
        y = x * x
    with pytest.raises(ValueError, match=r"shape \(3,\), the head has shape \(2,\)"):
        y.backward(nd.ones(3))


DTYPES = ["float16", "bfloat16", "float32", "float64", "uint8", "int8", "int32", "int64"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("kind", ["call", "view", "plan"])
def test_head_gradients_of_every_dtype(kind, dtype):
    """They are cast to the head's, whatever its dtype."""
    if kind == "plan":
        function = mx.gluon.nn.HybridLambda(lambda F, x: F.square(x))
        function.hybridize()
    else:
        function = nd.square if kind == "call" else lambda x: x.reshape((3, 2)).reshape((2, 3))
    values, numbers = np.array([[1, 3, 100], [7, 0, 2]]), np.array([[1, 2, 3], [0, 1, 5]])
    wanted = (values if kind == "view" else 2 * numbers * values).tolist()
    x = nd.array(numbers, dtype=dtype)
    x.attach_grad()
    for given in DTYPES:
        head = nd.array(values, dtype=given)
        with ag.record():
            y = function(x)
        y.backward(head)
        assert x.grad.astype("float64").asnumpy().tolist() == wanted, given
        with ag.record():
            y = function(x)
        (found,) = ag.grad([y], [x], [head])
        assert found.dtype == x.dtype
        assert found.astype("float64").asnumpy().tolist() == wanted, given


def test_flags_are_true_or_false():
    x = nd.ones(2)
    x.attach_grad()
    with ag.record():
        y = x * x
    with pytest.raises(mx.errors.ArgumentTypeError, match="train_mode must be True or False"):
        y.backward(train_mode=np.ones((2, 3)))
    with pytest.raises(mx.errors.ArgumentTypeError, match="create_graph must be True or False"):
        ag.grad(y, x, create_graph="yes")
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, 2]
