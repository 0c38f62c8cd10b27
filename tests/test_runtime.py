"""mx.runtime: the features that MXNet lists, and what is said of this build."""

import gc
import json
from importlib import metadata
from pathlib import Path

import pytest

import cynet as mx
from cynet.base.compat import optional_packages

NAMES = json.loads((Path(__file__).parent / "fixtures" / "compat.json").read_text())["features"]


def test_names_are_those_of_mxnet():
    known = {"CPU_SSE3", "CPU_SSE4_1", "CPU_SSE4_2", "CPU_SSE4A"}  # of processors before 2011
    assert {*NAMES} - known == {*mx.runtime.Features()} - known


def test_values():
    features = mx.runtime.Features()
    assert features.is_enabled("blas_open") and not features.is_enabled("TVM_OP")
    assert features["CUDA"].enabled == (mx.context.num_gpus() > 0)
    assert features["CPU_AVX2"].enabled == ("AVX2" in Path("/proc/cpuinfo").read_text().upper())
    assert repr(features["OPENMP"]) == "✔ OPENMP" and "✖ TVM_OP" in repr(features)
    assert [each.name for each in mx.runtime.feature_list()] == list(features)


def test_an_unknown_feature():
    with pytest.raises(mx.MXNetError, match="no feature is named 'fast'; there are CUDA"):
        mx.runtime.Features().is_enabled("fast")


def test_optional_packages_go_by_their_names_at_pip():
    assert "opencv-python-headless" in optional_packages()
    row = next(line for line in mx.runtime.describe().splitlines() if line.startswith("optional"))
    installed = {each.metadata["Name"].lower() for each in metadata.distributions()}
    for name in optional_packages():
        assert (f" {name} " in row) == (name.lower() in installed), name


def net():
    data, label = mx.sym.var("data"), mx.sym.var("label")
    hidden = mx.sym.relu(mx.sym.FullyConnected(data, num_hidden=5, name="fc"))
    return mx.sym.SoftmaxOutput(mx.sym.Dropout(hidden, p=0.3), label, name="out")


def bind():
    executor = net().simple_bind(mx.cpu(), data=(4, 6), label=(4,))
    executor.forward(is_train=True)
    executor.backward()


def bind_again():
    executor = net().simple_bind(mx.cpu(), data=(4, 6), label=(4,), grad_req="add")
    executor.reshape(data=(2, 6), label=(2,)).forward()


def backward():
    x = mx.nd.ones((3, 4))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Dropout(mx.nd.dot(x, x, transpose_b=True).tanh(), p=0.5).sum()
    y.backward()


def recorded():
    """Nothing walks over what was recorded."""
    x = mx.nd.ones((3, 4))
    x.attach_grad()
    with mx.autograd.record():
        (x * 2)[1].exp()


def second_order():
    x = mx.nd.ones((3,))
    x.attach_grad()
    with mx.autograd.record():
        (first,) = mx.autograd.grad(x**3, [x], create_graph=True)
    first.backward()


def hybrid():
    layer = mx.gluon.nn.Dense(2, in_units=3)
    layer.initialize()
    layer.hybridize()
    with mx.autograd.record():
        loss = layer(mx.nd.ones((2, 3))).sum()
    loss.backward()


@pytest.mark.parametrize("work", [bind, bind_again, backward, recorded, second_order, hybrid])
def test_nothing_stays(work):
    """A hundred times leave as many objects as were there before."""
    if mx.runtime._count_live_objects() is None:
        pytest.skip("objects are not counted in this build")
    counts = []
    for times in (10, 100):
        for _ in range(times):
            work()
        gc.collect()
        mx.nd.waitall()
        counts.append(mx.runtime._count_live_objects())
    assert counts[0] == counts[1]
    kept = mx.nd.ones(3)
    assert mx.runtime._count_live_objects()["chunks"] == counts[1]["chunks"] + 1, kept
