// Rows picked by an index, and added to the rows that it names. Included by embedding.pyx alone.
#ifndef CYNET_EMBEDDING_H
#define CYNET_EMBEDDING_H

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "isa/kernel_table.h"
#include "isa/levels.h"
#include "common/row_prefetch.h"

#define CYNET_LOOPS "movement/embedding_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

template <typename T>
void add_rows(int level, const T* x, const int64_t* rows, int64_t n, int64_t dim, int64_t first,
              int64_t last, T* y) {
  static decltype(&baseline::add_rows<T>) const loops[] = CYNET_AT_LEVELS(add_rows<T>);
  loops[level](x, rows, n, dim, first, last, y);
}

// Rows of so many bytes one behind the other.
inline void copy_rows(const char* from, const int64_t* rows, int64_t n, int64_t bytes, char* to) {
  for (int64_t i = 0; i < n; ++i) {
    if (i + ROWS_AHEAD < n) fetch_row<false>(from + rows[i + ROWS_AHEAD] * bytes, bytes);
    std::memcpy(to + i * bytes, from + rows[i] * bytes, bytes);
  }
}

// body(row) for the bits of a word.
template <class Body>
inline void each_bit(uint64_t word, int64_t first, const Body& body) {
  for (; word; word &= word - 1) body(first + lowest_bit(word));
}

// Zeros to those of n rows whose bits are set, and to these bits: one of several parts.
inline void clear_rows(uint64_t* bits, int64_t n, int64_t part, int64_t parts, char* rows,
                       int64_t bytes) {
  constexpr int64_t WORDS_AHEAD = 4;
  for (int64_t first = part * ROWS_TOGETHER; first < n; first += parts * ROWS_TOGETHER) {
    const int64_t end = (std::min<int64_t>(first + ROWS_TOGETHER, n) + 63) / 64;
    for (int64_t i = first / 64; i < end; ++i) {
      if (i + WORDS_AHEAD < end)
        each_bit(bits[i + WORDS_AHEAD], (i + WORDS_AHEAD) * 64,
                 [=](int64_t row) { fetch_row<true>(rows + row * bytes, bytes); });
      each_bit(bits[i], i * 64, [=](int64_t row) { std::memset(rows + row * bytes, 0, bytes); });
      bits[i] = 0;
    }
  }
}

inline void set_bits(uint64_t* bits, const int64_t* rows, int64_t n) {
  for (int64_t i = 0; i < n; ++i) bits[uint64_t(rows[i]) / 64] |= uint64_t(1) << (rows[i] & 63);
}

}  // namespace cynet

#endif
