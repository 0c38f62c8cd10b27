// Pooling of a plane, compiled for each CPU level (levels.h). Included by pooling.h.
//
// The rows of a row of windows are first reduced to one row, then along that row.

// `largest`: the maximum, NaN if there is one; else the sum.
template <bool largest, typename T>
CYNET_XINLINE T pool_max_or_sum(T a, T x) {
  if constexpr (largest) return (x > a) | (x != x) ? x : a;
  else return a + x;
}

// W neighbours.
template <typename T, int W>
struct PoolLanes {  // W neighbouring elements
#if defined(__GNUC__)
  typedef T Some __attribute__((vector_size(W * sizeof(T)), aligned(sizeof(T)), may_alias));
  Some lanes;
  CYNET_XINLINE explicit PoolLanes(const T* p) : lanes(*reinterpret_cast<const Some*>(p)) {}
  CYNET_XINLINE void store(T* p) const { *reinterpret_cast<Some*>(p) = lanes; }
  template <bool largest>
  CYNET_XINLINE void max_or_add(const T* p) {
    const Some x = *reinterpret_cast<const Some*>(p);
    if constexpr (largest) lanes = (x > lanes) | (x != x) ? x : lanes;
    else lanes += x;
  }
#else
  T lanes[W];
  explicit PoolLanes(const T* p) { std::memcpy(lanes, p, sizeof lanes); }
  void store(T* p) const { std::memcpy(p, lanes, sizeof lanes); }
  template <bool largest>
  void max_or_add(const T* p) {
    for (int i = 0; i < W; ++i) lanes[i] = pool_max_or_sum<largest>(lanes[i], p[i]);
  }
#endif
};

// Splits a row into its even elements and, POOL_HALF behind them, its odd ones.
template <typename T>
CYNET_XINLINE void pool_split_even_odd(const T* line, int64_t n, T* halves) {
  CYNET_IVDEP
  for (int64_t j = 0; j < n; ++j) {
    halves[j] = line[2 * j];
    halves[POOL_HALF + j] = line[2 * j + 1];
  }
}

// out[i] = the reduction of the window at line[i * stride]. S: stride, K: kernel; 0: not constant.
template <bool largest, int S, int K, typename T>
CYNET_XINLINE void pool_windows(const T* line, T* out, int64_t n, int64_t stride, int64_t kernel) {
  const int64_t s = S ? S : stride;
  if constexpr (K > 0) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) {
      T value = line[i * s];
      for (int k = 1; k < K; ++k) value = pool_max_or_sum<largest>(value, line[i * s + k]);
      out[i] = value;
    }
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = line[i * s];
    for (int64_t k = 1; k < kernel; ++k) {
      CYNET_IVDEP
      for (int64_t i = 0; i < n; ++i) out[i] = pool_max_or_sum<largest>(out[i], line[i * s + k]);
    }
  }
}

template <bool largest, int S, typename T>
CYNET_XINLINE void pool_line_windows(const T* line, T* out, int64_t n, int64_t stride,
                                     int64_t kernel) {
  if (kernel == 2) pool_windows<largest, S, 2>(line, out, n, stride, kernel);
  else if (kernel == 3) pool_windows<largest, S, 3>(line, out, n, stride, kernel);
  else pool_windows<largest, S, 0>(line, out, n, stride, kernel);
}

// pool_windows for windows of three at stride 2; n is a multiple of 16.
template <bool largest, typename T>
CYNET_XINLINE void pool_windows_of_three(const T* line, T* out, int64_t n) {
  T halves[2 * POOL_HALF];
  pool_split_even_odd(line, n, halves);
  halves[n] = line[2 * n];
  CYNET_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const T two = pool_max_or_sum<largest>(halves[i], halves[POOL_HALF + i]);
    out[i] = pool_max_or_sum<largest>(two, halves[i + 1]);
  }
}

// The number of outputs of a row that are computed together.
CYNET_XINLINE int64_t pool_outputs_per_block(const PoolShape& s) {
  const int64_t part = (POOL_LINE - s.kernel[2]) / s.stride[2] + 1;
  return part > POOL_OUT ? POOL_OUT : part;
}

