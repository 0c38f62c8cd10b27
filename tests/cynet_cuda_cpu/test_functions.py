"""CUDA's functions in emulated kernels: mathematics, bits and atomics, against NumPy and SciPy."""

import ctypes

import numpy as np
import pytest
from scipy import special

from cynet.base.errors import KernelError
from cynet_cuda_cpu import EmulatedModule

REAL = {
    "expf(x)": np.exp,
    "__expf(x)": np.exp,
    "logf(fabsf(x))": lambda x: np.log(abs(x)),
    "__logf(fabsf(x))": lambda x: np.log(abs(x)),
    "log2f(fabsf(x))": lambda x: np.log2(abs(x)),
    "tanhf(x)": np.tanh,
    "rsqrtf(fabsf(x))": lambda x: 1 / np.sqrt(abs(x)),
    "rcbrtf(x)": lambda x: 1 / np.cbrt(x),
    "__fdividef(x, 3.0f)": lambda x: x / 3,
    "__powf(fabsf(x), 1.5f)": lambda x: abs(x) ** 1.5,
    "__sinf(x) + cosf(x)": lambda x: np.sin(x) + np.cos(x),
    "sinpif(x)": lambda x: np.sin(np.pi * x),
    "cospif(x)": lambda x: np.cos(np.pi * x),
    "exp10f(x)": lambda x: 10**x,
    "erff(x)": special.erf,
    "erfinvf(tanhf(x))": lambda x: special.erfinv(np.tanh(x)),
    "normcdff(x)": special.ndtr,
    "lgammaf(fabsf(x))": lambda x: special.gammaln(abs(x)),
    "fminf(x, 0.5f) + fmaxf(x, -0.5f)": lambda x: np.minimum(x, 0.5) + np.maximum(x, -0.5),
    "min(x, 0.5f) + max(x, -0.5f)": lambda x: np.minimum(x, 0.5) + np.maximum(x, -0.5),
    "fmaf(x, x, 1.0f)": lambda x: x * x + 1,
    "__fmul_rn(x, __fadd_rn(x, 2.0f))": lambda x: x * (x + 2),
    "__saturatef(x)": lambda x: np.clip(x, 0, 1),
    "copysignf(2.0f, x)": lambda x: np.copysign(2, x),
    "hypotf(x, 2.0f)": lambda x: np.hypot(x, 2),
    "__int_as_float(__float_as_int(x))": lambda x: x,
    "(float)exp((double)x)": np.exp,
    "rsqrt((double)fabsf(x))": lambda x: 1 / np.sqrt(abs(x)),
    "std::exp(x)": np.exp,
    "erfcinvf(1.0f - 0.999f * tanhf(x))": lambda x: special.erfcinv(1 - 0.999 * np.tanh(x)),
    "(float)erfcinv(1e-30 * fabsf(x))": lambda x: special.erfcinv(1e-30 * abs(x)),
    "normcdfinvf(0.25f * normcdff(x))": lambda x: special.ndtri(0.25 * special.ndtr(x)),
    "erfcxf(x)": special.erfcx,
    "(float)erfcx(9.0 + x)": lambda x: special.erfcx(9.0 + x),
    "rhypotf(x, 2.0f)": lambda x: 1 / np.hypot(x, 2),
    "norm4df(x, 1.0f, 2.0f, x) * rnorm3df(x, 1.0f, 2.0f)": lambda x: (
        np.sqrt(2 * x * x + 5) / np.sqrt(x * x + 5)
    ),
    "normf(1, &x) + x * rnormf(1, &x)": lambda x: abs(x) + np.sign(x),
    "(float)(clock64() > 0) + (clock() >= 0)": lambda x: x * 0 + 2,
    "CUDART_PI_F * x": lambda x: np.pi * x,
}
WHOLE = {
    "__float2int_rn(f)": lambda x, f: np.rint(f),
    "__float2int_rz(f)": lambda x, f: np.trunc(f),
    "__float2int_ru(f)": lambda x, f: np.ceil(f),
    "__float2int_rd(f)": lambda x, f: np.floor(f),
    "__float2int_rn(f * 1e20f)": lambda x, f: np.where(f > 0, 2**31 - 1, -(2**31)),
    "__popc(x)": lambda x, f: [bin(v & 0xFFFFFFFF).count("1") for v in x.tolist()],
    "__clz(x)": lambda x, f: [32 - (v & 0xFFFFFFFF).bit_length() for v in x.tolist()],
    "__ffs(x)": lambda x, f: [(v & -v).bit_length() for v in x.tolist()],
    "(int)__brev((unsigned)x)": lambda x, f: [
        int(np.int32(int(f"{v & 0xFFFFFFFF:032b}"[::-1], 2) - (2**32 if v & 1 else 0)))
        for v in x.tolist()
    ],
    "__mulhi(x, 123456789)": lambda x, f: (x.astype("q") * 123456789) >> 32,
    "(int)__umulhi((unsigned)x, 0x9e3779b9u)": lambda x, f: (
        ((x.astype("u4").astype("u8") * np.uint64(0x9E3779B9)) >> np.uint64(32))
        .astype("u4")
        .view("i4")
    ),
    "(int)__byte_perm((unsigned)x, 0u, 0x0123)": lambda x, f: x.byteswap(),
    "(int)__funnelshift_l((unsigned)x, (unsigned)x, 7)": lambda x, f: (
        (x.view("u4") << np.uint32(7)) | (x.view("u4") >> np.uint32(25))
    ).view("i4"),
    "min(x, 5) + max(x, -5)": lambda x, f: np.minimum(x, 5) + np.maximum(x, -5),
}


