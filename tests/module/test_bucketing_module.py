"""BucketingModule: buckets share parameters and optimizer states."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError
from tests.module import partly_used


def sym_gen(length):
    """Sums `length` inputs of 2 features, then classifies."""
    net = mx.sym.reshape(mx.sym.var("data"), shape=(-1, length, 2))
    net = mx.sym.FullyConnected(mx.sym.sum(net, axis=1), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)


def batch(length, rng, rows=4):
    data = mx.nd.array(rng.standard_normal((rows, 2 * length)))
    label = mx.nd.array(rng.integers(0, 3, rows))
    return mx.io.DataBatch(
        [data],
        [label],
        bucket_key=length,
        provide_data=[mx.io.DataDesc("data", data.shape)],
        provide_label=[mx.io.DataDesc("softmax_label", (rows,))],
    )


def test_buckets_train_together(rng):
    mod = mx.mod.BucketingModule(sym_gen, default_bucket_key=6)
    mod.bind([("data", (4, 12))], [("softmax_label", (4,))])
    mod.init_params(mx.init.One())
    assert [*mod._buckets] == [6] and mod._buckets[6] is mod._curr_module
    mod.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
    weight, bias = np.ones((3, 2)), np.zeros(3)
    moved = [np.zeros((3, 2)), np.zeros(3)]
    metric = mx.metric.create("acc")
    for length in (6, 2, 4, 2, 6, 4):
        each = batch(length, rng)
        mod.prepare(each)
        mod.forward_backward(each)
        mod.update()
        mod.update_metric(metric, each.label)
        summed = each.data[0].asnumpy().reshape(4, length, 2).sum(1)
        scores = np.exp(summed @ weight.T + bias)
        error = scores / scores.sum(1, keepdims=True)
        np.testing.assert_allclose(mod.get_outputs()[0].asnumpy(), error, rtol=1e-4, atol=1e-5)
        error[np.arange(4), each.label[0].asnumpy().astype(int)] -= 1
        for i, (param, grad) in enumerate([(weight, error.T @ summed), (bias, error.sum(0))]):
            moved[i] = 0.9 * moved[i] - 0.1 * grad / 4
            param += moved[i]
        args, _ = mod.get_params()
        np.testing.assert_allclose(args["fc_weight"].asnumpy(), weight, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(args["fc_bias"].asnumpy(), bias, rtol=1e-4, atol=1e-5)
    assert metric.num_inst == 24
    assert {*mod._buckets} == {2, 4, 6} and mod._buckets[4] is mod._curr_module


def test_checkpoint(rng, tmp_path):
    mod = mx.mod.BucketingModule(sym_gen, default_bucket_key=6)
    mod.bind([("data", (4, 12))], [("softmax_label", (4,))])
    mod.init_params(mx.init.Xavier())
    prefix = str(tmp_path / "net")
    mod.save_checkpoint(prefix, 1)
    again = mx.mod.BucketingModule.load(prefix, 1, sym_gen, default_bucket_key=6)
    again.bind([("data", (4, 12))], [("softmax_label", (4,))])
    each = batch(4, rng)
    results = []
    for one in (mod, again):
        one.forward(each, is_train=False)
        results.append(one.get_outputs()[0].asnumpy())
    np.testing.assert_array_equal(*results)


def test_refused():
    with pytest.raises(ArgumentError, match="default_bucket_key"):
        mx.mod.BucketingModule(sym_gen)
    mod = mx.mod.BucketingModule(sym_gen, default_bucket_key=6)
    mod.bind([("data", (4, 12))], [("softmax_label", (4,))])
    mod.init_params()
    with pytest.raises(ArgumentError, match="bucket_key"):
        mod.forward(mx.io.DataBatch([mx.nd.ones((4, 12))]))


def test_load_dict(rng):
    """Symbols and parameters that a script has in its hands."""
    mod = mx.mod.BucketingModule(sym_gen, default_bucket_key=6)
    mod.bind([("data", (4, 12))], [("softmax_label", (4,))])
    mod.init_params(mx.init.Uniform(1))
    arg_params, aux_params = mod.get_params()
    again = mx.mod.BucketingModule.load_dict(
        {6: sym_gen(6)[0]}, arg_params=arg_params, aux_params=aux_params, context=mx.cpu(1)
    )
    again.bind([("data", (4, 12))], [("softmax_label", (4,))], for_training=False)
    for name, array in again.get_params()[0].items():
        np.testing.assert_array_equal(array.asnumpy(), arg_params[name].asnumpy())
    untrained = mx.mod.BucketingModule.load_dict(sym_gen=sym_gen, default_bucket_key=6)
    assert not untrained.params_initialized
    with pytest.raises(ArgumentError, match="give a sym_gen, or in sym_dict the symbol"):
        mx.mod.BucketingModule.load_dict({6: sym_gen(6)[0]}, default_bucket_key=4)


@pytest.mark.parametrize("store", ["local", "device", "dist_sync", None])
@pytest.mark.parametrize("contexts", [1, 2])
def test_a_parameter_that_some_buckets_use(contexts, store):
    """Its momentum is its own: over several contexts states went by the places in each bucket."""
    partly_used.check(contexts, store)


def test_automatic_names_are_those_of_all_buckets():
    """Each call of sym_gen counts anew, so that buckets share parameters without names."""

    def network(length):
        out = mx.sym.Embedding(mx.sym.var("data"), input_dim=5, output_dim=2)
        out = mx.sym.FullyConnected(mx.sym.mean(out, axis=1), num_hidden=3)
        out = mx.sym.SoftmaxOutput(out, name="softmax")
        return out, out.list_arguments()[:1], out.list_arguments()[-1:]

    mx.sym.Embedding(mx.sym.var("x"), input_dim=2, output_dim=2)  # counts outside
    module = mx.mod.BucketingModule(network, default_bucket_key=4)
    module.bind([("data", (2, 4))], [("softmax_label", (2,))], grad_req="add")
    module.init_params()
    assert module.symbol.list_arguments()[1] == "embedding0_weight"
    module.switch_bucket(3, [("data", (2, 3))], [("softmax_label", (2,))])
    assert module.symbol.list_arguments()[1] == "embedding0_weight"
    assert module._curr_module._grad_req == "add"
    with mx.name.Prefix("mine_"):  # a manager of the user's is asked
        other = mx.mod.BucketingModule(network, default_bucket_key=4)
        other.bind([("data", (2, 4))], [("mine_softmax_label", (2,))])
    assert other.symbol.list_arguments()[1].startswith("mine_embedding")
