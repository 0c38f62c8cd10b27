"""The thread setting: bounds, the environment variable."""

import os
import subprocess
import sys

import numpy as np
import pytest
from cynet.kernels.parallel import get_num_threads, set_num_threads

import cynet as mx
from cynet.errors import ArgumentError, ArgumentTypeError


def test_set_returns_the_setting_before():
    before = set_num_threads(3)
    try:
        assert get_num_threads() == 3
        assert set_num_threads(0) == 3
        assert get_num_threads() >= 1
    finally:
        set_num_threads(before)


def test_bad_settings_are_refused():
    with pytest.raises(ArgumentError, match="-1"):
        set_num_threads(-1)
    for bad in (1.5, "2", None, True):
        with pytest.raises(ArgumentTypeError, match="takes an int"):
            set_num_threads(bad)


def test_environment_variable():
    code = "from cynet.kernels.parallel import get_num_threads; print(get_num_threads())"
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "CYNET_NUM_THREADS": "5"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout.strip() == "5"


@pytest.mark.skipif(sys.platform != "linux", reason="GNU OpenMP's settings")
@pytest.mark.parametrize("user", [{}, {"OMP_WAIT_POLICY": "passive"}])
def test_openmp_waits_briefly_unless_the_user_says_how(user):
    env = {k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    code = "import os, cynet; print(os.environ.get('OMP_WAIT_POLICY'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**env, **user, "OMP_DISPLAY_ENV": "verbose"},
        capture_output=True,
        text=True,
        check=True,
    )
    if "GOMP_SPINCOUNT" not in done.stderr:
        pytest.skip("not built with GNU OpenMP")
    assert ("GOMP_SPINCOUNT = '10000'" in done.stderr) == (not user)
    assert done.stdout.split() == [user.get("OMP_WAIT_POLICY", "None")], "put back as it was"


def test_threads_give_one_result():
    """Sums in parts and elementwise ranges: what one thread gives, but for rounding."""
    rng = np.random.RandomState(7)
    a = mx.nd.array(rng.rand(300, 1000))
    found = []
    for threads in (1, 2, 3):
        before = set_num_threads(threads)
        try:
            arrays = [mx.nd.tanh(a), mx.nd.sum(a), mx.nd.sum(a, axis=0), mx.nd.softmax(a)]
            found.append([x.asnumpy() for x in arrays])
        finally:
            set_num_threads(before)
    for other in found[1:]:
        for one, two in zip(found[0], other):
            np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-5)
