"""Cooperative groups and idioms of CUDA's samples in emulated kernels, against NumPy."""

import numpy as np
import pytest

from cynet.base.errors import KernelError
from cynet_cuda_cpu import EmulatedModule

GROUPS = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void sums(const float *x, float *y) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  __shared__ float s[64];
  s[block.thread_rank()] = cg::reduce(tile, x[block.thread_rank()], cg::plus<float>());
  block.sync();
  y[block.thread_rank()] = s[(block.thread_rank() + 8) % block.size()];
}
__global__ void tiles(const float *x, float *y) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const int i = cg::this_thread_block().thread_rank();
  const float most = cg::reduce(tile, x[i], cg::greater<float>());
  const float least = cg::reduce(tile, x[i], cg::less<float>());
  const float neighbour = tile.shfl_down(x[i], 1), back = tile.shfl_up(x[i], 2);
  const float first = tile.shfl(x[i], 0), other = tile.shfl_xor(x[i], 5);
  cg::sync(tile);
  const unsigned odd = tile.ballot(tile.thread_rank() & 1);
  y[i] = most + 2 * least + 3 * neighbour + 5 * back + 7 * first + 11 * other +
         1000 * (odd == 0xaaaau) + 2000 * tile.all(1) + 4000 * tile.any(tile.thread_rank() == 3) +
         8000 * tile.all(tile.thread_rank() != 3) + 10000 * tile.meta_group_rank();
}
"""


@pytest.mark.parametrize("checked", [False, True])
def test_groups(checked):
    module = EmulatedModule(GROUPS, checked=checked)
    x = np.random.RandomState(5).randint(0, 50, 64).astype("f")
    y = np.zeros(64, "f")
    module.get("sums").launch([x, y], 1, 64)
    np.testing.assert_array_equal(y, np.roll(np.repeat(x.reshape(8, 8).sum(1), 8), -8))
    module.get("tiles").launch([x, y], 1, (8, 8))
    rows, lane = x.reshape(4, 16), np.arange(16)
    want = rows.max(1, keepdims=True) + 2 * rows.min(1, keepdims=True)
    want = want + 3 * rows[:, np.minimum(lane + 1, 15)] + 7 * rows[:, :1] + 11 * rows[:, lane ^ 5]
    want += 5 * rows[:, np.where(lane < 2, lane, lane - 2)] + 7000
    np.testing.assert_array_equal(y, (want + 10000 * np.arange(4)[:, None]).ravel())


def test_barrier_of_a_group_has_its_line():
    text = GROUPS[: GROUPS.index("__global__ void tiles")].replace(
        "  block.sync();", "  if (threadIdx.x > 3) block.sync();"
    )
    x = np.zeros(64, "f")
    with pytest.raises(KernelError, match="line 10.*barrier divergence"):
        EmulatedModule(text, checked=True).get("sums").launch([x, x], 1, 64)


def test_shared_memory_by_a_type():
    """The class of CUDA's samples that gives a template dynamic shared memory of its type."""
    source = """
template <typename T> struct SharedMemory {
  __device__ inline operator T *() {
    extern __shared__ int __smem[];
    return (T *)__smem;
  }
  __device__ inline operator const T *() const {
    extern __shared__ int __smem[];
    return (T *)__smem;
  }
};
template <typename T> __global__ void reverse(const T *x, T *y) {
  T *s = SharedMemory<T>();
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
"""
    names = {"reverse<float>": "f", "reverse<double>": "d"}
    module = EmulatedModule(source, exports=list(names))
    for name, kind in names.items():
        x, y = np.arange(48, dtype=kind), np.zeros(48, kind)
        module.get(name).launch([x, y], 1, 48, x.nbytes)
        np.testing.assert_array_equal(y, x[::-1])


def test_two_types_in_dynamic_shared_memory():
    source = """
extern __shared__ float floats[];
extern __shared__ __align__(16) int ints[];
__global__ void f(const float *x, float *y) {
  const unsigned t = threadIdx.x;
  floats[t] = x[t];
  ints[blockDim.x + t] = 10 * t;
  __syncthreads();
  y[t] = floats[blockDim.x - 1 - t] + ints[blockDim.x + (t + 1) % blockDim.x];
}
"""
    x, y = np.arange(32, dtype="f"), np.zeros(32, "f")
    EmulatedModule(source).get("f").launch([x, y], 1, 32, 32 * 8)
    np.testing.assert_array_equal(y, x[::-1] + 10 * ((x + 1) % 32))
