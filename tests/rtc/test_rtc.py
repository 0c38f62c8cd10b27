"""mx.rtc on mx.cpu(): both forms, their checks, the engine's order, operators made of kernels."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, CynetError, KernelError
from cynet_cuda_cpu import compiler

DTYPES = ["float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool"]

AXPY = """
extern "C" __global__ void axpy(const float *x, float *y, float alpha, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += alpha * x[i];
}
template <typename T>
__global__ void fill(T *x, const T value) { x[threadIdx.x] = value; }
extern "C" __global__ void shifted(const int *x, int *y, int by) {
  extern __shared__ int copy[];
  copy[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = copy[(threadIdx.x + by) % blockDim.x];
}
extern "C" __global__ void takes(double d, unsigned char b, long long q, bool t, __half h,
                                 float *o) {
  o[0] = d; o[1] = b; o[2] = q; o[3] = t; o[4] = __half2float(h);
}
extern "C" __global__ void slow(float *x, int turns) {
  for (int i = 0; i < turns; ++i) x[threadIdx.x] = x[threadIdx.x] * 0.5f + 1.0f;
}
"""


@pytest.fixture(scope="module")
def module():
    return mx.rtc.CudaModule(AXPY, exports=["fill<float>", "fill<long long>"])


@pytest.fixture
def axpy(module):
    return module.get_kernel("axpy", "const float *x, float *y, float alpha, int n")


@pytest.mark.parametrize("dtype", DTYPES)
def test_body_on_every_dtype(dtype):
    source = np.array([[0, 1, 2], [1, 0, 1]]).astype(dtype)
    x, y = mx.nd.array(source, dtype=dtype), mx.nd.zeros((2, 3), dtype=dtype)
    body = """
      const int i = threadIdx.x * x_dims[1] + threadIdx.y;
      y[i] = x[i] + x[i];
    """
    kernel = mx.rtc("twice", [("x", x)], [("y", y)], body)
    assert isinstance(kernel, mx.rtc.Rtc)
    kernel.push([x], [y], (1, 1, 1), (2, 3, 1))
    np.testing.assert_array_equal(y.asnumpy(), source + source)


def test_sizes_in_the_body():
    x, y = mx.nd.ones((2, 3, 4)), mx.nd.zeros((8,))
    body = """
      y[0] = x_ndim; y[4] = y_ndim; y[5] = y_dims[0];
      for (int i = 0; i < x_ndim; ++i) y[1 + i] = x_dims[i];
    """
    kernel = mx.rtc("sizes", (("x", x),), (("y", y),), body)
    kernel.push((x,), (y,), (1,), (1,))
    assert y.asnumpy().tolist() == [3, 2, 3, 4, 1, 8, 0, 0]
    kernel.push([mx.nd.ones((5, 6, 7))], [y], (1, 1, 1), (1, 1, 1))  # other sizes, same kernel
    assert y.asnumpy()[:4].tolist() == [3, 5, 6, 7]


def test_in_place_and_views():
    x = mx.nd.array(np.arange(12, dtype="f").reshape(3, 4))
    row = x[1]
    kernel = mx.rtc("more", [("a", row)], [("b", row)], "b[threadIdx.x] = a[threadIdx.x] + 1;")
    for _ in range(3):
        kernel.push([row], [row], (1, 1, 1), (4, 1, 1))
    want = np.arange(12, dtype="f").reshape(3, 4)
    want[1] += 3
    np.testing.assert_array_equal(x.asnumpy(), want)


def test_pushes_are_ordered_with_other_operators(axpy, rng):
    """Chains of kernels and operators on shared arrays, against the same in NumPy."""
    arrays = [rng.standard_normal(3000).astype("f") for _ in range(4)]
    device = [mx.nd.array(a) for a in arrays]
    for step in range(60):
        i, j = rng.integers(0, 4, 2)
        if i == j:
            device[i] *= 0.5
            arrays[i] *= np.float32(0.5)
        elif step % 3:
            axpy.launch([device[i], device[j], 0.25, 3000], mx.cpu(), (24,), (128,))
            arrays[j] += np.float32(0.25) * arrays[i]
        else:
            device[j] = mx.nd.maximum(device[i], device[j])
            arrays[j] = np.maximum(arrays[i], arrays[j])
    for a, d in zip(arrays, device):
        np.testing.assert_allclose(d.asnumpy(), a, rtol=1e-5, atol=1e-6)


def test_launch_returns_before_the_kernel_is_done(module):
    kernel = module.get_kernel("slow", "float *x, int turns")
    x = mx.nd.zeros((1 << 15,))
    done = mx.nd.zeros((1,))
    kernel.launch([x, 20_000_000], mx.cpu(), (1, 1, 1), (1, 1, 1))
    (done + 1).wait_to_read()  # something else runs meanwhile
    assert x[0].asscalar() == pytest.approx(2)


def test_shared_memory_and_values(module):
    x = mx.nd.array(np.arange(50), dtype="int32")
    y = mx.nd.zeros((50,), dtype="int32")
    kernel = module.get_kernel("shifted", "const int *x, int *y, int by")
    kernel.launch([x, y, 7], mx.cpu(), (1, 1, 1), (50, 1, 1), 50 * 4)
    np.testing.assert_array_equal(y.asnumpy(), np.roll(np.arange(50), -7))
    takes = module.get_kernel("takes", "double d, uint8_t b, int64_t q, bool t, __half h, float *o")
    out = mx.nd.zeros((5,))
    takes.launch([-0.5, 255, np.int64(-3), True, 1.5, out], mx.cpu(), (1,), (1,))
    assert out.asnumpy().tolist() == [-0.5, 255, -3, 1, 1.5]


def test_instances_of_templates(module):
    x = mx.nd.zeros((4,), dtype="int64")
    module.get_kernel("fill<long long>", "int64_t *x, int64_t").launch([x, 2**40], mx.cpu(), 1, 4)
    assert x.asnumpy().tolist() == [2**40] * 4


@pytest.mark.parametrize(
    "signature, words",
    [
        ("const float *x, float *y, float alpha", "3 arguments, the source 4"),
        ("const float *x, float *y, double alpha, int n", "argument 3 is 'double alpha'"),
        ("const float *x, double *y, float alpha, int n", "argument 2 is 'double \\*y'"),
        ("const float *x, float y, float alpha, int n", "argument 2 is 'float y'"),
    ],
)
def test_signatures_that_do_not_fit_the_source(module, signature, words):
    with pytest.raises(KernelError, match=f"kernel axpy: .*{words}"):
        module.get_kernel("axpy", signature)


@pytest.mark.parametrize("signature", ["flaot *x", "float **x", "void", "uint32_t *x", "int x[3]"])
def test_signatures_that_cannot_be_read(module, signature):
    with pytest.raises(ArgumentError, match=r"kernel axpy: '"):
        module.get_kernel("axpy", signature)
    with pytest.raises(ArgumentTypeError, match="signature must be a str"):
        module.get_kernel("axpy", None)


def test_ways_to_write_a_signature(module):
    for text in (
        "float const* __restrict__ x,float*y,float alpha,int32_t n",
        " const  float *, float * , const float , const int n ",
    ):
        x, y = mx.nd.ones((3,)), mx.nd.zeros((3,))
        module.get_kernel("axpy", text).launch([x, y, 2, 3], mx.cpu(), (1, 1, 1), (3, 1, 1))
        assert y.asnumpy().tolist() == [2, 2, 2]


def test_names(module):
    with pytest.raises(KernelError, match="no kernel named 'xapy'; it has axpy"):
        module.get_kernel("xapy", "float *x")
    with pytest.raises(KernelError, match="an instance of a template must be listed in exports"):
        module.get_kernel("fill<double>", "double *x, double v")


@pytest.mark.parametrize(
    "change, kind, words",
    [
        (lambda a: a[:3], ArgumentError, "takes 4 arguments, got 3"),
        (lambda a: [*a, 1], ArgumentError, "takes 4 arguments, got 5"),
        (lambda a: 3, ArgumentTypeError, "args must be a list"),
        (lambda a: [1.0, *a[1:]], ArgumentTypeError, "'const float [*]x': expected an NDArray"),
        (lambda a: [np.ones(4), *a[1:]], ArgumentTypeError, "expected an NDArray"),
        (lambda a: [a[0].astype("int32"), *a[1:]], ArgumentTypeError, "[*]x': the array is int32"),
        (lambda a: [a[0], a[1], "1", 4], ArgumentTypeError, "'float alpha': expected a number"),
        (lambda a: [a[0], a[1], a[0], 4], ArgumentTypeError, "'float alpha': expected a number"),
        (lambda a: [a[0], a[1], 1.0, 4.0], ArgumentTypeError, "'int n': expected an int"),
        (lambda a: [a[0], a[1], 1.0, 2**31], ArgumentError, "2147483648 does not fit"),
        (lambda a: [a[0], a[1], 10**400, 4], ArgumentError, "bits> does not fit"),
        (lambda a: [a[0].as_in_context(mx.cpu(1)), *a[1:]], ArgumentError, "on cpu[(]1[)], not on"),
    ],
)
def test_arguments_of_a_launch(axpy, change, kind, words):
    y = mx.nd.zeros((4,))
    args = change([mx.nd.ones((4,)), y, 2.0, 4])
    with pytest.raises(kind, match=f"kernel axpy.*{words}"):
        axpy.launch(args, mx.cpu(), (1, 1, 1), (4, 1, 1))
    assert not y.asnumpy().any()


@pytest.mark.parametrize(
    "grid, block, shared, words",
    [
        ((1, 1, 1), (1025, 1, 1), 0, "not within"),
        ((1, 1, 1), (64, 32, 1), 0, "2048 threads, 1024 is the most"),
        ((0, 1, 1), (1, 1, 1), 0, "a grid of"),
        ((1, 1, 1), (1, 1, 1), 1 << 20, "1048576 bytes of shared memory"),
    ],
)
def test_limits_of_a_launch(axpy, grid, block, shared, words):
    x = mx.nd.ones((4,))
    with pytest.raises(ArgumentError, match=f"kernel axpy: .*{words}"):
        axpy.launch([x, x.copy(), 2.0, 4], mx.cpu(), grid, block, shared)


def test_the_gpu_is_not_there(axpy):
    x = mx.nd.ones((4,))
    with pytest.raises(CynetError, match="mx.gpu[(][)] needs"):
        axpy.launch([x, x.copy(), 2.0, 4], mx.gpu(), (1, 1, 1), (4, 1, 1))
    with pytest.raises(ArgumentTypeError, match="ctx must be a Context"):
        axpy.launch([x, x.copy(), 2.0, 4], "cpu", (1, 1, 1), (4, 1, 1))


@pytest.mark.parametrize(
    "change, kind, words",
    [
        (lambda x, y: ([x, x], [y]), ArgumentError, "inputs takes 1 arrays, got 2"),
        (lambda x, y: ([x], []), ArgumentError, "outputs takes 1 arrays, got 0"),
        (lambda x, y: (x, [y]), ArgumentTypeError, "inputs must be a list"),
        (lambda x, y: ([1], [y]), ArgumentTypeError, "x must be an NDArray"),
        (lambda x, y: ([x.astype("float64")], [y]), ArgumentTypeError, "x is float64, .* float32"),
        (lambda x, y: ([x], [y.reshape((3, 1))]), ArgumentError, "y has 2 axes, .* for 1"),
        (lambda x, y: ([x], [y.as_in_context(mx.cpu(2))]), ArgumentError, r"y is on cpu\(2\), x"),
    ],
)
def test_arrays_of_a_push(change, kind, words):
    x, y = mx.nd.ones((3,)), mx.nd.zeros((3,))
    kernel = mx.rtc("same", [("x", x)], [("y", y)], "y[threadIdx.x] = x[threadIdx.x];")
    with pytest.raises(kind, match=f"kernel same: .*{words}"):
        kernel.push(*change(x, y), (1, 1, 1), (3, 1, 1))
    assert not y.asnumpy().any()


@pytest.mark.parametrize(
    "name, inputs, outputs, body, kind",
    [
        ("a b", "x", "y", "", ArgumentError),
        ("f", "x", "x", "", ArgumentError),
        ("f", "1x", "y", "", ArgumentError),
        ("f", "x", "y", b"", ArgumentTypeError),
        ("f", None, "y", "", ArgumentTypeError),
        ("f", "float", "y", "", KernelError),
    ],
)
def test_constructor(name, inputs, outputs, body, kind):
    x = mx.nd.ones((3,))
    first = [("x", 3.0)] if inputs is None else [(inputs, x)]
    with pytest.raises(kind, match="arguments of f: expected|be an identifier, got|kernel f"):
        mx.rtc(name, first, [(outputs, x)], body)


def test_lists_that_are_none():
    x = mx.nd.ones((3,))
    for pair in (None, 3, {"x": x}):
        with pytest.raises(ArgumentTypeError, match="inputs must be a list of"):
            mx.rtc("f", pair, [("y", x)], "")
    for name in ("options", "exports"):
        with pytest.raises(ArgumentTypeError, match=f"{name} must be a list of str, got None"):
            mx.rtc.CudaModule("__global__ void f(float *x) {}", **{name: None})


def test_errors_in_the_arguments_are_not_taken_for_the_bodys():
    x = mx.nd.ones((3,))
    with pytest.raises(KernelError, match="arguments of f: ") as caught:
        mx.rtc("f", [("float", x)], [("y", x)], "int a;\nint b;\nint c;")
    assert "int c" not in str(caught.value)


def test_compile_errors_quote_the_body():
    x = mx.nd.ones((3,))
    body = "\n  int i = threadIdx.x;\n  y[i] = x[i] + not_there;\n"
    with pytest.raises(KernelError, match="broken does not compile") as caught:
        mx.rtc("broken", [("x", x)], [("y", x)], body)
    assert "line 3:" in str(caught.value) and "y[i] = x[i] + not_there;" in str(caught.value)
    with pytest.raises(KernelError, match="source does not compile:\n  line 2:"):
        mx.rtc.CudaModule("__global__ void f(float *x) {\n  x[0] = }\n")


@pytest.mark.parametrize("engine", ["inline", "workers"])
def test_failures_are_raised_where_somebody_waits(engine):
    n = 8 if engine == "inline" else 1 << 16
    x, y = mx.nd.ones((n,)), mx.nd.zeros((n,))
    body = "\nint i = blockIdx.x * blockDim.x + threadIdx.x;\ny[i + 1] = x[i];"
    kernel = mx.rtc("off_by_one", [("x", x)], [("y", y)], body, check=True)
    kernel.push([x], [y], (n // 8, 1, 1), (8, 1, 1))
    later = y + 1
    with pytest.raises(KernelError, match="writes 4 bytes past the end of argument") as caught:
        later.asnumpy()
    text = str(caught.value)
    assert isinstance(caught.value, mx.base.MXNetError)
    assert "kernel off_by_one, line 3" in text and "y[i + 1] = x[i];" in text
    assert f"block ({n // 8 - 1}, 0, 0), thread (7, 0, 0)" in text
    assert "writes 4 bytes past the end of argument 2 (y)" in text
    assert re.search(r"launched at .*test_rtc.py:\d+", text)
    # the engine goes on, and the arrays can be used again
    good = mx.rtc("same", [("x", x)], [("y", y)], "y[blockIdx.x] = x[blockIdx.x];", check=True)
    good.push([x], [y], (n, 1, 1), (1, 1, 1))
    np.testing.assert_array_equal(y.asnumpy(), np.ones(n))


def test_without_a_compiler(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    compiler.host_compiler.cache_clear()
    x = mx.nd.ones((3,))
    try:
        with pytest.raises(CynetError, match="CXX='no-such-compiler' was not found; CUDA kernels"):
            mx.rtc("f", [], [("x", x)], "x[0] = 17.25;")
    finally:
        compiler.host_compiler.cache_clear()


def test_checking_mode_by_the_environment(monkeypatch):
    x = mx.nd.ones((3,))
    monkeypatch.setenv("CYNET_CHECK_KERNELS", "1")
    kernel = mx.rtc("out", [("x", x)], [("y", x)], "y[x_dims[0]] = 1;")
    kernel.push([x], [x], (1, 1, 1), (1, 1, 1))
    with pytest.raises(KernelError, match="kernel out, line 1"):
        x.asnumpy()


def test_divergent_barrier():
    x = mx.nd.zeros((4,))
    body = "if (threadIdx.x < 2) __syncthreads();\nx[threadIdx.x] = 1;"
    mx.rtc("half", [], [("x", x)], body).push([], [x], (1, 1, 1), (4, 1, 1))
    assert x.asnumpy().all()  # as on a device: those that have left are not waited for
    checked = mx.rtc("half", [], [("x", x)], body, check=True)
    checked.push([], [x], (1, 1, 1), (4, 1, 1))
    with pytest.raises(KernelError, match="kernel half, line 1, .*barrier divergence"):
        x.wait_to_read()


class KernelSoftmax(mx.operator.NDArrayOp):
    """Softmax with the loss's gradient, a thread for each row forward and each element backward."""

    def __init__(self):
        super().__init__(need_top_grad=False)
        self.fwd_kernel = self.bwd_kernel = None

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]]

    def forward(self, in_data, out_data):
        x, y = in_data[0], out_data[0]
        if self.fwd_kernel is None:
            self.fwd_kernel = mx.rtc(
                "softmax",
                [("x", x)],
                [("y", y)],
                """
                const int row = blockIdx.x * blockDim.x + threadIdx.x;
                const float *from = x + row * x_dims[1];
                float *to = y + row * x_dims[1];
                float most = from[0], sum = 0.0f;
                for (int j = 1; j < x_dims[1]; ++j) most = fmaxf(most, from[j]);
                for (int j = 0; j < x_dims[1]; ++j) sum += to[j] = expf(from[j] - most);
                for (int j = 0; j < x_dims[1]; ++j) to[j] /= sum;
                """,
            )
        self.fwd_kernel.push([x], [y], (1, 1, 1), (x.shape[0], 1, 1))

    def backward(self, out_grad, in_data, out_data, in_grad):
        y, label, dx = out_data[0], in_data[1], in_grad[0]
        if self.bwd_kernel is None:
            self.bwd_kernel = mx.rtc(
                "softmax_grad",
                [("y", y), ("l", label)],
                [("dx", dx)],
                """
                const int i = blockIdx.x * dx_dims[1] + threadIdx.x;
                dx[i] = y[i] - (threadIdx.x == static_cast<int>(l[blockIdx.x]) ? 1.0f : 0.0f);
                """,
            )
        self.bwd_kernel.push([y, label], [dx], (y.shape[0], 1, 1), (y.shape[1], 1, 1))


