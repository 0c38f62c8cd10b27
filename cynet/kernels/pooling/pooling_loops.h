// Pooling of a plane, compiled for each CPU level (levels.h). Included by pooling.h.
//
// The rows under a row of windows are first reduced to one row, then the windows reduce that along
// the row.

// `largest`: the maximum, NaN if there is one; else the sum.
template <bool largest, typename T>
CYNET_XINLINE T pool_step(T a, T x) {
  if constexpr (largest) return (x > a) | (x != x) ? x : a;
  else return a + x;
}

// Splits a row into its even elements and, POOL_HALF behind them, its odd ones.
template <typename T>
CYNET_XINLINE void pool_split(const T* line, int64_t n, T* halves) {
  CYNET_IVDEP
  for (int64_t j = 0; j < n; ++j) {
    halves[j] = line[2 * j];
    halves[POOL_HALF + j] = line[2 * j + 1];
  }
}

// out[i] = the window at line[i * stride]. S and K are stride and kernel; 0: read at run time.
template <bool largest, int S, int K, typename T>
CYNET_XINLINE void pool_slide(const T* line, T* out, int64_t n, int64_t stride, int64_t kernel) {
  const int64_t s = S ? S : stride;
  if constexpr (K > 0) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) {
      T value = line[i * s];
      for (int k = 1; k < K; ++k) value = pool_step<largest>(value, line[i * s + k]);
      out[i] = value;
    }
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = line[i * s];
    for (int64_t k = 1; k < kernel; ++k) {
      CYNET_IVDEP
      for (int64_t i = 0; i < n; ++i) out[i] = pool_step<largest>(out[i], line[i * s + k]);
    }
  }
}

template <bool largest, int S, typename T>
CYNET_XINLINE void pool_slide_by(const T* line, T* out, int64_t n, int64_t stride,
                                 int64_t kernel) {
  if (kernel == 2) pool_slide<largest, S, 2>(line, out, n, stride, kernel);
  else if (kernel == 3) pool_slide<largest, S, 3>(line, out, n, stride, kernel);
  else pool_slide<largest, S, 0>(line, out, n, stride, kernel);
}

// pool_slide for windows of three at stride 2.
template <bool largest, typename T>
CYNET_XINLINE void pool_slide_three(const T* line, T* out, int64_t n) {
  T halves[2 * POOL_HALF];
  pool_split(line, n, halves);
  halves[n] = line[2 * n];
  const int64_t whole = (n + 15) / 16 * 16;  // whole vectors; `out` is long enough
  for (int64_t i = n; i < whole; ++i) halves[i + 1] = halves[POOL_HALF + i] = T(0);
  CYNET_IVDEP
  for (int64_t i = 0; i < whole; ++i) {
    const T two = pool_step<largest>(halves[i], halves[POOL_HALF + i]);
    out[i] = pool_step<largest>(two, halves[i + 1]);
  }
}

// How many outputs of a row are computed together.
CYNET_XINLINE int64_t pool_part(const PoolShape& s) {
  const int64_t part = (POOL_LINE - s.kernel[2]) / s.stride[2] + 1;
  return part > POOL_OUT ? POOL_OUT : part;
}

// Reduces [from, from + width) of all rows in the window (begin, end of the two axes before) to one
// row. With one row it is a row of the input itself.
template <bool largest, typename T>
CYNET_XINLINE const T* pool_fold(const PoolShape& s, const T* x, const int64_t* begin,
                                 const int64_t* end, int64_t from, int64_t width, T* line) {
  const T* first = nullptr;
  bool folded = false;
  for (int64_t d = begin[0]; d < end[0]; ++d) {
    for (int64_t h = begin[1]; h < end[1]; ++h) {
      const T* row = x + (d * s.in_size[1] + h) * s.in_size[2] + from;
      if (!first) {
        first = row;
        continue;
      }
      const T* before = folded ? line : first;
      CYNET_IVDEP
      for (int64_t i = 0; i < width; ++i) line[i] = pool_step<largest>(before[i], row[i]);
      folded = true;
    }
  }
  return folded ? line : first;
}

