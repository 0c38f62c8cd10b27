"""Parameter and Constant: states, shapes, contexts, gradients, and what is refused."""

import warnings

import numpy as np
import pytest

import cynet as mx
from cynet import gluon, nd


def make(**kwargs):
    param = gluon.Parameter("w", **{"shape": (2, 3), **kwargs})
    param.initialize("ones")
    return param


def test_what_is_not_initialized_says_so():
    param = gluon.Parameter("w", shape=(2, 3))
    for call in (param.data, param.grad, param.list_data, param.list_grad):
        with pytest.raises(RuntimeError, match="'w' is not initialized; call initialize of"):
            call()
    with pytest.raises(RuntimeError, match="'w' is not initialized"):
        param.list_ctx()


def test_an_unknown_shape_is_deferred_where_that_is_allowed():
    param = gluon.Parameter("w", shape=(2, 0))
    with pytest.raises(ValueError, match=r"cannot be initialized: its shape \(2, 0\) is unknown"):
        param.initialize()
    param = gluon.Parameter("w", shape=(2, 0), allow_deferred_init=True)
    param.initialize()
    assert param.list_ctx() == [mx.cpu(0)]
    with pytest.raises(
        gluon.DeferredInitializationError, match="has no value yet: a dimension of its shape"
    ):
        param.data()
    param.shape = (2, 3)
    with pytest.raises(
        mx.MXNetError, match="value yet: a dimension of its shape is unknown until the first"
    ):
        param.data()
    other = gluon.Parameter("w", shape=(2, 0), allow_deferred_init=True)
    other.initialize()
    other.set_data(nd.ones((2, 5)))
    assert other.shape == (2, 5)
    with pytest.raises(
        gluon.DeferredInitializationError,
        match="value yet: a dimension of its shape is unknown until the first",
    ):
        other.data()
    other._finish_deferred_init()
    assert other.data().asnumpy().tolist() == [[1.0] * 5] * 2


def test_set_data():
    param = gluon.Parameter("w", shape=(2, 3))
    with pytest.raises(AssertionError, match="'w' is not initialized"):
        param.set_data(nd.ones((2, 3)))
    param.initialize()
    with pytest.raises(AssertionError, match=r"has shape \(2, 3\), which \(3, 3\) does not fit"):
        param.set_data(nd.ones((3, 3)))
    param.set_data(np.arange(6, dtype="int64").reshape(2, 3))
    assert param.data().dtype == np.float32
    assert param.data().asnumpy().ravel().tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(AssertionError, match="does not fit"):
        param.shape = (4, 3)


@pytest.mark.parametrize("grad_req", ["write", "null"])
def test_values_of_a_graph_are_set_within_a_record(grad_req):
    """A power iteration does so (spectral normalization); what was recorded keeps the old ones."""
    weight = gluon.Parameter("weight", shape=(2, 3))
    state = gluon.Parameter("state", shape=(1, 2), grad_req=grad_req)
    for each in (weight, state):
        each.initialize(mx.init.One())
    with mx.autograd.record():
        before = (state.data() * weight.data().sum()).sum()
        state.set_data(mx.nd.dot(weight.data(), weight.data().T)[:1] * 2)
        after = (state.data() * weight.data()[:, 0]).sum()
        total = before + after
    total.backward()
    np.testing.assert_array_equal(state.data().asnumpy(), [[6, 6]])
    assert total.asscalar() == 12 + 12
    np.testing.assert_array_equal(weight.grad().asnumpy(), [[8, 2, 2], [8, 2, 2]])


def test_initializing_again():
    param = make()
    with pytest.warns(UserWarning, match="is initialized and stays as it is; force_reinit=True"):
        param.initialize("zeros")
    assert param.data().asnumpy().sum() == 6
    param.initialize("zeros", force_reinit=True)
    assert param.data().asnumpy().sum() == 0


def test_which_initializer_holds():
    param = gluon.Parameter("w", shape=(2,), init="ones")
    param.initialize(default_init=mx.init.Zero())
    assert param.data().asnumpy().tolist() == [1, 1]
    param.initialize(init=mx.init.Constant(3), default_init=mx.init.Zero(), force_reinit=True)
    assert param.data().asnumpy().tolist() == [3, 3]


