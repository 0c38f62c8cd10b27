// Converts images to planes of floats, normalizes and mirrors them.
#include "image/pixels.h"
#include "rng/philox.h"

namespace cynet {
namespace {

// Calls body(row) for all rows of all images.
template <class Body>
void for_image_rows(int threads, const ImageShape& s, Body body) {
  parallel_for(threads, s.images * s.height, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) body(row);
  });
}

// The offset of a row of channel c in an image with the channels first.
inline int64_t offset_in_planes(const ImageShape& s, int64_t row, int64_t c) {
  return row / s.height * s.size() + (c * s.height + row % s.height) * s.width;
}

// reads images (height, width, channels); writes float (channels, height, width), data / 255
template <typename T>
void image_to_tensor(const Args& args) {
  const ImageShape s(args.in[0]);
  for_image_rows(args.threads, s, [&](int64_t row) {
    const T* x = args.input<T>(0) + row * s.width * s.channels;
    for (int64_t c = 0; c < s.channels; ++c) {
      float* y = args.output<float>(0) + offset_in_planes(s, row, c);
      for (int64_t i = 0; i < s.width; ++i) {
        const float value = static_cast<float>(to_compute_type(x[i * s.channels + c]) / 255);
        y[i] = args.add[0] ? y[i] + value : value;
      }
    }
  });
}

template <typename T>
void image_to_tensor_grad(const Args& args) {
  const ImageShape s(args.out[0]);
  for_image_rows(args.threads, s, [&](int64_t row) {
    T* x = args.output<T>(0) + row * s.width * s.channels;
    for (int64_t c = 0; c < s.channels; ++c) {
      const float* y = args.input<float>(0) + offset_in_planes(s, row, c);
      for (int64_t i = 0; i < s.width; ++i)
        put_pixel(x + i * s.channels + c, static_cast<ComputeType<T>>(y[i]) / 255, args.add[0]);
    }
  });
}

// mean and std: one number each, or one a channel
#define NORMALIZE_FIELDS(field) field(Floats, mean) field(Floats, std)
CYNET_PARAMS(NormalizeParams, NORMALIZE_FIELDS)

// out (+)= (x - mean) / std of images (channels, height, width); `centred`: x / std
template <typename T>
void normalize_planes(const Args& args, bool centred) {
  typedef ComputeType<T> C;
  const NormalizeParams& p = args.as<NormalizeParams>();
  const int64_t* lengths = args.in[0]->shape + args.in[0]->ndim - 3;
  const int64_t channels = lengths[0], n = lengths[1] * lengths[2];
  parallel_for(args.threads, args.in[0]->size / n, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const int64_t c = plane % channels;
      const C mean = centred ? C(0) : C(p.mean.at[p.mean.n == 1 ? 0 : c]);
      const C std = C(p.std.at[p.std.n == 1 ? 0 : c]);
      const T* x = args.input<T>(0) + plane * n;
      T* out = args.output<T>(0) + plane * n;
      const bool add = args.add[0];
      for (int64_t i = 0; i < n; ++i) put_pixel(out + i, (to_compute_type(x[i]) - mean) / std, add);
    }
  });
}
template <typename T>
void image_normalize(const Args& args) {
  normalize_planes<T>(args, false);
}
template <typename T>
void image_normalize_grad(const Args& args) {
  normalize_planes<T>(args, true);
}

// Copies one row of pixels in reverse; C is the number of channels, or 0 for `channels`.
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

// Copies one image, mirrored left to right or top to bottom, or unchanged: out (+)= data
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

#define MIRROR_FIELDS(field) field(bool, sideways)
CYNET_PARAMS(MirrorParams, MIRROR_FIELDS)

// out (+)= the images; image i is mirrored if mirrored[i]
template <typename T>
void mirror_images(const Args& args, const uint8_t* mirrored) {
  const ImageShape s(args.in[0]);
  parallel_for(args.threads, s.images, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      mirror(args.input<T>(0) + i * s.size(), s.height, s.width, s.channels,
             args.as<MirrorParams>().sideways, mirrored[i] != 0, args.output<T>(0) + i * s.size(),
             args.add[0]);
  });
}

// reads data; writes output and mirrored[i], which is the first bit of block 2 i of the stream
template <typename T>
void random_mirror(const Args& args) {
  uint8_t* mirrored = args.output<uint8_t>(1);
  for (int64_t i = 0; i < args.out[1]->size; ++i) {
    uint32_t words[4];
    Philox(args.seed, args.stream).block(2 * i, words);
    mirrored[i] = words[0] >> 31;
  }
  mirror_images<T>(args, mirrored);
}

// reads d_output and `mirrored`: the gradient of a mirror image is the output's, mirrored
template <typename T>
void random_mirror_grad(const Args& args) {
  mirror_images<T>(args, args.input<uint8_t>(1));
}

}  // namespace
}  // namespace cynet

CYNET_PLAIN_KERNEL(image_to_tensor, NoParams, 2, CYNET_NUMBERS)
CYNET_PLAIN_KERNEL(image_to_tensor_grad, NoParams, 2, CYNET_NUMBERS)
CYNET_PLAIN_KERNEL(image_normalize, NormalizeParams, 2, CYNET_NUMBERS)
CYNET_PLAIN_KERNEL(image_normalize_grad, NormalizeParams, 2, CYNET_NUMBERS)
CYNET_PLAIN_KERNEL(random_mirror, MirrorParams, 1, CYNET_NUMBERS)
CYNET_PLAIN_KERNEL(random_mirror_grad, MirrorParams, 1, CYNET_NUMBERS)
