// Random numbers: element i of a stream comes from the same words of Philox as on the CPU, so the
// bytes are the same (docs/architecture/storage.md). Compiled without fused multiply-add; the
// functions are those of exact_math.h.
#include "common.cuh"
#include "rng/philox.h"
#include "rng/random_draw.h"

typedef unsigned long long Word;

// The random stream of one run of an operator. In a recorded graph, whose arguments stay, `base` is
// where each replay finds its seed and the stream that `stream` counts from; elsewhere it is null.
struct RandomStream {
  Word seed, stream;
  const Word* base;
  __device__ cynet::Philox key() const {  // the generator of this stream
    if (base == nullptr) return cynet::Philox(seed, stream);
    return cynet::Philox(base[0], base[1] + stream);
  }
};

__device__ inline uint32_t random_word(const cynet::Philox& key, Index i) {
  uint32_t words[4];
  key.block(static_cast<uint64_t>(i) / 4, words);
  return words[i & 3];
}

// Standard variates of element i, as random_fill.h makes them.
__device__ inline void uniform(const cynet::Philox& key, Index i, float* out) {
  *out = cynet::unit_float(random_word(key, i));
}
__device__ inline void uniform(const cynet::Philox& key, Index i, double* out) {
  uint32_t words[4];
  key.block(static_cast<uint64_t>(i) / 2, words);
  *out = cynet::unit_double(words[i % 2 * 2], words[i % 2 * 2 + 1]);
}
__device__ inline void normal(const cynet::Philox& key, Index i, float* out) {
  float pair[2];
  const Index first = i / 2 * 2;
  cynet::normal_floats(random_word(key, first), random_word(key, first + 1), &pair[0], &pair[1]);
  *out = pair[i % 2];
}
__device__ inline void normal(const cynet::Philox& key, Index i, double* out) {
  double pair[2];
  uint32_t words[4];
  key.block(static_cast<uint64_t>(i) / 2, words);
  cynet::normal_doubles(cynet::unit_double(words[0], words[1]),
                        cynet::unit_double(words[2], words[3]), &pair[0], &pair[1]);
  *out = pair[i % 2];
}
__device__ inline float negative_log(float x) { return -cynet::log_float(x); }
__device__ inline double negative_log(double x) { return -cynet::log_double(x); }

struct Draw {  // a distribution and its parameters
  double a, b;  // parameters of all elements, unless arrays of them are given
  Index each;   // elements drawn for each pair of parameters in the arrays
  int distribution;
};

// out[i] (+)= element i of the stream in the distribution of `d`
template <typename T>
__global__ void draw(T* out, Index n, const Draw d, const double* a_data, const double* b_data,
                     const RandomStream words, int add) {
  typedef opmath_t<T> C;
  const cynet::Philox key = words.key();
  const auto distribution = static_cast<cynet::Distribution>(d.distribution);
  CYNET_FOR(i, n) {
    const double a = a_data == nullptr ? d.a : a_data[i / d.each];
    const double b = b_data == nullptr ? d.b : b_data[i / d.each];
    const C first = static_cast<C>(a), second = static_cast<C>(b);
    C value;
    if (distribution == cynet::kUniform) {
      uniform(key, i, &value);
      if (!cynet::is_standard<T>(distribution, first, second))
        value = cynet::scaled_uniform(value, first, second - first,
                                      cynet::last_uniform<T>(first, second));
    } else if (distribution == cynet::kNormal) {
      normal(key, i, &value);
      if (!cynet::is_standard<T>(distribution, first, second))
        value = CYNET_ADD(first, CYNET_MUL(value, second));
    } else if (distribution == cynet::kExponential) {
      uniform(key, i, &value);
      value = negative_log(C(1) - value) / first;
    } else {
      cynet::ElementStream own(key, i);
      value = static_cast<C>(cynet::draw_one(distribution, own, a, b));
    }
    store(out, i, static_cast<opmath_t<T>>(static_cast<T>(value)), add);
  }
}

// out (+)= random integers of [low, low + range)
template <typename T>
__global__ void draw_integers(T* out, Index n, Index low, Index range, const RandomStream words,
                              int add) {
  const cynet::Philox key = words.key();
  CYNET_FOR(i, n) {
    uint32_t words[4];
    key.block(static_cast<uint64_t>(i) / 2, words);
    const Word at =
        cynet::integer_below(words[i % 2 * 2], words[i % 2 * 2 + 1], static_cast<Word>(range));
    store(out, i, static_cast<T>(static_cast<Word>(low) + at), add);
  }
}

// keep[i] = element i of the stream is at least p
extern "C" __global__ void dropout_mask(bool* keep, Index n, double p, const RandomStream words) {
  const cynet::Philox key = words.key();
  const float limit = static_cast<float>(p);
  CYNET_FOR(i, n) keep[i] = cynet::unit_float(random_word(key, i)) >= limit;
}

