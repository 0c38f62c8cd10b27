// Images (height, width, channels), one or a batch of them, and their pixels.
#ifndef CYNET_IMAGE_PIXELS_H
#define CYNET_IMAGE_PIXELS_H

#include <cstring>

#include "common/by_dtype.h"
#include "kernel.h"

namespace cynet {

struct ImageShape {
  int64_t images, height, width, channels;
  explicit ImageShape(const Blob* data) {
    const int64_t* lengths = data->shape + data->ndim - 3;
    images = data->ndim == 3 ? 1 : data->shape[0];
    height = lengths[0], width = lengths[1], channels = lengths[2];
  }
  int64_t pixels() const { return height * width; }  // of one image
  int64_t size() const { return height * width * channels; }  // numbers of one image
};

// The type in which elements of type T are computed.
template <typename T>
using ComputeType = typename std::conditional<std::is_same<T, double>::value, double, float>::type;

template <typename T>
inline ComputeType<T> to_compute_type(T x) {
  return convert_one<ComputeType<T>>(x);
}

template <typename T, typename C>
inline void put_pixel(T* to, C value, bool add) {
  if (add) value += static_cast<C>(to_compute_type(*to));
  *to = convert_one<T>(value);
}

}  // namespace cynet

#endif