def network(softmax):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=32, name="fc1")
    net = mx.sym.Activation(net, act_type="relu")
    net = mx.sym.FullyConnected(net, num_hidden=4, name="fc2")
    if softmax == "kernel":
        return KernelSoftmax()(data=net, name="softmax")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def test_an_operator_of_kernels_trains_as_the_built_in(rng):
    """Module.fit with the softmax as two kernels gives the weights of SoftmaxOutput's."""
    label = rng.integers(0, 4, 300).astype("f")
    data = (rng.standard_normal((300, 16)) + 2 * np.eye(4, 16)[label.astype(int)]).astype("f")
    weights = {}
    for softmax in ("kernel", "built-in"):
        train = mx.io.NDArrayIter(data, label, batch_size=50, label_name="softmax_label")
        module = mx.mod.Module(network(softmax))
        mx.random.seed(5)
        np.random.seed(5)
        module.fit(
            train,
            num_epoch=8,
            optimizer_params={"learning_rate": 0.5},
            initializer=mx.init.Xavier(),
            batch_end_callback=mx.callback.Speedometer(50, 3),
        )
        weights[softmax] = module.get_params()[0]
        assert module.score(train, "acc")[0][1] > 0.8
    for name, weight in weights["built-in"].items():
        np.testing.assert_allclose(
            weights["kernel"][name].asnumpy(), weight.asnumpy(), rtol=1e-3, atol=1e-5
        )


