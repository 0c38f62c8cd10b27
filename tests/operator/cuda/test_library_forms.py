"""The forms on cuBLAS and cuDNN beyond the cases that test_forms.py runs: half precision, modes of
BatchNorm, the choice of algorithms, failures. Pooling and softmax: test_maps.py."""

import ctypes
import gc
import os
import subprocess
import sys

import numpy as np
import pytest
from cynet.operator._testing import prepare_op, run_backward, run_forward
from cynet_cuda_cpu.device import EmulatedDevice

from cynet.base import config
from cynet.base.errors import ArgumentError, ArgumentTypeError, CynetError
from cynet.operator import get_operator
from cynet.operator.cuda import build
from tests.pairs import pairwise

NULL, WRITE, ADD = 0, 1, 3
DEVICE = EmulatedDevice()
CONVOLUTION = {"kernel": (3, 2), "num_filter": 4, "stride": (2, 1), "pad": (1, 0), "num_group": 2}
SHAPES = {
    "dot": ({}, [(5, 4), (4, 3)]),
    "batch_dot": ({"transpose_b": True}, [(2, 5, 4), (2, 3, 4)]),
    "FullyConnected": ({"num_hidden": 3}, [(5, 4), (3, 4), (3,)]),
    "Convolution": (CONVOLUTION, [(2, 4, 6, 5), (4, 2, 3, 2), (4,)]),
    "Deconvolution": (CONVOLUTION | {"no_bias": False}, [(2, 4, 4, 5), (4, 2, 3, 2), (4,)]),
    "Pooling": ({"kernel": (2, 2), "pool_type": "avg"}, [(2, 3, 5, 5)]),
    "softmax": ({"axis": 1}, [(2, 3, 4)]),
}


class Pair:
    """The CPU operator and the form of one operator, which run on the same arrays."""

    def __init__(self, name, params, shapes, dtype="float32", host_dtype=None):
        self.prop = get_operator(name).prop(**params)
        types, host_types = (
            self.prop.infer_type([t] + [None] * (len(shapes) - 1), [None] * outputs)[0]
            for outputs in [len(self.prop.list_outputs())]
            for t in (dtype, host_dtype or dtype)
        )
        self.host, self.out_shapes, self.out_types, *_ = prepare_op(self.prop, shapes, host_types)
        self.form = build(self.prop, shapes, types, DEVICE)
        self.resources = self.prop.forward_resource(shapes)
        self.back_resources = self.prop.backward_resource(shapes)

    def forward(self, op, inputs, aux=(), req=None, start=0.0, is_train=True):
        kinds = [inputs[0].dtype if t == self.out_types[0] else t for t in self.out_types]
        outputs = [np.full(s, start, t) for s, t in zip(self.out_shapes, kinds)]
        req = req or [WRITE] * len(outputs)
        run_forward(op, inputs, req, outputs, aux, is_train, self.resources)
        return outputs

    def backward(self, op, heads, inputs, outputs, aux=(), req=None, start=0.0, is_train=True):
        grads = [np.full_like(a, start) for a in inputs]
        req = req or [WRITE] * len(inputs)
        run_backward(op, heads, inputs, outputs, req, grads, aux, is_train, self.back_resources)
        return grads


@pytest.fixture(scope="module")
def blas(libraries):
    return ctypes.CDLL(str(libraries / "libcublas.so.13"))


@pytest.fixture(scope="module")
def dnn(libraries):
    return ctypes.CDLL(str(libraries / "libcudnn.so.9"))


@pytest.mark.parametrize("name", list(SHAPES))
def test_half_precision(name, rng):
    """As the CPU in float32 on the same numbers; float16 holds 11 bits of what comes out."""
    params, shapes = SHAPES[name]
    pair = Pair(name, params, shapes, "float16", "float32")
    inputs = [rng.uniform(-1, 1, s).astype("float16") for s in shapes]
    wide = [a.astype("f") for a in inputs]
    for start, req in ((0.0, WRITE), (1.0, ADD)):
        (got,) = pair.forward(pair.form, inputs, req=[req], start=start)
        (want,) = pair.forward(pair.host, wide, req=[req], start=start)
        np.testing.assert_allclose(got.astype("d"), want, 3e-3, 3e-3)
        head, each = rng.uniform(-1, 1, want.shape).astype("float16"), [req] * len(shapes)
        got = pair.backward(pair.form, [head], inputs, [got], req=each, start=start)
        want = pair.backward(pair.host, [head.astype("f")], wide, [want], req=each, start=start)
        for a, b in zip(got, want):
            np.testing.assert_allclose(a.astype("d"), b, 4e-3, 4e-3)


NORMS = pairwise(
    [((4, 3, 2, 5), 1), ((6, 3), 1), ((2, 3, 4), -1)],
    [(False, True), (False, False), (True, True)],
    [False, True],
    ["float16", "float32", "float64"],
)


