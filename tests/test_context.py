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
        (("cpu", 2**31), ValueError, "must be below"),
        (("cpu", 10**5000), ValueError, "must be below .* got <an int of 16610 bits>"),
        (([],), TypeError, "a device type is a str, one of cpu, gpu"),
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


def test_the_hosts_contexts_are_labels():
    """As MXNet 1.9.1 places them."""
    x = mx.nd.ones((2, 3), ctx=mx.cpu(70_000))
    for made in (x + 1, x[0], x.T, mx.nd.exp(x), x.copy(), mx.nd.concat(x, x), x.zeros_like()):
        assert made.context == mx.cpu(70_000)
    assert (x + mx.nd.ones((2, 3), ctx=mx.cpu(1))).context == mx.cpu(70_000)
    with mx.AttrScope(ctx_group="one"):
        net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="a")
    with mx.AttrScope(ctx_group="two"):
        net = mx.sym.BatchNorm(mx.sym.FullyConnected(net, num_hidden=2, name="b"), name="c")
    groups = {"one": mx.cpu(1), "two": mx.cpu(2)}
    executor = (net * 2).simple_bind(mx.cpu(), group2ctx=groups, x=(2, 3))
    for arrays in (executor.arg_dict, executor.grad_dict, executor.aux_dict):
        for name, array in arrays.items():
            assert array.context == (
                mx.cpu(1) if name in ("x", "a_weight", "a_bias") else mx.cpu(2)
            )
    assert executor.forward()[0].context == mx.cpu(2)
    assert (mx.sym.Variable("x") * 2).simple_bind(mx.cpu(3), x=(2,)).forward()[0].ctx == mx.cpu(3)


def test_indices_have_streams_of_their_own():
    drawn = []
    for index in (0, 1, 63, 64, 65, 128, 70_000):
        for _ in range(2):
            mx.random.seed(7)
            drawn.append(mx.nd.random.uniform(shape=(3,), ctx=mx.cpu(index)).asnumpy().tolist())
            assert drawn[-1] == drawn[-1 - _]
    assert len({tuple(each) for each in drawn}) == 7
    mx.random.seed(3)
    mx.random.seed(7, ctx=mx.cpu(64))  # alone
    low = mx.nd.random.uniform(shape=(3,)).asnumpy().tolist()
    mx.random.seed(3)
    assert mx.nd.random.uniform(shape=(3,)).asnumpy().tolist() == low


def test_gpus_without_pycuda():
    code = """
import sys
import weakref
import cynet as mx
assert "pycuda" not in sys.modules
sys.modules["pycuda"] = None  # its import fails from here on

def count_gpus():
    array = mx.nd.zeros((2,))  # an error that is stored keeps the frames it was raised through
    assert mx.context.num_gpus() == 0
    return weakref.ref(array)

assert count_gpus()() is None
for use in (lambda: mx.context.gpu_memory_info(3), lambda: mx.nd.zeros((2,), ctx=mx.gpu(3))):
    try:
        use()
        sys.exit("no error")
    except mx.MXNetError as error:
        assert "needs the package pycuda: pip install 'cynet-mx[cuda]'" in str(error), error
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


def test_the_default_is_an_attribute():
    before = mx.Context.default_ctx
    assert before == mx.cpu()
    with mx.cpu(2):
        assert mx.Context.default_ctx == mx.cpu(2)
    try:
        mx.Context.default_ctx = mx.cpu(1)
        assert mx.nd.zeros(1).context == mx.cpu(1)
    finally:
        mx.Context.default_ctx = before
    with pytest.raises(mx.base.MXNetError, match="default_ctx must be a Context, got 'cpu'"):
        mx.Context.default_ctx = "cpu"


def test_empty_cache():
    mx.nd.zeros((1000, 1000)).wait_to_read()
    mx.cpu().empty_cache()
    assert mx.storage.stats(mx.cpu())["cached_bytes"] == 0