@pytest.mark.parametrize("name", ["a_gamma", "a_beta", "a_bias", "a_running_var", "foo"])
def test_it_is_filled_as_a_weight_whatever_its_name(name):
    param = gluon.Parameter(name, shape=(2,))
    param.initialize(mx.init.Constant(7))
    assert param.data().asnumpy().tolist() == [7, 7]


def test_xavier_needs_two_axes():
    with pytest.raises(ValueError, match="a_bias"):
        gluon.Parameter("a_bias", shape=(2,)).initialize(mx.init.Xavier())


def test_default_is_uniform():
    param = gluon.Parameter("w", shape=(100, 100))
    param.initialize()
    values = param.data().asnumpy()
    assert 0.069 < np.abs(values).max() <= 0.07


def test_contexts():
    param = gluon.Parameter("w", shape=(3, 4))
    param.initialize(ctx=[mx.cpu(1), mx.cpu(2)])
    a, b = param.list_data()
    assert (a.asnumpy() == b.asnumpy()).all()
    assert [each.context for each in param.list_grad()] == [mx.cpu(1), mx.cpu(2)]
    assert param.data(mx.cpu(2)).context == mx.cpu(2)
    told = r"is not on cpu\(0\), but on \[cpu\(1\), cpu"
    with pytest.raises(RuntimeError, match=told):
        param.data()
    for wrong in (np.array(["a", "b"]), mx.nd.zeros(2), [mx.cpu(1)], 3.5):
        with pytest.raises(TypeError, match="ctx must be a Context, got"):
            param.data(wrong)
    assert param.data("cpu(2)").context == mx.cpu(2)
    param.reset_ctx(mx.cpu(3))
    assert param.list_ctx() == [mx.cpu(3)]
    assert param.data().context == mx.cpu(3)
    assert (param.data().asnumpy() == a.asnumpy()).all()
    with pytest.raises(RuntimeError, match=r"is not on cpu\(1\), but on"):
        param.data(mx.cpu(1))
    with pytest.raises(
        ValueError, match="parameter 'v' is not initialized: there is nothing to move"
    ):
        gluon.Parameter("v", shape=(1,)).reset_ctx(mx.cpu(1))


def test_grad_req():
    param = make(grad_req="null")
    with pytest.raises(RuntimeError, match="'w' has no gradient: its grad_req is 'null'"):
        param.grad()
    param.grad_req = "add"
    for _ in range(3):
        with mx.autograd.record():
            loss = param.data() * 3
        loss.backward()
    assert (param.grad().asnumpy() == 9).all()
    param.grad_req = "add"  # what it is already: the sum stays
    with mx.autograd.record():
        loss = param.data() * 3
    loss.backward()
    assert (param.grad().asnumpy() == 12).all()
    param.zero_grad()
    assert (param.grad().asnumpy() == 0).all()
    with pytest.raises(AssertionError, match="grad_req is 'write', 'add' or 'null', got 'bad'"):
        param.grad_req = "bad"
    param.grad_req = "null"
    assert param._grad is None
    fixed = gluon.Parameter("w", shape=(1,), differentiable=False)
    fixed.grad_req = "write"
    assert fixed.grad_req == "null"


def test_cast():
    param = make()
    param.cast("float16")
    assert param.data().dtype == np.float16 and param.grad().dtype == np.float16
    assert (param.data().asnumpy() == 1).all()


def test_var_is_one_symbol():
    param = gluon.Parameter("w", shape=(2, 3), lr_mult=2)
    assert param.var() is param.var()
    attrs = param.var().list_attr()
    assert attrs["__shape__"] == "(2, 3)" and attrs["__lr_mult__"] == "2"
    assert attrs["__dtype__"] == attrs["__storage_type__"] == "0"