@pytest.mark.parametrize("of, statistics, fix_gamma, dtype", NORMS, ids=str)
def test_batch_norm(of, statistics, fix_gamma, dtype, rng):
    """Every mode, every request; the moving statistics move in backward, in training only."""
    (shape, axis), (use_global_stats, is_train) = of, statistics
    channels = shape[axis]
    params = {
        "fix_gamma": fix_gamma,
        "use_global_stats": use_global_stats,
        "axis": axis,
        "eps": 1e-2,
        "momentum": 0.7,
    }
    pair = Pair("BatchNorm", params, [shape, (channels,), (channels,)], dtype)
    wide = "float32" if dtype == "float16" else dtype  # of all but data
    inputs = [rng.standard_normal(s).astype(wide) for s in (shape, channels, channels)]
    inputs[0] = inputs[0].astype(dtype)
    aux = [rng.standard_normal(channels).astype(wide), rng.uniform(1, 2, channels).astype(wide)]
    head = rng.standard_normal(shape).astype(dtype)
    exact = dict.fromkeys(("rtol", "atol"), {"float16": 4e-3, "float32": 1e-4}.get(dtype, 1e-9))
    states = [[a.copy() for a in aux] for _ in range(2)]
    requests = [
        [WRITE] * 3,
        [ADD] * 3,
        [NULL] * 3,
        [NULL, WRITE, ADD],
        [ADD, NULL, NULL],
        [WRITE, ADD, WRITE],
        [WRITE, NULL, WRITE],
        [NULL, WRITE, NULL],
        [NULL, NULL, ADD],
    ]
    for req in requests:
        found = []
        for op, state in zip((pair.form, pair.host), states):
            outputs = pair.forward(op, inputs, state, is_train=is_train)
            asked = pair.forward(op, inputs, state, req, 2.0, is_train)
            grads = pair.backward(op, [head], inputs, outputs, state, req, 2.0, is_train)
            found.append([*outputs, *asked, *grads, *state])
        for got, want in zip(*found):
            np.testing.assert_allclose(got, want, **exact, err_msg=str(req))
    moved = not np.array_equal(states[0][0], aux[0])
    assert moved == (is_train and not use_global_stats)


@pytest.mark.parametrize(
    "size, kernel, stride, target",
    [
        ((5, 4), (3, 3), (1, 1), (6, 5)),
        ((6,), (4,), (1,), (8,)),
        ((5, 4), (3, 2), (1, 2), (6, 7)),
        ((3, 3), (4, 4), (2, 2), (6, 5)),
    ],
)
def test_target_shape(size, kernel, stride, target, rng):
    """An odd number of elements cut off: the convolution that cuDNN knows gives more than data."""
    params = {
        "kernel": kernel,
        "stride": stride,
        "target_shape": target,
        "num_filter": 4,
        "num_group": 2,
        "no_bias": False,
    }
    shapes = [(2, 6, *size), (6, 2, *kernel), (4,)]
    pair = Pair("Deconvolution", params, shapes, "float64")
    inputs = [rng.standard_normal(s) for s in shapes]
    head = rng.standard_normal(pair.out_shapes[0])
    for req in ([WRITE] * 3, [ADD] * 3, [ADD, NULL, WRITE], [NULL, ADD, NULL]):
        found = []
        for op in (pair.form, pair.host):
            out = pair.forward(op, inputs, req=req[:1], start=1.0)
            found.append(out + pair.backward(op, [head], inputs, out, req=req, start=1.0))
        for got, want in zip(*found):
            np.testing.assert_allclose(got, want, 1e-9, 1e-11)


def run_convolution(dtype="float32", **params):
    """Forward and backward of a form; the result is compared with the CPU's."""
    default, shapes = SHAPES["Convolution"]
    rng = np.random.default_rng(4)
    pair = Pair("Convolution", default | params, shapes, dtype)
    inputs = [rng.standard_normal(s).astype(dtype) for s in shapes]
    found = []
    for op in (pair.form, pair.host):
        out = pair.forward(op, inputs)
        found.append(out + pair.backward(op, [out[0] + 1], inputs, out))
    for got, want in zip(*found):
        np.testing.assert_allclose(got, want, 2e-5, 2e-5)


def test_algorithms_are_chosen_once(dnn):
    """The fastest that fits the workspace; by timing where cudnn_tune asks for it."""
    fast, timed = dnn.simulated_fast_runs, dnn.simulated_timed
    before = fast()
    run_convolution()
    assert fast() == before + 3
    run_convolution(workspace=0)
    assert fast() == before + 3
    assert timed() == 0
    run_convolution(cudnn_tune="limited_workspace")
    assert timed() == 3
    default, shapes = SHAPES["Convolution"]
    pair = Pair("Convolution", default | {"cudnn_tune": "fastest"}, shapes)
    for _ in range(3):
        pair.forward(pair.form, [np.ones(s, "f") for s in shapes])
    assert timed() == 4
    for setting, fits in (("0", False), ("1", False), ("2", True)):
        with config.environment("MXNET_CUDNN_AUTOTUNE_DEFAULT", setting):
            pair = Pair("Convolution", default | {"workspace": 0}, shapes)
        before = fast(), timed()
        pair.forward(pair.form, [np.ones(s, "f") for s in shapes])
        assert (fast(), timed()) == (before[0] + fits, before[1] + (setting != "0"))
    with config.environment("CYNET_CUDNN_AUTOTUNE", "2"):
        pair = Pair("Convolution", default | {"cudnn_tune": "off"}, shapes)
    pair.forward(pair.form, [np.ones(s, "f") for s in shapes])
    assert timed() == before[1] + 1


