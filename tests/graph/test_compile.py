"""From a Symbol to the graph that memory is planned for."""

import pytest

import cynet as mx
from cynet.graph import pipeline


@pytest.mark.parametrize("lost", ["w_grad", "layer_output"])
def test_a_pass_that_loses_a_step_is_refused(monkeypatch, lost):
    """Rather than gradients, or outputs, that stay what they were."""

    def careless(graph):
        keep = [s for s in graph.steps if lost not in {v.name for _, v in s.written()}]
        graph.n_forward -= len(set(graph.steps[: graph.n_forward]) - set(keep))
        graph.steps = keep
        return graph

    row = pipeline.Pass("careless", pipeline.WHOLE, careless, "")
    monkeypatch.setattr(pipeline, "PASSES", (*pipeline.PASSES, row))
    monkeypatch.setattr(pipeline, "PASS_NAMES", pipeline.PASS_NAMES | {"careless"})
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "careless")
    monkeypatch.setenv("CYNET_GRAPH_VERIFY", "0")  # which would find it first
    net = mx.sym.FullyConnected(
        mx.sym.var("x"), mx.sym.var("w"), no_bias=True, num_hidden=4, name="layer"
    )
    wanted = f"a pass has lost the steps that compute .*{lost}"
    with pytest.raises(mx.base.MXNetError, match=wanted):
        net.simple_bind(mx.cpu(), x=(3, 5))
