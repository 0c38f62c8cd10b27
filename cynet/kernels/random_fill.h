// CPU loops of the random distributions: each element depends on (seed, stream, its index), so any
// split over threads yields the same bytes. Work goes by chunks that stay in the first cache.
#ifndef CYNET_RANDOM_FILL_H
#define CYNET_RANDOM_FILL_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "half.h"
#include "parallel.h"
#include "philox_words.h"
#include "random_draw.h"

namespace cynet {

static const int64_t CHUNK = 1024;  // elements; a multiple of 4 LANES

// Standard variates of elements [first, first + n), n <= CHUNK, first a multiple of 4.
inline void standard_uniform(const Philox& key, int64_t first, int64_t n, float* out) {
  uint32_t words[CHUNK];
  fill_words(key, first, n, words);
  for (int64_t i = 0; i < n; ++i) out[i] = unit_float(words[i]);
}

inline void standard_uniform(const Philox& key, int64_t first, int64_t n, double* out) {
  uint32_t words[2 * CHUNK];
  fill_words(key, 2 * first, 2 * n, words);
  for (int64_t i = 0; i < n; ++i) out[i] = unit_double(words[2 * i], words[2 * i + 1]);
}

inline void standard_normal(const Philox& key, int64_t first, int64_t n, float* out) {
  uint32_t words[CHUNK];
  float pairs[CHUNK + 4];
  fill_words(key, first, n + (n & 1), words);
  for (int64_t j = 0; j < (n + 1) / 2; ++j)
    normal_floats(words[2 * j], words[2 * j + 1], &pairs[2 * j], &pairs[2 * j + 1]);
  std::copy(pairs, pairs + n, out);
}

inline void standard_normal(const Philox& key, int64_t first, int64_t n, double* out) {
  uint32_t words[2 * CHUNK];
  double pairs[CHUNK + 4];
  fill_words(key, 2 * first, 2 * (n + (n & 1)), words);
  for (int64_t i = 0; i < n; i += 2) normal_doubles(&words[2 * i], &pairs[i], &pairs[i + 1]);
  for (int64_t i = 0; i < n; ++i) out[i] = pairs[i];
}

inline void standard_exponential(const Philox& key, int64_t first, int64_t n, float* out) {
  standard_uniform(key, first, n, out);
  for (int64_t i = 0; i < n; ++i) out[i] = -log_float(1.0f - out[i]);
}

inline void standard_exponential(const Philox& key, int64_t first, int64_t n, double* out) {
  standard_uniform(key, first, n, out);
  for (int64_t i = 0; i < n; ++i) out[i] = -std::log(1.0 - out[i]);
}

// What to draw: two numbers for all elements, or arrays with one pair for each `each` elements.
struct Draw {
  int distribution;
  uint64_t seed, stream;
  double a, b;
  const void *a_data, *b_data;  // NULL: a and b hold
  int param_dtype;
  int64_t each;
};

inline double load_number(const void* data, int dtype, int64_t i) {
  switch (dtype) {
    case 0: return static_cast<const float*>(data)[i];
    case 1: return static_cast<const double*>(data)[i];
    case 2: return static_cast<float>(static_cast<const half*>(data)[i]);
    case 3: return static_cast<const uint8_t*>(data)[i];
    case 4: return static_cast<const int32_t*>(data)[i];
    case 5: return static_cast<const int8_t*>(data)[i];
    case 6: return static_cast<double>(static_cast<const int64_t*>(data)[i]);
    default: return static_cast<const bool*>(data)[i];
  }
}

template <typename T, typename Source>
inline void store(T* out, const Source* values, int64_t n, bool add) {
  if (add) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(out[i] + static_cast<T>(values[i]));
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(values[i]);
  }
}

template <typename Source>
inline void store(half* out, const Source* values, int64_t n, bool add) {
  for (int64_t i = 0; i < n; ++i) {
    const half value(static_cast<float>(values[i]));
    out[i] = add ? half(static_cast<float>(out[i]) + static_cast<float>(value)) : value;
  }
}