// Reduces a row.
template <bool largest, typename T>
CYNET_XINLINE T pool_along(const T* line, int64_t n) {
  if (n < 16) {
    T fold = line[0];
    for (int64_t i = 1; i < n; ++i) fold = pool_step<largest>(fold, line[i]);
    return fold;
  }
  T folds[16];
  std::memcpy(folds, line, sizeof folds);
  int64_t i = 16;
  for (; i + 16 <= n; i += 16) {
    CYNET_IVDEP
    for (int j = 0; j < 16; ++j) folds[j] = pool_step<largest>(folds[j], line[i + j]);
  }
  for (int j = 0; i < n; ++i, ++j) folds[j] = pool_step<largest>(folds[j], line[i]);
  for (int width = 8; width > 0; width /= 2)
    for (int j = 0; j < width; ++j) folds[j] = pool_step<largest>(folds[j], folds[j + width]);
  return folds[0];
}

template <typename T, bool largest>
void pool_rows(const PoolShape& s, const T* x, T* y, bool add) {
  if (pools_whole(s)) {
    const int64_t size = s.in_size[0] * s.in_size[1] * s.in_size[2];
    T value = pool_along<largest>(x, size);
    if (s.type == POOL_AVG) value /= static_cast<T>(size);
    y[0] = add ? y[0] + value : value;
    return;
  }
  const int64_t stride = s.stride[2], kernel = s.kernel[2], pad = s.pad[2], out = s.out_size[2];
  // The windows of outputs [inner, outer) are entirely inside.
  int64_t inner = (pad + stride - 1) / stride;
  int64_t outer = s.in_size[2] + pad < kernel ? 0 : (s.in_size[2] + pad - kernel) / stride + 1;
  if (outer > out) outer = out;
  if (inner > outer) inner = outer;
  const int64_t part = pool_part(s);
  T line[POOL_LINE], values[POOL_OUT];
  int64_t begin[3], end[3];
  for (int64_t d = 0; d < s.out_size[0]; ++d) {
    const int64_t deep = pool_window(s, 0, d, begin, end);
    for (int64_t h = 0; h < s.out_size[1]; ++h, y += out) {
      const int64_t high = deep * pool_window(s, 1, h, begin + 1, end + 1);
      auto put = [&](int64_t w, T value, int64_t counted) {
        if (s.type == POOL_AVG) value = counted > 0 ? value / static_cast<T>(counted) : T(0);
        y[w] = add ? y[w] + value : value;
      };
      auto alone = [&](int64_t w) {
        const int64_t wide = pool_window(s, 2, w, begin + 2, end + 2), n = end[2] - begin[2];
        const T* row = pool_fold<largest>(s, x, begin, end, begin[2], n, line);
        T value = row[0];
        for (int64_t i = 1; i < n; ++i) value = pool_step<largest>(value, row[i]);
        put(w, value, high * wide);
      };
      for (int64_t w = 0; w < inner; ++w) alone(w);
      for (int64_t w = inner; w < outer; w += part) {
        const int64_t n = outer - w < part ? outer - w : part;
        const T* row = pool_fold<largest>(s, x, begin, end, w * stride - pad,
                                          (n - 1) * stride + kernel, line);
        if (stride == 1) pool_slide_by<largest, 1>(row, values, n, stride, kernel);
        else if (stride == 2 && kernel == 3) pool_slide_three<largest>(row, values, n);
        else if (stride == 2) pool_slide_by<largest, 2>(row, values, n, stride, kernel);
        else pool_slide_by<largest, 0>(row, values, n, stride, kernel);
        const T factor = s.type == POOL_AVG ? T(1) / static_cast<T>(high * kernel) : T(1);
        if (add) {
          CYNET_IVDEP
          for (int64_t i = 0; i < n; ++i) y[w + i] += values[i] * factor;
        } else {
          CYNET_IVDEP
          for (int64_t i = 0; i < n; ++i) y[w + i] = values[i] * factor;
        }
      }
      for (int64_t w = outer; w < out; ++w) alone(w);
    }
  }
}
