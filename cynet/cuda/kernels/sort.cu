// The order of elements along the middle axis of (outer, n, inner): positions sorted by value,
// equal ones by position, NaN last, as on the CPU; the extremes; running sums.
//
// Sorting is bitonic over 2^k >= n positions a line: chunks of SORTED in shared memory, the passes
// between chunks over the whole array. Positions that are not there come last.
#include "common.cuh"

enum { SORTED = 1024 };

struct Lines {  // shape around the sorted axis
  Index outer, n, inner, padded;  // padded: n rounded up to a power of 2
};

__device__ inline Index start_of(const Lines& s, Index line) {  // offset of the line
  return line / s.inner * s.n * s.inner + line % s.inner;
}

// Returns whether position i with value a comes before position j with value b.
template <typename C>
__device__ inline bool comes_before(C a, int i, C b, int j, Index n, int ascending) {
  if (i >= n || j >= n) return i < j;
  const bool known_a = a == a, known_b = b == b;
  if (known_a != known_b) return known_a;
  if (!known_a || a == b) return i < j;
  return ascending ? a < b : b < a;
}

template <typename T>
__device__ inline opmath_t<T> value_at(const T* x, const Lines& s, Index line, int i) {
  return i < s.n ? load(x, start_of(s, line) + i * s.inner) : opmath_t<T>(0);
}

// Bitonic passes k = first, 2 first, ... last within chunks; each k begins at distance min(k,
// chunk) / 2, which is halved. The chunk has 2 * blockDim.x positions of one line.
template <typename T>
__global__ void sort_chunks(const T* x, int* order, const Lines s, Index first, Index last,
                            int ascending) {
  typedef opmath_t<T> C;
  __shared__ C value[SORTED];
  __shared__ int position[SORTED];
  const Index chunk = 2 * blockDim.x, chunks = s.outer * s.inner * s.padded / chunk;
  for (Index c = blockIdx.x; c < chunks; c += gridDim.x) {
    const Index line = c * chunk / s.padded, begin = c * chunk % s.padded;
    int* own = order + line * s.padded + begin;
    for (Index t = threadIdx.x; t < chunk; t += blockDim.x) {
      position[t] = first == 2 ? static_cast<int>(begin + t) : own[t];
      value[t] = value_at(x, s, line, position[t]);
    }
    for (Index k = first; k <= last; k *= 2)
      for (Index j = k < chunk ? k / 2 : chunk / 2; j > 0; j /= 2) {
        __syncthreads();
        const Index a = threadIdx.x / j * 2 * j + threadIdx.x % j, b = a + j;
        const bool up = ((begin + a) & k) == 0;
        if (comes_before(value[b], position[b], value[a], position[a], s.n, ascending) == up) {
          const C v = value[a];
          const int p = position[a];
          value[a] = value[b], position[a] = position[b];
          value[b] = v, position[b] = p;
        }
      }
    __syncthreads();
    for (Index t = threadIdx.x; t < chunk; t += blockDim.x) own[t] = position[t];
    __syncthreads();
  }
}

// One bitonic pass of k at distance j, which exceeds a chunk.
template <typename T>
__global__ void sort_pass(const T* x, int* order, const Lines s, Index k, Index j, int ascending) {
  CYNET_FOR(i, s.outer * s.inner * s.padded / 2) {
    const Index line = i / (s.padded / 2), t = i % (s.padded / 2), at = t / j * 2 * j + t % j;
    int* a = order + line * s.padded + at;
    int* b = a + j;
    const bool up = (at & k) == 0;
    if (comes_before(value_at(x, s, line, *b), *b, value_at(x, s, line, *a), *a, s.n, ascending) ==
        up) {
      const int p = *a;
      *a = *b;
      *b = p;
    }
  }
}

// The position in its line of element i of an ordered array (outer, k, inner); stores the line.
__device__ inline int ordered_position(const int* order, const Lines& s, Index k, Index i,
                                       Index* line) {
  *line = i / (k * s.inner) * s.inner + i % s.inner;
  return order[*line * s.padded + i / s.inner % k];
}

