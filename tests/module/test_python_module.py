"""PythonModule and PythonLossModule at the end of a chain."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError


def multiclass_hinge(scores, labels):
    """Gradient of the one-against-all hinge loss."""
    values, classes = scores.asnumpy(), labels.asnumpy().astype(int)
    sign = -np.ones_like(values)
    sign[np.arange(len(values)), classes] = 1
    return mx.nd.array(-sign * (sign * values < 1))


def test_a_loss_in_python_trains(rng, seed):
    mx.random.seed(seed)
    data = rng.standard_normal((64, 4)).astype("float32")
    label = data[:, :3].argmax(1).astype("float32")
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    mod = mx.mod.SequentialModule()
    mod.add(mx.mod.Module(net, label_names=None))
    mod.add(mx.mod.PythonLossModule(grad_func=multiclass_hinge), take_labels=True, auto_wiring=True)
    it = mx.io.NDArrayIter(data, label, 16)
    mod.fit(it, num_epoch=20, optimizer_params={"learning_rate": 0.3})
    assert dict(mod.score(it, "acc"))["accuracy"] > 0.75


def test_refused():
    with pytest.raises(ArgumentError, match="one data input"):
        mx.mod.PythonLossModule(data_names=["a", "b"])
    with pytest.raises(ArgumentError, match="grad_func"):
        mx.mod.PythonLossModule(grad_func=3)
    loss = mx.mod.PythonLossModule(grad_func=multiclass_hinge)
    with pytest.raises(ArgumentError, match="grad_req"):
        loss.bind([("data", (2, 3))], grad_req="add")
    with pytest.raises(NotImplementedError, match="PythonModule defines no _compute_output_shapes"):
        mx.mod.PythonModule(["data"], [], ["out"]).bind([("data", (2, 3))])
