"""Ten thousand training steps: the process does not grow."""

import os
import sys
from pathlib import Path

import pytest

import cynet as mx


def _resident():
    """Bytes of this process in physical memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def _network():
    """A convolution, a norm with states, dropout and a loss."""
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, name="bn"), act_type="relu")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    net = mx.sym.FullyConnected(mx.sym.Dropout(net), num_hidden=5, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_stays_flat_over_ten_thousand_steps():
    module = mx.mod.Module(_network(), context=mx.cpu())
    module.bind([("data", (8, 1, 8, 8))], [("softmax_label", (8,))])
    module.init_params()
    module.init_optimizer(optimizer="sgd", optimizer_params={"momentum": 0.9})
    metric = mx.metric.Accuracy()
    batch = mx.io.DataBatch([mx.nd.ones((8, 1, 8, 8))], [mx.nd.ones((8,))])
    sizes = []
    for step in range(10_001):
        module.forward_backward(batch)
        module.update()
        module.update_metric(metric, batch.label)
        if step >= 1000 and step % 1000 == 0:
            mx.nd.waitall()
            sizes.append(_resident())
    print(sizes)
    assert max(sizes) <= 1.01 * sizes[0]
