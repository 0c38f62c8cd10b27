// Counts and gathers the rows whose byte in a mask is not 0. Included by marked_rows.pxd.
#ifndef CYNET_MARKED_ROWS_H
#define CYNET_MARKED_ROWS_H

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "parallel.h"

namespace cynet {

enum { MARKS_TOGETHER = 1 << 16 };  // marks of a block, which one thread counts

// Counts the nonzero bytes among n, eight at a time.
inline int64_t count_nonzero_bytes(const char* marks, int64_t n) {
  constexpr uint64_t LOW_BITS = 0x7f7f7f7f7f7f7f7f, ONES = 0x0101010101010101;
  int64_t found = 0, i = 0;
  while (i + 8 <= n) {
    uint64_t bytes = 0;  // eight counts, of at most 255 words
    const int64_t stop = std::min<int64_t>(n - 7, i + 8 * 255);
    for (; i < stop; i += 8) {
      uint64_t word;
      std::memcpy(&word, marks + i, 8);
      bytes += (((word & LOW_BITS) + LOW_BITS) | word) >> 7 & ONES;
    }
    const uint64_t pairs = (bytes & 0x00ff00ff00ff00ff) + (bytes >> 8 & 0x00ff00ff00ff00ff);
    found += static_cast<int64_t>(pairs * 0x0001000100010001 >> 48);
  }
  for (; i < n; ++i) found += marks[i] != 0;
  return found;
}

inline int64_t mark_block_count(int64_t n) { return (n + MARKS_TOGETHER - 1) / MARKS_TOGETHER; }

// Returns the number of marks; starts[b] is the number before block b of mark_block_count(n).
inline int64_t count_marked(int threads, const char* marks, int64_t n, int64_t* starts) {
  const int64_t blocks = mark_block_count(n);
  parallel_for(threads, blocks, [=](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b * MARKS_TOGETHER;
      starts[b] = count_nonzero_bytes(marks + first, std::min<int64_t>(MARKS_TOGETHER, n - first));
    }
  });
  int64_t total = 0;
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t here = starts[b];
    starts[b] = total;
    total += here;
  }
  return total;
}

// Copies the first `count` marked elements of src. None is written behind them, where another
// thread writes, so the last are asked for one by one; before, nothing depends on a mark but where
// the next element goes.
template <typename T>
void pick_marked(T* dst, const T* src, const char* marks, int64_t n, int64_t count) {
  int64_t i = 0, k = 0;
  for (; i + 8 <= n && k + 8 <= count; i += 8) {
    uint64_t word;
    std::memcpy(&word, marks + i, 8);
    if (word == 0) continue;
    for (int j = 0; j < 8; ++j) {
      dst[k] = src[i + j];
      k += marks[i + j] != 0;
    }
  }
  for (; i < n && k < count; ++i) {
    dst[k] = src[i];
    k += marks[i] != 0;
  }
}

inline void pick_marked_rows(char* dst, const char* src, const char* marks, int64_t n,
                             int64_t count, int64_t nbytes) {
  for (int64_t i = 0, k = 0; i < n && k < count; ++i)
    if (marks[i]) std::memcpy(dst + k++ * nbytes, src + i * nbytes, static_cast<size_t>(nbytes));
}

template <typename T>
void pick_marked_as(char* dst, const char* src, const char* marks, int64_t n, int64_t count) {
  pick_marked(reinterpret_cast<T*>(dst), reinterpret_cast<const T*>(src), marks, n, count);
}

// dst = the rows of src, of `nbytes` bytes each, that are marked; `starts` and `total` are what
// count_marked gave. Marks that have changed since may give other rows, never more.
inline void gather_marked(int threads, char* dst, const char* src, const char* marks, int64_t n,
                          int64_t nbytes, const int64_t* starts, int64_t total) {
  const int64_t blocks = mark_block_count(n);
  parallel_for(threads, blocks, [=](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b * MARKS_TOGETHER, m = std::min<int64_t>(MARKS_TOGETHER, n - first);
      const int64_t count = (b + 1 < blocks ? starts[b + 1] : total) - starts[b];
      char* to = dst + starts[b] * nbytes;
      const char *from = src + first * nbytes, *by = marks + first;
      switch (nbytes) {
        case 1: pick_marked_as<uint8_t>(to, from, by, m, count); break;
        case 2: pick_marked_as<uint16_t>(to, from, by, m, count); break;
        case 4: pick_marked_as<uint32_t>(to, from, by, m, count); break;
        case 8: pick_marked_as<uint64_t>(to, from, by, m, count); break;
        default: pick_marked_rows(to, from, by, m, count, nbytes);
      }
    }
  });
}

}  // namespace cynet

#endif