// The value of a window outside of the input.
template <bool largest, typename T>
CYNET_XINLINE T pool_neutral_value() {
  return largest ? -std::numeric_limits<T>::infinity() : T(0);
}

// Reduces W columns of all rows in a window (begin, end of the two axes before).
template <bool largest, int W, typename T>
CYNET_XINLINE void pool_reduce_columns(const PoolShape& s, const T* x, const int64_t* begin,
                                       const int64_t* end, T* to) {
  PoolLanes<T, W> fold(x + (begin[0] * s.in_size[1] + begin[1]) * s.in_size[2]);
  for (int64_t d = begin[0]; d < end[0]; ++d) {
    const T* row = x + (d * s.in_size[1] + begin[1]) * s.in_size[2];
    for (int64_t h = begin[1]; h < end[1]; ++h, row += s.in_size[2])
      if (d > begin[0] || h > begin[1]) fold.template max_or_add<largest>(row);
  }
  fold.store(to);
}

// Pools the columns [0, n). The last columns are reduced together with some that are done already,
// so that there are always W.
template <bool largest, int W, typename T>
CYNET_XINLINE void pool_reduce_chunks(const PoolShape& s, const T* x, const int64_t* begin,
                                      const int64_t* end, int64_t n, T* to) {
  for (int64_t i = 0; i + W <= n; i += W)
    pool_reduce_columns<largest, W>(s, x + i, begin, end, to + i);
  if (n % W) pool_reduce_columns<largest, W>(s, x + n - W, begin, end, to + n - W);
}

// Reduces [from, from + width) of the window's rows to one row; neutral outside of the plane.
template <bool largest, typename T>
CYNET_XINLINE void pool_reduce_rows(const PoolShape& s, const T* x, const int64_t* begin,
                                    const int64_t* end, int64_t from, int64_t width, T* line) {
  const int64_t low = from < 0 ? -from : 0;
  const int64_t high = s.in_size[2] - from < width ? s.in_size[2] - from : width;
  const T* in = x + from + low;
  constexpr int wide = CYNET_LANES * 4 / sizeof(T);
  if (high - low >= wide)
    pool_reduce_chunks<largest, wide>(s, in, begin, end, high - low, line + low);
  else if (high - low >= 4)
    pool_reduce_chunks<largest, 4>(s, in, begin, end, high - low, line + low);
  else pool_reduce_chunks<largest, 1>(s, in, begin, end, high - low, line + low);
  for (int64_t i = 0; i < low; ++i) line[i] = pool_neutral_value<largest, T>();
  for (int64_t i = high; i < width; ++i) line[i] = pool_neutral_value<largest, T>();
}

// Reduces a row.
template <bool largest, typename T>
CYNET_XINLINE T pool_reduce_line(const T* line, int64_t n) {
  if (n < 16) {
    T fold = line[0];
    for (int64_t i = 1; i < n; ++i) fold = pool_max_or_sum<largest>(fold, line[i]);
    return fold;
  }
  T folds[16];
  std::memcpy(folds, line, sizeof folds);
  int64_t i = 16;
  for (; i + 16 <= n; i += 16) {
    CYNET_IVDEP
    for (int j = 0; j < 16; ++j) folds[j] = pool_max_or_sum<largest>(folds[j], line[i + j]);
  }
  for (int j = 0; i < n; ++i, ++j) folds[j] = pool_max_or_sum<largest>(folds[j], line[i]);
  for (int width = 8; width > 0; width /= 2)
    for (int j = 0; j < width; ++j) folds[j] = pool_max_or_sum<largest>(folds[j], folds[j + width]);
  return folds[0];
}

