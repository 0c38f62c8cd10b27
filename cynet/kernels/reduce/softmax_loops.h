// Softmax of a row and its gradient, compiled for each CPU level (levels.h). Included by softmax.h.

// Numbers of partial results: so many that compilers vectorise the loops and do not unroll them.
// The remainder of a row uses the smaller one, its end the last SOFTMAX_FEW elements.
enum { SOFTMAX_LANES = 64, SOFTMAX_FEW = 16 };

template <int lanes_used, typename T>
CYNET_XINLINE T sum_of_lanes(T* lanes) {
  if constexpr (lanes_used > SOFTMAX_FEW)
    for (int k = SOFTMAX_FEW; k < lanes_used; k += SOFTMAX_FEW)
      for (int l = 0; l < SOFTMAX_FEW; ++l) lanes[l] += lanes[l + k];
  for (int l = 0; l < 8; ++l) lanes[l] += lanes[l + 8];
  for (int l = 0; l < 4; ++l) lanes[l] += lanes[l + 4];
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

template <typename T>
CYNET_XINLINE T greater_of(T a, T b) {
  return b > a ? b : a;
}

template <int count, typename T>
CYNET_XINLINE void update_largest(const T* x, T scale, T* lanes) {
  for (int l = 0; l < count; ++l) lanes[l] = greater_of(lanes[l], x[l] * scale);
}

#if defined(__GNUC__)
// The largest of n >= LANES floats; the last vector may overlap the one before.
CYNET_XINLINE float largest_by_vectors(const float* x, int64_t n, float scale) {
  Vec maximum[4];
  for (int k = 0; k < 4; ++k) maximum[k] = load(x) * scale;
  int64_t i = 0;
  for (; i + 4 * LANES <= n; i += 4 * LANES) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k)
      maximum[k] = Greater::combine(load(x + i + k * LANES) * scale, maximum[k]);
  }
  for (; i + LANES <= n; i += LANES) maximum[0] = Greater::combine(load(x + i) * scale, maximum[0]);
  if (i < n) maximum[1] = Greater::combine(load(x + n - LANES) * scale, maximum[1]);
  return fold_lanes<Greater>(Greater::combine(Greater::combine(maximum[0], maximum[1]),
                                              Greater::combine(maximum[2], maximum[3])));
}
#endif

template <typename T>
CYNET_XINLINE T largest(const T* x, int64_t n, int64_t step, T scale) {  // the largest x * scale
#if defined(__GNUC__)
  if constexpr (std::is_same<T, float>::value) {
    if (step == 1 && n >= LANES) return largest_by_vectors(x, n, scale);
  }
#endif
  T top = x[0] * scale;
  int64_t i = 0;
  if (step == 1 && n >= SOFTMAX_FEW) {
    T few[SOFTMAX_FEW];
    for (int l = 0; l < SOFTMAX_FEW; ++l) few[l] = top;
    if (n >= 4 * SOFTMAX_LANES) {
      T lanes[SOFTMAX_LANES];
      for (int l = 0; l < SOFTMAX_LANES; ++l) lanes[l] = top;
      for (; i + SOFTMAX_LANES <= n; i += SOFTMAX_LANES)
        update_largest<SOFTMAX_LANES>(x + i, scale, lanes);
      for (int k = 0; k < SOFTMAX_LANES; k += SOFTMAX_FEW)
        for (int l = 0; l < SOFTMAX_FEW; ++l) few[l] = greater_of(few[l], lanes[l + k]);
    }
    for (; i + SOFTMAX_FEW <= n; i += SOFTMAX_FEW) update_largest<SOFTMAX_FEW>(x + i, scale, few);
    if (i < n) update_largest<SOFTMAX_FEW>(x + n - SOFTMAX_FEW, scale, few);
    for (int l = 0; l < 8; ++l) few[l] = greater_of(few[l], few[l + 8]);
    for (int l = 0; l < 4; ++l) few[l] = greater_of(few[l], few[l + 4]);
    return greater_of(greater_of(few[0], few[2]), greater_of(few[1], few[3]));
  }
  for (; i < n; ++i) top = greater_of(top, x[i * step] * scale);
  return top;
}

template <int count, bool keep, typename T>
CYNET_XINLINE void add_exponentials(const T* x, T* y, T scale, T top, T* lanes) {
  CYNET_IVDEP
  for (int l = 0; l < count; ++l) {
    const T e = math::exp_of_nonpositive(x[l] * scale - top);
    if (keep) y[l] = e;
    lanes[l] += e;
  }
}

