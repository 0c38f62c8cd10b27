// Softmax of one line and its gradient, compiled for each level (levels.h). Included by softmax.h.

// Partial results: so many that compilers keep the loops over them; what is left of a line goes by
// the smaller number of them, and its end by its last so many elements, of which some were seen.
enum { SOFTMAX_LANES = 64, SOFTMAX_FEW = 16 };

template <typename T>
CYNET_XINLINE T fold_sum(T* lanes, int width = SOFTMAX_LANES) {
  for (width /= 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0];
}

template <typename T>
CYNET_XINLINE T largest(const T* x, int64_t n, int64_t step, T scale) {
  T top = x[0] * scale;
  int64_t i = 0;
  if (step == 1 && n >= SOFTMAX_FEW) {
    T lanes[SOFTMAX_LANES];
    auto take = [&](int64_t at, int width) {
      for (int l = 0; l < width; ++l) {
        const T value = x[at + l] * scale;
        lanes[l] = value > lanes[l] ? value : lanes[l];
      }
    };
    int width = SOFTMAX_FEW;
    if (n >= SOFTMAX_LANES) {
      for (int l = 0; l < SOFTMAX_LANES; ++l) lanes[l] = top;
      for (; i + SOFTMAX_LANES <= n; i += SOFTMAX_LANES) take(i, SOFTMAX_LANES);
      width = SOFTMAX_LANES;
    } else {
      for (int l = 0; l < SOFTMAX_FEW; ++l) lanes[l] = top;
    }
    for (; i + SOFTMAX_FEW <= n; i += SOFTMAX_FEW) take(i, SOFTMAX_FEW);
    if (i < n) take(n - SOFTMAX_FEW, SOFTMAX_FEW);
    for (width /= 2; width > 0; width /= 2)
      for (int l = 0; l < width; ++l)
        lanes[l] = lanes[l + width] > lanes[l] ? lanes[l + width] : lanes[l];
    return lanes[0];
  }
  for (; i < n; ++i) top = x[i * step] * scale > top ? x[i * step] * scale : top;
  return top;
}

// The sum of e^(x scale - top); with `keep` the terms go to y.
template <bool keep, typename T>
CYNET_XINLINE T exp_sum(const T* x, T* y, int64_t n, int64_t step, T scale, T top) {
  T lanes[SOFTMAX_LANES];
  int64_t i = 0;
  if (step == 1 && n >= SOFTMAX_FEW) {
    const int width = n >= SOFTMAX_LANES ? SOFTMAX_LANES : SOFTMAX_FEW;
    for (int l = 0; l < SOFTMAX_LANES; ++l) lanes[l] = 0;
    for (; i + SOFTMAX_LANES <= n; i += SOFTMAX_LANES) {
      CYNET_IVDEP
      for (int l = 0; l < SOFTMAX_LANES; ++l) {
        const T e = math::exp(x[i + l] * scale - top);
        if (keep) y[i + l] = e;
        lanes[l] += e;
      }
    }
    for (; i + SOFTMAX_FEW <= n; i += SOFTMAX_FEW) {
      CYNET_IVDEP
      for (int l = 0; l < SOFTMAX_FEW; ++l) {
        const T e = math::exp(x[i + l] * scale - top);
        if (keep) y[i + l] = e;
        lanes[l] += e;
      }
    }
    if (i < n) {
      const int64_t last = n - SOFTMAX_FEW;
      const int seen = static_cast<int>(i - last);
      T e[SOFTMAX_FEW];
      for (int l = 0; l < SOFTMAX_FEW; ++l) {
        const T term = math::exp(x[last + l] * scale - top);
        e[l] = l >= seen ? term : T(0);
        lanes[l] += e[l];
      }
      if (keep)
        for (int l = seen; l < SOFTMAX_FEW; ++l) y[last + l] = e[l];
    }
    return fold_sum(lanes, width);
  }
  for (int l = 0; l < SOFTMAX_FEW; ++l) lanes[l] = 0;
  for (; i < n; ++i) {
    const T e = math::exp(x[i * step] * scale - top);
    if (keep) y[i * step] = e;
    lanes[i % SOFTMAX_FEW] += e;
  }
  return fold_sum(lanes, SOFTMAX_FEW);
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
