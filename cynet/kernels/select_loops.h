// Loops that choose by value, compiled for each level (levels.h). Included by select.h.

template <typename T>
void clip_loop(const T* x, plain<T> low, plain<T> high, T* out, int64_t n, bool add) {
  auto limited = [=](plain<T> v) { return v < low ? low : (v > high ? high : v); };
  if (add) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) emit(out[i], limited(x[i]), true);
  } else {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) emit(out[i], limited(x[i]), false);
  }
}

template <typename T>
void truth_loop(const void* condition_, uint8_t* mask, int64_t n) {
  const T* condition = static_cast<const T*>(condition_);
  for (int64_t i = 0; i < n; ++i) mask[i] = static_cast<plain<T>>(condition[i]) != plain<T>(0);
}

template <typename T>
void where_loop(const uint8_t* mask, const T* x, const T* y, T* out, int64_t n) {
  CYNET_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const T a = x[i], b = y[i];
    out[i] = mask[i] ? a : b;
  }
}
