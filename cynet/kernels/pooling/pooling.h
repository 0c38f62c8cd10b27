// Pooling of planes by whole rows. Included by pooling.pyx; pooling.pxd declares the struct.
#ifndef CYNET_POOLING_H
#define CYNET_POOLING_H

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "isa/kernel_table.h"
#include "common/half.h"
#include "isa/levels.h"

namespace cynet {

struct PoolShape {
  int type, p, count_pad;
  int64_t planes;
  int64_t in_size[3], out_size[3], kernel[3], stride[3], pad[3], pad_after[3];
};

enum { POOL_MAX, POOL_AVG, POOL_SUM, POOL_LP };  // as in pooling.pxd
enum { POOL_LINE = 2048, POOL_OUT = 1024, POOL_KERNEL = 512 };
enum { POOL_HALF = POOL_LINE / 2 + 64 };

// [begin, end) of the window of output `at` along an axis, inside the input; returns its extent as
// an average counts it
CYNET_XINLINE int64_t pool_window(const PoolShape& s, int axis, int64_t at, int64_t* begin,
                                  int64_t* end) {
  int64_t from = at * s.stride[axis] - s.pad[axis], to = from + s.kernel[axis];
  const int64_t most = s.in_size[axis] + s.pad_after[axis];
  int64_t counted = (to < most ? to : most) - from;
  from = from < 0 ? 0 : from;
  to = to > s.in_size[axis] ? s.in_size[axis] : to;
  *begin = from;
  *end = to;
  if (!s.count_pad) counted = to - from;
  return counted > 0 ? counted : 0;
}

// Whether the only window is the plane.
inline bool pools_whole(const PoolShape& s) {
  for (int i = 0; i < 3; ++i)
    if (s.out_size[i] != 1 || s.kernel[i] != s.in_size[i] || s.pad[i] || s.pad_after[i])
      return false;
  return true;
}

}  // namespace cynet

#define CYNET_LOOPS "pooling/pooling_loops.h"
#include "isa/for_each_isa.h"
#define CYNET_LOOPS "pooling/pooling_back_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

// Whether rows are folded: no power means, lines of a bounded length, and every window has an
// element.
inline bool folds_rows(const PoolShape& s) {
  if (s.type == POOL_LP || s.kernel[2] > POOL_KERNEL || s.stride[2] > POOL_KERNEL) return false;
  for (int i = 0; i < 3; ++i) {
    const int64_t last = (s.out_size[i] - 1) * s.stride[i] - s.pad[i];
    if (s.pad[i] >= s.kernel[i] || last >= s.in_size[i]) return false;
  }
  return true;
}

// Whether `pool_plane` does it.
inline bool pools_by_rows(const PoolShape& s) {
  return folds_rows(s) || (s.type != POOL_LP && pools_whole(s));
}

template <typename T>
void pool_plane(int level, const PoolShape& s, const T* x, T* y, bool add) {
  typedef void (*Loop)(const PoolShape& s, const T* x, T* y, bool add);
  static const Loop most[] = CYNET_AT_LEVELS(pool_rows<T, true>);
  static const Loop totals[] = CYNET_AT_LEVELS(pool_rows<T, false>);
  (s.type == POOL_MAX ? most : totals)[level](s, x, y, add);
}

// Whether `pool_plane_backward` does it: places in a plane go into 32 bits, too.
inline bool spreads_by_rows(const PoolShape& s) {
  return folds_rows(s) && s.in_size[0] * s.in_size[1] * s.in_size[2] < (int64_t{1} << 30);
}

// Whether each element of the input lies in exactly one window.
inline bool pools_tile(const PoolShape& s) {
  for (int i = 0; i < 3; ++i)
    if (s.stride[i] != s.kernel[i] || s.pad[i] || s.out_size[i] * s.kernel[i] != s.in_size[i])
      return false;
  return true;
}

// dx += the gradient, or with `fresh`, where windows tile the plane, dx = it. No maxima are fresh.
template <typename T>
void pool_plane_backward(int level, const PoolShape& s, const T* dy, const T* x, T* dx,
                         bool fresh) {
  typedef void (*Choice)(const PoolShape& s, const T* dy, const T* x, T* dx);
  typedef void (*Spread)(const PoolShape& s, const T* dy, T* dx, bool fresh);
  static const Choice choices[] = CYNET_AT_LEVELS(pool_rows_choice<T>);
  static const Spread spreads[] = CYNET_AT_LEVELS(pool_rows_spread<T>);
  if (s.type == POOL_MAX) choices[level](s, dy, x, dx);
  else spreads[level](s, dy, dx, fresh);
}

}  // namespace cynet

#endif
