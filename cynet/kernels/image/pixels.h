// Images (height, width, channels): planes of floats from them, normalization, mirror images.
#ifndef CYNET_IMAGE_PIXELS_H
#define CYNET_IMAGE_PIXELS_H

#include <cstring>

#include "common/by_dtype.h"

namespace cynet {

// What numbers of type T are computed in.
template <typename T>
using Computed = typename std::conditional<std::is_same<T, double>::value, double, float>::type;

template <typename T>
inline Computed<T> computed_from(T x) {
  return convert_one<Computed<T>>(x);
}

template <typename T, typename C>
inline void put_pixel(T* to, C value, bool add) {
  if (add) value += static_cast<C>(computed_from(*to));
  *to = convert_one<T>(value);
}

// Row `row` of one image: out (channels, height, width) (+)= data (height, width, channels) / 255
template <typename T>
inline void to_tensor_row(const T* data, int64_t row, int64_t height, int64_t width,
                          int64_t channels, float* out, bool add) {
  const T* x = data + row * width * channels;
  for (int64_t c = 0; c < channels; ++c) {
    float* y = out + (c * height + row) * width;
    for (int64_t i = 0; i < width; ++i) {
      const float value = static_cast<float>(computed_from(x[i * channels + c]) / 255);
      y[i] = add ? y[i] + value : value;
    }
  }
}

// The gradient of a row: dx (+)= dy / 255
template <typename T>
inline void to_tensor_row_backward(const float* dy, int64_t row, int64_t height, int64_t width,
                                   int64_t channels, T* dx, bool add) {
  T* x = dx + row * width * channels;
  for (int64_t c = 0; c < channels; ++c) {
    const float* y = dy + (c * height + row) * width;
    for (int64_t i = 0; i < width; ++i)
      put_pixel(x + i * channels + c, static_cast<Computed<T>>(y[i]) / 255, add);
  }
}

// One plane: out (+)= (data - mean) / std
template <typename T>
inline void normalize_plane(const T* data, int64_t n, float mean, float std, T* out, bool add) {
  typedef Computed<T> C;
  for (int64_t i = 0; i < n; ++i)
    put_pixel(out + i, (computed_from(data[i]) - C(mean)) / C(std), add);
}

// One row, backwards, of pixels of C channels; C 0: of `channels`.
template <int C, typename T>
inline void mirror_row(const T* x, int64_t width, int64_t channels, T* y, bool add) {
  const int64_t each = C ? C : channels;
  for (int64_t i = 0; i < width; ++i) {
    const T* from = x + (width - 1 - i) * each;
    T* to = y + i * each;
    for (int64_t c = 0; c < each; ++c) {
      if (add) add_element(to + c, from[c]);
      else to[c] = from[c];
    }
  }
}

// One image, mirrored left to right or top to bottom, or as it is: out (+)= data
template <typename T>
inline void mirror(const T* data, int64_t height, int64_t width, int64_t channels, bool sideways,
                   bool mirrored, T* out, bool add) {
  for (int64_t row = 0; row < height; ++row) {
    const T* x = data + (mirrored && !sideways ? height - 1 - row : row) * width * channels;
    T* y = out + row * width * channels;
    if (mirrored && sideways) {
      if (channels == 3) mirror_row<3>(x, width, channels, y, add);
      else if (channels == 1) mirror_row<1>(x, width, channels, y, add);
      else mirror_row<0>(x, width, channels, y, add);
    } else if (add) {
      for (int64_t i = 0; i < width * channels; ++i) add_element(y + i, x[i]);
    } else {
      std::memcpy(y, x, width * channels * sizeof(T));
    }
  }
}

// The same by a dtype code.
inline void to_tensor_row(int dtype, const void* data, int64_t row, int64_t height, int64_t width,
                          int64_t channels, float* out, bool add) {
  by_dtype(dtype, [=](auto zero) {
    typedef decltype(zero) T;
    to_tensor_row(static_cast<const T*>(data), row, height, width, channels, out, add);
  });
}

inline void to_tensor_row_backward(int dtype, const float* dy, int64_t row, int64_t height,
                                   int64_t width, int64_t channels, void* dx, bool add) {
  by_dtype(dtype, [=](auto zero) {
    typedef decltype(zero) T;
    to_tensor_row_backward(dy, row, height, width, channels, static_cast<T*>(dx), add);
  });
}

// Plane `plane`, of n elements each.
inline void normalize_plane(int dtype, const void* data, int64_t plane, int64_t n, float mean,
                            float std, void* out, bool add) {
  by_dtype(dtype, [=](auto zero) {
    typedef decltype(zero) T;
    normalize_plane(static_cast<const T*>(data) + plane * n, n, mean, std,
                    static_cast<T*>(out) + plane * n, add);
  });
}

// Image `image`.
inline void mirror(int dtype, const void* data, int64_t image, int64_t height, int64_t width,
                   int64_t channels, bool sideways, bool mirrored, void* out, bool add) {
  const int64_t first = image * height * width * channels;
  by_dtype(dtype, [=](auto zero) {
    typedef decltype(zero) T;
    mirror(static_cast<const T*>(data) + first, height, width, channels, sideways, mirrored,
           static_cast<T*>(out) + first, add);
  });
}

}  // namespace cynet

#endif
