"""oneDNN's primitives inside plans: in forked children, in several threads, with fewer threads."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.kernels.conv import onednn
from cynet.kernels.parallel import get_num_threads, set_num_threads

pytestmark = pytest.mark.skipif(not onednn.available(), reason="oneDNN's wheel is not installed")


def network():
    x = mx.sym.var("data")
    y = mx.sym.Convolution(x, num_filter=16, kernel=(5, 5), name="c")
    y = mx.sym.Activation(y, act_type="relu")
    y = mx.sym.Convolution(y, num_filter=32, kernel=(3, 3), no_bias=True, name="d")
    y = mx.sym.Activation(mx.sym.FullyConnected(y, num_hidden=64, name="e"), act_type="tanh")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(y, num_hidden=10, name="f"), name="softmax")


def bound(params=None):
    executor = network().simple_bind(mx.cpu(), data=(16, 1, 20, 20))
    rng = np.random.RandomState(0)
    for name, array in executor.arg_dict.items():
        array[:] = rng.uniform(-0.2, 0.2, array.shape) if params is None else params[name]
    return executor


def step(executor):
    executor.forward(is_train=True)
    executor.backward()
    grads = [grad.asnumpy() for grad in executor.grad_arrays]
    return [executor.outputs[0].asnumpy(), *grads]


def close(got, want):
    return all(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(got, want, strict=True))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_runs_in_a_forked_child():
    """The parent's helpers are not in the child: what waits for them would hang."""
    executor = bound()
    want = step(executor)
    for _ in range(5):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                fresh = bound(executor.arg_dict)
                code = 0 if close(step(executor), want) and close(step(fresh), want) else 3
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("images", [4, 8, 16])
def test_a_small_gradient_of_weights_is_one_threads(images, rng, monkeypatch):
    """Those of two threads wait for one another: milliseconds for what takes 20 us, where the other
    has no core. They would add up images in another order, too."""
    data = rng.standard_normal((images, 8, 8, 16)).astype("float32")
    head = mx.nd.array(rng.standard_normal(data.shape))
    net = mx.sym.Convolution(
        mx.sym.var("data"), kernel=(3, 3), pad=(1, 1), num_filter=16, layout="NHWC", name="c"
    )
    monkeypatch.setenv("CYNET_CONV_ALGORITHM", "onednn")
    found, before = [], get_num_threads()
    try:
        for threads in (1, 2, 4):
            set_num_threads(threads, beyond_cores=True)
            executor = net.simple_bind(mx.cpu(), data=data.shape)
            executor.arg_dict["data"][:] = data
            executor.forward(is_train=True)
            executor.backward(head)
            found.append(executor.grad_dict["c_weight"].asnumpy().tobytes())
    finally:
        set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_runs_in_four_threads():
    """Executors of one symbol share no primitive."""
    first = bound()
    want, wrong = step(first), []

    def train(executor):
        wrong.extend(None for _ in range(20) if not close(step(executor), want))

    threads = [threading.Thread(target=train, args=(bound(first.arg_dict),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_fewer_threads_give_the_same():
    """A plan made with all threads runs with one."""
    executor = bound()
    want = step(executor)
    before = mx.set_num_threads(1)
    try:
        assert close(step(executor), want)
        assert close(step(bound(executor.arg_dict)), want)
    finally:
        mx.set_num_threads(before)


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (64, 33, 129)])
def test_matmul_in_a_network(shape, with_bias, rng):
    """FullyConnected against NumPy, with each activation that is folded in."""
    n, k, m = shape
    x, w, b = (rng.uniform(-1, 1, s).astype("float32") for s in ((n, k), (m, k), (m,)))
    product = x @ w.T + (b if with_bias else 0)
    for act_type, function in {
        "relu": lambda v: np.maximum(v, 0),
        "tanh": np.tanh,
        "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
        "softrelu": lambda v: np.log1p(np.exp(v)),
    }.items():
        net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=m, no_bias=not with_bias, name="f")
        net = mx.sym.Activation(net, act_type=act_type)
        args = {"x": x, "f_weight": w, **({"f_bias": b} if with_bias else {})}
        executor = net.simple_bind(mx.cpu(), x=x.shape)
        for name, value in args.items():
            executor.arg_dict[name][:] = value
        got = executor.forward()[0].asnumpy()
        np.testing.assert_allclose(got, function(product), rtol=1e-4, atol=1e-5)


def test_profile_has_a_row_for_each_step():
    """Executor.profile measures the steps where they run."""
    executor = bound()
    rows = executor.profile(lambda: (executor.forward(True), executor.backward()), 3)
    assert {direction for direction, _, _ in rows} == {"forward", "backward"}
    assert any(name.startswith("Convolution d: ") for _, name, _ in rows)
    assert all(micros > 0 for _, _, micros in rows)


def test_threads_of_openmp():
    """Nothing is replaced in oneDNN's memory: it starts its own threads, results are the same."""
    code = """
import os, sys
import numpy as np
from tests.kernels.conv.test_onednn import bound, close, onednn, step
executor = bound()
before = len(os.listdir('/proc/self/task')) if os.path.isdir('/proc') else 0
got = step(executor)
more = (len(os.listdir('/proc/self/task')) if os.path.isdir('/proc') else 2) - before
used = any('onednn' in str(each) for each in executor.debug_str().splitlines())
np.savez(sys.argv[1], *got)
print(used, more)
"""
    root, found = Path(__file__).parents[3], []
    for threads in ("openmp", "team"):
        environment = {**os.environ, "CYNET_ENGINE_TYPE": "NaiveEngine", "CYNET_NUM_THREADS": "1"}
        environment |= {"OMP_NUM_THREADS": "3", "CYNET_ONEDNN_THREADS": threads}
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-c", code, f"{folder}/a.npz"],
                cwd=root,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
            )
            assert done.returncode == 0, done.stderr
            assert done.stdout.split() == ["True", "2" if threads == "openmp" else "0"]
            with np.load(f"{folder}/a.npz") as arrays:
                found.append([arrays[name] for name in arrays])
    assert close(*found)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no C++ compiler")
def test_a_library_that_cannot_run_on_the_team(tmp_path):
    """One that needs what the team has not: other kernels compute, and a warning says so."""
    source = "void GOMP_taskwait(void); void f(void) { GOMP_taskwait(); }"
    (tmp_path / "a.c").write_text(source)
    command = ["gcc", "-shared", "-fPIC", "a.c", "-lgomp", "-o", "a.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    code = f"""
import ctypes, warnings
import cynet as mx
from cynet.kernels.conv import onednn
from cynet.kernels.parallel import get_num_threads, set_num_threads
real = ctypes.CDLL
class Other:
    def __init__(self, path):
        self.functions, self._handle = real(path), real({str(tmp_path / "a.so")!r})._handle
    def __getattr__(self, name):
        return getattr(self.functions, name)
    def __getitem__(self, name):
        return self.functions[name]
ctypes.CDLL = Other
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    print(onednn.available(), onednn.available())
print(len(told), "GOMP_taskwait" in str(told[0].message), "openmp" in str(told[0].message))
print(mx.nd.FullyConnected(mx.nd.ones((64, 64)), mx.nd.ones((64, 64)), num_hidden=64,
                           no_bias=True).sum().asscalar())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["False", "False", "1", "True", "True", "262144.0"], done.stderr


def test_the_first_primitive_opens_the_library():
    """Nobody has to ask whether it is there: an operator made directly works, or says so."""
    text = "from cynet.kernels.conv import onednn; print(onednn.as_row_major((2, 3)))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Layout" in done.stdout