def test_the_module_is_callable_and_a_module():
    assert mx.rtc.__name__ == "cynet.rtc" and callable(mx.rtc)
    with pytest.raises(
        TypeError, match="missing 3 required positional arguments: 'inputs', 'outputs'"
    ):
        mx.rtc("name")


def test_a_kernel_made_again_is_the_same_kernel():
    """As in an operator that calls mx.rtc in each forward: nothing is compiled or kept twice."""
    x = mx.nd.ones((3,))
    made = [mx.rtc("again", [("x", x)], [("y", x)], "y[0] = 2 * x[0];") for _ in range(3)]
    assert len({id(kernel._launcher_on_device(mx.cpu())) for kernel in made}) == 1
    other = mx.rtc("again", [("z", x)], [("y", x)], "y[0] = 2 * z[0];")
    assert other._launcher_on_device(mx.cpu()) is not made[0]._launcher_on_device(mx.cpu())
    for kernel in [*made, other]:
        kernel.push([x], [x], (1, 1, 1), (1, 1, 1))
    assert x[0].asscalar() == 16


@pytest.mark.parametrize("engine, workers", [("NaiveEngine", 0), ("ThreadedEngine", 1)])
def test_on_other_engines(engine, workers):
    code = """
import numpy as np, cynet as mx
x, y = mx.nd.ones((1 << 16,)), mx.nd.zeros((1 << 16,))
body = "int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] += x[i];"
kernel = mx.rtc("more", [("x", x)], [("y", y)], body)
for _ in range(10):
    kernel.push([x], [y], (256, 1, 1), (256, 1, 1))
assert (y.asnumpy() == 10).all()
bad = mx.rtc("bad", [], [("y", y)], "y[y_dims[0]] = 1;", check=True)
bad.push([], [y], (1, 1, 1), (1, 1, 1))
try:
    y.asnumpy()
except mx.MXNetError as error:
    assert "kernel bad, line 1" in str(error)
else:
    raise SystemExit("no error")
kernel.push([x], [y], (256, 1, 1), (256, 1, 1))
assert (y.asnumpy() == 11).all()
"""
    env = {**os.environ, "CYNET_ENGINE_TYPE": engine, "CYNET_CPU_WORKERS": str(workers)}
    subprocess.run([sys.executable, "-W", "error", "-c", code], env=env, check=True, timeout=120)
