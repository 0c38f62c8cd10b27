// Loops of where and clip, compiled for each CPU level (levels.h). Included by where_clip.h.

// out = or += f(x).
template <typename T, class F>
CYNET_XINLINE void map_loop(const T* x, T* out, int64_t n, bool add, const F& f) {
  if (add) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) emit(out[i], f(x[i]), true);
  } else {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) emit(out[i], f(x[i]), false);
  }
}

template <typename T>
void clip_loop(const T* x, plain<T> low, plain<T> high, T* out, int64_t n, bool add) {
  map_loop(x, out, n, add,
           [=](plain<T> v) { return v < low ? low : (v > high ? high : v); });
}

// slope * x + shift limited to [0, 1]
template <typename T>
void hard_sigmoid_loop(const T* x, plain<T> slope, plain<T> shift, T* out, int64_t n, bool add) {
  typedef plain<T> P;
  map_loop(x, out, n, add, [=](P x) {
    const P v = static_cast<P>(slope * x + shift);
    return v < P(0) ? P(0) : (v > P(1) ? P(1) : v);
  });
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
