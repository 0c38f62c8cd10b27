// Correlation: patches of one image against those of another nearby, and the gradients. Included
// by correlation.pyx; correlation.pxd declares the struct.
//
// For each shift the products of two pixels, summed over channels, make one plane (of the padded
// image); a patch is a window of it.
#ifndef CYNET_VISION_CORRELATION_H
#define CYNET_VISION_CORRELATION_H

#include "vision/bilinear.h"

namespace cynet {

struct CorrelationShape {
  int64_t batch, channels, height, width, kernel, displacement, stride1, stride2, pad;
  int64_t out_height, out_width, reach;  // shifts -reach .. reach times stride2 along both axes
  bool multiply;
};

}  // namespace cynet

#define CYNET_LOOPS "vision/correlation_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

struct Correlate {
  template <typename T>
  static void run(int threads, int level, const CorrelationShape* s, const void* a, const void* b,
                  void* out, bool add, void* space) {
    typedef void (*Loop)(const CorrelationShape&, const T*, const T*, T*, bool, int64_t, T*);
    static const Loop loops[] = CYNET_AT_LEVELS(correlate_shift<T>);
    const int64_t shifts = (2 * s->reach + 1) * (2 * s->reach + 1), n = s->batch * shifts;
    const int64_t parts = std::min<int64_t>(threads, n), room = s->height * s->width;
    for_parts(parts, [=](int64_t part) {
      for (int64_t k = n * part / parts; k < n * (part + 1) / parts; ++k)
        loops[level](*s, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out),
                     add, k, static_cast<T*>(space) + part * room);
    });
  }
};

// The gradient of a (`second`: of b), `other` being the other one.
struct CorrelateBackward {
  template <typename T>
  static void run(int threads, int level, const CorrelationShape* s, bool second, const void* own,
                  const void* other, const void* dy, void* dx, bool add, void* space) {
    typedef void (*Loop)(const CorrelationShape&, bool, const T*, const T*, const T*, T*, bool,
                         int64_t, int64_t, int64_t, T*);
    static const Loop loops[] = CYNET_AT_LEVELS(correlate_back<T>);
    const int64_t n = s->batch * s->channels, room = s->height * s->width;
    const int64_t parts = std::min<int64_t>(threads, n);
    for_parts(parts, [=](int64_t part) {
      by_image(n * part / parts, n * (part + 1) / parts, s->channels,
               [=](int64_t image, int64_t c0, int64_t c1) {
        loops[level](*s, second, static_cast<const T*>(own), static_cast<const T*>(other),
                     static_cast<const T*>(dy), static_cast<T*>(dx), add, image, c0, c1,
                     static_cast<T*>(space) + part * room);
      });
    });
  }
};

inline void correlate_all(int threads, int level, int dtype, const CorrelationShape* s,
                          const void* a, const void* b, void* out, bool add, void* space) {
  by_float<Correlate>(dtype, threads, level, s, a, b, out, add, space);
}
inline void correlate_backward_all(int threads, int level, int dtype, const CorrelationShape* s,
                                   bool second, const void* own, const void* other, const void* dy,
                                   void* dx, bool add, void* space) {
  by_float<CorrelateBackward>(dtype, threads, level, s, second, own, other, dy, dx, add, space);
}

}  // namespace cynet

#endif
