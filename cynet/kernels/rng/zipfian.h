// Draws without repetition from a Zipfian (log-uniform) distribution.
#ifndef CYNET_ZIPFIAN_H
#define CYNET_ZIPFIAN_H

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "rng/philox.h"

namespace cynet {

// `count` different numbers of [0, range) into `out`, in the order in which they were drawn;
// number x has probability log((x + 2) / (x + 1)) / log(range + 1). Returns how many draws that
// took. `table`: 2^bits > count entries. A row takes draws from its own part of the stream.
inline int64_t unique_zipfian(uint64_t seed, uint64_t stream, int64_t row, int64_t range,
                              int64_t count, int64_t* out, int64_t* table, int bits) {
  const Philox generator(seed, stream);
  const int64_t places = int64_t(1) << bits;
  const double width = std::log(static_cast<double>(range) + 1);
  std::fill(table, table + places, int64_t(-1));
  uint64_t block = static_cast<uint64_t>(row) << 40;
  uint32_t words[4];
  int64_t found = 0, tries = 0;
  for (int half = 2; found < count; ++half) {
    if (half > 1) {
      generator.block(block++, words);
      half = 0;
    }
    const double u = unit_double(words[2 * half], words[2 * half + 1]);
    const int64_t x = std::min(static_cast<int64_t>(std::exp(u * width)) - 1, range - 1);
    ++tries;
    int64_t at = static_cast<int64_t>((static_cast<uint64_t>(x) * 0x9E3779B97F4A7C15u) >>
                                      (64 - bits));
    while (table[at] >= 0 && table[at] != x) at = (at + 1) & (places - 1);
    if (table[at] == x) continue;
    table[at] = x;
    out[found++] = x;
  }
  return tries;
}

}  // namespace cynet

#endif
