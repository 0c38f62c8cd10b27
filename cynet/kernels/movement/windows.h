// Windows that slide over up to three spatial axes as columns, and columns summed into images.
#ifndef CYNET_WINDOWS_H
#define CYNET_WINDOWS_H

#include <cstdint>

#include "parallel.h"

namespace cynet {

// Images (planes, size), columns (planes, taps, places): `taps` numbers of a window, `places` where
// windows lie. Fewer than three axes: the first ones have size 1.
struct Windows {
  int64_t planes;
  int64_t size[3], places[3], kernel[3], stride[3], pad[3], dilate[3];
  int64_t space() const { return size[0] * size[1] * size[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t columns() const { return places[0] * places[1] * places[2]; }
};

// columns (+)= what the windows hold, zeros beside the image
template <typename T>
inline void windows_to_columns(const Windows& w, int threads, const T* images, T* columns,
                               bool add) {
  const int64_t taps = w.taps(), n = w.columns();
  parallel_for(threads, w.planes * taps, [=, &w](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* image = images + row / taps * w.space();
      T* to = columns + row * n;
      int64_t tap[3] = {row % taps / (w.kernel[1] * w.kernel[2]),
                        row % taps / w.kernel[2] % w.kernel[1], row % taps % w.kernel[2]};
      int64_t start[3];
      for (int i = 0; i < 3; ++i) start[i] = tap[i] * w.dilate[i] - w.pad[i];
      for (int64_t a = 0; a < w.places[0]; ++a) {
        const int64_t x = start[0] + a * w.stride[0];
        for (int64_t b = 0; b < w.places[1]; ++b) {
          const int64_t y = start[1] + b * w.stride[1];
          const bool there = x >= 0 && x < w.size[0] && y >= 0 && y < w.size[1];
          const T* line = image + (x * w.size[1] + y) * w.size[2];
          for (int64_t c = 0; c < w.places[2]; ++c, ++to) {
            const int64_t z = start[2] + c * w.stride[2];
            const T value = there && z >= 0 && z < w.size[2] ? line[z] : T(0);
            *to = add ? *to + value : value;
          }
        }
      }
    }
  });
}

// images (+)= the sums of the columns where windows hold each element
template <typename T>
inline void columns_to_windows(const Windows& w, int threads, const T* columns, T* images,
                               bool add) {
  const int64_t taps = w.taps(), n = w.columns();
  parallel_for(threads, w.planes * w.size[0], [=, &w](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* from = columns + row / w.size[0] * taps * n;
      T* to = images + row * w.size[1] * w.size[2];
      for (int64_t at = 0; at < w.size[1] * w.size[2]; ++at) {
        const int64_t place[3] = {row % w.size[0], at / w.size[2], at % w.size[2]};
        double sum = 0;
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t k[3] = {tap / (w.kernel[1] * w.kernel[2]), tap / w.kernel[2] % w.kernel[1],
                                tap % w.kernel[2]};
          int64_t column = 0;
          bool there = true;
          for (int i = 0; i < 3; ++i) {
            const int64_t begins = place[i] + w.pad[i] - k[i] * w.dilate[i];
            const int64_t number = begins / w.stride[i];
            there = there && begins >= 0 && begins % w.stride[i] == 0 && number < w.places[i];
            column = column * w.places[i] + number;
          }
          if (there) sum += static_cast<double>(from[tap * n + column]);
        }
        to[at] = static_cast<T>(add ? static_cast<double>(to[at]) + sum : sum);
      }
    }
  });
}

}  // namespace cynet

#endif