def test_storage_types_are_refused():
    with pytest.raises(
        AssertionError, match="Parameter 'w': stype must be 'default' or 'row_sparse', got"
    ):
        gluon.Parameter("w", stype="bad")
    with pytest.raises(
        AssertionError, match="'w': grad_stype must be 'default' or 'row_sparse', got 'csr'"
    ):
        gluon.Parameter("w", grad_stype="csr")
    with pytest.raises(RuntimeError, match="parameter 'w' has storage type 'default': take"):
        make().row_sparse_data(nd.array([0]))


def test_constant():
    const = gluon.Constant("c", np.array([[1, 2], [3, 4]]))
    const.initialize()
    assert const.data().dtype == np.float32 and const.grad_req == "null"
    with pytest.warns(UserWarning, match="has no gradient: grad_req='write' changes nothing"):
        const.grad_req = "write"
    assert const.grad_req == "null"
    weight = make(shape=(2, 2))
    trainer = gluon.Trainer([const, weight], "sgd")
    with mx.autograd.record():
        loss = weight.data() * const.data()
    loss.backward()
    trainer.step(1)
    assert const.data().asnumpy().tolist() == [[1, 2], [3, 4]]


def test_no_warning_without_a_reason():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        param = make()
        param.grad_req = "write"
        param.cast("float64")
        param.zero_grad()


def test_two_trainings_from_a_copy():
    import copy
    import pickle

    param = make()
    for other in (copy.deepcopy(param), pickle.loads(pickle.dumps(param))):
        with mx.autograd.record():
            loss = other.data() * 2
        loss.backward()
        assert (other.grad().asnumpy() == 2).all() and (param.grad().asnumpy() == 0).all()


def test_known_shapes_are_those_of_mxnet():
    """As MXNet 1.9.1 says: () is unknown, but under np_shape, where 0 is a size."""
    known, shapes = mx.gluon.utils.shape_is_known, ((), (0,), (2,), (1, 0))
    assert [known(each) for each in shapes] == [False, False, True, False]
    assert not known(None)
    with mx.util.np_shape(True):
        assert [known(each) for each in (*shapes, (-1,))] == [True, True, True, True, False]
        assert mx.gluon.Parameter("w", shape=(0, 3)).shape == (-1, 3)
    param = mx.gluon.Parameter("w", shape=())
    with pytest.raises(ValueError, match=r"'w' cannot be initialized: its shape \(\) is unknown"):
        param.initialize()
    param = mx.gluon.Parameter("w", shape=(), allow_deferred_init=True)
    param.initialize()
    with pytest.raises(mx.gluon.parameter.DeferredInitializationError, match="'w' has no value"):
        param.data()


def test_initializing_leaves_no_copy_in_the_pool():
    from cynet import storage

    nbytes = 64 << 20
    storage.empty_cache(mx.cpu())
    before = storage.stats(mx.cpu())
    for shape in ((nbytes // 4,), (0,)):  # at once, and when the shape becomes known
        p = gluon.Parameter("weight", shape=shape, allow_deferred_init=True, grad_req="null")
        p.initialize(mx.init.Uniform(1))
        p.shape = (nbytes // 4,)
        p._finish_deferred_init()
        p.data().wait_to_read()
        stats = storage.stats(mx.cpu())
        assert stats["used_bytes"] - before["used_bytes"] < 1.1 * nbytes
        assert stats["cached_bytes"] < 0.1 * nbytes
        del p


def test_every_context_has_an_array_of_its_own():
    contexts = [mx.cpu(1), mx.cpu(0), mx.cpu(2)]
    p = gluon.Parameter("weight", shape=(3,))
    p.initialize(mx.init.One(), ctx=contexts)
    for i, context in enumerate(contexts):
        p.data(context)[:] = i
    assert [p.data(c).asnumpy().tolist() for c in contexts] == [[i] * 3 for i in range(3)]
    assert [each.context for each in p.list_data()] == contexts


def test_values_that_somebody_else_has_are_copied():
    held = nd.ones(3)

    class Given(gluon.Parameter):
        def _init_impl(self, data, ctx_list):
            super()._init_impl(held, ctx_list)

    p = Given("weight", shape=(3,))
    p.initialize()
    held[:] = 5
    assert p.data().asnumpy().tolist() == [1, 1, 1]
