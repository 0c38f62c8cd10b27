// Random arrays on the CPU: each element depends on (seed, stream, its index), so any split over
// threads yields the same bytes. Work goes by chunks that fit the first-level cache.
#ifndef CYNET_RANDOM_FILL_H
#define CYNET_RANDOM_FILL_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "common/bfloat16.h"
#include "isa/levels.h"
#include "rng/philox_blocks.h"
#include "rng/random_draw.h"

namespace cynet {

// The parameters: two numbers for all elements, or arrays with one pair for each `each` elements.
struct DrawRequest {  // what to draw
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
    case 12: return static_cast<float>(static_cast<const bfloat16*>(data)[i]);
    default: return static_cast<const bool*>(data)[i];
  }
}

// The parameters of element i, which hold below element `end`.
struct ElementParameters {  // parameters of one element
  double a, b;
  int64_t end;

  ElementParameters(const DrawRequest& d, int64_t i)
      : a(d.a), b(d.b), end(std::numeric_limits<int64_t>::max()) {
    if (!d.a_data) return;
    const int64_t row = i / d.each;
    a = load_number(d.a_data, d.param_dtype, row);
    if (d.b_data) b = load_number(d.b_data, d.param_dtype, row);
    end = (row + 1) * d.each;
  }
};

}  // namespace cynet

#define CYNET_PER_ISA_FILE "rng/random_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

template <typename T, typename C>
inline void fill_random(int level, const DrawRequest& d, T* out, int64_t n, bool add, int threads) {
  typedef void (*Loop)(const DrawRequest&, const Philox&, int64_t, int64_t, T*, bool);
  static const Loop loops[] = CYNET_AT_LEVELS(fill_chunk<T, C>);
  const Loop loop = loops[level];
  const Philox key(d.seed, d.stream);
  for_chunks(threads, n,
             [&](int64_t first, int64_t count) { loop(d, key, first, count, out + first, add); });
}

template <typename T>
inline void fill_integers(int level, uint64_t seed, uint64_t stream, int64_t low, uint64_t range,
                          T* out, int64_t n, bool add, int threads) {
  typedef void (*Loop)(const Philox&, int64_t, uint64_t, int64_t, int64_t, T*, bool);
  static const Loop loops[] = CYNET_AT_LEVELS(fill_integer_chunk<T>);
  const Loop loop = loops[level];
  const Philox key(seed, stream);
  for_chunks(threads, n, [&](int64_t first, int64_t count) {
    loop(key, low, range, first, count, out + first, add);
  });
}

}  // namespace cynet

#endif
