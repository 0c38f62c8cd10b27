// Converts numbers times a factor to 8-bit integers; compiled for each level (levels.h). Included
// by concat.h and quantize.cc.

// Rounded to even, within the limits of To. Returns whether a product was NaN, which has no
// integer; products of bytes are not.
template <typename From, typename To>
int scale_to_bytes(const void* x_, void* y_, int64_t n, float scale) {
  const From* x = static_cast<const From*>(x_);
  To* y = static_cast<To*>(y_);
  const float least = std::numeric_limits<To>::min(), maximum = std::numeric_limits<To>::max();
  const float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  int wrong = 0;
  CYNET_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const float v = static_cast<float>(x[i]) * scale;
    if (sizeof(From) > 1) wrong |= v != v;
    const float low = v > least ? v : least, within = low < maximum ? low : maximum;
    y[i] = static_cast<To>(static_cast<int32_t>(within + shift - shift));
  }
  return wrong;
}
