"""Kernels on the host: what CUDA C++ means there, against NumPy."""

import ctypes

import numpy as np
import pytest

from cynet_cuda_cpu import EmulatedModule

FLOAT, INT, UINT = ctypes.c_float, ctypes.c_int, ctypes.c_uint

PLACES = """
__global__ void places(int *out, int *sizes) {
  int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  int threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] = 1000 * block + 100 * threadIdx.z + 10 * threadIdx.y + threadIdx.x;
  if (block == 0 && thread == 0) {
    sizes[0] = gridDim.x; sizes[1] = gridDim.y; sizes[2] = gridDim.z;
    sizes[3] = blockDim.x; sizes[4] = blockDim.y; sizes[5] = blockDim.z;
    sizes[6] = warpSize;
  }
}
"""


def run(module, name, arguments, grid=1, block=1, shared=0, threads=2):
    module.get(name).launch(arguments, grid, block, shared, threads)


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_built_in_variables(checked, threads):
    module = EmulatedModule(PLACES, checked=checked)
    out, sizes = np.zeros(2 * 3 * 4 * 24, np.int32), np.zeros(7, np.int32)
    run(module, "places", [out, sizes], (2, 3, 4), (4, 3, 2), threads=threads)
    z, y, x = np.indices((2, 3, 4)).reshape(3, -1)
    want = 1000 * np.arange(24)[:, None] + (100 * z + 10 * y + x)[None, :]
    np.testing.assert_array_equal(out, want.ravel())
    assert sizes.tolist() == [2, 3, 4, 4, 3, 2, 32]


LANGUAGE = """
#include <cuda_fp16.h>
#include <stdint.h>
#define TILE 16
__constant__ float weights[4] = {1.f, 2.f, 4.f, 8.f};
__device__ int visits = 0;
namespace tools {
template <typename T>
__device__ __forceinline__ T square(T x) { return x * x; }
__host__ __device__ inline float both(float x) { return x + 0.5f; }
}
struct Pair { float first; int second; };

extern "C" __global__ void __launch_bounds__(256) qualifiers(
    const float *__restrict__ x, float *__restrict__ y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = tools::both(tools::square(__ldg(x + i))) * weights[i & 3];
}
extern "C" __global__ void count_visits(int *out) { out[0] = atomicAdd(&visits, 1) + 1; }
template <typename T, int K>
__global__ void scale(T *x, T by) { x[threadIdx.x] *= by * K; }
namespace deep {
__global__ void inside(Pair p, float *out) { out[0] = p.first * p.second; }
}
extern "C" __global__ void __launch_bounds__(TILE * TILE)
transpose(const float *x, float *y, int n) {
  __shared__ float tile[TILE][TILE + 1];
  int i = blockIdx.y * TILE + threadIdx.y, j = blockIdx.x * TILE + threadIdx.x;
  if (i < n && j < n) tile[threadIdx.y][threadIdx.x] = x[i * n + j];
  __syncthreads();
  i = blockIdx.x * TILE + threadIdx.y, j = blockIdx.y * TILE + threadIdx.x;
  if (i < n && j < n) y[i * n + j] = tile[threadIdx.x][threadIdx.y];
}
extern __shared__ __align__(16) unsigned char arena[];
extern "C" __global__ void outer_dynamic(int *x) {
  float *floats = reinterpret_cast<float *>(arena);
  int *ints = (int *)&floats[blockDim.x];
  floats[threadIdx.x] = 0.5f * x[threadIdx.x];
  ints[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  const int other = blockDim.x - 1 - threadIdx.x;
  x[threadIdx.x] = ints[other] + (int)(2 * floats[other]);
}
template <typename T>
__device__ T block_sum(T value) {
  extern __shared__ double shared_words[];
  T *partial = reinterpret_cast<T *>(shared_words);
  partial[threadIdx.x] = value;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  return partial[0];
}
extern "C" __global__ void sums(const double *x, double *y) {
  const double sum = block_sum(x[blockIdx.x * blockDim.x + threadIdx.x]);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
extern "C" __global__ void votes(const int *x, int *out) {
  const int v = x[threadIdx.x];
  const int some = __syncthreads_count(v > 2), every = __syncthreads_and(v > 2);
  const int one = __syncthreads_or(v > 2);
  if (threadIdx.x == 0) { out[0] = some; out[1] = every; out[2] = one; }
}
__global__ void div(float *x) { x[0] /= 2; }  // a name that the C library has, too
extern "C" __global__ void nothing() {}
extern "C" __global__ void many(int *x, long long a, unsigned char b, double c, half d, bool e) {
  x[0] = a; x[1] = b; x[2] = c; x[3] = (float)d; x[4] = e;
}
extern "C" __global__ void vectors(const float4 *x, float2 *y) {
  float4 v = x[threadIdx.x];
  dim3 d(2, 3);
  y[threadIdx.x] = make_float2(v.x + v.y * d.x, v.z * d.y + v.w * d.z);
}
extern "C" __global__ void halves(const half *x, const half2 *p, half *y, float *z) {
  const int i = threadIdx.x;
  y[i] = __hadd(x[i], __float2half(1.5f)) * x[i];
  half2 both = __hfma2(p[i], __float2half2_rn(2.0f), p[i]);
  z[2 * i] = __low2float(both); z[2 * i + 1] = __half2float(__high2half(both));
}
"""