@pytest.mark.parametrize(
    "setting, dtype, math",
    [("convolution", "float32", 1), ("none", "float32", 3), ("none", "float64", 3)],
)
def test_tf32_of_convolutions(setting, dtype, math, dnn):
    """TENSOR_OP_MATH may round float32 to TF32, FMA_MATH may not."""
    with config.environment("CYNET_CUDA_TF32", setting):
        run_convolution(dtype)
    assert dnn.simulated_math() == math


@pytest.mark.parametrize("setting, compute", [("convolution", 68), ("all", 77), ("none", 68)])
def test_tf32_of_products(setting, compute, libraries):
    code = (
        "import numpy as np, ctypes\n"
        "from tests.operator.cuda.test_library_forms import Pair, SHAPES\n"
        "pair = Pair('dot', *SHAPES['dot'])\n"
        "pair.forward(pair.form, [np.ones(s, 'f') for s in SHAPES['dot'][1]])\n"
        f"library = ctypes.CDLL({str(libraries / 'libcublas.so.13')!r})\n"
        f"assert library.simulated_compute() == {compute}, library.simulated_compute()"
    )
    environment = os.environ | {
        "CYNET_CUDA_TF32": setting,
        "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path]),
    }
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_a_call_that_fails(blas, dnn):
    """The exception names call, status and shapes; the next call works."""
    params, shapes = SHAPES["dot"]
    pair = Pair("dot", params, shapes)
    inputs = [np.ones(s, "f") for s in shapes]
    blas.simulated_failure(13)
    with pytest.raises(CynetError, match="cublasGemmEx_64 of 1 products") as error:
        pair.forward(pair.form, inputs)
    assert str(error.value) == (
        "cublasGemmEx_64 of 1 products (5 x 4) by (4 x 3) on gpu(0): "
        "CUBLAS_STATUS_EXECUTION_FAILED (13)"
    )
    np.testing.assert_array_equal(pair.forward(pair.form, inputs)[0], np.full((5, 3), 4))
    dnn.simulated_failure(5000)
    with pytest.raises(CynetError, match="cudnnConvolutionForward of a convolution of") as error:
        run_convolution()
    assert str(error.value).startswith(
        "cudnnConvolutionForward of a convolution of (2, 4, 6, 5) by (4, 2, 3, 2), float32"
    )
    assert "CUDNN_STATUS_EXECUTION_FAILED (5000): as the test wanted" in str(error.value)
    run_convolution()


def test_descriptors_are_destroyed(dnn):
    gc.collect()  # those of tests that failed on purpose are still in tracebacks
    before = dnn.simulated_descriptors()
    pairs = [Pair(name, *SHAPES[name]) for name in SHAPES]
    assert dnn.simulated_descriptors() > before
    del pairs
    assert dnn.simulated_descriptors() == before


def test_dtypes_that_are_refused():
    message = "in float32 or float64 or float16 or bfloat16; input 'lhs' is int32"
    with pytest.raises(ArgumentTypeError, match=message):
        build(get_operator("dot").prop(), [(2, 3), (3, 4)], ["int32", "int32"], DEVICE)
    with pytest.raises(ArgumentTypeError, match="input 'bias' is float64 but 'data' is float32"):
        build(
            get_operator("FullyConnected").prop(num_hidden=2),
            [(2, 3), (2, 3), (2,)],
            ["float32", "float32", "float64"],
            DEVICE,
        )


def test_more_than_cudnn_counts():
    params, _ = SHAPES["Convolution"]
    with pytest.raises(ArgumentError, match=r"2\^31 - 1 elements, not of shape \(64, 4, 4096, 40"):
        build(
            get_operator("Convolution").prop(**params),
            [(64, 4, 4096, 4096), (4, 2, 3, 2), (4,)],
            ["float32"] * 3,
            DEVICE,
        )


@pytest.mark.parametrize("shape", [(0, 4), (5, 0)])
def test_products_of_nothing(shape):
    """An empty sum is zero, or what was there."""
    pair = Pair("dot", {}, [shape, (shape[1], 3)])
    for req, start in ((WRITE, 7.0), (ADD, 7.0)):
        inputs = [np.ones(shape, "f"), np.ones((shape[1], 3), "f")]
        (out,) = pair.forward(pair.form, inputs, req=[req], start=start)
        np.testing.assert_array_equal(out, np.full((shape[0], 3), 0.0 if req == WRITE else 7.0))
