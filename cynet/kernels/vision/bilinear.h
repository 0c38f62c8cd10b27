// Bilinear interpolation in a plane, for blocks of points: where the four neighbours lie, their
// weights, and the derivatives by the position. Included by the headers of this folder.
#ifndef CYNET_VISION_BILINEAR_H
#define CYNET_VISION_BILINEAR_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "common/half.h"
#include "isa/kernel_table.h"
#include "isa/levels.h"
#include "parallel.h"

namespace cynet {

enum { POINTS = 256 };  // points of a block: about 20 KB of doubles

// Values outside of the plane: zeros, so that values fade over one pixel (FADES), or the edge pixel
// between size - 1 and size and zeros elsewhere (HOLDS).
enum { FADES, HOLDS };

// For each point: rows (times the width) and columns of its neighbours, their weights along each
// axis, and the weights' derivatives; a neighbour outside has weight 0 and a position inside.
template <typename T>
struct SamplePoints {  // pixels and weights of some points
  int32_t row0[POINTS], row1[POINTS], col0[POINTS], col1[POINTS];
  T wy0[POINTS], wy1[POINTS], wx0[POINTS], wx1[POINTS];
  T dy0[POINTS], dy1[POINTS], dx0[POINTS], dx1[POINTS];
};

// Computes the bilinear weights of one axis of one point; NaN gives NaN weights. `step` is the
// distance of neighbors.
template <typename T, int OUTSIDE>
CYNET_XINLINE void axis_weights(T at, int32_t size, int32_t step, int32_t* i0, int32_t* i1, T* w0,
                                T* w1, T* d0, T* d1) {
  const T maximum = static_cast<T>(size) + T(1);
  const bool none = at != at;
  const T near = none || at < T(-2) ? T(-2) : (at > maximum ? maximum : at);
  int32_t low = static_cast<int32_t>(near);
  low -= static_cast<T>(low) > near;
  const T part = near - static_cast<T>(low);
  const bool in0 = low >= 0 && low < size, in1 = low >= -1 && low < size - 1;
  const bool held = OUTSIDE == HOLDS && low == size - 1;
  const bool out = OUTSIDE == HOLDS && low < 0;
  *w0 = none ? at : (in0 ? (held ? T(1) : T(1) - part) : T(0));
  *w1 = none ? at : (in1 && !out ? part : T(0));
  *d0 = in0 && !held ? T(-1) : T(0);
  *d1 = in1 && !out ? T(1) : T(0);
  *i0 = (in0 ? low : 0) * step;
  *i1 = (in1 ? low + 1 : 0) * step;
}

// Computes the weights of point i of a block, at (y, x) of a plane.
template <typename T, int OUTSIDE>
CYNET_XINLINE void point_weights(SamplePoints<T>* p, int64_t i, T y, T x, int32_t height,
                                 int32_t width) {
  axis_weights<T, OUTSIDE>(y, height, width, p->row0 + i, p->row1 + i, p->wy0 + i, p->wy1 + i,
                           p->dy0 + i, p->dy1 + i);
  axis_weights<T, OUTSIDE>(x, width, 1, p->col0 + i, p->col1 + i, p->wx0 + i, p->wx1 + i,
                           p->dx0 + i, p->dx1 + i);
}

// weight * value, or 0 for weight 0, even if the value is NaN.
template <typename T>
CYNET_XINLINE T weigh(T weight, T value) {  // weight * value, or 0 for weight 0
  return weight == T(0) ? T(0) : weight * value;
}

// The value at point i with weights (a0, a1) by rows and (b0, b1) by columns.
template <typename T>
CYNET_XINLINE T interpolate(const SamplePoints<T>& p, int64_t i, const T* plane, T a0, T a1, T b0,
                            T b1) {
  const T upper = weigh(b0, plane[p.row0[i] + p.col0[i]]) + weigh(b1, plane[p.row0[i] + p.col1[i]]);
  const T lower = weigh(b0, plane[p.row1[i] + p.col0[i]]) + weigh(b1, plane[p.row1[i] + p.col1[i]]);
  return weigh(a0, upper) + weigh(a1, lower);
}

template <typename T>
CYNET_XINLINE T interpolated_value(const SamplePoints<T>& p, int64_t i, const T* plane) {
  return interpolate(p, i, plane, p.wy0[i], p.wy1[i], p.wx0[i], p.wx1[i]);
}

// The derivatives of an interpolated value by the position.
template <typename T>
CYNET_XINLINE T derivative_y(const SamplePoints<T>& p, int64_t i, const T* plane) {
  return interpolate(p, i, plane, p.dy0[i], p.dy1[i], p.wx0[i], p.wx1[i]);
}
template <typename T>
CYNET_XINLINE T derivative_x(const SamplePoints<T>& p, int64_t i, const T* plane) {
  return interpolate(p, i, plane, p.wy0[i], p.wy1[i], p.dx0[i], p.dx1[i]);
}

// Adds the gradient `g` of the value at point i to the plane.
template <typename T>
CYNET_XINLINE void add_gradient(const SamplePoints<T>& p, int64_t i, T g, T* plane) {
  const T w00 = p.wy0[i] * p.wx0[i], w01 = p.wy0[i] * p.wx1[i];
  const T w10 = p.wy1[i] * p.wx0[i], w11 = p.wy1[i] * p.wx1[i];
  if (w00 > T(0)) plane[p.row0[i] + p.col0[i]] += w00 * g;
  if (w01 > T(0)) plane[p.row0[i] + p.col1[i]] += w01 * g;
  if (w10 > T(0)) plane[p.row1[i] + p.col0[i]] += w10 * g;
  if (w11 > T(0)) plane[p.row1[i] + p.col1[i]] += w11 * g;
}

template <typename T>
CYNET_XINLINE void write_or_add(T* out, T value, bool add) {
  *out = add ? *out + value : value;
}

// Calls body(image, first, last) for each image, of `each` planes, with planes in [begin, end).
template <typename Body>
inline void for_images(int64_t begin, int64_t end, int64_t each, const Body& body) {
  while (begin < end) {
    const int64_t image = begin / each, last = std::min(end, (image + 1) * each);
    body(image, begin - image * each, last - image * each);
    begin = last;
  }
}

}  // namespace cynet

#endif
