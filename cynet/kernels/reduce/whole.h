// Reductions of a whole array: the sum of squares, and whether all elements are finite. The number
// of partial sums does not depend on the number of threads.
#ifndef CYNET_WHOLE_H
#define CYNET_WHOLE_H

#include <algorithm>
#include <cstdint>

#include "common/bfloat16.h"
#include "elementwise/elementwise.h"
#include "parallel.h"

namespace cynet {

// The number of ranges of an array that are summed separately.
constexpr int64_t WHOLE_PARTS = 64;  // partial sums of an array

template <typename T>
double sum_range_squares(const T* x, int64_t begin, int64_t end) {
  typedef typename std::conditional<std::is_same<T, double>::value, double, float>::type C;
  // a block is summed in C, blocks in double; as many sums as hide the latency of an addition
  constexpr int64_t LANES = 32, LAST = 8, BLOCK = 1024;
  double total = 0;
  for (int64_t first = begin; first < end; first += BLOCK) {
    const int64_t last = std::min(end, first + BLOCK);
    C lanes[LANES] = {};
    int64_t i = first;
    for (; i + LANES <= last; i += LANES)
      for (int64_t k = 0; k < LANES; ++k) {
        const C v = static_cast<C>(x[i + k]);
        lanes[k] += v * v;
      }
    for (; i < last; ++i) {
      const C v = static_cast<C>(x[i]);
      lanes[0] += v * v;
    }
    for (int64_t half = LANES / 2; half >= LAST; half /= 2)
      for (int64_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
    for (int64_t k = 0; k < LAST; ++k) total += static_cast<double>(lanes[k]);
  }
  return total;
}

template <typename T>
double sum_squares(int threads, const void* data, int64_t n) {
  const T* x = static_cast<const T*>(data);
  double parts[WHOLE_PARTS];
  parallel_for(threads, WHOLE_PARTS, [&](int64_t first, int64_t last) {
    for (int64_t part = first; part < last; ++part)
      parts[part] = sum_range_squares(x, n * part / WHOLE_PARTS, n * (part + 1) / WHOLE_PARTS);
  });
  double total = 0;
  for (double part : parts) total += part;
  return total;
}

// True if no element has all EXPONENT bits set, as infinities and NaN have.
template <typename Bits, Bits EXPONENT>
bool are_bits_finite(int threads, const void* data, int64_t n) {
  const Bits* x = static_cast<const Bits*>(data);
  bool parts[WHOLE_PARTS];
  parallel_for(threads, WHOLE_PARTS, [&](int64_t first, int64_t last) {
    for (int64_t part = first; part < last; ++part) {
      const int64_t begin = n * part / WHOLE_PARTS, end = n * (part + 1) / WHOLE_PARTS;
      Bits any = 0;
      for (int64_t i = begin; i < end; ++i)
        any |= static_cast<Bits>((x[i] & EXPONENT) == EXPONENT ? 1 : 0);
      parts[part] = any == 0;
    }
  });
  return std::all_of(parts, parts + WHOLE_PARTS, [](bool finite) { return finite; });
}

// dtype is F32, F64, F16 or BF16.
inline double sum_squares_of_array(int threads, int dtype, const void* x, int64_t n) {
  if (dtype == F64) return sum_squares<double>(threads, x, n);
  if (dtype == BF16) return sum_squares<bfloat16>(threads, x, n);
  return dtype == F32 ? sum_squares<float>(threads, x, n) : sum_squares<half>(threads, x, n);
}
inline bool is_array_finite(int threads, int dtype, const void* x, int64_t n) {
  if (dtype == F64) return are_bits_finite<uint64_t, 0x7ff0000000000000ULL>(threads, x, n);
  if (dtype == F32) return are_bits_finite<uint32_t, 0x7f800000U>(threads, x, n);
  if (dtype == BF16) return are_bits_finite<uint16_t, 0x7f80U>(threads, x, n);
  return are_bits_finite<uint16_t, 0x7c00U>(threads, x, n);
}

}  // namespace cynet

#endif
