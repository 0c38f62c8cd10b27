// Local response normalization across channels. Included by lrn.pyx; its .pxd declares
// the struct.
#ifndef CYNET_LOCAL_RESPONSE_H
#define CYNET_LOCAL_RESPONSE_H

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "isa/kernel_table.h"
#include "isa/levels.h"
#include "parallel.h"
#include "common/scalar_math.h"

namespace cynet {

struct LocalResponse {
  int64_t batch, channels, inner, size;
  double alpha, beta, knorm;
  bool last;  // memory is (batch, inner, channels)
};

enum { RESPONSE_WIDTH = 256 };  // elements taken together

// Channels [first, last) are those around channel c.
struct Around {
  int64_t first, last;
  CYNET_XINLINE Around(const LocalResponse& s, int64_t c) {
    const int64_t half = s.size / 2;
    first = c > half ? c - half : 0;
    last = c + half + 1 < s.channels ? c + half + 1 : s.channels;
  }
};

// Channels around one, as far as there are any.
CYNET_XINLINE int64_t response_rows(const LocalResponse& s) {
  const int64_t half = s.size / 2;
  return 2 * (half < s.channels ? half : s.channels - 1) + 1;
}

}  // namespace cynet

#define CYNET_LOOPS "normalization/lrn_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

inline bool response_by_lines(const LocalResponse& s) { return s.last || s.inner == 1; }

// Lines of channels that are taken together.
inline int64_t response_lines(const LocalResponse& s) {
  return s.channels < RESPONSE_WIDTH ? RESPONSE_WIDTH / s.channels : 1;
}

// Elements of scratch that each thread of backward needs.
inline int64_t response_space(const LocalResponse& s) {
  return 2 * (response_by_lines(s) ? response_lines(s) * s.channels
                                   : response_rows(s) * RESPONSE_WIDTH);
}

// Pieces of work; the same for any number of threads.
inline int64_t response_parts(const LocalResponse& s) {
  const int64_t lines = response_lines(s);
  if (response_by_lines(s)) return (s.batch * s.inner + lines - 1) / lines;
  return s.batch * ((s.inner + RESPONSE_WIDTH - 1) / RESPONSE_WIDTH);
}

// body(start, n): n positions whose channels are `inner` apart, or n elements of whole lines.
template <class Body>
inline void for_responses(const LocalResponse& s, int64_t begin, int64_t end, Body&& body) {
  const int64_t n = s.batch * s.channels * s.inner;
  const int64_t step = response_lines(s) * s.channels;
  const int64_t parts = (s.inner + RESPONSE_WIDTH - 1) / RESPONSE_WIDTH;
  for (int64_t part = begin; part < end; ++part) {
    if (response_by_lines(s)) {
      const int64_t at = part * step;
      body(at, n - at < step ? n - at : step);
    } else {
      const int64_t at = part % parts * RESPONSE_WIDTH, left = s.inner - at;
      body(part / parts * s.channels * s.inner + at,
           left < RESPONSE_WIDTH ? left : int64_t{RESPONSE_WIDTH});
    }
  }
}

// y (+)= x * norm^-beta, norm = knorm + alpha / size * the sum of x^2 over the channels around
template <typename T>
void response_forward(int level, const LocalResponse& s, const T* x, T* y, bool add, int threads) {
  typedef void (*Part)(const LocalResponse& s, const T* x, T* y, int64_t n, bool add);
  static const Part columns[] = CYNET_AT_LEVELS(respond_columns<T>);
  static const Part lines[] = CYNET_AT_LEVELS(respond_lines<T>);
  const Part part = (response_by_lines(s) ? lines : columns)[level];
  parallel_for(threads, response_parts(s), [&](int64_t begin, int64_t end) {
    for_responses(s, begin, end, [&](int64_t at, int64_t n) {
      part(s, x + at, y + at, n, add);
    });
  });
}

template <typename T>
void response_backward(int level, const LocalResponse& s, const T* dy, const T* x, T* dx, bool add,
                       int threads, T* space) {
  typedef void (*Part)(const LocalResponse& s, const T* dy, const T* x, T* dx, int64_t n,
                       bool add, T* power, T* ratio);
  static const Part columns[] = CYNET_AT_LEVELS(respond_columns_backward<T>);
  static const Part lines[] = CYNET_AT_LEVELS(respond_lines_backward<T>);
  const Part part = (response_by_lines(s) ? lines : columns)[level];
  const int64_t parts = response_parts(s), room = response_space(s);
  parallel_for(threads, threads, [&](int64_t first, int64_t last) {
    T* const own = space + first * room;
    for_responses(s, parts * first / threads, parts * last / threads,
                  [&](int64_t at, int64_t n) {
                    part(s, dy + at, x + at, dx + at, n, add, own, own + room / 2);
                  });
  });
}

}  // namespace cynet

#endif
