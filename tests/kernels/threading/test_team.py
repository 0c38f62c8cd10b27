"""The team of threads: alone in C++, and in processes that fork, have no memory, are loaded."""

import errno
import os
import platform
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.kernels.parallel import get_num_threads, set_num_threads

ROOT = Path(__file__).parents[3]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def threads():
    """Sets the number of threads, beyond the cores too, until the test is over."""
    before = get_num_threads()
    yield lambda n: set_num_threads(n, beyond_cores=True)
    set_num_threads(before)


def run(code, **kwargs):
    """What a program prints, by lines."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, **kwargs
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    """The program tests/tsan/team.cpp."""
    compiler = os.environ.get("CXX", "g++").split()[-1]
    if shutil.which(compiler) is None:
        pytest.skip("no C++ compiler")
    program = tmp_path_factory.mktemp("team") / "team"
    source = ROOT / "tests" / "tsan" / "team.cpp"
    include = f"-I{ROOT / 'cynet' / 'kernels'}"
    command = [compiler, "-O2", "-std=c++17", "-pthread", include, str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    try:
        subprocess.run([program, "1", "1", "1"], check=True, timeout=120)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        pytest.skip(f"the emulator of {platform.machine()} starts no programs")
    return program


@pytest.mark.parametrize("count, callers", [(1, 2), (2, 1), (2, 4), (4, 3)])
def test_native_stress(native, count, callers):
    done = subprocess.run(
        [native, str(count), str(callers), "60"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_results_do_not_depend_on_threads(threads, rng):
    """Bit for bit, where a loop's parts are the same; callers beside each other change nothing."""
    a = mx.nd.array(rng.standard_normal((300, 1000)))
    found = []
    for count in (1, 2, 4):
        threads(count)
        found.append([f(a).asnumpy() for f in (mx.nd.tanh, mx.nd.softmax, mx.nd.sqrt, mx.nd.exp)])
    for other in found[1:]:
        for one, two in zip(found[0], other):
            np.testing.assert_array_equal(two, one)


def test_many_callers_at_once(threads, rng):
    threads(3)
    values = rng.standard_normal(400_000).astype("float32")
    want, wrong = np.tanh(values), []

    def call():
        a = mx.nd.array(values)
        for _ in range(20):
            if not np.allclose(mx.nd.tanh(a).asnumpy(), want, atol=1e-6):
                wrong.append(1)

    callers = [threading.Thread(target=call) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


CONVOLVE = """
import numpy as np
import cynet as mx
def convolve():
    rng = np.random.RandomState(0)
    x = mx.nd.array(rng.rand(8, 16, 28, 28))
    w = mx.nd.array(rng.rand(16, 16, 3, 3))
    y = mx.nd.Convolution(x, w, no_bias=True, kernel=(3, 3), stride=(2, 2), num_filter=16)
    return float(y.asnumpy().sum())
big = mx.nd.ones((2048, 512))
"""


@LINUX
def test_no_thread_can_be_made():
    """Where memory for a stack is lacking, kernels go on with the threads there are."""
    code = """
import resource
import cynet as mx
mx.set_num_threads(2, beyond_cores=True)
x, y = mx.nd.ones((1 << 20,)), mx.nd.zeros((1 << 20,))
(mx.nd.ones((3,)) + 1).asnumpy()
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + (2 << 20), -1))
mx.nd.tanh(x, out=y)
y.wait_to_read()
resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
print(abs(y.asnumpy() - 0.7615942).max() < 1e-6)
"""
    env = {**os.environ, "CYNET_ENGINE_TYPE": "NaiveEngine"}
    assert run(code, env=env) == ["True"]


@LINUX
def test_onednn_where_no_thread_can_be_made():
    """Its primitives are made for as many threads as there are."""
    want = run(CONVOLVE + "print(convolve())")[0]
    code = f"""
import resource
import numpy.random
{CONVOLVE}
from cynet.kernels.conv import onednn
onednn.available()
big.wait_to_read()
pages = int(open("/proc/self/statm").read().split()[0])
limit = resource.getrlimit(resource.RLIMIT_STACK)[0]
if limit == resource.RLIM_INFINITY:
    limit = 8 << 20
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + limit - (1 << 20), -1))
print(convolve())
"""
    found = run(code, env={**os.environ, "CYNET_ENGINE_TYPE": "NaiveEngine"})[0]
    assert abs(float(found) - float(want)) <= 1e-5 * abs(float(want))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_children_make_their_own_helpers():
    code = f"""
import os
import cynet as mx
{CONVOLVE}
mx.set_num_threads(3, beyond_cores=True)
def loop():
    return float(mx.nd.exp(big * 0).sum().asnumpy()[0]), convolve()
def count():
    return len(os.listdir('/proc/self/task')) if os.path.isdir('/proc/self/task') else 3
want = loop()
for _ in range(3):
    child = os.fork()
    if child == 0:
        ok = loop() == want and count() >= 3
        os._exit(0 if ok or not os.path.isdir('/proc') else 1)
    print(os.waitpid(child, 0)[1])
print(loop() == want)
"""
    assert run(code) == ["0", "0", "0", "True"]


@LINUX
def test_helpers_take_no_signals():
    code = """
import os, signal
import cynet as mx
before = set(os.listdir('/proc/self/task'))
mx.set_num_threads(3, beyond_cores=True)
mx.nd.exp(mx.nd.zeros((1 << 20,))).wait_to_read()
for task in set(os.listdir('/proc/self/task')) - before:
    text = open(f'/proc/self/task/{task}/status').read()
    blocked = int(text.split('SigBlk:')[1].split()[0], 16)
    print(bool(blocked >> (signal.SIGINT - 1) & 1))
"""
    found = run(code, env={**os.environ, "CYNET_ENGINE_TYPE": "NaiveEngine"})
    assert found == ["True", "True"]


@LINUX
def test_no_openmp_of_ours():
    """Neither cynet's modules nor oneDNN start a thread of an OpenMP library."""
    code = f"""
import os
import numpy
before = len(os.listdir('/proc/self/task'))  # NumPy's BLAS has threads of its own
{CONVOLVE}
mx.set_num_threads(2, beyond_cores=True)
convolve(); mx.nd.exp(big).wait_to_read(); mx.nd.softmax(big).wait_to_read()
print(len(os.listdir('/proc/self/task')) - before)
"""
    env = {**os.environ, "CYNET_ENGINE_TYPE": "NaiveEngine"}
    assert run(code, env=env) == ["1"]


def test_beside_busy_processes(threads):
    """Results are right and work ends while more processes want cores than there are."""
    hogs = [
        subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
    ]
    try:
        threads(2)
        a = mx.nd.ones((1 << 19,))
        for _ in range(100):
            a = mx.nd.sqrt(a * 1.0)
        assert (a.asnumpy() == 1).all()
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
