"""Kernels whose threads wait for each other, and kernels whose threads do not, against NumPy."""

import ctypes
import functools
import zlib

import numpy as np
import pytest

from cynet_cuda_cpu import EmulatedModule

INT = ctypes.c_int


def softmax(x):
    y = np.exp(x.astype("d") - x.max(1, keepdims=True))
    return y / y.sum(1, keepdims=True)


SOFTMAX = """
__global__ void rows(const float *x, float *y, int count, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= count) return;
  const float *from = x + row * n;
  float *to = y + row * n;
  float most = from[0], sum = 0.0f;
  for (int j = 1; j < n; ++j) most = fmaxf(most, from[j]);
  for (int j = 0; j < n; ++j) sum += to[j] = expf(from[j] - most);
  for (int j = 0; j < n; ++j) to[j] /= sum;
}
__global__ void blocks(const float *x, float *y, int count, int n) {
  extern __shared__ float sm[];
  int row = blockIdx.x;
  int tid = threadIdx.x;
  if (row >= count) return;
  const float *in = x + row * n;
  float *out = y + row * n;
  float m = -INFINITY;
  for (int i = tid; i < n; i += blockDim.x) m = fmaxf(m, in[i]);
  sm[tid] = m;
  __syncthreads();
  #pragma unroll
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) sm[tid] = fmaxf(sm[tid], sm[tid + s]);
    __syncthreads();
  }
  m = sm[0];
  __syncthreads();
  float sum = 0;
  for (int i = tid; i < n; i += blockDim.x) {
    float e = expf(in[i] - m);
    out[i] = e;
    sum += e;
  }
  sm[tid] = sum;
  __syncthreads();
  int s = blockDim.x / 2;
  while (s > 0) {
    if (tid < s) sm[tid] += sm[tid + s];
    __syncthreads();
    s /= 2;
  }
  float inv = 1.0f / sm[0];
  for (int i = tid; i < n; i += blockDim.x) out[i] *= inv;
}
"""


@functools.cache
def softmax_module():
    return EmulatedModule(SOFTMAX)


@pytest.mark.parametrize("shape", [(1, 1), (7, 13), (40, 300)])
@pytest.mark.parametrize("block", [1, 2, 16, 128, 1024])
@pytest.mark.parametrize("threads", [1, 3])
def test_softmax(shape, block, threads):
    x = np.random.RandomState(zlib.crc32(b"softmax")).randn(*shape).astype("f")
    module = softmax_module()
    for name, grid in (("rows", -(-shape[0] // block)), ("blocks", shape[0])):
        kernel = module.get(name)
        assert kernel.synchronises == (name == "blocks")
        y = np.full(shape, np.nan, "f")
        sizes = [INT(n) for n in shape]
        kernel.launch([x, y, *sizes], grid, block, 4 * block, threads)
        np.testing.assert_allclose(y, softmax(x), 1e-5, 1e-7)


def test_axes():
    """Blocks of two and three axes, and tiles."""
    source = """
__global__ void product(const float *a, const float *b, float *c, int n) {
  __shared__ float as[8][8], bs[8][8];
  const int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < (n + 7) / 8; ++t) {
    const int i = t * 8 + threadIdx.x, j = t * 8 + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = row < n && i < n ? a[row * n + i] : 0;
    bs[threadIdx.y][threadIdx.x] = col < n && j < n ? b[j * n + col] : 0;
    __syncthreads();
    for (int k = 0; k < 8; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  if (row < n && col < n) c[row * n + col] = sum;
}
__global__ void turned(const float *x, float *y) {
  __shared__ float s[2][3][4];
  s[threadIdx.z][threadIdx.y][threadIdx.x] = x[(threadIdx.z * 3 + threadIdx.y) * 4 + threadIdx.x];
  __syncthreads();
  y[(threadIdx.x * 3 + threadIdx.y) * 2 + threadIdx.z] = s[threadIdx.z][threadIdx.y][threadIdx.x];
}
"""
    module = EmulatedModule(source)
    a, b = np.random.RandomState(3).randn(2, 30, 30).astype("f")
    c = np.zeros((30, 30), "f")
    module.get("product").launch([a, b, c, INT(30)], (4, 4), (8, 8), 0, 2)
    np.testing.assert_allclose(c, a @ b, 1e-4, 1e-5)
    x = np.arange(24, dtype="f").reshape(2, 3, 4)
    y = np.zeros((4, 3, 2), "f")
    module.get("turned").launch([x, y], 1, (4, 3, 2))
    np.testing.assert_array_equal(y, x.T)


def test_templates():
    source = """
template <typename T, int N> __global__ void sums(const T *x, T *y) {
  __shared__ T s[N];
  int t = threadIdx.x;
  T mine = x[blockIdx.x * N + t];
  s[t] = mine;
  __syncthreads();
  for (int k = N / 2; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  y[blockIdx.x * N + t] = s[0] - mine;
}
"""
    module = EmulatedModule(source, exports=["sums<double, 32>", "sums<int, 64>"])
    for name, kind, n in (("sums<double, 32>", "d", 32), ("sums<int, 64>", "i", 64)):
        x = np.arange(4 * n, dtype=kind).reshape(4, n)
        y = np.zeros_like(x)
        module.get(name).launch([x, y], 4, n, 0, 3)
        np.testing.assert_array_equal(y, x.sum(1, keepdims=True) - x)


def test_every_thread_runs_once():
    """However many system threads share the blocks."""
    source = """
__global__ void f(int *seen, int *order) {
  atomicAdd(&seen[threadIdx.x + blockDim.x * threadIdx.y], 1);
}
"""
    kernel = EmulatedModule(source).get("f")
    for shape in ((1, 1), (15, 1), (17, 2), (100, 3), (1024, 1)):
        for grid in (1, 2, 5):
            seen, order = np.zeros(shape, "i"), np.zeros(1, "i")
            kernel.launch([seen, order], grid, shape, 0, 4)
            assert (seen == grid).all(), (shape, grid)