@pytest.fixture(scope="module")
def language():
    return EmulatedModule(LANGUAGE, "language.cu", (), ["scale<float, 3>"])


@pytest.fixture(scope="module")
def language_checked():
    return EmulatedModule(LANGUAGE, "language.cu", (), ["scale<float, 3>"], checked=True)


@pytest.fixture(params=["fast", "checked"])
def module(request):
    name = "language" if request.param == "fast" else "language_checked"
    return request.getfixturevalue(name)


def test_qualifiers_constants_and_namespaces(module, rng):
    x, y = rng.standard_normal(1000).astype("f"), np.zeros(1000, "f")
    run(module, "qualifiers", [x, y, INT(1000)], 4, 256)
    np.testing.assert_allclose(y, (x * x + 0.5) * np.tile([1, 2, 4, 8], 250), rtol=1e-5)
    out = np.zeros(1, np.int32)
    run(module, "count_visits", [out])
    run(module, "count_visits", [out])
    assert out[0] == 2  # a __device__ variable lives from launch to launch


def test_templates_namespaces_structs(module):
    x = np.arange(8, dtype="f")
    run(module, "scale<float, 3>", [x, FLOAT(0.5)], 1, 8)
    np.testing.assert_array_equal(x, np.arange(8) * 1.5)

    class Pair(ctypes.Structure):
        _fields_ = [("first", FLOAT), ("second", INT)]

    out = np.zeros(1, "f")
    run(module, "deep::inside", [Pair(2.5, 4), out])
    assert out[0] == 10
    x = np.array([3], "f")
    run(module, "div", [x])
    assert x[0] == 1.5
    run(module, "nothing", [], 5, 7)


