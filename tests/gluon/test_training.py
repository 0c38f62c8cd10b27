"""Networks train as in MXNet 1.9.1: eagerly, hybridized, and exported as Modules."""

import importlib.util
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import cynet as mx

FIXTURES = Path(__file__).parent.parent / "fixtures"
# Half of what two ways to train may differ by; the loss of ResNet-18 falls to 0.002.
CLOSE = {"rtol": 5e-6, "atol": 5e-6}
LOSSES = json.loads((FIXTURES / "gluon.json").read_text())


def load(name):
    spec = importlib.util.spec_from_file_location(name, FIXTURES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


networks = load("gluon_networks")


@pytest.mark.parametrize("hybridize", [False, True], ids=["eager", "hybridized"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name, hybridize):
    losses, _ = networks.train(mx, name, hybridize)
    np.testing.assert_allclose(losses, LOSSES[name], **CLOSE)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_the_exported_module(name, tmp_path):
    """The exported graph under a SoftmaxOutput, trained by Module from the same weights."""
    make, x, y = networks.networks(mx)[name]
    x, y = mx.nd.array(x), mx.nd.array(y)
    net = make()
    networks.fill(mx, net, x)
    net.hybridize()
    net(x)
    net.export(tmp_path / "a")
    symbol, args, aux = mx.model.load_checkpoint(str(tmp_path / "a"), 0)
    if name in ("lstm", "transformer"):
        symbol = mx.sym.reshape(symbol, shape=(-3, 0))
    count = y.size
    output = mx.sym.SoftmaxOutput(symbol, name="softmax")
    module = mx.mod.Module(output, label_names=["softmax_label"])
    module.bind([("data", x.shape)], [("softmax_label", (count,))])
    module.set_params(args, aux)
    settings = {
        "learning_rate": networks.RATES.get(name, 0.05),
        "momentum": 0.9,
        "wd": 1e-4,
        "rescale_grad": 1 / count,
    }
    optimizer = mx.optimizer.SGD(**settings)
    optimizer.idx2name = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the loss is a mean over steps, too
        module.init_optimizer(optimizer=optimizer)
    optimizer.set_wd_mult(dict.fromkeys(args, 1.0))
    losses, labels = [], y.reshape((-1,))
    for _ in range(networks.STEPS):
        module.forward(mx.io.DataBatch([x], [labels]), is_train=True)
        chosen = mx.nd.pick(module.get_outputs()[0], labels).asnumpy()
        losses.append(-np.log(chosen).mean())
        module.backward()
        module.update()
    np.testing.assert_allclose(losses, LOSSES[name], **CLOSE)
