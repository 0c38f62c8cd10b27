"""Figures for TensorBoard: read back from the event files by the package's own reader."""

import sys

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import CynetError


def scalars(folder):
    """{name: [(step, value)]} of all event files in a folder."""
    pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")
    found = {}
    for path in sorted(folder.glob("events.*")):
        content, at = path.read_bytes(), 0
        while at < len(content):  # length, checksum, record, checksum
            size = int.from_bytes(content[at : at + 8], "little")
            event = pb2.Event.FromString(content[at + 12 : at + 12 + size])
            at += size + 16
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value.simple_value))
    return found


def trained(**options):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    x = np.random.RandomState(0).randn(32, 4)
    data, check = (mx.io.NDArrayIter(x, x[:, 0] > 0, 8) for _ in range(2))
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    return module.fit(data, check, num_epoch=2, **options)


def test_fit(tmp_path):
    pytest.importorskip("tensorboardX", reason="tensorboardX is not installed")
    history = trained(callbacks=[mx.callback.TensorBoard(tmp_path, frequent=3)])
    seen = scalars(tmp_path)
    for name, values in history.metrics.items():
        assert seen[name] == [(i, pytest.approx(value)) for i, value in enumerate(values)]
    assert seen["learning_rate"] == [(0, pytest.approx(0.01)), (1, pytest.approx(0.01))]
    assert [step for step, _ in seen["Batch-accuracy"]] == [3, 6]
    assert len(seen["seconds"]) == 2


def test_mxnets_callback(tmp_path):
    pytest.importorskip("tensorboardX", reason="tensorboardX is not installed")
    log = mx.contrib.tensorboard.LogMetricsCallback(tmp_path, prefix="train")
    trained(batch_end_callback=[log])
    log.summary_writer.close()
    assert [step for step, _ in scalars(tmp_path)["train-accuracy"]] == [*range(1, 9)]


def test_without_the_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(CynetError, match=r"callback.TensorBoard needs the package tensorboardX"):
        mx.callback.TensorBoard(tmp_path)