// The sum of e^(x scale - top); with `keep` the terms are stored in y.
template <bool keep, typename T>
CYNET_XINLINE T exp_sum(const T* x, T* y, int64_t n, int64_t step, T scale, T top) {
  T few[SOFTMAX_FEW];
  for (int l = 0; l < SOFTMAX_FEW; ++l) few[l] = 0;
  int64_t i = 0;
  if (step == 1 && n >= SOFTMAX_FEW) {
    if (n >= 4 * SOFTMAX_LANES) {
      T lanes[SOFTMAX_LANES];
      for (int l = 0; l < SOFTMAX_LANES; ++l) lanes[l] = 0;
      for (; i + SOFTMAX_LANES <= n; i += SOFTMAX_LANES)
        add_exponentials<SOFTMAX_LANES, keep>(x + i, y + i, scale, top, lanes);
      for (int k = 0; k < SOFTMAX_LANES; k += SOFTMAX_FEW)
        for (int l = 0; l < SOFTMAX_FEW; ++l) few[l] += lanes[l + k];
    }
    for (; i + SOFTMAX_FEW <= n; i += SOFTMAX_FEW)
      add_exponentials<SOFTMAX_FEW, keep>(x + i, y + i, scale, top, few);
    if (i < n) {
      const int64_t last = n - SOFTMAX_FEW;
      const int seen = static_cast<int>(i - last);
      T e[SOFTMAX_FEW];
      for (int l = 0; l < SOFTMAX_FEW; ++l) {
        const T term = math::exp_of_nonpositive(x[last + l] * scale - top);
        e[l] = l >= seen ? term : T(0);
        few[l] += e[l];
      }
      if (keep) {
        for (int l = 0; l < SOFTMAX_FEW; ++l) {
          const T before = y[last + l];
          y[last + l] = l >= seen ? e[l] : before;
        }
      }
    }
  } else {
    for (; i < n; ++i) {
      const T e = math::exp_of_nonpositive(x[i * step] * scale - top);
      if (keep) y[i * step] = e;
      few[i % SOFTMAX_FEW] += e;
    }
  }
  return sum_of_lanes<SOFTMAX_FEW>(few);
}

