// Softmax of one line and its gradient, compiled for each level (levels.h). Included by softmax.h.

enum { SOFTMAX_LANES = 64 };  // partial results: so many that compilers keep the loops over them

template <typename T>
CYNET_XINLINE T fold_sum(T* lanes) {
  for (int width = SOFTMAX_LANES / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0];
}

template <typename T>
CYNET_XINLINE T largest(const T* x, int64_t n, int64_t step, T scale) {
  T top = x[0] * scale;
  int64_t i = 0;
  if (step == 1 && n >= SOFTMAX_LANES) {
    T lanes[SOFTMAX_LANES];
    for (int l = 0; l < SOFTMAX_LANES; ++l) lanes[l] = top;
    for (; i + SOFTMAX_LANES <= n; i += SOFTMAX_LANES) {
      for (int l = 0; l < SOFTMAX_LANES; ++l) {
        const T value = x[i + l] * scale;
        lanes[l] = value > lanes[l] ? value : lanes[l];
      }
    }
    for (int width = SOFTMAX_LANES / 2; width > 0; width /= 2)
      for (int l = 0; l < width; ++l)
        lanes[l] = lanes[l + width] > lanes[l] ? lanes[l + width] : lanes[l];
    top = lanes[0];
  }
  for (; i < n; ++i) top = x[i * step] * scale > top ? x[i * step] * scale : top;
  return top;
}

// The sum of e^(x scale - top); with `keep` the terms go to y.
template <bool keep, typename T>
CYNET_XINLINE T exp_sum(const T* x, T* y, int64_t n, int64_t step, T scale, T top) {
  T lanes[SOFTMAX_LANES];
  for (int l = 0; l < SOFTMAX_LANES; ++l) lanes[l] = 0;
  int64_t i = 0;
  if (step == 1) {
    for (; i < n; i += SOFTMAX_LANES) {
      const int count = static_cast<int>(n - i < SOFTMAX_LANES ? n - i : SOFTMAX_LANES);
      CYNET_IVDEP
      for (int l = 0; l < count; ++l) {
        const T e = math::exp(x[i + l] * scale - top);
        if (keep) y[i + l] = e;
        lanes[l] += e;
      }
    }
  } else {
    for (; i < n; ++i) {
      const T e = math::exp(x[i * step] * scale - top);
      if (keep) y[i * step] = e;
      lanes[i % SOFTMAX_LANES] += e;
    }
  }
  return fold_sum(lanes);
}

// y[i] = or += f(i) for i in [0, n), with a literal step where lines are contiguous
template <typename T, class F>
CYNET_XINLINE void fill_line(T* y, int64_t n, int64_t step, bool add, F&& f) {
  if (step == 1 && !add) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] = f(i);
  } else if (step == 1) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] += f(i);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i * step] = f(i * step) + (add ? y[i * step] : T(0));
  }
}

// Of the n entries the first `length` take part; the others give 0.
template <typename T>
void softmax_line(const T* x, T* y, int64_t n, int64_t length, int64_t step, T scale, bool log_of,
                  bool add) {
  if (length > 0) {
    const T top = largest(x, length, step, scale);
    if (log_of) {
      const T shift = math::log(exp_sum<false>(x, y, length, step, scale, top));
      fill_line(y, length, step, add, [=](int64_t i) { return x[i] * scale - top - shift; });
    } else if (add) {
      const T factor = 1 / exp_sum<false>(x, y, length, step, scale, top);
      fill_line(y, length, step, true,
                [=](int64_t i) { return math::exp(x[i] * scale - top) * factor; });
    } else {
      const T factor = 1 / exp_sum<true>(x, y, length, step, scale, top);
      fill_line(y, length, step, false, [=](int64_t i) { return y[i] * factor; });
    }
  }
  if (!add)
    for (int64_t i = length; i < n; ++i) y[i * step] = 0;
}

template <typename T>
void softmax_line_gradient(const T* dy, const T* y, T* dx, int64_t n, int64_t length, int64_t step,
                           T scale, bool log_of, bool add) {
  T lanes[SOFTMAX_LANES];
  for (int l = 0; l < SOFTMAX_LANES; ++l) lanes[l] = 0;
  for (int64_t i = 0; i < length; i += SOFTMAX_LANES) {
    const int count = static_cast<int>(length - i < SOFTMAX_LANES ? length - i : SOFTMAX_LANES);
    const T* g = dy + i * step;
    const T* v = y + i * step;
    if (step == 1 && log_of) {
      for (int l = 0; l < count; ++l) lanes[l] += g[l];
    } else if (step == 1) {
      for (int l = 0; l < count; ++l) lanes[l] += g[l] * v[l];
    } else {
      for (int l = 0; l < count; ++l) lanes[l] += g[l * step] * (log_of ? T(1) : v[l * step]);
    }
  }
  const T total = fold_sum(lanes);
  if (log_of) {
    fill_line(dx, length, step, add,
              [=](int64_t i) { return scale * (dy[i] - math::exp(y[i]) * total); });
  } else {
    fill_line(dx, length, step, add, [=](int64_t i) { return scale * y[i] * (dy[i] - total); });
  }
  if (!add)
    for (int64_t i = length; i < n; ++i) dx[i * step] = 0;
}
