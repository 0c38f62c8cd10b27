// Planes resized: BilinearResize2D and AdaptiveAvgPooling2D, and their gradients. Included by
// resize.pyx.
#ifndef CYNET_VISION_RESIZE_H
#define CYNET_VISION_RESIZE_H

#include "vision/bilinear.h"

namespace cynet {

struct ResizeShape {
  int64_t planes, in_size[2], out_size[2];
  bool align_corners;
};

// Of output i along an axis: [first, last) of the input for a mean, or two neighbours (first, last)
// and the weight of the second.
struct ResizePlace {
  int64_t first, last;
  double weight;
};

// The places of bilinear interpolation along one axis, computed in T.
template <typename T>
void resize_places(int64_t in, int64_t out, bool align_corners, ResizePlace* places) {
  const T scale = align_corners
                      ? (out > 1 ? static_cast<T>(in - 1) / static_cast<T>(out - 1) : T(0))
                      : static_cast<T>(in) / static_cast<T>(out);
  for (int64_t i = 0; i < out; ++i) {
    T at = align_corners ? static_cast<T>(i) * scale
                         : (static_cast<T>(i) + T(.5)) * scale - T(.5);
    if (at < T(0)) at = T(0);
    int64_t low = static_cast<int64_t>(at);
    if (low > in - 1) low = in - 1;
    places[i] = {low, low < in - 1 ? low + 1 : low, static_cast<double>(at - static_cast<T>(low))};
  }
}

inline void mean_places(int64_t in, int64_t out, ResizePlace* places) {
  for (int64_t i = 0; i < out; ++i)
    places[i] = {i * in / out, ((i + 1) * in + out - 1) / out, 0};
}

}  // namespace cynet

#define CYNET_LOOPS "vision/resize_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

// Temporary bytes: places along both axes, and a row for each thread.
inline int64_t resize_row_bytes(const ResizeShape* s) { return (s->in_size[1] * 8 + 63) / 64 * 64; }
inline int64_t resize_places_bytes(const ResizeShape* s) {
  const int64_t n = s->out_size[0] + s->out_size[1];
  return (n * static_cast<int64_t>(sizeof(ResizePlace)) + 63) / 64 * 64;
}

// `means`: AdaptiveAvgPooling2D. Backwards, x is dx and y is dy.
struct ResizePlanes {
  template <typename T>
  static void run(int threads, int level, const ResizeShape* s, bool means, bool backwards,
                  const void* from_, void* to_, bool add, char* space) {
    typedef void (*Loop)(const ResizeShape&, const ResizePlace*, const ResizePlace*, const T*, T*,
                         bool, void*);
    static const Loop loops[2][2][N_LEVEL] = {
        {CYNET_AT_LEVELS(resize_plane<T>), CYNET_AT_LEVELS(resize_plane_backward<T>)},
        {CYNET_AT_LEVELS(mean_plane<T>), CYNET_AT_LEVELS(mean_plane_backward<T>)}};
    ResizePlace* rows = reinterpret_cast<ResizePlace*>(space);
    ResizePlace* columns = rows + s->out_size[0];
    if (means) {
      mean_places(s->in_size[0], s->out_size[0], rows);
      mean_places(s->in_size[1], s->out_size[1], columns);
    } else {
      resize_places<T>(s->in_size[0], s->out_size[0], s->align_corners, rows);
      resize_places<T>(s->in_size[1], s->out_size[1], s->align_corners, columns);
    }
    const T* from = static_cast<const T*>(from_);
    T* to = static_cast<T*>(to_);
    const Loop loop = loops[means][backwards][level];
    const int64_t inside = s->in_size[0] * s->in_size[1];
    const int64_t outside = s->out_size[0] * s->out_size[1];
    const int64_t parts = std::min<int64_t>(threads, s->planes);
    for_parts(parts, [=](int64_t part) {
      char* row = space + resize_places_bytes(s) + part * resize_row_bytes(s);
      for (int64_t p = s->planes * part / parts; p < s->planes * (part + 1) / parts; ++p)
        loop(*s, rows, columns, from + p * (backwards ? outside : inside),
             to + p * (backwards ? inside : outside), add, row);
    });
  }
};

inline void resize_all(int threads, int level, int dtype, const ResizeShape* s, bool means,
                       bool backwards, const void* from, void* to, bool add, char* space) {
  by_float<ResizePlanes>(dtype, threads, level, s, means, backwards, from, to, add, space);
}

}  // namespace cynet

#endif
