"""RNN's GPU form beyond the table's cases: dropout, weights and reserves as cuDNN may want them,
half precision."""

import ctypes
import gc

import numpy as np
import pytest
from cynet.operator._testing import run_forward
from cynet_cuda_cpu.device import EmulatedDevice

import cynet as mx
from cynet.base import config
from cynet.base.dtype import BFLOAT16
from cynet.base.errors import ArgumentError, CynetError
from cynet.operator import get_operator
from cynet.operator.cuda import build
from tests.bfloat16 import as_type, narrowed, widened
from tests.operator.cuda.running import both
from tests.operator.cuda.test_library_forms import ADD, NULL, WRITE, Pair
from tests.operator.rnn import reference

DEVICE = EmulatedDevice()


@pytest.fixture(scope="module")
def dnn(libraries):
    library = ctypes.CDLL(str(libraries / "libcudnn.so.9"))
    library.simulated_more_reserve.argtypes = [ctypes.c_int64]
    return library


@pytest.fixture(params=["joined", "apart"])
def weights(request, dnn):
    """Parameters that are the weight space themselves, and ones that are copied."""
    dnn.simulated_weights_apart(request.param == "apart")
    yield
    dnn.simulated_weights_apart(0)


@pytest.fixture(params=["kept", "computed again"])
def reserve(request, dnn):
    """A reserve that the hidden output has room for, and one that it has not."""
    dnn.simulated_more_reserve(0 if request.param == "kept" else 1 << 20)
    yield
    dnn.simulated_more_reserve(0)


class RNNPair(Pair):
    """What is kept is float32 beside float16."""

    def forward(self, op, inputs, aux=(), req=None, start=0.0, is_train=True):
        own = inputs[0].dtype
        kinds = [own] * (len(self.out_shapes) - 1) + [max(own, np.dtype("f"))]
        outputs = [np.full(s, start, t) for s, t in zip(self.out_shapes, kinds)]
        req = req or [WRITE] * len(outputs)
        run_forward(op, inputs, req, outputs, aux, is_train, self.resources)
        return outputs


def pair_of(params, dtype="float64", host_dtype=None, shape=(4, 3, 5)):
    prop = get_operator("RNN").prop(**params)
    n = len(prop.list_arguments())
    shapes, _, _ = prop.infer_shape([shape] + [None] * (n - 1), [None] * len(prop.list_outputs()))
    return RNNPair("RNN", params, shapes, dtype, host_dtype), shapes


def values(shapes, params, dtype, steps=4):
    rng = np.random.RandomState(3)
    inputs = [rng.uniform(-0.6, 0.6, s).astype(dtype) for s in shapes]
    if params.get("use_sequence_length"):
        inputs[-1] = rng.randint(0, steps + 1, shapes[-1]).astype(dtype)
    return inputs


def compare(params, dtype="float64", host_dtype=None, tolerance=(1e-9, 1e-11)):
    """Outputs and gradients of every request, in training and in prediction."""
    pair, shapes = pair_of(params, dtype, host_dtype)
    inputs = values(shapes, params, dtype)
    wide = [a.astype(host_dtype or dtype) for a in inputs]
    visible, rng = pair.prop.num_visible_outputs(), np.random.RandomState(4)
    heads = [rng.uniform(-1, 1, s).astype(dtype) for s in pair.out_shapes[:visible]]
    n = len(shapes)
    requests = [
        [WRITE] * n,
        [ADD] * n,
        [ADD, NULL, WRITE, *[ADD] * (n - 3)],
        [NULL, WRITE, ADD, *[NULL] * (n - 3)],
        [NULL] * n,
    ]
    for train in (True, False):
        for req in requests:
            found = []
            for op, given in ((pair.form, inputs), (pair.host, wide)):
                mx.random.seed(9)
                out = pair.forward(op, given, is_train=train)
                mx.random.seed(9)
                more = pair.forward(
                    op, given, req=[ADD] * visible + [NULL], start=1.0, is_train=train
                )
                asked = [g.astype(given[0].dtype) for g in heads] + [None]
                grads = pair.backward(op, asked, given, out, req=req, start=2.0, is_train=train)
                again = pair.backward(op, asked, given, out, req=req, start=2.0, is_train=train)
                for a, b in zip(grads, again):
                    np.testing.assert_array_equal(a, b)
                found.append([*out[:visible], *more[:visible], *grads])
            for got, want in zip(*found):
                np.testing.assert_allclose(got.astype("d"), want, *tolerance, err_msg=str(req))


@pytest.mark.parametrize("mode", list(reference.GATES))
def test_every_path(mode, weights, reserve):
    params = {"mode": mode, "state_size": 3, "num_layers": 2, "state_outputs": True}
    compare(params)
    compare({**params, "bidirectional": True, "use_sequence_length": True})


