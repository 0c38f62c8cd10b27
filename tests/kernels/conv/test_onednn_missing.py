"""Where oneDNN's library cannot be loaded, cynet's own kernels compute, and one warning says what
is missing. A copy of the library that wants a runtime which no system has stands for it.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cynet.kernels.conv import onednn
from cynet.kernels.conv.onednn_library import library_path

pytestmark = pytest.mark.skipif(not onednn.available(), reason="oneDNN's wheel is not installed")

COMPUTE = """
import sys, warnings
sys.prefix = sys.argv[1]
import numpy as np
import cynet as mx

rng = np.random.RandomState(0)
kinds = {
    "convolution": (mx.gluon.nn.Conv2D(4, 3), (2, 3, 9, 9), "float32"),
    "transposed": (mx.gluon.nn.Conv2DTranspose(4, 3), (2, 3, 9, 9), "float32"),
    "dense": (mx.gluon.nn.Dense(70), (64, 80), "float32"),
    "dense16": (mx.gluon.nn.Dense(70), (64, 80), "bfloat16"),
}
found = {}
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for name, (net, shape, dtype) in kinds.items():
        net.initialize(mx.init.One())
        net.hybridize()
        data = mx.nd.array(rng.normal(size=shape))
        if name == "convolution":
            net(data)
            small = mx.contrib.quantization.quantize_net(net, calib_mode="none")
            found["int8"] = small(data).asnumpy()
        net.cast(dtype)
        with mx.autograd.record():
            out = net(data.astype(dtype))
        out.backward()
        found[name] = out.astype("float32").asnumpy()
        found[name + "_grad"] = net.weight.grad().astype("float32").asnumpy()
    a = mx.nd.array(rng.normal(size=(90, 90)))
    found["dot"] = mx.nd.dot(a, a).asnumpy()
np.savez(sys.argv[2], **found)
for each in seen:
    print(each.filename, each.message)
"""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    content = Path(library_path()).read_bytes()
    assert b"libgomp.so.1\0" in content
    (folder / "lib").mkdir()
    library = folder / "lib" / "libdnnl.so.3"
    library.write_bytes(content.replace(b"libgomp.so.1\0", b"libgomp.so.9\0"))
    yield str(folder)
    library.unlink()


def run(*words, code=0):
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def test_own_kernels_compute_and_one_warning_says_what_is_missing(prefix, tmp_path):
    said, _ = run("-c", COMPUTE, prefix, str(tmp_path / "without.npz"))
    assert said.count("\n") == 1 and said.startswith("<string> oneDNN is not used"), said
    assert "libgomp.so.9" in said and "apt-get install libgomp1" in said
    said, _ = run("-c", COMPUTE, sys.prefix, str(tmp_path / "with.npz"))
    assert said == ""
    made, wanted = np.load(tmp_path / "without.npz"), np.load(tmp_path / "with.npz")
    assert set(made) == set(wanted)
    for name, value in made.items():
        rtol = 2e-2 if "16" in name else 1e-4
        np.testing.assert_allclose(value, wanted[name], rtol, 1e-3, err_msg=name)


def test_the_description_says_it(prefix):
    program = f"""
import sys, runpy
sys.prefix = {prefix!r}
sys.argv = ["cynet"]
runpy.run_module("cynet", run_name="__main__")
"""
    said, warned = run("-c", program)
    row = next(line for line in said.splitlines() if line.startswith("oneDNN"))
    assert row.startswith("oneDNN       none (libgomp.so.9") and "apt-get install" in row
    assert warned.count("oneDNN is not used") == 1


def test_a_warning_that_is_an_error_is_raised_once(prefix):
    """And the next call computes."""
    program = f"""
import sys, warnings
sys.prefix = {prefix!r}
import cynet as mx
warnings.simplefilter("error")
data, weight = mx.nd.ones((1, 1, 3, 3)), mx.nd.ones((1, 1, 3, 3))
call = lambda: mx.nd.Convolution(data, weight, kernel=(3, 3), num_filter=1, no_bias=True)
try:
    call()
except UserWarning as error:
    print("libgomp1" in str(error))
print(call().asscalar())
"""
    assert run("-c", program)[0] == "True\n9.0\n"


def test_a_file_that_is_no_library(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libdnnl.so.3").write_bytes(b"no library")
    program = f"""
import sys
sys.prefix = {str(tmp_path)!r}
import cynet as mx
print(mx.runtime.Features().is_enabled("MKLDNN"))
"""
    said, warned = run("-c", program)
    assert said == "False\n" and "oneDNN is not used" in warned and "apt-get" not in warned