// values (outer, k, inner) (+)= the first k of each line
template <typename T>
__global__ void gather_ordered(const T* x, const int* order, T* values, const Lines s, Index k,
                               int add) {
  CYNET_FOR(i, s.outer * k * s.inner) {
    Index line;
    const int at = ordered_position(order, s, k, i, &line);
    store(values, i, load(x, start_of(s, line) + at * s.inner), add);
  }
}

// x_grad += values_grad at the first k of each line; values NULL: 1 (a mask)
template <typename T>
__global__ void scatter_ordered(const T* values, const int* order, T* x, const Lines s, Index k) {
  CYNET_FOR(i, s.outer * k * s.inner) {
    Index line;
    const int at = ordered_position(order, s, k, i, &line);
    const opmath_t<T> one = 1;
    store(x, start_of(s, line) + at * s.inner, values == nullptr ? one : load(values, i), 1);
  }
}

// out (outer, k, inner) = the positions, as int64
extern "C" __global__ void order_positions(const int* order, Index* out, const Lines s, Index k) {
  CYNET_FOR(i, s.outer * k * s.inner) {
    Index line;
    out[i] = ordered_position(order, s, k, i, &line);
  }
}

// out (+)= the position of each line's largest (or smallest) element, the first of equals; NaN is
// more extreme than any number. A block of a power of 2 threads, at most 512, takes a line.
template <typename T, typename PositionType>
__global__ void find_extreme(const T* x, PositionType* out, Index outer, Index n, Index inner,
                             int largest, int add) {
  typedef opmath_t<T> C;
  __shared__ C value[512];
  __shared__ Index position[512];
  const unsigned t = threadIdx.x;
  for (Index line = blockIdx.x; line < outer * inner; line += gridDim.x) {
    const T* row = x + line / inner * n * inner + line % inner;
    Index best = t < n ? t : 0;
    C top = load(row, best * inner);
    for (Index i = t + blockDim.x; i < n; i += blockDim.x) {
      const C v = load(row, i * inner);
      if (top == top && (v != v || (largest ? v > top : v < top))) top = v, best = i;
    }
    value[t] = top, position[t] = best;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
      __syncthreads();
      if (t < half) {
        const C a = value[t], b = value[t + half];
        const Index i = position[t], j = position[t + half];
        const bool wins = a != a || b != b ? (a == a || (b != b && j < i))
                          : a == b         ? j < i
                          : largest        ? b > a
                                           : b < a;
        if (wins) value[t] = b, position[t] = j;
      }
    }
    if (t == 0) store(out, line, static_cast<opmath_t<PositionType>>(position[0]), add);
    __syncthreads();
  }
}

template <typename T>
struct SumType {  // the type of a running sum: double, or a 64-bit integer
  typedef double type;
};
template <>
struct SumType<unsigned char> {  // sums are int64
  typedef long long type;
};
template <>
struct SumType<signed char> {  // sums are int64
  typedef long long type;
};
template <>
struct SumType<int> {  // sums are int64
  typedef long long type;
};
template <>
struct SumType<long long> {  // sums are int64
  typedef long long type;
};

// out (+)= running sums of each line, with `reverse` from its end. A block of at most 512 threads
// takes a line, a chunk of it at a time.
template <typename T>
__global__ void running_sum(const T* x, T* out, Index outer, Index n, Index inner, int reverse,
                            int add) {
  typedef typename SumType<T>::type Sum;
  __shared__ Sum sums[512];
  const unsigned t = threadIdx.x;
  for (Index line = blockIdx.x; line < outer * inner; line += gridDim.x) {
    const Index base = line / inner * n * inner + line % inner;
    Sum carried = 0;
    for (Index begin = 0; begin < n; begin += blockDim.x) {
      const Index i = begin + t, k = base + (reverse ? n - 1 - i : i) * inner;
      sums[t] = i < n ? static_cast<Sum>(load(x, k)) : Sum(0);
      for (unsigned d = 1; d < blockDim.x; d *= 2) {
        __syncthreads();
        const Sum other = t >= d ? sums[t - d] : Sum(0);
        __syncthreads();
        sums[t] += other;
      }
      __syncthreads();
      if (i < n) store(out, k, static_cast<opmath_t<T>>(carried + sums[t]), add);
      carried += sums[blockDim.x - 1];
      __syncthreads();
    }
  }
}
