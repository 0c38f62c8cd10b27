"""Kernels taken apart at their barriers against NumPy and against the same kernels on fibres."""

import ctypes
import functools
import zlib

import numpy as np
import pytest

from cynet.base.errors import ArgumentError
from cynet.cuda.emulator import EmulatedModule

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
        assert kernel.in_regions
        y = np.full(shape, np.nan, "f")
        sizes = [INT(n) for n in shape]
        kernel.launch([x, y, *sizes], grid, block, 4 * block, threads)
        np.testing.assert_allclose(y, softmax(x), 1e-5, 1e-7)


# Each works on rows of 64 ints: x read, y written. A block has 64 threads, or 8 by 8.
KERNELS = {
    "reverse": """
  __shared__ int copy[64];
  int t = threadIdx.x;
  copy[t] = x[t];
  __syncthreads();
  y[t] = copy[63 - t];""",
    "kept over a barrier": """
  int t = threadIdx.x, twice = 2 * x[t];
  const int third = x[t] / 3;
  __syncthreads();
  y[t] = twice + third;""",
    "changed on both sides": """
  int t = threadIdx.x, a = x[t];
  a += 1;
  __syncthreads();
  a *= 3;
  __syncthreads();
  y[t] = a;""",
    "names used twice": """
  int t = threadIdx.x;
  { int t = x[threadIdx.x]; y[threadIdx.x] = t; }
  __syncthreads();
  { int a = 2 * t; __syncthreads(); { int t = 5; y[threadIdx.x] += a + t; } }
  for (int a = 0; a < 3; ++a) { __syncthreads(); y[t] += a; }""",
    "leaves early": """
  int t = threadIdx.x;
  y[t] = -1;
  if (t >= 40) return;
  __shared__ int all[64];
  all[t] = x[t];
  __syncthreads();
  for (int k = 0; k < 3; ++k) { if (all[t] == k) { y[t] = -2; return; } }
  __syncthreads();
  y[t] = all[39 - t];""",
    "leaves together": """
  if (n > 64) return;
  __syncthreads();
  if (blockDim.x == 7) { return; }
  y[threadIdx.x] = n;""",
    "a barrier for some blocks": """
  int t = threadIdx.x;
  __shared__ int s[64];
  s[t] = x[t];
  if (blockIdx.x == 0) { __syncthreads(); y[t] = s[(t + 1) & 63]; }
  else { y[t] = 7; __syncthreads(); }""",
    "uniform numbers that change": """
  __shared__ int s[2][64];
  int t = threadIdx.x, now = 0;
  s[0][t] = x[t];
  __syncthreads();
  for (int step = 1; step < 64; step *= 2) {
    int next = 1 - now;
    s[next][t] = s[now][t] + (t >= step ? s[now][t - step] : 0);
    now = next;
    __syncthreads();
  }
  y[t] = s[now][t];""",
    "looks uniform and is not": """
  int t = threadIdx.x;
  int limit = 8;
  if (t & 1) limit = 16;
  __syncthreads();
  int total = 0;
  for (int k = 0; k < limit; ++k) total += x[k];
  y[t] = total;""",
    "a place in memory is no constant": """
  __shared__ int one;
  int t = threadIdx.x;
  if (t == 0) one = 5;
  __syncthreads();
  int before = one * (t + 1);
  __syncthreads();
  if (t == 3) one = 9;
  __syncthreads();
  y[t] = before + 100 * one;""",
    "read before it is written": """
  int t = threadIdx.x;
  const int first = y[t] + t;
  y[t] = 100;
  __syncthreads();
  y[t] += first;""",
    "an array of its own": """
  int t = threadIdx.x, mine[4];
  for (int k = 0; k < 4; ++k) mine[k] = x[(t + k) & 63];
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < 4; ++k) sum += (k + 1) * mine[(t + k) & 3];
  mine[0] = sum;
  __syncthreads();
  y[t] = mine[0];""",
    "an array by a number": """
  int h[2];
  h[x[threadIdx.x] & 1] = x[threadIdx.x];
  h[1 - (x[threadIdx.x] & 1)] = 0;
  y[threadIdx.x] = h[0];""",
    "an array behind a number": """
  int t = threadIdx.x, h[2];
  h[x[t] & 1] = x[t];
  h[1 - (x[t] & 1)] = 0;
  y[t] = h[0];""",
    "an array of another function": """
  y[threadIdx.x] = picked(x[threadIdx.x]);""",
    "strides": """
  int last = -1;
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
    if (x[i] < 0) continue;
    y[i] = x[i] + last;
    last = i;
  }""",
    "strides over the grid": """
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i <= n - 1; i += gridDim.x * blockDim.x)
    y[i] = 2 * x[i];""",
    "strides by half": """
  int sum = 0;
  for (int i = threadIdx.x; i < 2.5 * 8; i += blockDim.x / 8) sum += x[i];
  y[threadIdx.x] = sum;""",
    "strides inside of a loop": """
  for (int row = 0; row < 4; ++row) {
    int add = row;
    for (int i = threadIdx.x / 4; i < 16; i += blockDim.x / 4) if (!(threadIdx.x & 3)) {
      y[16 * row + i] = x[16 * row + i] + add;
    }
    __syncthreads();
  }""",
    "switch": """
  int t = threadIdx.x;
  switch (x[t] & 3) {
    case 0: y[t] = 5; break;
    case 1:
      for (int k = 0; k < 9; ++k) { y[t] = k; if (k == x[t]) break; }
      break;
    case 2: y[t] = 6;  // falls through
    default: y[t] += 10;
  }
  __syncthreads();
  y[t] += 1;""",
    "helpers look at threadIdx": """
  int a = x[place()];
  __syncthreads();
  y[place()] = a + 1;""",
    "a pointer moves": """
  x += 1;
  int t = threadIdx.x;
  __syncthreads();
  y[t] = t < 63 ? x[t] : 0;""",
    "the address of a variable": """
  int t = threadIdx.x, a = x[t];
  bump(&a);
  __syncthreads();
  redouble(a);
  y[t] = a;""",
    "do": """
  int t = threadIdx.x;
  int k = 3;
  y[t] = 0;
  do { y[t] += x[(t + k) & 63]; __syncthreads(); k--; } while (k > 0);""",
    "types": """
  auto t = threadIdx.x;
  unsigned short a = x[t] + 70000;
  float b = 0.5f * x[t];
  float2 both = make_float2(b, 2 * b);
  const bool odd = x[t] & 1;
  const int *const from = x + t;
  __syncthreads();
  y[t] = a + int(both.x + both.y) + odd + *from;""",
    "macros": """
  int t = threadIdx.x;
  __shared__ int s[SIZE];
  s[AT(t)] = x[t];
  __syncthreads();
  for (int k = SIZE / 2; k > 0; k /= 2) { if (t < k) s[t] = MOST(s[t], s[t + k]); __syncthreads(); }
  y[t] = s[0];""",
    "extremes": """
  float most = x[0], least = INFINITY, other = -INFINITY, low = x[threadIdx.x];
  for (int j = 1; j < n; ++j) if (most < x[j]) most = x[j];
  for (int j = 0; j < n; j += 2) { least = fminf(least, x[j] * 0.5f); }
  for (int j = n - 1; j >= 0; --j) other = max(x[j] * 1.0f, other);
  for (int j = 0; j < n; ++j) low = low > x[j] ? x[j] : low;
  y[threadIdx.x] = most + 10 * least + 100 * other + 1000 * low;""",
}
HELPERS = """
#define SIZE 64
#define AT(i) ((i) & (SIZE - 1))
#define MOST(a, b) ((a) > (b) ? (a) : (b))
__device__ int place() { return threadIdx.x; }
__device__ int picked(int v) { int h[2]; h[v & 1] = v; h[1 - (v & 1)] = 0; return h[0]; }
__device__ void bump(int *p) { *p += 1; }
__device__ void redouble(int &p) { p *= 2; }
"""


