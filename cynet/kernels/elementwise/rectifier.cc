// Rectifiers whose slopes for negative numbers are learned or random.
#include "kernel.h"

namespace cynet {
#define SLOPES_FIELDS(field) field(int64_t, channels) field(int64_t, inner)
CYNET_PARAMS(Slopes, SLOPES_FIELDS)

namespace {
enum { SLOPES_TOGETHER = 16 };  // channels that a sum over rows processes together

// One row: y (+)= g where x > 0, else g * slope of the channel.
template <typename T>
void rectify_row(const T* g, const T* x, const T* slopes, T* y, int64_t channels, bool add) {
  const T one = 1;
  if (add) {
    CYNET_IVDEP
    for (int64_t c = 0; c < channels; ++c) {
      const T slope = slopes[c];  // loaded before the branch, so that compilers vectorise it
      y[c] += g[c] * (x[c] > 0 ? one : slope);
    }
  } else {
    CYNET_IVDEP
    for (int64_t c = 0; c < channels; ++c) {
      const T slope = slopes[c];
      y[c] = g[c] * (x[c] > 0 ? one : slope);
    }
  }
}

// y (+)= g where x > 0, else g * slopes[i / inner % channels] for element i; in: g, x, slopes
template <typename T>
void sloped(const Args& args) {  // g where x > 0, else g times a channel's slope
  const int64_t n = args.in[1]->size, inner = args.as<Slopes>().inner;
  const int64_t channels = args.as<Slopes>().channels;
  const T *g = args.input<T>(0), *x = args.input<T>(1), *slopes = args.input<T>(2);
  T* y = args.output<T>(0);
  const bool add = args.add[0];
  if (inner == 1 && n > channels) {
    parallel_for(args.threads, n / channels, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin * channels; i < end * channels; i += channels)
        rectify_row(g + i, x + i, slopes, y + i, channels, add);
    });
    return;
  }
  parallel_for(args.threads, n / inner, [=](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line)
      for (int64_t i = line * inner; i < (line + 1) * inner; ++i) {
        const T value = x[i] > 0 ? g[i] : slopes[line % channels] * g[i];
        y[i] = add ? y[i] + value : value;
      }
  });
}

// Adds sums over rows for the first `width` of `step` channels.
template <typename T>
void add_slope_column_sums(const T* dy, const T* x, T* dslopes, int64_t rows, int64_t step,
                           int64_t width, bool add) {
  double totals[SLOPES_TOGETHER];
  const T zero = 0;
  for (int64_t c = 0; c < width; ++c) totals[c] = add ? dslopes[c] : 0;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t c = 0; c < width; ++c) {
      const T value = dy[row * step + c] * x[row * step + c];
      totals[c] += x[row * step + c] > 0 ? zero : value;
    }
  for (int64_t c = 0; c < width; ++c) dslopes[c] = static_cast<T>(totals[c]);
}

// out[c] (+)= the sum of in[0] by in[1] over the elements of channel c that are not above 0
template <typename T>
void slopes_grad(const Args& args) {
  const int64_t n = args.in[1]->size, inner = args.as<Slopes>().inner;
  const int64_t channels = args.as<Slopes>().channels;
  const T *dy = args.input<T>(0), *x = args.input<T>(1);
  T* dslopes = args.output<T>(0);
  const bool add = args.add[0];
  if (inner == 1) {
    const int64_t together = SLOPES_TOGETHER;
    parallel_for(args.threads, (channels + together - 1) / together, [=](int64_t b, int64_t e) {
      for (int64_t c = b * together; c < channels && c < e * together; c += together)
        add_slope_column_sums(dy + c, x + c, dslopes + c, n / channels, channels,
                              channels - c < together ? channels - c : together, add);
    });
    return;
  }
  parallel_for(args.threads, channels, [=](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      double total = add ? dslopes[c] : 0;
      for (int64_t start = c * inner; start < n; start += channels * inner)
        for (int64_t i = start; i < start + inner; ++i)
          total = total + (x[i] > 0 ? 0 : dy[i] * x[i]);
      dslopes[c] = static_cast<T>(total);
    }
  });
}
}  // namespace
}  // namespace cynet

CYNET_PLAIN_KERNEL(sloped, Slopes, 1, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(slopes_grad, Slopes, 1, CYNET_FLOATS)
