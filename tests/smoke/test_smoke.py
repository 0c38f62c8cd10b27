"""The installed package works: run outside the checkout, in an environment of its own."""

import importlib.metadata
import pathlib
import sysconfig

import numpy as np

import cynet as mx


def test_it_is_the_installed_one():
    assert pathlib.Path(mx.__file__).is_relative_to(sysconfig.get_paths()["platlib"])
    assert mx.__version__ == importlib.metadata.version("cynet-mx")


def test_installed_size():
    files = importlib.metadata.files("cynet-mx")
    size = sum(pathlib.Path(f.locate()).stat().st_size for f in files)
    assert size <= 60e6
    names = {str(f) for f in files}
    assert "cynet/_typedefs.pxd" in names
    assert "cynet/kernels/elementwise/functors.h" in names
    assert {"cynet/py.typed", "cynet/ndarray/__init__.pyi", "cynet/symbol/methods.pyi"} <= names
    assert not [n for n in names if n.endswith(".cpp")]
    compiled = [n for n in names if n.endswith((".so", ".pyd", ".pyx", ".pxd"))]
    assert compiled and not [n for n in compiled if "testing." in n]  # helpers of tests


PYX = '''"""Adds one, in Cython from outside the package."""
from libc.stdint cimport int64_t
from cynet._typedefs cimport TBlob
from cynet.kernels.clones cimport cloned
from cynet.operator._base cimport OpContext, Operator
from cynet.operator._simple cimport assign
import cynet as mx

cdef cloned loop(const float* x, float* y, int64_t n, int req) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        assign(&y[i], req, x[i] + 1)

cdef class AddOne(Operator):
    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        loop(<float*>in_data[0].data, <float*>out_data[0].data, in_data[0].size, req[0])
        return 0

@mx.operator.register("add_one")
class AddOneProperty(mx.operator.OperatorProperty):
    """One more."""
    differentiable = False
    def create_operator(self, ctx, in_shapes, in_types):
        return AddOne()
'''


def test_an_operator_in_cython_compiles_against_the_installed_package(tmp_path, monkeypatch):
    monkeypatch.setenv("CYNET_HOME", str(tmp_path / "home"))
    (tmp_path / "add_one.pyx").write_text(PYX)
    mx.operator.compile_pyx(tmp_path / "add_one.pyx")
    assert mx.nd.add_one(mx.nd.array([1, 2])).asnumpy().tolist() == [2, 3]


def test_arrays():
    a = mx.nd.array([[1, 2], [3, 4]])
    assert (mx.nd.dot(a, a) + 1).asnumpy().tolist() == [[8, 11], [16, 23]]
    assert mx.nd.sum(a).asscalar() == 10


def test_an_error_is_raised():
    try:
        mx.nd.dot(mx.nd.ones((2, 3)), mx.nd.ones((2, 3))).asnumpy()
    except mx.base.MXNetError as error:
        assert "dot" in str(error)
    else:
        raise AssertionError("shapes that do not fit were accepted")


def test_training_learns(tmp_path):
    rng = np.random.default_rng(0)
    np.random.seed(0)
    mx.random.seed(0)
    centres = rng.normal(size=(3, 8)) * 3
    labels = rng.integers(0, 3, 300)
    points = (centres[labels] + rng.normal(size=(300, 8))).astype(np.float32)
    batches = mx.io.NDArrayIter(points, labels.astype(np.float32), 30, shuffle=True)

    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=16)
    net = mx.sym.Activation(net, act_type="relu")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3), name="softmax")
    module = mx.mod.Module(net)
    module.fit(
        batches, num_epoch=5, initializer=mx.init.Xavier(), optimizer_params={"learning_rate": 0.1}
    )
    assert dict(module.score(batches, "acc"))["accuracy"] > 0.95

    module.save_checkpoint(str(tmp_path / "model"), 5)
    again = mx.mod.Module.load(str(tmp_path / "model"), 5)
    again.bind(batches.provide_data, batches.provide_label, for_training=False)
    inputs = mx.io.NDArrayIter(points, batch_size=30)
    np.testing.assert_array_equal(again.predict(inputs).asnumpy(), module.predict(inputs).asnumpy())


def test_a_network_of_convolutions_learns():
    rng = np.random.default_rng(0)
    mx.random.seed(1)
    labels = rng.integers(0, 4, 256)
    images = rng.normal(size=(256, 1, 28, 28)).astype(np.float32) * 0.3
    for image, label in zip(images, labels):  # a bright stripe says which
        image[0, 7 * label : 7 * label + 7] += 1
    net = mx.sym.Variable("data")
    for filters in (20, 50):  # LeNet
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=filters)
        net = mx.sym.Activation(net, act_type="tanh")
        net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2))
    net = mx.sym.FullyConnected(mx.sym.flatten(net), num_hidden=500)
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="tanh"), num_hidden=4)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    batches = mx.io.NDArrayIter(images, labels.astype(np.float32), 32)
    settings = {"learning_rate": 0.05}
    module.fit(batches, num_epoch=3, optimizer_params=settings, initializer=mx.init.Xavier())
    assert dict(module.score(batches, "acc"))["accuracy"] > 0.95