@functools.cache
def module_of(names, on_fibres):
    """The kernels as f0, f1, ...; on fibres: something in them waits that is never called."""
    bodies = {**KERNELS, **OTHERS}
    text = "".join(bodies[name] for name in names)
    helpers = [
        line
        for line in HELPERS.strip().split("\n")
        if line.startswith("#") or line.split("(")[0].split()[-1] + "(" in text
    ]
    wait = "if (n < 0) __syncwarp();" if on_fibres else ""
    kernels = [
        f"__global__ void f{i}(const int *x, int *y, int n) {{ {wait}{bodies[name]}\n}}"
        for i, name in enumerate(names)
    ]
    return EmulatedModule("\n".join(helpers + kernels))


def both(name, names):
    """The kernel, and the same one on fibres."""
    quick, slow = (module_of(names, way).get(f"f{names.index(name)}") for way in (False, True))
    assert slow.synchronises
    return quick, slow


def compare(name, quick, slow, threads=(1, 2)):
    """Two blocks on one system thread; on two threads one block, since blocks write one array."""
    x = np.random.RandomState(zlib.crc32(name.encode())).randint(-9, 99, 64).astype("i")
    for count in threads:
        want, y = np.arange(64, dtype="i"), np.arange(64, dtype="i")
        slow.launch([x, want, INT(64)], 3 - count, 64)
        quick.launch([x, y, INT(64)], 3 - count, 64, 0, count)
        np.testing.assert_array_equal(y, want, name)