def table(expressions, kind):
    cases = "\n".join(f"    case {i}: v = {e}; break;" for i, e in enumerate(expressions))
    return f"""
#include <math_constants.h>
extern "C" __global__ void table(const {kind} *xs, const float *fs, {kind} *out, int n) {{
  const int i = threadIdx.x;
  {kind} x = xs[i], v = 0;
  const float f = fs[i];
  switch (blockIdx.x) {{
{cases}
  }}
  out[blockIdx.x * n + i] = v;
}}
"""


def values(expressions, kind, x, f):
    out = np.zeros((len(expressions), x.size), x.dtype)
    module = EmulatedModule(table(expressions, kind), "table.cu")
    module.get("table").launch([x, f, out, ctypes.c_int(x.size)], len(expressions), x.size)
    return out


def test_real_functions():
    x = np.array([-3.1, -1.5, -0.75, -0.1, 0.2, 0.9, 1.0, 2.5, 4.4], "f")
    out = values(REAL, "float", x, x)
    for (name, function), got in zip(REAL.items(), out):
        want = function(x.astype("d"))
        np.testing.assert_allclose(got, want, rtol=3e-6, atol=1e-6, err_msg=name)


def test_integer_functions():
    x = np.array([0, 1, 5, -1, 123456789, -2147483648, 2147483647, 96, -96], np.int32)
    f = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 3.7, -3.7, 100.2, -100.2], "f")
    out = values(WHOLE, "int", x, f)
    for (name, function), got in zip(WHOLE.items(), out):
        np.testing.assert_array_equal(got, np.asarray(function(x, f), "q"), err_msg=name)


def test_conversions_saturate():
    x = np.array([np.nan, np.inf, -np.inf, 3e9], "f")
    out = values(["__float2int_rn(f)", "(int)__float2uint_rn(f)"], "int", np.zeros(4, "i"), x)
    assert out.tolist() == [[0, 2**31 - 1, -(2**31), 2**31 - 1], [0, -1, 0, int(3e9) - 2**32]]


ATOMICS = """
template <typename T>
__global__ void adds(const T *x, T *out) {
  atomicAdd(&out[0], x[blockIdx.x * blockDim.x + threadIdx.x]);
}
template <typename T>
__global__ void extremes(const T *x, T *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicMin(&out[0], x[i]);
  atomicMax(&out[1], x[i]);
}
template <typename T>
__global__ void bits(const T *x, T *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAnd(&out[0], x[i] | (T)0xf0);
  atomicOr(&out[1], x[i]);
  atomicXor(&out[2], x[i]);
  T old = out[3], seen;
  do { seen = old; old = atomicCAS(&out[3], seen, seen + 1); } while (old != seen);
  if (i == 5) out[5] = atomicExch(&out[4], x[i]);
}
extern "C" __global__ void others(int *a, unsigned *b, float *c) {
  atomicSub(a, 2);
  atomicSub(b, 3u);
  if (threadIdx.x == 7) atomicExch(c, 0.5f);
}
extern "C" __global__ void shared_histogram(const int *x, int *out, unsigned *wraps) {
  __shared__ int count[8];
  if (threadIdx.x < 8) count[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&count[x[blockIdx.x * blockDim.x + threadIdx.x] & 7], 1);
  atomicInc(&wraps[0], 6u);
  atomicDec(&wraps[1], 6u);
  __syncthreads();
  if (threadIdx.x < 8) atomicAdd(&out[threadIdx.x], count[threadIdx.x]);
}
"""
ADDS = {"int": "i4", "unsigned": "u4", "unsigned long long": "u8", "float": "f4", "double": "f8"}
EXTREMES = {"int": "i4", "unsigned": "u4", "long long": "i8", "unsigned long long": "u8"}
BITS = {"int": "i4", "unsigned": "u4", "unsigned long long": "u8"}
ATOMIC_EXPORTS = [
    *(f"adds<{t}>" for t in ADDS),
    *(f"extremes<{t}>" for t in EXTREMES),
    *(f"bits<{t}>" for t in BITS),
]


