"""mx.rtc on a GPU: both forms, what is refused, and that the same source runs on the CPU."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, KernelError

AXPY = """
extern "C" __global__ void axpy(const float *x, float *y, float alpha, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += alpha * x[i];
}
template <typename T>
__global__ void scale(T *x, T by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
__global__ void reverse(float *x, int n) {
  extern __shared__ float copy[];
  copy[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = copy[n - 1 - threadIdx.x];
}
__global__ void __launch_bounds__(64) narrow(float *x) { x[threadIdx.x] = 1; }
"""


@pytest.fixture(scope="module")
def module():
    return mx.rtc.CudaModule(AXPY, exports=["scale<float>", "scale<double>"])


@pytest.fixture
def axpy(module):
    return module.get_kernel("axpy", "const float *x, float *y, float alpha, int n")


@pytest.mark.parametrize("where", ["gpu", "cpu"])
def test_a_source_on_both(module, axpy, gpu, rng, where):
    ctx = gpu if where == "gpu" else mx.cpu()
    x, y = rng.standard_normal((2, 1000)).astype("f")
    a, b = mx.nd.array(x, ctx=ctx), mx.nd.array(y, ctx=ctx)
    for _ in range(10):
        axpy.launch([a, b, 0.5, 1000], ctx, (8, 1, 1), (128, 1, 1))
    np.testing.assert_allclose(b.asnumpy(), y + 5 * x, rtol=1e-5, atol=1e-5)
    scale = module.get_kernel("scale<double>", "double *x, double by, int n")
    c = mx.nd.array(x, ctx=ctx, dtype="float64")
    scale.launch([c, 3, 1000], ctx, (8, 1, 1), (128, 1, 1))
    np.testing.assert_array_equal(c.asnumpy(), 3 * x.astype("d"))
    d = mx.nd.arange(100, ctx=mx.cpu()).as_in_context(ctx)
    reverse = module.get_kernel("reverse", "float *x, int n")
    reverse.launch([d, 100], ctx, (1, 1, 1), (100, 1, 1), shared_mem=400)
    np.testing.assert_array_equal(d.asnumpy(), np.arange(100)[::-1])


def test_a_body(gpu, rng):
    x = rng.standard_normal((5, 7)).astype("f")
    a, y = mx.nd.array(x, ctx=gpu), mx.nd.zeros((7, 5), ctx=gpu, dtype="float64")
    body = "y[threadIdx.x * y_dims[1] + blockIdx.x] = x[blockIdx.x * x_dims[1] + threadIdx.x];"
    turn = mx.rtc("turn", [("x", a)], [("y", y)], body)
    turn.push([a], [y], (5, 1, 1), (7, 1, 1))
    np.testing.assert_array_equal(y.asnumpy(), x.T)
    host = mx.nd.zeros((7, 5), dtype="float64")
    turn.push([mx.nd.array(x)], [host], (5, 1, 1), (7, 1, 1))  # the same kernel on the CPU
    np.testing.assert_array_equal(host.asnumpy(), x.T)


def test_launches_are_ordered_with_copies(axpy, gpu):
    x, y = mx.nd.ones((64,), ctx=gpu), mx.nd.zeros((64,), ctx=gpu)
    for i in range(20):
        axpy.launch([x, y, 1.0, 64], gpu, (1, 1, 1), (64, 1, 1))
        x[:] = i
    assert (y.asnumpy() == 1 + sum(range(19))).all()


@pytest.mark.parametrize(
    "grid, block, shared, words",
    [
        ((1, 1, 1), (1025, 1, 1), 0, r"a block of \(1025, 1, 1\) is not within"),
        ((1, 1, 1), (64, 32, 1), 0, "has 2048 threads, 1024 is the most"),
        ((0, 1, 1), (1, 1, 1), 0, "a grid of"),
        ((1, 1, 1), (1, 1, 1), 1 << 30, "1073741824 bytes of shared memory"),
    ],
)
def test_limits_of_a_launch(axpy, gpu, grid, block, shared, words):
    x = mx.nd.ones((4,), ctx=gpu)
    with pytest.raises(ArgumentError, match=f"kernel axpy: .*{words}"):
        axpy.launch([x, x.copy(), 2.0, 4], gpu, grid, block, shared)


def test_limits_of_a_kernel(module, gpu):
    x = mx.nd.ones((128,), ctx=gpu)
    narrow = module.get_kernel("narrow", "float *x")
    with pytest.raises(ArgumentError, match="128 threads, its __launch_bounds__ allow 64"):
        narrow.launch([x], gpu, (1, 1, 1), (128, 1, 1))


def test_arguments_are_checked(module, axpy, gpu):
    x, host = mx.nd.ones((4,), ctx=gpu), mx.nd.ones((4,))
    with pytest.raises(ArgumentError, match=r"the array is on cpu\(0\), not on gpu\(0\)"):
        axpy.launch([x, host, 2.0, 4], gpu, (1, 1, 1), (4, 1, 1))
    with pytest.raises(ArgumentError, match="takes 4 arguments, got 3"):
        axpy.launch([x, x, 2.0], gpu, (1, 1, 1), (4, 1, 1))
    with pytest.raises(ArgumentTypeError, match="the array is float64"):
        axpy.launch([x, x.astype("float64"), 2.0, 4], gpu, (1, 1, 1), (4, 1, 1))
    with pytest.raises(KernelError, match="no kernel named 'axpi'; it has .*axpy.*scale<float>"):
        module.get_kernel("axpi", "float *x")
    with pytest.raises(KernelError, match="kernel axpy: the arguments of the signature have"):
        module.get_kernel("axpy", "const float *x, float *y, double alpha, int n")


def test_a_source_that_does_not_compile(gpu):
    x = mx.nd.ones((4,), ctx=gpu)
    with pytest.raises(KernelError, match="wrong does not compile") as caught:
        mx.rtc("wrong", [("x", x)], [("y", x)], "int i = threadIdx.x;\ny[i] = x[i] * nothing;")
    text = str(caught.value)
    assert "wrong does not compile" in text and "line 2" in text
    assert "y[i] = x[i] * nothing;" in text
    assert x.asnumpy().tolist() == [1, 1, 1, 1]


def test_a_compiled_object_is_found_again(gpu, tmp_path, monkeypatch):
    from cynet.cuda import compiler

    monkeypatch.setenv("CYNET_HOME", str(tmp_path))
    source = 'extern "C" __global__ void once(float *x) { x[0] = 7; }'
    first = compiler.compile_object(source, source, "once", (), (), "sm_80")
    compiler.compile_object.cache_clear()
    monkeypatch.setattr(compiler.optional("pycuda.compiler", "a test"), "compile", None)
    again = compiler.compile_object(source, source, "once", (), (), "sm_80")
    assert again.image == first.image and again.symbols["once"] == "once"
    assert [p.suffix for p in (tmp_path / "kernels").glob("*.sm_80.*")] == [".cubin"]


def test_a_damaged_object_is_made_again(gpu, tmp_path, monkeypatch):
    from cynet.base import cache
    from cynet.cuda import compiler

    monkeypatch.setenv("CYNET_HOME", str(tmp_path))
    source = 'extern "C" __global__ void again(float *x) { x[0] = 8; }'
    first = compiler.compile_object(source, source, "again", (), (), "sm_80")
    (kept,) = (tmp_path / "kernels").glob("*.sm_80.cubin")
    for damaged in (b"", first.image[:100], b"no object at all"):
        kept.write_bytes(damaged)
        compiler.compile_object.cache_clear()
        made = compiler.compile_object(source, source, "again", (), (), "sm_80")
        assert made.symbols == first.symbols
        assert cache.read_cached(kept) == made.image