// Scale and shift standard variates by parameters a and b, in place.
template <typename T, typename C>
inline void place(int distribution, C a, C b, C* values, int64_t n) {
  if (is_standard<T>(distribution, a, b)) return;
  if (distribution == kUniform) {
    const C width = b - a, last = last_uniform<T>(a, b);
    for (int64_t i = 0; i < n; ++i) values[i] = scaled_uniform(values[i], a, width, last);
  } else if (distribution == kNormal) {
    for (int64_t i = 0; i < n; ++i) values[i] = CYNET_ADD(a, CYNET_MUL(values[i], b));
  } else {
    for (int64_t i = 0; i < n; ++i) values[i] = values[i] / a;
  }
}

template <typename T, typename C>
inline void make_chunk(const Draw& d, const Philox& key, int64_t first, int64_t n, C* values) {
  const bool standard = d.distribution <= kExponential;
  if (d.distribution == kUniform) standard_uniform(key, first, n, values);
  if (d.distribution == kNormal) standard_normal(key, first, n, values);
  if (d.distribution == kExponential) standard_exponential(key, first, n, values);
  const Distribution distribution = static_cast<Distribution>(d.distribution);
  for (int64_t i = 0; i < n;) {
    const int64_t row = d.a_data ? (first + i) / d.each : 0;
    const int64_t end = d.a_data ? std::min(n, (row + 1) * d.each - first) : n;
    const double a = d.a_data ? load_number(d.a_data, d.param_dtype, row) : d.a;
    const double b = d.b_data ? load_number(d.b_data, d.param_dtype, row) : d.b;
    if (standard) {
      place<T>(d.distribution, static_cast<C>(a), static_cast<C>(b), values + i, end - i);
    } else {
      for (int64_t j = i; j < end; ++j) {
        ElementStream s(key, first + j);
        values[j] = static_cast<C>(draw_one(distribution, s, a, b));
      }
    }
    i = end;
  }
}

// C: the type computed in; float gives float16 and float32 their bytes.
template <typename T, typename C>
inline void fill(const Draw& d, T* out, int64_t n, bool add, int threads) {
  const Philox key(d.seed, d.stream);
  parallel_for(threads, (n + CHUNK - 1) / CHUNK, [&](int64_t begin, int64_t end) {
    C kept[CHUNK];
    const bool direct = std::is_same<T, C>::value && !add;
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t first = chunk * CHUNK, count = std::min(CHUNK, n - first);
      C* values = direct ? reinterpret_cast<C*>(out + first) : kept;
      make_chunk<T>(d, key, first, count, values);
      if (!direct) store(out + first, values, count, add);
    }
  });
}

template <typename T>
inline void fill_integers(uint64_t seed, uint64_t stream, int64_t low, uint64_t range, T* out,
                          int64_t n, bool add, int threads) {
  const Philox key(seed, stream);
  parallel_for(threads, (n + CHUNK - 1) / CHUNK, [&](int64_t begin, int64_t end) {
    uint32_t words[2 * CHUNK];
    int64_t values[CHUNK];
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t first = chunk * CHUNK, count = std::min(CHUNK, n - first);
      fill_words(key, 2 * (uint64_t)first, 2 * count, words);
      for (int64_t i = 0; i < count; ++i)
        values[i] = (int64_t)((uint64_t)low + below(words[2 * i], words[2 * i + 1], range));
      store(out + first, values, count, add);
    }
  });
}

// The first n uniforms of a stream, for masks (dropout): element i is that of an array filled at
// once.
inline void uniform_range(uint64_t seed, uint64_t stream, int64_t n, float* out, int threads) {
  Draw d = {kUniform, seed, stream, 0.0, 1.0, nullptr, nullptr, 0, 1};
  fill<float, float>(d, out, n, false, threads);
}

}  // namespace cynet

#endif
