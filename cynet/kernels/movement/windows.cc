// Copies sliding windows over up to three axes to columns, and adds columns to images.
#include "kernel.h"

namespace cynet {
// Images (planes, size), columns (planes, taps, out_size): `taps` numbers of a window, `out_size`
// windows along each axis. Fewer than three axes: the first ones have size 1.
#define WINDOWS_FIELDS(field)                                                     \
  field(int64_t, planes) field(Int64s<3>, size) field(Int64s<3>, out_size) field( \
      Int64s<3>, kernel) field(Int64s<3>, stride) field(Int64s<3>, pad) field(Int64s<3>, dilate)
CYNET_PARAMS(Windows, WINDOWS_FIELDS)

static int64_t element_count(const Int64s<3>& size) { return size[0] * size[1] * size[2]; }
static int64_t tap_count(const Windows& w) { return element_count(w.kernel); }

// to[c] (+)= line[start + c step], or 0 outside of the line
template <typename T>
static void write_line(const T* line, T* to, int64_t n, int64_t start, int64_t step, int64_t size,
                       bool add) {
  for (int64_t c = 0; c < n; ++c) {
    const int64_t z = start + c * step;
    const T value = z >= 0 && z < size ? line[z] : T(0);
    to[c] = add ? to[c] + value : value;
  }
}

// columns (+)= the elements in the windows, zeros outside of the image
template <typename T>
static void windows_to_columns(const Args& args) {
  const Windows& w = args.as<Windows>();
  const T* images = args.input<T>(0);
  T* columns = args.output<T>(0);
  const bool add = args.add[0];
  const int64_t taps = tap_count(w), n = element_count(w.out_size);
  parallel_for(args.threads, w.planes * taps, [=, &w](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* image = images + row / taps * element_count(w.size);
      T* to = columns + row * n;
      int64_t tap[3] = {row % taps / (w.kernel[1] * w.kernel[2]),
                        row % taps / w.kernel[2] % w.kernel[1], row % taps % w.kernel[2]};
      int64_t start[3];
      for (int i = 0; i < 3; ++i) start[i] = tap[i] * w.dilate[i] - w.pad[i];
      for (int64_t a = 0; a < w.out_size[0]; ++a) {
        const int64_t x = start[0] + a * w.stride[0];
        for (int64_t b = 0; b < w.out_size[1]; ++b) {
          const int64_t y = start[1] + b * w.stride[1];
          const bool there = x >= 0 && x < w.size[0] && y >= 0 && y < w.size[1];
          const T* line = image + (x * w.size[1] + y) * w.size[2];
          write_line(line, to, w.out_size[2], start[2], w.stride[2], there ? w.size[2] : 0, add);
          to += w.out_size[2];
        }
      }
    }
  });
}

// The index of the window whose position k is element `at`, along one axis; -1 if none.
static int64_t window_index(const Windows& w, int axis, int64_t at, int64_t k) {  // -1: no window
  const int64_t begins = at + w.pad[axis] - k * w.dilate[axis];
  const int64_t number = begins / w.stride[axis];
  const bool there = begins >= 0 && begins % w.stride[axis] == 0 && number < w.out_size[axis];
  return there ? number : -1;
}

// sums[z - first] += the numbers at position k of one row's windows, for the elements [first, last)
// of a line; `from` has that number of each window.
template <typename T>
static void add_windows(const Windows& w, int64_t k, const T* from, int64_t first, int64_t last,
                        double* sums) {
  const int64_t start = k * w.dilate[2] - w.pad[2], step = w.stride[2];
  const int64_t low = first > start ? (first - start + step - 1) / step : 0;
  int64_t high = last > start ? (last - start + step - 1) / step : 0;
  high = high < w.out_size[2] ? high : w.out_size[2];
  double* to = sums + (start - first);
  if (step == 1)
    for (int64_t c = low; c < high; ++c) to[c] += static_cast<double>(from[c]);
  else
    for (int64_t c = low; c < high; ++c) to[c * step] += static_cast<double>(from[c]);
}

// images (+)= the sums of the columns where windows hold each element, a part of a line at a time
template <typename T>
static void columns_to_windows(const Args& args) {
  const Windows& w = args.as<Windows>();
  const T* columns = args.input<T>(0);
  T* images = args.output<T>(0);
  const bool add = args.add[0];
  enum { PART = 512 };
  const int64_t taps = tap_count(w), n = element_count(w.out_size);
  parallel_for(args.threads, w.planes * w.size[0], [=, &w](int64_t begin, int64_t end) {
    double sums[PART];
    for (int64_t line = begin * w.size[1]; line < end * w.size[1]; ++line) {
      const int64_t x = line / w.size[1] % w.size[0], y = line % w.size[1];
      const T* from = columns + line / (w.size[0] * w.size[1]) * taps * n;
      T* to = images + line * w.size[2];
      for (int64_t first = 0; first < w.size[2]; first += PART) {
        const int64_t last = first + PART < w.size[2] ? first + PART : w.size[2];
        for (int64_t z = first; z < last; ++z) sums[z - first] = 0;
        int64_t tap = 0;
        for (int64_t i = 0; i < w.kernel[0]; ++i) {
          const int64_t a = window_index(w, 0, x, i);
          for (int64_t j = 0; j < w.kernel[1]; ++j) {
            const int64_t b = a < 0 ? -1 : window_index(w, 1, y, j);
            if (b < 0) {
              tap += w.kernel[2];
              continue;
            }
            const int64_t row = (a * w.out_size[1] + b) * w.out_size[2];
            for (int64_t k = 0; k < w.kernel[2]; ++k, ++tap)
              add_windows(w, k, from + tap * n + row, first, last, sums);
          }
        }
        for (int64_t z = first; z < last; ++z)
          to[z] =
              static_cast<T>(add ? static_cast<double>(to[z]) + sums[z - first] : sums[z - first]);
      }
    }
  });
}

}  // namespace cynet

CYNET_PLAIN_KERNEL(windows_to_columns, Windows, 1, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(columns_to_windows, Windows, 4, CYNET_FLOATS)