@pytest.mark.parametrize("n", [16, 37, 64])
def test_static_shared_memory(module, rng, n):
    x, y = rng.standard_normal((n, n)).astype("f"), np.zeros((n, n), "f")
    blocks = -(-n // 16)
    run(module, "transpose", [x, y, INT(n)], (blocks, blocks), (16, 16))
    np.testing.assert_array_equal(y, x.T)


def test_dynamic_shared_memory(module, rng):
    x = np.arange(96, dtype=np.int32)
    run(module, "outer_dynamic", [x], 1, 96, 8 * 96)
    np.testing.assert_array_equal(x, 2 * np.arange(96)[::-1])
    x, y = rng.standard_normal(8 * 128), np.zeros(8)
    run(module, "sums", [x, y], 8, 128, 8 * 128)
    np.testing.assert_allclose(y, x.reshape(8, 128).sum(1), 1e-12, 1e-12)


@pytest.mark.parametrize("values", [[0, 1, 2, 3, 4], [3, 4, 5], [0, 0]])
def test_counting_barriers(module, values):
    x, out = np.array(values, np.int32), np.zeros(3, np.int32)
    run(module, "votes", [x, out], 1, len(values))
    assert out.tolist() == [(x > 2).sum(), (x > 2).all(), (x > 2).any()]


def test_values_of_every_type(module):
    out = np.zeros(5, np.int32)
    half = ctypes.c_uint16(int(np.float16(7).view(np.uint16)))
    run(
        module,
        "many",
        [
            out,
            ctypes.c_longlong(2**31 - 1),
            ctypes.c_ubyte(200),
            ctypes.c_double(-3),
            half,
            ctypes.c_bool(True),
        ],
    )
    assert out.tolist() == [2**31 - 1, 200, -3, 7, 1]
    kinds = [str(p) for p in module.get("many").parameters]
    assert kinds == ["int *", "long long", "unsigned char", "double", "__half", "bool"]


def test_vectors_and_halves(module, rng):
    x, y = rng.standard_normal((5, 4)).astype("f"), np.zeros((5, 2), "f")
    run(module, "vectors", [x, y], 1, 5)
    want = np.stack([x[:, 0] + 2 * x[:, 1], 3 * x[:, 2] + x[:, 3]], 1)
    np.testing.assert_allclose(y, want, rtol=1e-6, atol=1e-6)
    x = rng.standard_normal(6).astype(np.float16)
    p = rng.standard_normal((6, 2)).astype(np.float16)
    y, z = np.zeros(6, np.float16), np.zeros(12, "f")
    run(module, "halves", [x, p, y, z], 1, 6)
    np.testing.assert_array_equal(y, (x + np.float16(1.5)) * x)  # rounded after each step
    want = (p.astype("f") * 2 + p.astype("f")).astype(np.float16)
    np.testing.assert_array_equal(z.reshape(6, 2), want)


WARPS = """
extern "C" __global__ void shuffles(const float *x, float *out) {
  const int i = threadIdx.x;
  const unsigned all = 0xffffffffu;
  const float v = x[i];
  out[i] = __shfl_sync(all, v, 5);
  out[64 + i] = __shfl_up_sync(all, v, 3);
  out[128 + i] = __shfl_down_sync(all, v, 3, 8);
  out[192 + i] = __shfl_xor_sync(all, v, 1);
  out[256 + i] = __shfl_sync(all, v, 9, 8);
  out[320 + i] = __shfl_xor_sync(all, v, 8, 8);
}
extern "C" __global__ void ballots(const int *x, unsigned *out) {
  const int i = threadIdx.x, lane = i & 31, w = i >> 5;
  const unsigned all = 0xffffffffu;
  unsigned b = __ballot_sync(all, x[i] & 1);
  int any = __any_sync(all, x[i] == 7), every = __all_sync(all, x[i] >= 0);
  unsigned same = __match_any_sync(all, x[i] % 3);
  unsigned mask = __activemask();
  unsigned add = __reduce_add_sync(all, (unsigned)x[i]), most = __reduce_max_sync(all, -x[i]);
  if (lane == 0) {
    out[8 * w] = b; out[8 * w + 1] = any; out[8 * w + 2] = every; out[8 * w + 3] = same;
    out[8 * w + 4] = mask; out[8 * w + 5] = add; out[8 * w + 6] = most;
  }
}
extern "C" __global__ void halves_of_a_warp(const int *x, int *out) {
  const int i = threadIdx.x;
  const unsigned mask = i < 16 ? 0x0000ffffu : 0xffff0000u;
  int v = x[i];
  if (i < 16) for (int d = 8; d; d /= 2) v += __shfl_xor_sync(mask, v, d);
  else for (int d = 8; d; d /= 2) v = max(v, __shfl_xor_sync(mask, v, d));
  out[i] = v;
}
extern "C" __global__ void warp_sums(const double *x, double *out) {
  __shared__ double partial[32];
  double v = x[blockIdx.x * blockDim.x + threadIdx.x];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
  }
}
extern "C" __global__ void exchange(int *x) {
  __shared__ int s[32];
  s[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  x[threadIdx.x] = s[(threadIdx.x + 1) % 32];
}
"""


@pytest.fixture(params=[(), ("-DCYNET_UCONTEXT",)], ids=["own switch", "ucontext"])
def warps(request):
    return EmulatedModule(WARPS, "warps.cu", request.param)


def test_shuffles(warps, rng):
    x, out = rng.standard_normal(64).astype("f"), np.zeros((6, 64), "f")
    run(warps, "shuffles", [x, out], 1, 64)
    w, e = x.reshape(2, 32), x.reshape(8, 8)
    np.testing.assert_array_equal(out[0].reshape(2, 32), np.broadcast_to(w[:, 5:6], (2, 32)))
    np.testing.assert_array_equal(out[1].reshape(2, 32), np.concatenate([w[:, :3], w[:, :-3]], 1))
    np.testing.assert_array_equal(out[2].reshape(8, 8), np.concatenate([e[:, 3:], e[:, 5:]], 1))
    np.testing.assert_array_equal(out[3].reshape(-1, 2), x.reshape(-1, 2)[:, ::-1])
    np.testing.assert_array_equal(out[4].reshape(8, 8), np.broadcast_to(e[:, 1:2], (8, 8)))
    # flipping 8 leaves a group of 8: upward gives the own value, downward the other group's
    index = np.arange(64)
    np.testing.assert_array_equal(out[5], x[np.where(index & 8, index ^ 8, index)])


@pytest.mark.parametrize("threads", [64, 40])
def test_votes_of_a_warp(warps, rng, threads):
    x = rng.integers(0, 9, 64).astype(np.int32)
    out = np.zeros((2, 8), np.uint32)
    run(warps, "ballots", [x, out], 1, threads)
    for w in range(2):
        part = x[32 * w : min(32 * w + 32, threads)]
        odd, same = (
            sum(1 << i for i, v in enumerate(c) if v) for c in (part & 1, part % 3 == part[0] % 3)
        )
        most = -int(part.min()) % 2**32
        want = [odd, (part == 7).any(), True, same, (1 << len(part)) - 1, part.sum(), most]
        assert out[w, :7].tolist() == want


def test_halves_of_a_warp_go_their_own_ways(warps, rng):
    x, out = rng.integers(0, 100, 32).astype(np.int32), np.zeros(32, np.int32)
    run(warps, "halves_of_a_warp", [x, out], 1, 32)
    assert (out[:16] == x[:16].sum()).all() and (out[16:] == x[16:].max()).all()


@pytest.mark.parametrize("block", [32, 256, 1024])
def test_barriers_and_shuffles_together(warps, rng, block):
    x, out = rng.standard_normal(9 * block), np.zeros(9)
    for threads in (1, 2):
        run(warps, "warp_sums", [x, out], 9, block, threads=threads)
        np.testing.assert_allclose(out, x.reshape(9, block).sum(1), rtol=1e-9, atol=1e-12)


def test_syncwarp(warps):
    x = np.arange(32, dtype=np.int32)
    run(warps, "exchange", [x], 1, 32)
    np.testing.assert_array_equal(x, (np.arange(32) + 1) % 32)


def test_what_needs_fibres_is_known():
    module = EmulatedModule(
        """
        #define MEET() __syncthreads()
        // __syncthreads() in a comment, "__syncthreads" in a text: neither counts
        __device__ void deeper() { MEET(); }
        __device__ void deep() { deeper(); }
        __global__ void plain(float *x) { const char *t = "__syncthreads()"; x[0] = t[0]; }
        __global__ void meets(float *x) { deep(); x[0] = 1; }
        """
    )
    assert [k.synchronises for k in module.kernels.values()] == [False, True]


def test_waiting_functions_in_headers_operators_and_arguments(tmp_path):
    (tmp_path / "deeper.h").write_text("#define MEET() __syncthreads()\n")
    (tmp_path / "mine.h").write_text(
        '#include "deeper.h"\ntemplate <class T> __device__ void in_header(T *x) { MEET(); }\n'
    )
    text = """
    #include "mine.h"
    __device__ void meets() { __syncthreads(); }
    template <void (*f)()> __global__ void by_argument(int *x) { f(); x[threadIdx.x] = 1; }
    __global__ void by_header(int *x) { in_header(x); x[threadIdx.x] = 2; }
    """
    exports = ["by_argument<meets>"]
    module = EmulatedModule(text, "mine.cu", [f"-I{tmp_path}"], exports)
    assert all(k.synchronises for k in module.kernels.values())
    operator = """
    struct Meet { __device__ void operator()() const { __syncthreads(); } };
    template <class F> __global__ void by_operator(int *x) { F()(); x[threadIdx.x] = 3; }
    """
    module.kernels.update(EmulatedModule(operator, "m.cu", (), ["by_operator<Meet>"]).kernels)
    for i, name in enumerate(("by_argument<meets>", "by_header", "by_operator<Meet>"), 1):
        x = np.zeros(40, np.int32)
        run(module, name, [x], 1, 40)
        assert (x == i).all()
