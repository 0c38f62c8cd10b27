// Planes enlarged by repeating elements, and the sums over the copies of each element.
#include <cstring>

#include "kernel.h"

namespace cynet {
#define ENLARGED_FIELDS(field) \
  field(bool, sums) field(bool, channels_last) field(Int64s<64>, channels)
CYNET_PARAMS(Enlarged, ENLARGED_FIELDS)

namespace {
// Enlarges one plane; height and width are those of y.
template <typename T>
void enlarge_plane(const T* x, T* y, int64_t height, int64_t width, int64_t scale, bool add) {
  const int64_t small = width / scale;
  for (int64_t h = 0; h < height / scale; ++h) {
    T* row = y + h * scale * width;
    if (add) {
      for (int64_t i = 0; i < scale; ++i)
        for (int64_t w = 0; w < small; ++w)
          for (int64_t j = w * scale; j < (w + 1) * scale; ++j)
            row[i * width + j] += x[h * small + w];
      continue;
    }
    for (int64_t w = 0; w < small; ++w)
      for (int64_t j = w * scale; j < (w + 1) * scale; ++j) row[j] = x[h * small + w];
    for (int64_t i = 1; i < scale; ++i) std::memcpy(row + i * width, row, width * sizeof(T));
  }
}

// Sums the scale x scale square of dy that belongs to each element of x. `fixed`: the scale, if the
// compiler is to know it, and 0 otherwise.
template <int fixed, typename T>
CYNET_NOINLINE void sum_each_block(const T* dy, T* dx, int64_t height, int64_t width, int64_t scale,
                                   bool add) {
  if (fixed) scale = fixed;
  const int64_t small = width / scale;
  for (int64_t h = 0; h < height / scale; ++h) {
    const T* rows = dy + h * scale * width;
    T* to = dx + h * small;
    CYNET_IVDEP
    for (int64_t w = 0; w < small; ++w) {
      T total = 0;
      for (int64_t i = 0; i < scale; ++i)
        for (int64_t j = 0; j < scale; ++j) total += rows[i * width + w * scale + j];
      to[w] = add ? to[w] + total : total;
    }
  }
}

// Enlarges a row of pixels to `width` pixels of y, `step` numbers apart.
template <typename T>
void enlarge_row(const T* x, T* y, int64_t width, int64_t channels, int64_t step, int64_t scale,
                 bool add) {
  for (int64_t w = 0; w < width; ++w) {
    const T* pixel = x + w / scale * channels;
    if (add)
      for (int64_t c = 0; c < channels; ++c) y[w * step + c] += pixel[c];
    else std::memcpy(y + w * step, pixel, channels * sizeof(T));
  }
}

// The gradient of enlarge_row, from `scale` rows of `width` pixels.
template <typename T>
void sum_row_block(const T* dy, T* dx, int64_t width, int64_t channels, int64_t step, int64_t scale,
                   bool add) {
  if (!add) std::memset(dx, 0, width / scale * channels * sizeof(T));
  for (int64_t i = 0; i < scale; ++i)
    for (int64_t w = 0; w < width; ++w) {
      const T* pixel = dy + (i * width + w) * step;
      for (int64_t c = 0; c < channels; ++c) dx[w / scale * channels + c] += pixel[c];
    }
}

// Enlarges one input (batch, count, ...) into y from channel `offset` on; `back`: the gradient.
template <typename T, bool back>
void upsample_input(const Args& args, const Blob& small, const Blob& large, int64_t offset, T* x,
                    T* y, bool add) {
  const int64_t batch = large.shape[0], channels = large.shape[1], height = large.shape[2];
  const int64_t width = large.shape[3], count = small.shape[1], scale = height / small.shape[2];
  if (args.as<Enlarged>().channels_last) {
    const int64_t of_x = width / scale * count, of_y = scale * width * channels;
    parallel_for(args.threads, batch * height / scale, [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        T *from = x + row * of_x, *to = y + row * of_y + offset;
        if (back) {
          sum_row_block(to, from, width, count, channels, scale, add);
          continue;
        }
        for (int64_t k = 0; k < scale; ++k)
          enlarge_row(from, to + k * of_y / scale, width, count, channels, scale, add);
      }
    });
    return;
  }
  const int64_t of_y = height * width, of_x = of_y / (scale * scale);
  parallel_for(args.threads, batch * count, [=](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      T* to = y + (plane / count * channels + offset + plane % count) * of_y;
      if (back && scale == 2) sum_each_block<2>(to, x + plane * of_x, height, width, scale, add);
      else if (back) sum_each_block<0>(to, x + plane * of_x, height, width, scale, add);
      else enlarge_plane(x + plane * of_x, to, height, width, scale, add);
    }
  });
}

// out (+)= the enlarged inputs, concatenated or added up
template <typename T>
void upsampling(const Args& args) {
  const bool sums = args.as<Enlarged>().sums;
  int64_t offset = 0;
  for (int i = 0; args.in[i]; ++i) {
    upsample_input<T, false>(args, *args.in[i], *args.out[0], offset,
                             const_cast<T*>(args.input<T>(i)), args.output<T>(0),
                             args.add[0] || (sums && i > 0));
    if (!sums) offset += args.in[i]->shape[1];
  }
}

// Channels are parameters, as a gradient that is not requested has no array and no shape.
template <typename T>
void upsampling_grad(const Args& args) {
  const Enlarged& p = args.as<Enlarged>();
  int64_t offset = 0;
  for (int i = 0; args.out[i]; ++i) {
    if (args.wanted[i])
      upsample_input<T, true>(args, *args.out[i], *args.in[0], offset, args.output<T>(i),
                              const_cast<T*>(args.input<T>(0)), args.add[i]);
    if (!p.sums) offset += p.channels[i];
  }
}
}  // namespace
}  // namespace cynet

CYNET_PLAIN_KERNEL(upsampling, Enlarged, 1, CYNET_FLOATS)
CYNET_PLAIN_KERNEL(upsampling_grad, Enlarged, 1, CYNET_FLOATS)