// y[i] = or += f(i) for i in [0, n); the step is a constant for contiguous rows.
template <typename T, class F>
CYNET_XINLINE void fill_line(T* y, int64_t n, int64_t step, bool add, F&& f) {  // y[i] (+)= f(i)
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

#if defined(__GNUC__)
// Contiguous rows of n floats, `count` vectors each, read and written once and held in registers.
// All are read before any is written: a load near a partial store would wait for it.
template <int lines, int count>
CYNET_XINLINE void softmax_by_vectors(const float* x, float* y, int64_t n, float scale, bool log_of,
                                      bool add) {
  enum { LAST = count - 1 };
  const int64_t rest = n - LAST * LANES;
  Vec v[lines][count];
#pragma GCC unroll 4
  for (int i = 0; i < lines; ++i) {
    const float* from = x + i * n;
#pragma GCC unroll 8
    for (int k = 0; k < LAST; ++k) v[i][k] = load(from + k * LANES) * scale;
    v[i][LAST] = keep_first_lanes(load_part(from + LAST * LANES, rest) * scale, rest,
                                  -std::numeric_limits<float>::infinity());
  }
#pragma GCC unroll 4
  for (int i = 0; i < lines; ++i) {
    Vec maximum = v[i][LAST];
#pragma GCC unroll 8
    for (int k = 0; k < LAST; ++k) maximum = Greater::combine(v[i][k], maximum);
    const Vec top = Vec{} + fold_lanes<Greater>(maximum);
    Vec total = {};
#pragma GCC unroll 8
    for (int k = 0; k < count; ++k) {
      v[i][k] -= top;
      const Vec e = math::exp_of_nonpositive<IVec>(v[i][k]);
      total += e;
      if (!log_of) v[i][k] = e;
    }
    const float sum = fold_lanes<Plus>(total);
    const float shift = log_of ? math::log(sum) : 0.0f, factor = log_of ? 1.0f : 1 / sum;
#pragma GCC unroll 8
    for (int k = 0; k < count; ++k) v[i][k] = log_of ? v[i][k] - shift : v[i][k] * factor;
  }
#pragma GCC unroll 4
  for (int i = 0; i < lines; ++i) {
    float* to = y + i * n;
#pragma GCC unroll 8
    for (int k = 0; k < LAST; ++k)
      store(to + k * LANES, add ? v[i][k] + load(to + k * LANES) : v[i][k]);
    to += LAST * LANES;
    store_part(to, add ? v[i][LAST] + load_part(to, rest) : v[i][LAST], rest);
  }
}

enum { SHORT_LINE = 8 * LANES };

template <bool log_of>
CYNET_XINLINE void softmax_short_line(const float* x, float* y, int64_t n, float scale, bool add) {
  const int64_t count = (n + LANES - 1) / LANES;
#define CYNET_COUNT_CASE(c) \
  case c: return softmax_by_vectors<1, c>(x, y, n, scale, log_of, add);
  switch (count) {
    CYNET_COUNT_CASE(1)
    CYNET_COUNT_CASE(2)
    CYNET_COUNT_CASE(3)
    CYNET_COUNT_CASE(4)
    CYNET_COUNT_CASE(5)
    CYNET_COUNT_CASE(6)
    CYNET_COUNT_CASE(7)
    CYNET_COUNT_CASE(8)
  }
#undef CYNET_COUNT_CASE
}
#endif

// Only the first `length` of n entries take part; the others become 0.
template <typename T>
void softmax_line(const T* x, T* y, int64_t n, int64_t length, int64_t step, T scale, bool log_of,
                  bool add) {
#if defined(__GNUC__)
  if constexpr (std::is_same<T, float>::value) {
    if (step == 1 && length > 0 && length <= SHORT_LINE) {
      if (log_of) softmax_short_line<true>(x, y, length, scale, add);
      else softmax_short_line<false>(x, y, length, scale, add);
      if (!add)
        for (int64_t i = length; i < n; ++i) y[i] = 0;
      return;
    }
  }
#endif
  if (length > 0) {
    const T top = largest(x, length, step, scale);
    if (log_of) {
      const T shift = math::log(exp_sum<false>(x, y, length, step, scale, top));
      fill_line(y, length, step, add, [=](int64_t i) { return x[i] * scale - top - shift; });
    } else if (add) {
      const T factor = 1 / exp_sum<false>(x, y, length, step, scale, top);
      fill_line(y, length, step, true,
                [=](int64_t i) { return math::exp_of_nonpositive(x[i] * scale - top) * factor; });
    } else {
      const T factor = 1 / exp_sum<true>(x, y, length, step, scale, top);
      fill_line(y, length, step, false, [=](int64_t i) { return y[i] * factor; });
    }
  }
  if (!add)
    for (int64_t i = length; i < n; ++i) y[i * step] = 0;
}

// Rows that are interleaved: within one row each step waits for the one before. Longer rows occupy
// the processor by themselves, and several would not fit into the cache.
enum { SOFTMAX_BESIDE = 8, SOFTMAX_LONG = 512 };

template <typename T>
CYNET_XINLINE void log_softmax_interleaved(const T* x, T* y, int64_t n, T scale, bool add) {
  T top[SOFTMAX_BESIDE], shift[SOFTMAX_BESIDE];
  for (int i = 0; i < SOFTMAX_BESIDE; ++i) top[i] = largest(x + i * n, n, 1, scale);
  for (int i = 0; i < SOFTMAX_BESIDE; ++i)
    shift[i] = exp_sum<false>(x + i * n, y, n, 1, scale, top[i]);
  for (int i = 0; i < SOFTMAX_BESIDE; ++i) shift[i] = math::log(shift[i]);
  for (int i = 0; i < SOFTMAX_BESIDE; ++i)
    fill_line(y + i * n, n, 1, add,
              [=](int64_t k) { return x[i * n + k] * scale - top[i] - shift[i]; });
}

// Computes softmax of contiguous rows of n entries.
template <typename T>
void softmax_lines(const T* x, T* y, int64_t n, int64_t lines, T scale, bool log_of, bool add) {
  int64_t i = 0;
#if defined(__GNUC__)
  if constexpr (std::is_same<T, float>::value) {
    if (n > 0 && n <= LANES)
      for (; i + 4 <= lines; i += 4) {
        if (log_of) softmax_by_vectors<4, 1>(x + i * n, y + i * n, n, scale, true, add);
        else softmax_by_vectors<4, 1>(x + i * n, y + i * n, n, scale, false, add);
      }
    if (log_of && n > SHORT_LINE && n <= SOFTMAX_LONG)
      for (; i + SOFTMAX_BESIDE <= lines; i += SOFTMAX_BESIDE)
        log_softmax_interleaved(x + i * n, y + i * n, n, scale, add);
  }
#endif
  for (; i < lines; ++i) softmax_line(x + i * n, y + i * n, n, n, 1, scale, log_of, add);
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
  const T total = sum_of_lanes<SOFTMAX_LANES>(lanes);
  if (log_of) {
    fill_line(dx, length, step, add,
              [=](int64_t i) { return scale * (dy[i] - math::exp(y[i]) * total); });
  } else {
    fill_line(dx, length, step, add, [=](int64_t i) { return scale * y[i] * (dy[i] - total); });
  }
  if (!add)
    for (int64_t i = length; i < n; ++i) dx[i * step] = 0;
}

// Adjacent columns that are read together; and how many terms are added up before the sum goes on,
// so that errors grow little with the length.
enum { SOFTMAX_COLUMNS = 256, SOFTMAX_ROWS = 64 };

// total[j] = the sum over i of term(i * step + j).
template <typename T, class F>
CYNET_XINLINE void sum_columns(int64_t n, int64_t step, int64_t m, T* total, F&& term) {
  T part[SOFTMAX_COLUMNS];
  for (int64_t j = 0; j < m; ++j) total[j] = 0;
  for (int64_t first = 0; first < n; first += SOFTMAX_ROWS) {
    const int64_t last = first + SOFTMAX_ROWS < n ? first + SOFTMAX_ROWS : n;
    for (int64_t j = 0; j < m; ++j) part[j] = 0;
    for (int64_t i = first; i < last; ++i) {
      CYNET_IVDEP
      for (int64_t j = 0; j < m; ++j) part[j] += term(i * step, j);
    }
    for (int64_t j = 0; j < m; ++j) total[j] += part[j];
  }
}

// y[i * step + j] = or += f(i * step, j).
template <typename T, class F>
CYNET_XINLINE void fill_columns(T* y, int64_t n, int64_t step, int64_t m, bool add, F&& f) {
  for (int64_t at = 0; at < n * step; at += step) {
    if (add) {
      CYNET_IVDEP
      for (int64_t j = 0; j < m; ++j) y[at + j] += f(at, j);
    } else {
      CYNET_IVDEP
      for (int64_t j = 0; j < m; ++j) y[at + j] = f(at, j);
    }
  }
}

// Softmax of m <= SOFTMAX_COLUMNS columns of n entries.
template <typename T>
void softmax_columns(const T* x, T* y, int64_t n, int64_t step, int64_t m, T scale, bool log_of,
                     bool add) {
  T top[SOFTMAX_COLUMNS], total[SOFTMAX_COLUMNS];
  for (int64_t j = 0; j < m; ++j) top[j] = x[j] * scale;
  for (int64_t i = 1; i < n; ++i) {
    CYNET_IVDEP
    for (int64_t j = 0; j < m; ++j) top[j] = greater_of(top[j], x[i * step + j] * scale);
  }
  auto term = [&](int64_t at, int64_t j) {
    return math::exp_of_nonpositive(x[at + j] * scale - top[j]);
  };
  if (log_of || add) {
    sum_columns(n, step, m, total, term);
  } else {
    sum_columns(n, step, m, total, [&](int64_t at, int64_t j) {
      const T e = term(at, j);
      y[at + j] = e;
      return e;
    });
  }
  for (int64_t j = 0; j < m; ++j) total[j] = log_of ? math::log(total[j]) : 1 / total[j];
  if (log_of) {
    fill_columns(y, n, step, m, add,
                 [&](int64_t at, int64_t j) { return x[at + j] * scale - top[j] - total[j]; });
  } else if (add) {
    fill_columns(y, n, step, m, true,
                 [&](int64_t at, int64_t j) { return term(at, j) * total[j]; });
  } else {
    fill_columns(y, n, step, m, false, [&](int64_t at, int64_t j) { return y[at + j] * total[j]; });
  }
}

template <typename T>
void softmax_columns_gradient(const T* dy, const T* y, T* dx, int64_t n, int64_t step, int64_t m,
                              T scale, bool log_of, bool add) {
  T total[SOFTMAX_COLUMNS];
  if (log_of) {
    sum_columns(n, step, m, total, [&](int64_t at, int64_t j) { return dy[at + j]; });
    fill_columns(dx, n, step, m, add, [&](int64_t at, int64_t j) {
      return scale * (dy[at + j] - math::exp(y[at + j]) * total[j]);
    });
  } else {
    sum_columns(n, step, m, total, [&](int64_t at, int64_t j) { return dy[at + j] * y[at + j]; });
    fill_columns(dx, n, step, m, add, [&](int64_t at, int64_t j) {
      return scale * y[at + j] * (dy[at + j] - total[j]);
    });
  }
}
