// Changes colors: brightness, contrast, saturation, hue, light, by given or random factors.
//
// Integers are truncated, uint8 clamped to 0 .. 255. An image of one channel has no saturation, hue
// or colored light: it stays unchanged.
#include <algorithm>
#include <cmath>
#include <limits>

#include "image/pixels.h"
#include "rng/philox.h"

namespace cynet {
namespace {

enum ColorKind { kBrightness, kContrast, kSaturation, kHue, kLight };

struct ColorChange {
  int kind;
  float factor;  // kHue: the angle / 360 degrees; unused by kLight
  float light[3];  // kLight: added to red, green, blue
};

static const float kGrey[3] = {0.299f, 0.587f, 0.114f};  // shares of red, green, blue

template <typename T>
inline T clamp_to_type(float value) {
  if constexpr (std::is_same<T, uint8_t>::value)
    return static_cast<T>(std::min(std::max(value, 0.0f), 255.0f));
  else return convert_one<T>(value);
}

// Hue (0 to 360), lightness and saturation of a color of [0, 1].
inline void rgb_to_hls(float r, float g, float b, float* h, float* l, float* s) {
  const float high = std::max(r, std::max(g, b)), low = std::min(r, std::min(g, b));
  const float range = high - low;
  *h = 0, *s = 0, *l = (high + low) * 0.5f;
  if (!(range > std::numeric_limits<float>::epsilon())) return;
  *s = *l < 0.5f ? range / (high + low) : range / (2.0f - high - low);
  const float sixth = 60.0f / range;
  if (high == r) *h = (g - b) * sixth;
  else if (high == g) *h = (b - r) * sixth + 120.0f;
  else *h = (r - g) * sixth + 240.0f;
  if (*h < 0) *h += 360.0f;
}

inline void hls_to_rgb(float h, float l, float s, float* rgb) {
  rgb[0] = rgb[1] = rgb[2] = l;
  if (s == 0) return;
  const float high = l <= 0.5f ? l * (1 + s) : l + s - l * s, low = 2 * l - high;
  h *= 1.0f / 60.0f;
  h -= 6.0f * std::floor(h / 6.0f);
  const int sector = h >= 0 && h < 6 ? static_cast<int>(h) : 5;  // NaN gets sector 5
  h -= sector;
  const float levels[4] = {high, low, low + (high - low) * (1 - h), low + (high - low) * h};
  static const int kLevels[6][3] = {{0, 3, 1}, {2, 0, 1}, {1, 0, 3},
                                    {1, 2, 0}, {3, 1, 0}, {0, 1, 2}};
  for (int c = 0; c < 3; ++c) rgb[c] = levels[kLevels[sector][c]];
}

// The mean gray value of an image of n pixels.
template <typename T>
inline float mean_grey(const T* data, int64_t n, int64_t channels) {
  double total = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T* x = data + i * channels;
    total += channels == 3
                 ? kGrey[0] * convert_one<float>(x[0]) + kGrey[1] * convert_one<float>(x[1]) +
                       kGrey[2] * convert_one<float>(x[2])
                 : convert_one<float>(x[0]);
  }
  return static_cast<float>(total / static_cast<double>(n));
}

// out = data + light for n pixels of three channels; bytes go through a table.
template <typename T>
inline void add_light(const float* light, const T* data, int64_t n, T* out) {
  if constexpr (std::is_same<T, uint8_t>::value) {
    uint8_t sums[3][256];
    for (int c = 0; c < 3; ++c)
      for (int k = 0; k < 256; ++k) sums[c][k] = clamp_to_type<T>(static_cast<float>(k) + light[c]);
    for (int64_t i = 0; i < n; ++i)
      for (int c = 0; c < 3; ++c) out[3 * i + c] = sums[c][data[3 * i + c]];
  } else {
    for (int64_t i = 0; i < n; ++i)
      for (int c = 0; c < 3; ++c)
        out[3 * i + c] = clamp_to_type<T>(convert_one<float>(data[3 * i + c]) + light[c]);
  }
}

// out = the changed image of n pixels; out may be data
template <typename T>
inline void change_colors(const ColorChange& how, const T* data, int64_t n, int64_t channels,
                          T* out) {
  const float factor = how.factor;
  if (how.kind == kBrightness || how.kind == kContrast) {
    float more = 0;
    if (how.kind == kContrast) more = (1.0f - factor) * mean_grey(data, n, channels);
    for (int64_t i = 0; i < n * channels; ++i)
      out[i] = clamp_to_type<T>(convert_one<float>(data[i]) * factor + more);
    return;
  }
  if (channels != 3) {
    if (out != data) std::copy(data, data + n * channels, out);
    return;
  }
  if (how.kind == kLight) return add_light(how.light, data, n, out);
  for (int64_t i = 0; i < n; ++i) {
    float rgb[3];
    for (int c = 0; c < 3; ++c) rgb[c] = convert_one<float>(data[3 * i + c]);
    if (how.kind == kSaturation) {
      const float grey = kGrey[0] * rgb[0] + kGrey[1] * rgb[1] + kGrey[2] * rgb[2];
      for (int c = 0; c < 3; ++c) rgb[c] = grey * (1.0f - factor) + rgb[c] * factor;
    } else {
      float h, l, s;
      rgb_to_hls(rgb[0] / 255.0f, rgb[1] / 255.0f, rgb[2] / 255.0f, &h, &l, &s);
      hls_to_rgb(h + factor * 360.0f, l, s, rgb);
      for (int c = 0; c < 3; ++c) rgb[c] *= 255.0f;
    }
    for (int c = 0; c < 3; ++c) out[3 * i + c] = clamp_to_type<T>(rgb[c]);
  }
}

// Computes the values to add to red, green and blue from ImageNet's principal components.
inline void compute_pca_light(const float* parts, float* light) {
  static const float kComponents[3][3] = {{55.46f * -0.5675f, 4.794f * 0.7192f, 1.148f * 0.4009f},
                                          {55.46f * -0.5808f, 4.794f * -0.0045f, 1.148f * -0.8140f},
                                          {55.46f * -0.5836f, 4.794f * -0.6948f, 1.148f * 0.4203f}};
  for (int c = 0; c < 3; ++c)
    light[c] =
        kComponents[c][0] * parts[0] + kComponents[c][1] * parts[1] + kComponents[c][2] * parts[2];
}

// Changes all images: draw(image, changes) writes at most four changes and returns their number.
template <typename T, class Draw>
void change_image_colors(const Args& args, Draw draw) {
  const ImageShape s(args.in[0]);
  parallel_for(args.threads, s.images, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ColorChange changes[4];
      const int count = draw(i, changes);
      const T* from = args.input<T>(0) + i * s.size();
      T* to = args.output<T>(0) + i * s.size();
      if (count == 0) std::copy(from, from + s.size(), to);
      for (int k = 0; k < count; ++k)
        change_colors(changes[k], k ? to : from, s.pixels(), s.channels, to);
    }
  });
}