ONE_AFTER_ANOTHER = (
    "strides over the grid",
    "a barrier for some blocks",
    "read before it is written",
)
# Of other functions all kernels of a source have to beware.
ALONE = tuple(name for name in KERNELS if "function" in name or "helpers" in name)
TOGETHER = tuple(name for name in KERNELS if name not in ALONE)


@pytest.mark.parametrize("name", KERNELS)
def test_as_on_fibres(name):
    quick, slow = both(name, ALONE if name in ALONE else TOGETHER)
    assert quick.in_regions
    compare(name, quick, slow, (1,) if name in ONE_AFTER_ANOTHER else (1, 2))


# Where the text does not say enough, a kernel stays as it was.
OTHERS = {
    "a condition of the thread": """
  int t = threadIdx.x;
  __shared__ int s[64];
  s[t] = x[t];
  if (x[t] > -1000) __syncthreads();
  y[t] = s[63 - t];""",
    "a number in memory": """
  int t = threadIdx.x;
  for (int k = 0; k < x[0]; ++k) { y[t] += k; __syncthreads(); }""",
    "a number that a thread changes": """
  int t = threadIdx.x;
  int k = 3;
  while (k > 0) { __syncthreads(); y[t] += k; if (x[t] > -1000) --k; }""",
    "a type of its own": """
  typedef unsigned short small;
  int t = threadIdx.x;
  small a = x[t] + 70000;
  __syncthreads();
  y[t] = a;""",
    "an address that is kept": """
  int t = threadIdx.x, a = x[t];
  int *p = &a;
  __syncthreads();
  *p += 3;
  y[t] = a;""",
    "an array that is kept": """
  int t = threadIdx.x, a[2] = {x[t], t};
  int *p = a + 1;
  __syncthreads();
  *p += 3;
  y[t] = a[0] + a[1];""",
    "a reference that is kept": """
  int t = threadIdx.x, a = x[t];
  int &r = a;
  __syncthreads();
  r += 3;
  y[t] = a;""",
    "goto": """
  int t = threadIdx.x, k = 0;
again:
  y[t] += x[t];
  __syncthreads();
  if (++k < 3) goto again;""",
    "the preprocessor decides": """
  int t = threadIdx.x;
#ifdef UNKNOWN
  __syncthreads();
  if (t) {
#else
  if (t > 1) {
#endif
  y[t] = t; }
  __syncthreads();""",
    "a macro that leaves": """
#define LEAVE_IF(c) if (c) return
  int t = threadIdx.x;
  LEAVE_IF(t > 5);
  y[t] = 77;""",
}


OTHERS_ALONE = ("a type of its own", "a macro that leaves")  # they change the whole source
OTHERS_TOGETHER = tuple(name for name in OTHERS if name not in OTHERS_ALONE)


