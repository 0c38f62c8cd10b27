"""Parameters that give their arrays in a way of their own, and initializers that fill in one."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd


class Dropped(gluon.Parameter):
    """GluonNLP's: copies the fields of a parameter, and drops entries whenever it is read."""

    def __init__(self, parameter, rate):
        p = parameter
        super().__init__(
            name=p.name,
            grad_req=p.grad_req,
            shape=p._shape,
            dtype=p.dtype,
            lr_mult=p.lr_mult,
            wd_mult=p.wd_mult,
            init=p.init,
            allow_deferred_init=p._allow_deferred_init,
            differentiable=p._differentiable,
        )
        self._rate = rate
        for field in (
            *("_var", "_data", "_grad", "_ctx_list", "_ctx_map", "_trainer", "_deferred_init"),
        ):
            setattr(self, field, getattr(p, field))

    def data(self, ctx=None):
        array = self._check_and_get(self._data, ctx)
        return nd.Dropout(array, self._rate, "always") if self._rate else array


def layer_with_drops(rate=0.5, contexts=None):
    net = gluon.nn.Dense(8, in_units=50, use_bias=False, prefix="layer_")
    net.initialize(mx.init.One(), ctx=contexts)
    dropped = Dropped(net.weight, rate)
    for table in (net.params._params, net._reg_params):
        table.update((name, dropped) for name, each in list(table.items()) if each is net.weight)
    vars(net)["weight"] = dropped
    return net


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_dropped_weights(hybridize, nested, seed):
    mx.random.seed(seed)
    layer = layer_with_drops()
    net = layer
    if nested:
        net = gluon.nn.HybridSequential()
        net.add(layer)
    if hybridize:
        net.hybridize()
    x, seen = nd.ones((1, 50)), set()
    for _ in range(4):
        with autograd.record():
            y = net(x)
        y.backward()
        out = y.asnumpy()
        # each weight is 0 or 2: sums are even, and the gradients of kept ones are 2
        assert (out % 2 == 0).all() and out.min() > 0 and out.max() < 100
        grad = layer.weight.grad().asnumpy()
        assert set(grad.ravel()) == {0, 2} and (grad.sum(1) == out[0]).all()
        seen.add(out.tobytes())
    assert len(seen) == 4  # other entries at each call


def test_such_a_parameter_is_trained():
    net = layer_with_drops(rate=0)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1})
    with autograd.record():
        y = net(nd.ones((1, 50)))
    y.backward()
    trainer.step(1)
    assert set(net.weight.data().asnumpy().ravel()) == {0}


def test_a_forward_that_reads_such_a_parameter_runs_as_it_is():
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.layer = layer_with_drops()

        def forward(self, x):
            return nd.dot(x, self.layer.weight.data(), transpose_b=True)

    net = Net()
    net.hybridize()
    with pytest.warns(UserWarning, match="'layer_weight' has a method `data` of its own"):
        first = net(nd.ones((1, 50))).asnumpy()
    assert (first % 2 == 0).all() and (net(nd.ones((1, 50))).asnumpy() != first).any()


def test_data_that_is_set_on_a_parameter_counts_in_graphs_that_are_there():
    net = gluon.nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(mx.init.One())
    net.hybridize()
    assert net(nd.ones((1, 2))).asscalar() == 2
    net.weight.data = lambda ctx=None: gluon.Parameter.data(net.weight, ctx) * 4
    assert net(nd.ones((1, 2))).asscalar() == 8
    del net.weight.data
    assert net(nd.ones((1, 2))).asscalar() == 2


