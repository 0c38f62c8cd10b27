// Prefetches rows at random offsets of a large table, to hide the latency of memory.
#ifndef CYNET_ROWS_H
#define CYNET_ROWS_H

#include <algorithm>
#include <cstdint>

#include "common/half.h"

namespace cynet {

enum { ROWS_AHEAD = 16, BYTES_AHEAD = 512 };  // prefetch distance; bytes of each row

// Rows per unit of work when each row has one bit in a shared bit set: a cache line of bits. Halves
// would be unfair when most rows are in one of them, as frequent words are in the first.
enum { ROWS_TOGETHER = 512 };

template <bool WRITTEN>
CYNET_XINLINE void prefetch_row(const void* row, int64_t bytes) {
#if defined(__GNUC__)
  const char* from = static_cast<const char*>(row);
  for (int64_t i = 0; i < bytes && i < BYTES_AHEAD; i += 64) __builtin_prefetch(from + i, WRITTEN);
#endif
}

// The index of the lowest bit that is set in a word that is not 0.
inline int64_t lowest_bit(uint64_t word) {
#if defined(__GNUC__)
  return __builtin_ctzll(word);
#else
  int64_t bit = 0;
  for (; !(word & 1); word >>= 1) ++bit;
  return bit;
#endif
}

// The first row in [row, last) whose bit is set; `last` if there is none.
inline int64_t next_marked_row(const uint64_t* bits, int64_t row, int64_t last) {
  while (row < last) {
    const uint64_t word = bits[row / 64] >> (row & 63);
    if (word) return std::min(row + lowest_bit(word), last);
    row += 64 - (row & 63);
  }
  return last;
}

}  // namespace cynet

#endif
