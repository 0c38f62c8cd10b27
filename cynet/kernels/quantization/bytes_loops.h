// Conversion between integers of 8 bits and floats, by a step and a zero point, as ONNX defines
// them; compiled for each level (levels.h). Included by fused_broadcast.h and linear.cc.

template <typename T>
void dequantize_loop(const void* x_, float step, float zero, float* y, int64_t n) {
  const T* x = static_cast<const T*>(x_);
  CYNET_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = (static_cast<float>(x[i]) - zero) * step;
}

// Quotients are rounded to even before the zero point is added. Returns 1 if one was NaN.
template <typename T>
int quantize_loop(const float* x, float step, float zero, void* y_, int64_t n) {
  T* y = static_cast<T*>(y_);
  const float least = std::numeric_limits<T>::min() - zero;
  const float maximum = std::numeric_limits<T>::max() - zero;
  const float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  int wrong = 0;
  CYNET_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const float v = x[i] / step, low = v > least ? v : least;
    const float within = low < maximum ? low : maximum;
    wrong |= v != v;
    y[i] = static_cast<T>(static_cast<int32_t>(within + shift - shift + zero));
  }
  return wrong;
}
