// Softmax along the middle axis of (outer, n, inner): lines are spread over threads. Included by
// softmax.pyx alone.
#ifndef CYNET_SOFTMAX_H
#define CYNET_SOFTMAX_H

#include "elementwise/elementwise.h"
#include "parallel.h"
#include "common/scalar_math.h"

#ifdef CYNET_X86_LEVELS
#include <immintrin.h>
#endif

#define CYNET_LOOPS "isa/simd.h"
#include "isa/for_each_isa.h"
#define CYNET_LOOPS "reduce/softmax_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

struct SoftmaxShape {
  int64_t outer, n, inner;
  const void* lengths;  // of each line, in order; NULL: n
  bool wide;            // lengths are int64, else int32
  double temperature;
  bool log_of, add;
};

inline int64_t line_length(const SoftmaxShape& s, int64_t line) {
  if (!s.lengths) return s.n;
  const int64_t length = s.wide ? static_cast<const int64_t*>(s.lengths)[line]
                                : static_cast<const int32_t*>(s.lengths)[line];
  return length >= s.n ? s.n : (length > 0 ? length : 0);
}

// body(start, length) for each line
template <class Body>
inline void for_lines(const SoftmaxShape& s, int threads, Body&& body) {
  parallel_for(threads, s.outer * s.inner, [&](int64_t begin, int64_t end) {
    if (s.inner == 1) {
      for (int64_t line = begin; line < end; ++line) body(line * s.n, line_length(s, line));
      return;
    }
    for (int64_t line = begin; line < end; ++line)
      body(line / s.inner * s.n * s.inner + line % s.inner, line_length(s, line));
  });
}

// body(start, columns) for parts of the lines that lie side by side, whole ones; the parts are the
// same for any number of threads.
template <class Body>
inline void for_columns(const SoftmaxShape& s, int threads, Body&& body) {
  const int64_t width = static_cast<int64_t>(baseline::SOFTMAX_COLUMNS);
  const int64_t strips = (s.inner + width - 1) / width;
  parallel_for(threads, s.outer * strips, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t first = part % strips * width, left = s.inner - first;
      body(part / strips * s.n * s.inner + first, left < width ? left : width);
    }
  });
}

// Lines of double are left to the C library's exp, which no level makes quicker.
template <typename T>
void softmax_lines(int threads, int level, const SoftmaxShape& s, const T* x, T* y) {
  typedef void (*Line)(const T* x, T* y, int64_t n, int64_t length, int64_t step, T scale,
                       bool log_of, bool add);
  static const Line lines[] = CYNET_AT_LEVELS(softmax_line<T>);
  const Line line = lines[sizeof(T) == sizeof(float) ? level : BASELINE];
  const T scale = static_cast<T>(1 / s.temperature);
  if (s.inner > 1 && s.n > 0 && !s.lengths) {
    typedef void (*Columns)(const T* x, T* y, int64_t n, int64_t step, int64_t m, T scale,
                            bool log_of, bool add);
    static const Columns columns[] = CYNET_AT_LEVELS(softmax_columns<T>);
    const Columns strip = columns[sizeof(T) == sizeof(float) ? level : BASELINE];
    return for_columns(s, threads, [&](int64_t start, int64_t m) {
      strip(x + start, y + start, s.n, s.inner, m, scale, s.log_of, s.add);
    });
  }
  if (s.inner == 1 && !s.lengths) {
    typedef void (*Each)(const T* x, T* y, int64_t n, int64_t lines, T scale, bool log_of,
                         bool add);
    static const Each levels[] = CYNET_AT_LEVELS(softmax_each<T>);
    const Each each = levels[sizeof(T) == sizeof(float) ? level : BASELINE];
    return parallel_for(threads, s.outer, [&](int64_t begin, int64_t end) {
      each(x + begin * s.n, y + begin * s.n, s.n, end - begin, scale, s.log_of, s.add);
    });
  }
  for_lines(s, threads, [&](int64_t start, int64_t length) {
    line(x + start, y + start, s.n, length, s.inner, scale, s.log_of, s.add);
  });
}

template <typename T>
void softmax_gradient_lines(int threads, int level, const SoftmaxShape& s, const T* dy, const T* y,
                            T* dx) {
  typedef void (*Line)(const T* dy, const T* y, T* dx, int64_t n, int64_t length, int64_t step,
                       T scale, bool log_of, bool add);
  static const Line lines[] = CYNET_AT_LEVELS(softmax_line_gradient<T>);
  const Line line = lines[sizeof(T) == sizeof(float) ? level : BASELINE];
  const T scale = static_cast<T>(1 / s.temperature);
  if (s.inner > 1 && s.n > 0 && !s.lengths) {
    typedef void (*Columns)(const T* dy, const T* y, T* dx, int64_t n, int64_t step, int64_t m,
                            T scale, bool log_of, bool add);
    static const Columns columns[] = CYNET_AT_LEVELS(softmax_columns_gradient<T>);
    const Columns strip = columns[sizeof(T) == sizeof(float) ? level : BASELINE];
    return for_columns(s, threads, [&](int64_t start, int64_t m) {
      strip(dy + start, y + start, dx + start, s.n, s.inner, m, scale, s.log_of, s.add);
    });
  }
  for_lines(s, threads, [&](int64_t start, int64_t length) {
    line(dy + start, y + start, dx + start, s.n, length, s.inner, scale, s.log_of, s.add);
  });
}

}  // namespace cynet

#endif