@pytest.mark.parametrize("contexts", [[mx.cpu()], [mx.cpu(1), mx.cpu(0)]])
def test_steps_of_a_parameter(contexts):
    class Watched(gluon.Parameter):
        seen = []

    for name in ("_init_impl", "_init_grad", "_check_and_get", "_reduce", "_finish_deferred_init"):

        def call(self, *args, _name=name):
            Watched.seen.append(_name)
            return getattr(gluon.Parameter, _name)(self, *args)

        setattr(Watched, name, call)

    def told(function):
        Watched.seen.clear()
        function()
        return set(Watched.seen)

    one = Watched("one", shape=(2,))
    start = {"_finish_deferred_init", "_init_impl", "_init_grad"}
    assert told(lambda: one.initialize(mx.init.One(), ctx=contexts)) == start
    assert told(lambda: one.data(contexts[0])) == {"_check_and_get"}
    assert told(one.list_data) == told(one.list_grad) == {"_check_and_get"}
    assert told(lambda: one.set_data(nd.ones(2))) == {"_check_and_get"}
    moved = told(lambda: one.reset_ctx(mx.cpu(2)))
    assert moved == {"_reduce", "_check_and_get", "_init_impl", "_init_grad"}
    assert one._reduce().context == mx.cpu()


def test_values_for_each_context_are_those_that_a_subclass_makes():
    class Shifted(gluon.Parameter):
        def _init_impl(self, data, ctx_list):
            super()._init_impl(data + 5, ctx_list)

    one = Shifted("one", shape=(2,))
    one.initialize(mx.init.One())
    assert one.data().asnumpy().tolist() == [6, 6]


# --- initializers ---------------------------------------------------------------------------------


class Sevens(mx.init.Initializer):
    """Of the oldest kind: one function for all arrays, whatever their name."""

    def __call__(self, name, arr):
        arr[:] = 7


def test_the_call_of_the_networks_initializer_fills_all():
    """As in MXNet: what a parameter asks for itself is an attribute that the call looks at."""
    net = gluon.nn.Dense(2, in_units=3, weight_initializer="ones")
    net.initialize(Sevens())
    assert {*net.weight.data().asnumpy().ravel(), *net.bias.data().asnumpy()} == {7}


def test_loaded_values_come_before_those_a_parameter_asks_for():
    net = gluon.nn.Dense(2, in_units=1, prefix="fc_")
    net.initialize(mx.init.Load({"fc_bias": nd.array([3, 4])}, default_init=mx.init.One()))
    assert net.bias.data().asnumpy().tolist() == [3, 4]
    assert net.weight.data().asnumpy().tolist() == [[1], [1]]


def test_mixed_initializers_leave_a_parameter_its_own():
    net = gluon.nn.Dense(2, in_units=1, bias_initializer=mx.init.Constant(9), prefix="fc_")
    net.initialize(mx.init.Mixed([".*bias", ".*"], [mx.init.Zero(), mx.init.One()]))
    assert net.bias.data().asnumpy().tolist() == [9, 9]
    assert net.weight.data().asnumpy().tolist() == [[1], [1]]


def test_methods_by_the_end_of_a_name():
    class Mine(mx.init.Initializer):
        def _init_weight(self, name, arr):
            arr[:] = 2

        def _init_bias(self, name, arr):
            arr[:] = 3

        def _init_default(self, name, arr):
            arr[:] = 4

    array = nd.zeros(2)
    for name, right in (("a_weight", 2), ("a_bias", 3), ("other", 4)):
        for desc in (name, mx.init.InitDesc(name)):
            Mine()(desc, array)
            np.testing.assert_array_equal(array.asnumpy(), right)


# --- several parameters ---------------------------------------------------------------------------


def test_a_plain_dict_is_taken_in():
    own, weight = gluon.ParameterDict("net_"), gluon.Parameter("shared_weight", shape=(2, 3))
    own.update({weight.name: weight})
    assert list(own.keys()) == ["shared_weight"] and own["shared_weight"] is weight
    with pytest.raises(AssertionError, match="two different parameters"):
        own.update({weight.name: gluon.Parameter("shared_weight", shape=(4,))})
    with pytest.raises(TypeError, match="must be a Parameter"):
        own.update({"other": nd.ones(2)})
