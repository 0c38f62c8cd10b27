"""SequentialModule: a chain computes and learns what one Module does."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError


def chain():
    first = mx.sym.Activation(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="fc1"), act_type="tanh"
    )
    second = mx.sym.FullyConnected(mx.sym.var("data2"), num_hidden=3, name="fc2")
    second = mx.sym.SoftmaxOutput(second, name="softmax")
    out = mx.mod.SequentialModule()
    out.add(mx.mod.Module(first, label_names=None))
    return out.add(mx.mod.Module(second, data_names=["data2"]), take_labels=True, auto_wiring=True)


def whole():
    net = mx.sym.Activation(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="fc1"), act_type="tanh"
    )
    net = mx.sym.FullyConnected(net, num_hidden=3, name="fc2")
    return mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))


def test_a_chain_trains_as_one_module_does(rng, seed):
    data = rng.standard_normal((32, 4)).astype("float32")
    label = (data[:, 0] > 0).astype("float32")
    it = mx.io.NDArrayIter(data, label, 8)
    params = {
        name: mx.nd.array(rng.uniform(-0.5, 0.5, shape))
        for name, shape in {
            "fc1_weight": (8, 4),
            "fc1_bias": (8,),
            "fc2_weight": (3, 8),
            "fc2_bias": (3,),
        }.items()
    }
    results, scores = [], []
    for mod in (chain(), whole()):
        it.reset()
        mod.fit(
            it,
            num_epoch=2,
            arg_params=params,
            aux_params={},
            optimizer_params={"learning_rate": 0.3},
        )
        results.append({k: v.asnumpy() for k, v in mod.get_params()[0].items()})
        scores.append(mod.score(it, "acc"))
        assert mod.predict(it).shape == (32, 3)
    for name in params:
        np.testing.assert_allclose(results[0][name], results[1][name], rtol=1e-5, atol=1e-6)
    assert scores[0] == scores[1]


def test_properties_and_input_grads():
    mod = chain()
    assert mod.data_names == ["data"] and mod.output_names == ["softmax_output"]
    mod.bind([("data", (2, 4))], [("softmax_label", (2,))], inputs_need_grad=True)
    assert mod.output_shapes == [("softmax_output", (2, 3))]
    assert mod.data_shapes == [("data", (2, 4))]
    assert mod.label_shapes == [("softmax_label", (2,))]
    mod.init_params(mx.init.One())
    mod.forward_backward(mx.io.DataBatch([mx.nd.ones((2, 4))], [mx.nd.zeros(2)]))
    assert mod.get_input_grads()[0].shape == (2, 4)


def test_refused():
    with pytest.raises(ArgumentTypeError, match="odd"):
        mx.mod.SequentialModule().add(whole(), odd=True)
    with pytest.raises(ArgumentError, match="add"):
        mx.mod.SequentialModule().bind([("data", (2, 4))])
    twice = mx.mod.SequentialModule()
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc")
    for _ in range(2):
        twice.add(mx.mod.Module(net, label_names=None), auto_wiring=True)
    twice.bind([("data", (2, 4))])
    with pytest.raises(ArgumentError, match="fc_"):
        twice.init_params()