// Writes n outputs of a row, which begins with output w. An average was divided by the whole
// window; windows that reach outside of the plane are corrected.
template <typename T>
CYNET_XINLINE void write_pool_row(const PoolShape& s, const T* values, int64_t w, int64_t n,
                                  int64_t high, T* y, bool add) {
  if (s.type != POOL_AVG) {
    for (int64_t i = 0; i < n; ++i) y[i] = add ? y[i] + values[i] : values[i];
    return;
  }
  const T factor = T(1) / static_cast<T>(high * s.kernel[2]);
  auto edge = [&](int64_t i) CYNET_XLAMBDA {
    int64_t begin, end;
    const int64_t counted = high * pool_window_range(s, 2, w + i, &begin, &end);
    if (end - begin == s.kernel[2]) return false;
    const T value = counted > 0 ? values[i] / static_cast<T>(counted) : T(0);
    y[i] = add ? y[i] + value : value;
    return true;
  };
  int64_t first = 0, last = n;
  while (first < last && edge(first)) ++first;
  while (first < last && edge(last - 1)) --last;
  if (add) {
    CYNET_IVDEP
    for (int64_t i = first; i < last; ++i) y[i] += values[i] * factor;
  } else {
    CYNET_IVDEP
    for (int64_t i = first; i < last; ++i) y[i] = values[i] * factor;
  }
}

// As many rows of outputs as fit the buffer are computed together, so loops are long.
template <typename T, bool largest>
void pool_rows(const PoolShape& s, const T* x, T* y, bool add) {
  if (is_window_whole_plane(s)) {
    const int64_t size = s.in_size[0] * s.in_size[1] * s.in_size[2];
    T value = pool_reduce_line<largest>(x, size);
    if (s.type == POOL_AVG) value /= static_cast<T>(size);
    y[0] = add ? y[0] + value : value;
    return;
  }
  const int64_t stride = s.stride[2], kernel = s.kernel[2], out = s.out_size[2];
  const int64_t part = pool_outputs_per_block(s), limit = out < part ? out : part;
  const int64_t each = limit - 1 + (kernel + stride - 1) / stride;  // outputs from row to row
  const int64_t pitch = each * stride;
  const int64_t together = out > part || pitch > POOL_LINE ? 1 : POOL_LINE / pitch;
  T line[POOL_LINE + POOL_KERNEL + 64], values[POOL_LINE + 64];
  int64_t begin[2], end[2];
  for (int64_t d = 0; d < s.out_size[0]; ++d) {
    const int64_t deep = pool_window_range(s, 0, d, begin, end);
    for (int64_t h = 0; h < s.out_size[1]; h += together) {
      const int64_t left = s.out_size[1] - h, rows = left < together ? left : together;
      for (int64_t w = 0; w < out; w += part) {
        const int64_t n = out - w < part ? out - w : part;
        const int64_t width = (n - 1) * stride + kernel;
        for (int64_t r = 0; r < rows; ++r) {
          pool_window_range(s, 1, h + r, begin + 1, end + 1);
          pool_reduce_rows<largest>(s, x, begin, end, w * stride - s.pad[2], width,
                                    line + r * pitch);
        }
        const int64_t all = (rows - 1) * each + n, behind = (rows - 1) * pitch + width;
        for (int i = 0; i < 64; ++i) line[behind + i] = T(0);
        // where windows do not overlap the outputs follow one another as in y
        const bool there = each == out && s.type != POOL_AVG && !add;
        T* to = there ? y + h * out : values;
        const int64_t whole = there ? all : (all + 15) / 16 * 16;
        if (stride == 1) pool_line_windows<largest, 1>(line, to, whole, stride, kernel);
        else if (stride == 2 && kernel == 3) pool_windows_of_three<largest>(line, to, whole);
        else if (stride == 2) pool_line_windows<largest, 2>(line, to, whole, stride, kernel);
        else pool_line_windows<largest, 0>(line, to, all, stride, kernel);
        for (int64_t r = 0; r < rows && !there; ++r) {
          const int64_t high = deep * pool_window_range(s, 1, h + r, begin + 1, end + 1);
          write_pool_row(s, values + r * each, w, n, high, y + (h + r) * out + w, add);
        }
      }
    }
    y += s.out_size[1] * out;
  }
}