@pytest.mark.parametrize("name", OTHERS)
def test_others_stay(name):
    quick, slow = both(name, (name,) if name in OTHERS_ALONE else OTHERS_TOGETHER)
    assert not quick.in_regions
    compare(name, quick, slow)


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
    assert module.get("product").in_regions and module.get("turned").in_regions
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
        assert module.get(name).in_regions
        module.get(name).launch([x, y], 4, n, 0, 3)
        np.testing.assert_array_equal(y, x.sum(1, keepdims=True) - x)


@pytest.mark.parametrize("kind", ["float", "double"])
def test_extremes_with_nan(kind):
    """What a loop over fmax gives does not depend on how the compiler takes its turns."""
    source = f"""
__global__ void f(const {kind} *x, {kind} *y, int n) {{
  {kind} a = NAN, b = x[0], c = INFINITY;
  for (int i = 0; i < n; ++i) a = fmax(a, x[i]);
  for (int i = 0; i < n; ++i) if (b < x[i]) b = x[i];
  for (int i = 0; i < n; ++i) c = x[i] < c ? x[i] : c;
  y[0] = a, y[1] = b, y[2] = c;
}}
"""
    kernel = EmulatedModule(source).get("f")
    random = np.random.RandomState(8)
    for n, nans in ((50, 0), (50, 3), (50, 49), (50, 50), (1, 1), (1000, 500)):
        x = random.randn(n).astype(kind[0])
        x[random.permutation(n)[:nans]] = np.nan
        b, c = x[0], np.inf
        for value in x:
            b = value if b < value else b
            c = value if value < c else c
        y = np.zeros(3, kind[0])
        kernel.launch([x, y, INT(n)], 1, 1)
        np.testing.assert_array_equal(y, [np.fmax.reduce(x), b, c])


def test_one_block_on_several_threads():
    """Every thread of a block runs once, however many system threads share the block."""
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


def test_more_threads_than_an_index_counts():
    kernel = EmulatedModule("__global__ void f(int *x) { x[0] = 1; }").get("f")
    with pytest.raises(ArgumentError, match="2097152 blocks of 1024 threads along the first axis"):
        kernel.launch([np.zeros(1, "i")], 2**21, 1024)


def test_macros_matter_where_they_are_used():
    source = """
#define LEAVE return
#define UNLESS(c) if (!(c)) LEAVE
__global__ void f(const float *x, float *y) {
  UNLESS(threadIdx.x < 3);
  y[threadIdx.x] = x[threadIdx.x];
}
__global__ void g(const float *x, float *y) {
  if (threadIdx.x > 1) return;
  y[threadIdx.x] = x[threadIdx.x];
}
"""
    module = EmulatedModule(source)
    assert [module.get(name).in_regions for name in "fg"] == [False, True]
    for name, count in (("f", 3), ("g", 2)):
        x, y = np.arange(1, 6, dtype="f"), np.zeros(5, "f")
        module.get(name).launch([x, y], 1, 5)
        np.testing.assert_array_equal(y, np.where(np.arange(5) < count, x, 0))


@pytest.mark.parametrize(
    "types",
    [
        "struct Two { int a[2]; };",
        "struct Two { __device__ int first() const { return a[0]; } int a[2]; };",
        "template <int N> struct Some { int a[N]; }; using Two = Some<2>;",
    ],
)
def test_arrays_within_types(types):
    """Each thread has its own, also where the compiler takes several threads at a time."""
    source = (
        types
        + """
__global__ void f(const int *x, int *y) {
  Two h;
  h.a[x[threadIdx.x] & 1] = x[threadIdx.x];
  h.a[1 - (x[threadIdx.x] & 1)] = 0;
  y[threadIdx.x] = h.a[0];
}
"""
    )
    kernel = EmulatedModule(source).get("f")
    assert kernel.in_regions
    x, y = np.random.RandomState(4).randint(0, 99, 128).astype("i"), np.zeros(128, "i")
    kernel.launch([x, y], 1, 128)
    np.testing.assert_array_equal(y, np.where(x & 1, 0, x))
