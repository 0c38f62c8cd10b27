"""Devices: what Context refuses, the current one, GPUs where there is no backend and with one."""

import pickle
import subprocess
import sys
import threading

import pytest

import cynet as mx


def test_contexts():
    assert mx.cpu() == mx.Context("cpu", 0) != mx.cpu(1)
    assert repr(mx.gpu(2)) == "gpu(2)" and mx.gpu(2).device_type == "gpu"
    assert mx.Context(mx.cpu_pinned(3)) == mx.cpu_pinned(3)
    assert len({mx.cpu(), mx.cpu(0), mx.gpu()}) == 2
    assert pickle.loads(pickle.dumps(mx.gpu(1))) == mx.gpu(1)


@pytest.mark.parametrize(
    "args, kind, words",
    [
        (("tpu",), ValueError, "'tpu' is not one of cpu, gpu"),
        (("cpu", -1), ValueError, "must not be negative, got -1"),
        (("cpu", "0"), TypeError, "must be an int, got '0'"),
        (("cpu", True), TypeError, "must be an int, got True"),
    ],
)
def test_refused(args, kind, words):
    with pytest.raises(kind, match=words):
        mx.Context(*args)


def test_the_current_context_is_the_threads():
    seen = []
    with mx.cpu(1):
        with mx.cpu(2):
            assert mx.current_context() == mx.cpu(2)
        thread = threading.Thread(target=lambda: seen.append(mx.current_context()))
        thread.start()
        thread.join()
        assert mx.current_context() == mx.cpu(1) == mx.nd.zeros((1,)).context
    assert seen == [mx.cpu(0)] and mx.current_context() == mx.cpu(0)


def test_gpus_without_pycuda():
    code = """
import sys
import cynet as mx
assert "pycuda" not in sys.modules
sys.modules["pycuda"] = None  # its import fails from here on
assert mx.context.num_gpus() == 0
for use in (lambda: mx.context.gpu_memory_info(3), lambda: mx.nd.zeros((2,), ctx=mx.gpu(3))):
    try:
        use()
        sys.exit("no error")
    except mx.MXNetError as error:
        assert "needs the package pycuda: pip install 'cynet[cuda]'" in str(error), error
assert mx.nd.zeros((2,), ctx=mx.cpu_pinned()).asnumpy().sum() == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_gpus_of_a_backend():
    code = """
import cynet as mx

class Two(mx.storage.Backend):
    def memory_info(self, device_id):
        if device_id > 1:
            raise mx.CynetError(f"gpu({device_id}) is not there")
        return 100 + device_id, 1000

mx.storage.register_backend("gpu", Two())
assert mx.context.num_gpus() == 2
assert mx.context.gpu_memory_info(1) == (101, 1000)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
