// Evenly spaced values. Included by arange.pxd. Products and sums are loops of their
// own, lest they be contracted: each operation rounds, as it does in NumPy.
#ifndef CYNET_PROGRESSION_H
#define CYNET_PROGRESSION_H

#include <cstdint>

#include "elementwise/convert.h"
#include "isa/kernel_table.h"
#include "parallel.h"

namespace cynet {

template <typename T>
void progression_loop(int threads, T start, T step, T* out, int64_t n) {
  enum { PART = 1024 };  // 32-bit counters: vector instructions convert them
  parallel_for(threads, (n + PART - 1) / PART, [=](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t first = part * PART, left = n - first;
      const int m = left < PART ? static_cast<int>(left) : static_cast<int>(PART);
      T* to = out + first;
      if (first <= 0x7ffff000) {
        const int32_t base = static_cast<int32_t>(first);
        for (int i = 0; i < m; ++i) to[i] = static_cast<T>(base + i) * step;
      } else {
        for (int i = 0; i < m; ++i) to[i] = static_cast<T>(first + i) * step;
      }
      for (int i = 0; i < m; ++i) to[i] += start;
    }
  });
}

inline bool write_progression(int threads, int dtype, double start, double step, void* out,
                              int64_t n) {
  switch (dtype) {
    case F32:
      progression_loop(threads, static_cast<float>(start), static_cast<float>(step),
                       static_cast<float*>(out), n);
      return true;
    case F64: progression_loop(threads, start, step, static_cast<double*>(out), n); return true;
    case I32:  // unsigned arithmetic may wrap
      progression_loop(threads, static_cast<uint32_t>(convert_one<int64_t>(start)),
                       static_cast<uint32_t>(convert_one<int64_t>(step)),
                       static_cast<uint32_t*>(out), n);
      return true;
    default: return false;
  }
}

}  // namespace cynet

#endif