@pytest.fixture(scope="module")
def atomics():
    return EmulatedModule(ATOMICS, "atomics.cu", (), ATOMIC_EXPORTS)


@pytest.mark.parametrize("kind", ADDS)
def test_atomic_sums(atomics, kind):
    x = np.arange(1, 2049).astype(ADDS[kind])
    out = np.zeros(1, ADDS[kind])
    atomics.get(f"adds<{kind}>").launch([x, out], 8, 256, threads=4)
    assert out[0] == x.sum()


@pytest.mark.parametrize("kind", EXTREMES)
def test_atomic_extremes(atomics, kind):
    x = np.arange(1, 2049).astype(EXTREMES[kind])
    x[7:8] -= x.dtype.type(500)  # a number below zero, or a very large one
    out = np.array([100, 100], EXTREMES[kind])
    atomics.get(f"extremes<{kind}>").launch([x, out], 8, 256, threads=4)
    assert out.tolist() == [x.min(), x.max()]


@pytest.mark.parametrize("kind", BITS)
def test_atomic_bits(atomics, kind):
    x = np.arange(0, 128).astype(BITS[kind])
    out = np.array([0xFFFF, 0, 0, 0, 77, 0], BITS[kind])
    atomics.get(f"bits<{kind}>").launch([x, out], 4, 32, threads=4)
    assert out.tolist() == [0xF0, 127, np.bitwise_xor.reduce(x), 128, 5, 77]


def test_other_atomics(atomics):
    a, b, c = np.array([7], "i4"), np.array([200], "u4"), np.ones(1, "f4")
    atomics.get("others").launch([a, b, c], 2, 16, threads=2)
    assert (a[0], b[0], c[0]) == (7 - 64, 200 - 96, 0.5)


def test_types_without_an_atomic_function():
    with pytest.raises(KernelError, match="line 1: .*atomicMin"):
        EmulatedModule("__global__ void f(float *x) { atomicMin(x, 1.0f); }")


def test_rounded_operations_stay_apart():
    text = """
    __global__ void f(const float *x, float *y) {
      const float a = x[threadIdx.x], b = x[threadIdx.x + 1];
      y[threadIdx.x] = __fadd_rn(__fmul_rn(a, b), -__fmul_rn(b, a));
    }
    """
    x = np.random.default_rng(0).standard_normal(257).astype("f")
    y = np.ones(256, "f")
    EmulatedModule(text).get("f").launch([x, y], 1, 256)
    assert not y.any()  # fused, the rounding error of the product would be left


def test_atomics_in_shared_memory(atomics, rng):
    x = rng.integers(0, 1000, 4 * 128).astype(np.int32)
    out, wraps = np.zeros(8, np.int32), np.zeros(2, np.uint32)
    atomics.get("shared_histogram").launch([x, out, wraps], 4, 128, threads=2)
    np.testing.assert_array_equal(out, np.bincount(x & 7, minlength=8))
    assert wraps.tolist() == [512 % 7, (-512) % 7]


def test_extremes_of_what_is_not_a_number():
    """As C has them: a NaN gives way to a number, whichever of the two it is."""
    kernel = EmulatedModule("""
extern "C" __global__ void extremes(const float *a, const float *b, float *most, float *least) {
  most[threadIdx.x] = fmaxf(a[threadIdx.x], b[threadIdx.x]);
  least[threadIdx.x] = fminf(a[threadIdx.x], b[threadIdx.x]);
}
""").get("extremes")
    some = np.array([np.nan, np.inf, -np.inf, -1, 0, 2], "f")
    a, b = (each.ravel() for each in np.meshgrid(some, some))
    most, least = np.empty_like(a), np.empty_like(a)
    kernel.launch([a, b, most, least], 1, a.size)
    np.testing.assert_array_equal(most, np.fmax(a, b))
    np.testing.assert_array_equal(least, np.fmin(a, b))
