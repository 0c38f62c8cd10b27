"""softmax and log_softmax of rows that the kernels take several of at once."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

import cynet as mx
from cynet.kernels.isa.dispatch import cpu_capabilities

LENGTHS = (1, 4, 31, 33, 64, 65, 100, 127, 128, 129, 511, 512, 513)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_rows_beside_each_other_are_as_each_alone(rng, length, temperature):
    rows = rng.standard_normal((19, length)).astype("float32") * 5
    for function, reference in ((mx.nd.log_softmax, log_softmax), (mx.nd.softmax, softmax)):
        out = function(mx.nd.array(rows), temperature=temperature).asnumpy()
        wanted = reference(rows / np.float64(temperature), axis=-1)
        np.testing.assert_allclose(out, wanted, rtol=3e-6, atol=3e-6)
        alone = [function(mx.nd.array([row]), temperature=temperature).asnumpy() for row in rows]
        np.testing.assert_array_equal(out, np.concatenate(alone))


def test_infinity_and_nan_stay_in_their_rows():
    rows = np.zeros((9, 100), "float32")
    rows[0, 99], rows[1, 7], rows[2] = np.nan, -np.inf, -np.inf
    rows[2, 98] = 3
    with np.errstate(divide="ignore"):
        wanted = log_softmax(rows.astype("float64"), axis=-1)
    out = mx.nd.log_softmax(mx.nd.array(rows)).asnumpy()
    np.testing.assert_allclose(out, wanted, rtol=2e-6)
    assert np.isnan(out[0]).all() and not np.isnan(out[1:]).any()


@pytest.mark.parametrize("level", cpu_capabilities())
def test_each_level(level):
    program = (
        "import numpy as np, cynet as mx\n"
        "from scipy.special import log_softmax\n"
        "x = np.random.RandomState(1).standard_normal((17, 100)).astype('f')\n"
        "out = mx.nd.log_softmax(mx.nd.array(x)).asnumpy()\n"
        "np.testing.assert_allclose(out, log_softmax(x.astype('d'), axis=-1), rtol=2e-6)\n"
        "alone = [mx.nd.log_softmax(mx.nd.array(x[i:i + 1])).asnumpy() for i in range(17)]\n"
        "np.testing.assert_array_equal(out, np.concatenate(alone))\n"
    )
    env = {**os.environ, "CYNET_CPU_CAPABILITY": level}
    subprocess.run([sys.executable, "-c", program], env=env, check=True, timeout=120)
