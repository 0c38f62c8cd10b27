"""UpSampling: its automatic weight is initialised as a bilinear kernel."""

import numpy as np
import pytest

import cynet as mx


def network(*weight):
    x = mx.sym.Variable("x")
    return mx.sym.UpSampling(
        x, *weight, scale=2, num_filter=1, sample_type="bilinear", num_args=1, name="u"
    )


def test_the_weight_is_bilinear():
    """What MXNet 1.9.1 writes and initialises, whatever the initializer."""
    net = network()
    assert net.attr_dict()["u_weight"]["__init__"] == '["bilinear", {}]'
    assert '"__init__": "[\\"bilinear\\", {}]"' in net.tojson()
    own = network(mx.sym.Variable("w"))
    assert own.attr_dict()["w"]["__init__"] == '["bilinear", {}]'
    kept = network(mx.sym.Variable("w", init=mx.init.One()))
    assert "one" in kept.attr_dict()["w"]["__init__"]
    module = mx.mod.Module(net, ["x"], None)
    module.bind([("x", (1, 1, 2, 2))], for_training=False)
    module.init_params(mx.init.One())
    line = np.array([0.25, 0.75, 0.75, 0.25])
    weight = module.get_params()[0]["u_weight"].asnumpy()
    np.testing.assert_allclose(weight[0, 0], line[:, None] * line)


@pytest.mark.parametrize("sample_type", ["nearest"])
def test_no_weight_no_attribute(sample_type):
    net = mx.sym.UpSampling(mx.sym.Variable("x"), scale=2, sample_type=sample_type, num_args=1)
    assert "x" not in net.attr_dict()
