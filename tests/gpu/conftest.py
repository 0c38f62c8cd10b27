"""The GPU suite: on the machine's GPUs, or on the simulated driver (tests/cuda/driver).

CYNET_TEST_GPU says which: ``device`` (make test-gpu) or ``simulated``; without it the tests here
are left out, and tests/cuda/test_simulated.py runs them in a process of their own.
"""

import importlib.util
import os

import pytest

WHERE = os.environ.get("CYNET_TEST_GPU", "")
SIMULATED = WHERE == "simulated"

if SIMULATED and importlib.util.find_spec("pycuda"):
    from tests.cuda.driver.build import put_in_place

    put_in_place()

if WHERE:
    os.environ["CYNET_CUDA_TF32"] = "none"  # float32 is compared with the CPU's

import cynet as mx  # noqa: E402

# The walks over all operators, 2,000 tests, are not even made where they would be skipped; other
# files are, and say what would run them.
collect_ignore = [] if WHERE else ["test_operators.py", "test_bfloat16.py", "test_arrays.py"]


HERE = os.path.dirname(__file__)


def pytest_ignore_collect(config):
    """Without CYNET_TEST_GPU a run of all tests does not even make these: they are read (1,600
    tests in each process) for who asks for them, and then skipped."""
    if WHERE or any(os.path.abspath(arg).startswith(HERE) for arg in config.args):
        return None
    return True


def pytest_collection_modifyitems(items):
    if WHERE and not mx.context.num_gpus():
        try:
            mx.nd.zeros((1,), ctx=mx.gpu(0))
        except mx.base.MXNetError as error:
            pytest.exit(f"the GPU suite cannot run: {error}", returncode=2)
    for item in items:  # of the whole session
        if not item.nodeid.startswith("tests/gpu/"):
            continue
        # pycuda leaves the file of an object that it has read to the garbage collector.
        item.add_marker(pytest.mark.filterwarnings("ignore:.*kernel.cubin:ResourceWarning"))
        if not WHERE:
            reason = "CYNET_TEST_GPU is not set; tests/cuda/test_simulated.py runs these simulated"
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def gpu():
    """The first GPU."""
    return mx.gpu(0)


@pytest.fixture
def two():
    """Two GPUs."""
    if mx.context.num_gpus() < 2:
        pytest.skip("needs two GPUs")
    return mx.gpu(0), mx.gpu(1)


@pytest.fixture
def simulated():
    """For tests that ask the simulated driver for what no device does."""
    if not SIMULATED:
        pytest.skip("needs the simulated driver")


@pytest.fixture
def unrecorded():
    """A function that runs another with graphs switched off."""

    from cynet.cuda import graphs
    from tests.gpu.test_graphs import Counted

    def without(function, *args):
        before = graphs.switch_recording(False)
        try:
            with Counted() as count:
                found = function(*args)
            assert count.replayed == 0
            return found
        finally:
            graphs.switch_recording(before)

    return without