@pytest.mark.parametrize("p", [0.0, 0.4])
def test_projections(p, weights, reserve):
    params = {
        "mode": "lstm",
        "state_size": 4,
        "num_layers": 2,
        "projection_size": 3,
        "p": p,
        "state_outputs": True,
    }
    compare(params)
    compare({**params, "bidirectional": True, "use_sequence_length": True})


@pytest.mark.parametrize("size", [4, 5])
def test_a_projection_that_cudnn_has_not(size):
    params = {"mode": "lstm", "state_size": 4, "num_layers": 1, "projection_size": size}
    with pytest.raises(ArgumentError, match=f"projection_size={size} is not less than"):
        pair_of(params)


def test_clipped_cells(weights, reserve):
    """Where they are used; the last cell is as it was computed."""
    compare(
        {
            "mode": "lstm",
            "state_size": 4,
            "num_layers": 2,
            "state_outputs": True,
            "lstm_state_clip_min": -0.1,
            "lstm_state_clip_max": 0.08,
        }
    )


@pytest.mark.parametrize("both", [False, True])
def test_dropout(both, weights, reserve):
    """The CPU's factors, drawn for each boundary of layers."""
    compare(
        {
            "mode": "lstm",
            "state_size": 3,
            "num_layers": 3,
            "p": 0.4,
            "bidirectional": both,
            "state_outputs": True,
        }
    )
    compare({"mode": "gru", "state_size": 3, "num_layers": 2, "p": 1.0})


@pytest.mark.parametrize("mode", list(reference.GATES))
def test_half_precision(mode, weights):
    params = {"mode": mode, "state_size": 3, "num_layers": 2, "state_outputs": True}
    compare(params, "float16", "float32", (6e-3, 6e-3))


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("mode", list(reference.GATES))
def test_bfloat16(mode, both_ways, weights, reserve, rng):
    """Outputs and gradients of dropout's layers and of sequences that end early, beside the CPU's
    in bfloat16, which holds 8 bits."""
    params = {
        "mode": mode,
        "state_size": 3,
        "num_layers": 2,
        "state_outputs": True,
        "p": 0.3,
        "bidirectional": both_ways,
        "use_sequence_length": True,
    }
    pair, shapes = pair_of(params, "float32")
    inputs = [as_type(value, "bfloat16") for value in values(shapes, params, "float32")[:-1]]
    visible = pair.out_shapes[: pair.prop.num_visible_outputs()]
    heads = [narrowed(rng.uniform(-1, 1, s)) for s in visible]
    lengths = np.array([4, 0, 2], "f")
    found, wanted = both("RNN", *inputs, lengths, heads=heads, **params)
    at = len(visible)  # what is kept between them differs
    for a, b in zip([*found[:at], *found[at + 1 : -1]], [*wanted[:at], *wanted[at + 1 : -1]]):
        assert a.dtype == b.dtype == BFLOAT16
        np.testing.assert_allclose(widened(a), widened(b), 0.03, 0.03)


def test_lengths_that_are_refused():
    params = {"mode": "gru", "state_size": 3, "num_layers": 1, "use_sequence_length": True}
    pair, shapes = pair_of(params, "float32")
    inputs = values(shapes, params, "float32")
    inputs[-1][:] = [4, 5, 0]
    with pytest.raises(ArgumentError, match=r"sequence_length\[1\] is 5, outside of 0 to 4"):
        pair.forward(pair.form, inputs)
    assert pair.form.waits(False)
    assert pair.form.waits(True)


@pytest.mark.parametrize("setting, math", [("convolution", 3), ("all", 0), ("none", 3)])
def test_tf32(setting, math, dnn):
    """Sums of recurrent layers are rounded to TF32 only where all products may be."""
    params = {"mode": "gru", "state_size": 3, "num_layers": 1}
    with config.environment("CYNET_CUDA_TF32", setting):
        pair, shapes = pair_of(params, "float32")
        pair.forward(pair.form, values(shapes, params, "float32"))
    assert dnn.simulated_rnn_math() == math


def test_descriptors_are_destroyed(dnn):
    gc.collect()
    before = dnn.simulated_rnn_descriptors(), dnn.simulated_descriptors()
    pair, _ = pair_of({"mode": "lstm", "state_size": 3, "num_layers": 2, "p": 0.5})
    assert dnn.simulated_rnn_descriptors() == before[0] + 6
    del pair
    assert (dnn.simulated_rnn_descriptors(), dnn.simulated_descriptors()) == before


def test_more_than_cudnn_counts():
    with pytest.raises((ArgumentError, CynetError), match="2\\^31 - 1 elements"):
        prop = get_operator("RNN").prop(mode="gru", state_size=3, num_layers=1)
        shapes, _, _ = prop.infer_shape([(1 << 16, 1 << 16, 2), None, None], [None] * 2)
        build(prop, shapes, ["float32"] * 3, DEVICE)
