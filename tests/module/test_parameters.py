"""Parameters of a Module: those without a value are refused, those not read hold a number."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, NotFoundError


def mlp(name="fc"):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name=name)
    return mx.sym.SoftmaxOutput(net, name="softmax")


def bound(net=None, labels=True, **options):
    module = mx.mod.Module(mlp() if net is None else net)
    label = [("softmax_label", (4,))] if labels else None
    module.bind([("data", (4, 3))], label, **options)
    return module


def batch(rows=4):
    return mx.io.DataBatch([mx.nd.ones((rows, 3))])


# --- values that nobody gave ---


@pytest.mark.parametrize("training", [True, False])
def test_no_initializer_and_no_values(training):
    module = bound(for_training=training)
    with pytest.raises(ArgumentError, match="'fc_weight', 'fc_bias'"):
        module.init_params(initializer=None)
    assert not module.params_initialized
    with pytest.raises(ArgumentError, match="'fc_bias'"):
        module.init_params(None, {"fc_weight": mx.nd.ones((2, 3))}, allow_missing=True)
    module.init_params(mx.init.One())
    module.set_params({"fc_bias": mx.nd.ones(2)}, {}, allow_missing=True)  # the weight has a value
    module.init_params(None, {}, {}, allow_missing=True, force_init=True)
    np.testing.assert_array_equal(module.get_params()[0]["fc_weight"].asnumpy(), 1)


def test_states_that_nobody_initialised():
    net = mx.sym.BatchNorm(mx.sym.var("data"), name="bn")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (4, 3))], for_training=False)
    given = {"bn_gamma": mx.nd.ones(3), "bn_beta": mx.nd.zeros(3)}
    with pytest.warns(UserWarning, match="'bn_moving_mean', 'bn_moving_var' had no value"):
        module.set_params(given, {}, allow_missing=True)
    states = module.get_params()[1]
    assert [states[name].asnumpy().tolist() for name in sorted(states)] == [[0] * 3] * 2


@pytest.mark.parametrize("bucketing", [False, True])
def test_given_values_alone_before_there_are_any(bucketing):
    """As keras-mxnet does it: the others follow later, and are 0 until then."""
    module = mx.mod.Module(mlp(), label_names=None)
    if bucketing:
        module = mx.mod.BucketingModule(lambda key: (mlp(), ("data",), None), default_bucket_key=0)
    module.bind([("data", (4, 3))], None, for_training=False)
    with pytest.warns(UserWarning, match="'fc_bias' had no value before"):
        module.set_params({"fc_weight": mx.nd.ones((2, 3))}, {}, allow_missing=True)
    batch = mx.io.DataBatch(
        [mx.nd.ones((4, 3))], None, bucket_key=0, provide_data=[("data", (4, 3))]
    )
    module.forward(batch)
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), 0.5)
    values = {name: array.asnumpy().tolist() for name, array in module.get_params()[0].items()}
    assert values == {"fc_weight": [[1] * 3] * 2, "fc_bias": [0, 0]}
    module.set_params({"fc_bias": mx.nd.array([0, 1])}, {}, allow_missing=True)
    assert module.get_params()[0]["fc_bias"].asnumpy().tolist() == [0, 1]


def test_a_checkpoint_that_lacks_a_parameter(tmp_path):
    prefix = str(tmp_path / "net")
    mx.model.save_checkpoint(prefix, 1, mlp(), {"fc_weight": mx.nd.ones((2, 3))}, {})
    module = mx.mod.Module.load(prefix, 1)
    with pytest.raises(ArgumentError, match="'fc_bias'"):
        module.bind([("data", (4, 3))], for_training=False)


def test_a_shared_module_that_lacks_a_parameter():
    owner = mx.mod.Module(mx.sym.var("data") * 1, label_names=None)
    owner.bind([("data", (4, 3))], for_training=False)
    owner.init_params()
    for options in ({"for_training": False}, {}):
        with pytest.raises(ArgumentError, match=r"shared_module.*'fc_weight', 'fc_bias'"):
            mx.mod.Module(mlp()).bind([("data", (4, 3))], shared_module=owner, **options)


@pytest.mark.parametrize("before", [True, False])
def test_a_parameter_of_one_bucket_alone(before):
    def gen(key):
        data = mx.sym.var("data")
        if key == 1:
            data = mx.sym.FullyConnected(data, mx.sym.var("weight"), no_bias=True, num_hidden=2)
        return data * 1, ["data"], []

    module = mx.mod.BucketingModule(gen, default_bucket_key=3)
    module.bind([("data", (2, 2))], for_training=False)
    if before:
        module.switch_bucket(1, [("data", (2, 2))])
    module.init_params(mx.init.One())
    small = mx.io.DataBatch([mx.nd.ones((2, 2))], [], bucket_key=1, provide_data=[("data", (2, 2))])
    with pytest.raises(ArgumentError, match="no parameter 'weight'"):
        module.forward(small)


def test_initializers_by_name():
    module = bound()
    module.init_params("one")
    np.testing.assert_array_equal(module.get_params()[0]["fc_weight"].asnumpy(), 1)
    for wrong, error, word in (
        ("xaveir", NotFoundError, "xavier"),
        (3, ArgumentTypeError, "initializer must be"),
    ):
        with pytest.raises(error, match=word):
            bound().init_params(wrong)
    with pytest.raises(ArgumentTypeError, match="'fc_weight'.*list"):
        bound().init_params(arg_params={"fc_weight": [1, 2]}, allow_missing=True)


# --- labels that are listed nowhere are no parameters ---


def test_a_prediction_without_label_names():
    values = {"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}
    module = mx.mod.Module(mlp(), label_names=None)
    module.bind([("data", (4, 3))], for_training=False)
    module.set_params(values, {}, allow_missing=True)
    assert set(module.get_params()[0]) == {"fc_weight", "fc_bias"}
    for rows in (4, 7, 1):
        module.forward(batch(rows))
        np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), np.full((rows, 2), 0.5))
    other = mx.mod.Module(mlp(), label_names=None)
    other.bind([("data", (4, 3))], for_training=False)
    other.init_params()


# --- gamma under fix_gamma holds 1, as MXNet 1.9.1 writes it in every forward ---


def normed(fix_gamma=True, operator="BatchNorm"):
    net = getattr(mx.sym, operator)(mx.sym.var("data"), fix_gamma=fix_gamma, name="bn")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=2, name="fc"), name="softmax")


@pytest.mark.parametrize("contexts", [1, 2])
@pytest.mark.parametrize("operator", ["BatchNorm", "BatchNorm_v1"])
@pytest.mark.parametrize("kvstore", ["local", None])
def test_gamma_is_1_after_training(rng, contexts, operator, kvstore):
    data = rng.standard_normal((20, 3)).astype("float32")
    label = (data.sum(1) > 0).astype("float32")
    module = mx.mod.Module(normed(operator=operator), context=[mx.cpu(i) for i in range(contexts)])
    module.fit(
        mx.io.NDArrayIter(data, label, 4),
        num_epoch=5,
        kvstore=kvstore,
        initializer=mx.init.Uniform(0.1),
        optimizer_params={"learning_rate": 0.1, "wd": 0.05, "momentum": 0.9},
    )
    np.testing.assert_array_equal(module.get_params()[0]["bn_gamma"].asnumpy(), 1)
    before = module.predict(mx.io.NDArrayIter(data, None, 4)).asnumpy()
    tuned = mx.mod.Module(normed(fix_gamma=False))
    tuned.bind([("data", (4, 3))], [("softmax_label", (4,))], for_training=False)
    tuned.set_params(*module.get_params())
    after = tuned.predict(mx.io.NDArrayIter(data, None, 4)).asnumpy()
    np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-6)


def test_gamma_is_1_after_loading(tmp_path):
    values = {
        "bn_gamma": mx.nd.full((3,), 3),
        "bn_beta": mx.nd.zeros(3),
        "fc_weight": mx.nd.ones((2, 3)),
        "fc_bias": mx.nd.zeros(2),
    }
    states = {"bn_moving_mean": mx.nd.zeros(3), "bn_moving_var": mx.nd.ones(3)}
    prefix = str(tmp_path / "net")
    mx.model.save_checkpoint(prefix, 1, normed(), values, states)
    loaded = mx.mod.Module.load(prefix, 1)
    loaded.bind([("data", (4, 3))], for_training=False)
    for module in (loaded, bound(normed())):
        if module is not loaded:
            module.set_params(values, states)
        module.forward(batch(), is_train=False)
        np.testing.assert_array_equal(module.get_params()[0]["bn_gamma"].asnumpy(), 1)
        on_device = module._exec_group.execs[0].arg_dict["bn_gamma"]
        np.testing.assert_array_equal(on_device.asnumpy(), 1)
    np.testing.assert_array_equal(values["bn_gamma"].asnumpy(), 3)  # the caller's own array
    free = bound(normed(fix_gamma=False))
    free.set_params(values, states)
    np.testing.assert_array_equal(free.get_params()[0]["bn_gamma"].asnumpy(), 3)


def test_given_values_alone_in_a_sequence():
    module = mx.mod.SequentialModule()
    body = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="body")
    module.add(mx.mod.Module(body, label_names=None))
    module.add(mx.mod.Module(mlp()), take_labels=True, auto_wiring=True)
    module.bind([("data", (4, 3))], [("softmax_label", (4,))])
    given = {"body_weight": mx.nd.ones((3, 3)), "fc_weight": mx.nd.ones((2, 3))}
    with pytest.warns(UserWarning, match="had no value before"):
        module.set_params(given, {}, allow_missing=True)
    values = module.get_params()[0]
    assert [int(values[n].asnumpy().sum()) for n in sorted(values)] == [0, 9, 0, 6]
    with pytest.raises(ArgumentError, match="'other'"):
        module.set_params({"other": mx.nd.ones(1)}, {}, allow_missing=True)
    module.set_params({"other": mx.nd.ones(1)}, {}, allow_missing=True, allow_extra=True)


@pytest.mark.parametrize(
    "name", ["sgd", "adam", "adamw", "adamax", "ftml", "lamb", "lion", "adafactor"]
)
def test_states_of_a_module_go_on_with_the_count_of_updates(name, tmp_path):
    """A file of states has no count, as MXNet's; with ``begin_num_update`` nothing is lost."""
    rng = np.random.default_rng(3)
    batch = mx.io.DataBatch([mx.nd.array(rng.normal(size=(8, 3)))], [mx.nd.array(np.arange(8) % 2)])
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    shapes = [("data", (8, 3))], [("softmax_label", (8,))]
    prefix = str(tmp_path / "m")

    def train(module, begin):
        options = {"learning_rate": 0.05, "begin_num_update": begin}
        module.bind(*shapes)
        if not begin:
            module.init_params(mx.init.One())
        module.init_optimizer(optimizer=name, optimizer_params=options)
        for step in range(begin, 6):
            if step == 3 and not begin:
                module.save_checkpoint(prefix, 3, save_optimizer_states=True)
            module.forward_backward(batch)
            module.update()
        return module.get_params()[0]["fc_weight"].asnumpy()

    whole = train(mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax")), 0)
    again = mx.mod.Module.load(prefix, 3, load_optimizer_states=True)
    np.testing.assert_array_equal(train(again, 3), whole)