// --- random changes: image i uses blocks 2 i and 2 i + 1 of the stream -------------------
inline float uniform_between(float low, float high, uint32_t word) {
  return std::min(low + (high - low) * unit_float(word), high);
}

struct RandomWords {  // four random words per block
  uint32_t at[4];
  RandomWords(const Args& args, int64_t block) { Philox(args.seed, args.stream).block(block, at); }
};

#define FACTOR_FIELDS(field) field(int, kind) field(double, min_factor) field(double, max_factor)
CYNET_PARAMS(FactorParams, FACTOR_FIELDS)

template <typename T>
void random_factor(const Args& args) {
  const FactorParams& p = args.as<FactorParams>();
  change_image_colors<T>(args, [&](int64_t image, ColorChange* changes) {
    const RandomWords words(args, 2 * image);
    changes[0].kind = p.kind;
    changes[0].factor = uniform_between(float(p.min_factor), float(p.max_factor), words.at[0]);
    return 1;
  });
}

#define JITTER_FIELDS(field) \
  field(double, brightness) field(double, contrast) field(double, saturation) field(double, hue)
CYNET_PARAMS(JitterParams, JITTER_FIELDS)

// Random changes within the given ranges, in random order.
template <typename T>
void color_jitter(const Args& args) {
  const JitterParams& p = args.as<JitterParams>();
  const float strengths[4] = {float(p.brightness), float(p.contrast), float(p.saturation),
                              float(p.hue)};
  change_image_colors<T>(args, [&](int64_t image, ColorChange* changes) {
    const RandomWords words(args, 2 * image), order(args, 2 * image + 1);
    int kinds[4], count = 0;
    for (int kind = kBrightness; kind <= kHue; ++kind)
      if (strengths[kind] > 0) kinds[count++] = kind;
    for (int i = count - 1; i > 0; --i)
      std::swap(kinds[i], kinds[integer_below(0, order.at[i], static_cast<uint64_t>(i) + 1)]);
    for (int i = 0; i < count; ++i) {
      const float maximum = strengths[kinds[i]];
      const float drawn = uniform_between(-maximum, maximum, words.at[kinds[i]]);
      changes[i].kind = kinds[i];
      changes[i].factor = kinds[i] == kHue ? drawn : 1.0f + drawn;
    }
    return count;
  });
}

#define RANDOM_LIGHT_FIELDS(field) field(double, alpha_std)
CYNET_PARAMS(RandomLightParams, RANDOM_LIGHT_FIELDS)

template <typename T>
void random_light(const Args& args) {
  const float deviation = float(args.as<RandomLightParams>().alpha_std);
  change_image_colors<T>(args, [&](int64_t image, ColorChange* changes) {
    const RandomWords words(args, 2 * image);
    float parts[4];
    normal_floats(words.at[0], words.at[1], parts, parts + 1);
    normal_floats(words.at[2], words.at[3], parts + 2, parts + 3);
    for (int i = 0; i < 3; ++i) parts[i] *= deviation;
    changes[0].kind = kLight;
    compute_pca_light(parts, changes[0].light);
    return 1;
  });
}

#define LIGHT_FIELDS(field) field(Floats, alpha)
CYNET_PARAMS(LightParams, LIGHT_FIELDS)

template <typename T>
void adjust_light(const Args& args) {
  change_image_colors<T>(args, [&](int64_t, ColorChange* changes) {
    changes[0].kind = kLight;
    compute_pca_light(args.as<LightParams>().alpha.at, changes[0].light);
    return 1;
  });
}

}  // namespace
}  // namespace cynet

CYNET_PLAIN_KERNEL(random_factor, FactorParams, 4, CYNET_NUMBERS)
CYNET_PLAIN_KERNEL(color_jitter, JitterParams, 4, CYNET_NUMBERS)
CYNET_PLAIN_KERNEL(random_light, RandomLightParams, 4, CYNET_NUMBERS)
CYNET_PLAIN_KERNEL(adjust_light, LightParams, 4, CYNET_NUMBERS)