// factor[i] = 1 / (1 - p) where element i behind block `first` of the stream is at least p, else 0
template <typename T>
__global__ void dropout_factors(T* factor, Index n, Index first, double p,
                                const RandomStream words) {
  const cynet::Philox key = words.key();
  const float limit = static_cast<float>(p);
  const T scale = static_cast<T>(p < 1 ? 1 / (1 - p) : 0);
  CYNET_FOR(i, n) {
    const bool keep = cynet::unit_float(random_word(key, 4 * first + i)) >= limit;
    factor[i] = keep ? scale : static_cast<T>(0);
  }
}

struct RepeatedMask {  // a dropout mask that is broadcast
  Index n;
  int ndim;
  Index shape[8], stride[8];  // the data's shape; the mask's strides, 0 on repeated axes
};

// y (+)= x * scale where keep, else 0
template <typename T>
__global__ void mask(const T* x, const bool* keep, T* y, const RepeatedMask s, double scale,
                     int add) {
  typedef opmath_t<T> C;
  CYNET_FOR(i, s.n) {
    Index rest = i, at = 0;
#pragma unroll 1
    for (int k = s.ndim - 1; k >= 0; --k)
      at += (k > 0 ? divide_index(&rest, s.shape[k]) : rest) * s.stride[k];
    store(y, i, keep[at] ? load(x, i) * static_cast<C>(scale) : C(0), add);
  }
}

// choice[i] = the index, at most i, of the element that a shuffle swaps with element i
extern "C" __global__ void draw_swaps(Index* choice, Index n, const RandomStream words) {
  const cynet::Philox key = words.key();
  CYNET_FOR(i, n) {
    uint32_t w[4];
    key.block(static_cast<uint64_t>(i), w);
    choice[i] = static_cast<Index>(cynet::integer_below(w[0], w[1], static_cast<uint64_t>(i) + 1));
  }
}

// order = 0 .. n - 1 shuffled by these swaps, last first: one thread, as each follows another
extern "C" __global__ void permutation(const Index* choice, Index* order, Index n) {  // by swaps
  if (blockIdx.x + threadIdx.x > 0) return;
  for (Index i = 0; i < n; ++i) order[i] = i;
  for (Index i = n - 1; i > 0; --i) {
    const Index swapped = order[i];
    order[i] = order[choice[i]];
    order[choice[i]] = swapped;
  }
}

// Running sums of rows of k weights, a thread for each row, so that they equal the CPU's. If a row
// is invalid, wrong[0] = 1 and wrong[1] = its index.
template <typename T>
__global__ void weight_sums(const T* weights, double* sums, Index rows, Index k, Index* wrong) {
  CYNET_FOR(r, rows) {
    double sum = 0;
    bool good = true;
    for (Index j = 0; j < k; ++j) {
      const double w = static_cast<double>(load(weights, r * k + j));
      good = good && w >= 0;
      sums[r * k + j] = sum += w;
    }
    if (!good || !(sum > 0) || isinf(sum)) {
      wrong[1] = r;
      wrong[0] = 1;
    }
  }
}

// choices[i] = the entry of its row of weights that random number i selects
extern "C" __global__ void draw_choices(const double* sums, Index* choices, Index n, Index k,
                                        Index each, const RandomStream words) {
  const cynet::Philox key = words.key();
  CYNET_FOR(i, n) {
    const double* row = sums + i / each * k;
    uint32_t w[4];
    key.block(static_cast<uint64_t>(i), w);
    const double at = cynet::unit_double(w[0], w[1]) * row[k - 1];
    Index first = 0, last = k;  // the first entry above `at`
    while (first < last) {
      const Index middle = (first + last) / 2;
      if (row[middle] > at) last = middle;
      else first = middle + 1;
    }
    // rounding passed the end: take the last entry with a weight
    if (first == k)
      for (first = k - 1; first > 0 && row[first - 1] == row[k - 1];) --first;
    choices[i] = first;
  }
}

// out (+)= the logarithm of the probability of each choice
template <typename T>
__global__ void log_probability(const T* weights, const double* sums, const Index* choices, T* out,
                                Index n, Index k, Index each, int add) {
  CYNET_FOR(i, n) {
    const Index row = i / each;
    const double w = static_cast<double>(load(weights, row * k + choices[i]));
    store(out, i, static_cast<opmath_t<T>>(cynet::log_ratio(w, sums[row * k + k - 1])), add);
  }
}

// weights_grad += the gradient of those logarithms, at fixed sums of rows
template <typename T>
__global__ void log_probability_grad(const T* dy, const T* weights, const Index* choices, T* out,
                                     Index n, Index k, Index each) {
  CYNET_FOR(i, n) {
    const Index at = i / each * k + choices[i];
    add_at(out, at, static_cast<T>(load(dy, i) / load(weights, at)));
  }
}
