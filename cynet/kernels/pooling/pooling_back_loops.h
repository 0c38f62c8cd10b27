// Gradients of pooling of a plane, compiled for each CPU level (levels.h). Included by pooling.h.

// Updates the maximum `best` at `where`: the first NaN wins, else the first maximum.
template <typename T, typename I>
CYNET_XINLINE void pool_keep_maximum(T value, I from, T* best, I* where) {
  const T b = *best;
  const I w = *where;
  const bool none = value != value, some = b == b;
  const bool larger = (value > b) | (none & some);
  const bool equal = (value == b) | (none & !some);
  const bool take = larger | (equal & (from < w));
  *best = take ? value : b;
  *where = take ? from : w;
}

// Chooses the maximum of each window along a row of columns (value and row). Column i * S + k is
// element i + k / S of part k % S; S = 0: the row is contiguous and the stride is arbitrary.
template <int S, typename T, typename I>
CYNET_XINLINE void pool_maxima_along(const T* value, const I* row, int64_t n, int64_t stride,
                                     int64_t kernel, T* best, I* where) {
  const int64_t s = S ? 1 : stride;
  for (int64_t i = 0; i < n; ++i) best[i] = value[i * s];
  for (int64_t i = 0; i < n; ++i) where[i] = row[i * s];
  for (int64_t k = 1; k < kernel; ++k) {
    const int64_t first = S == 2 ? k % 2 * POOL_HALF + k / 2 : k;
    const I step = static_cast<I>(k);
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i)
      pool_keep_maximum<T, I>(value[first + i * s], row[first + i * s] + step, best + i, where + i);
  }
}

// Chooses the first NaN or maximum, and its row, in columns [from, from + width) of a row of
// windows. Columns outside the plane lose against all others.
template <typename T, typename I>
CYNET_XINLINE void pool_maxima_of_rows(const PoolShape& s, const T* x, const int64_t* begin,
                                       const int64_t* end, int64_t from, int64_t width, T* line,
                                       I* row) {
  const int64_t low = from < 0 ? -from : 0;
  const int64_t high = s.in_size[2] - from < width ? s.in_size[2] - from : width;
  auto outside = [=](int64_t i) {
    line[i] = -std::numeric_limits<T>::infinity();
    row[i] = std::numeric_limits<I>::max() / 2;
  };
  for (int64_t i = 0; i < low; ++i) outside(i);
  for (int64_t i = high; i < width; ++i) outside(i);
  const int64_t first = (begin[0] * s.in_size[1] + begin[1]) * s.in_size[2];
  for (int64_t i = low; i < high; ++i) line[i] = x[first + from + i];
  for (int64_t i = low; i < high; ++i) row[i] = 0;
  for (int64_t d = begin[0]; d < end[0]; ++d) {
    for (int64_t h = begin[1]; h < end[1]; ++h) {
      const int64_t at = (d * s.in_size[1] + h) * s.in_size[2];
      if (at == first) continue;
      const I place = static_cast<I>(at - first);
      const T* in = x + at + from;
      CYNET_IVDEP
      for (int64_t i = low; i < high; ++i) {
        const T value = in[i], b = line[i];
        const bool take = (value > b) | ((value != value) & (b == b));
        line[i] = take ? value : b;
        row[i] = take ? place : row[i];
      }
    }
  }
}

// dx += the gradient of maxima.
template <typename T>
static void max_pool_rows_grad(const PoolShape& s, const T* dy, const T* x, T* dx) {
  typedef typename std::conditional<sizeof(T) == 4, int32_t, int64_t>::type I;
  const int64_t stride = s.stride[2], kernel = s.kernel[2], out = s.out_size[2];
  const int64_t part = pool_outputs_per_block(s);
  // Loops run over whole vectors; results past the end are not used.
  T line[POOL_LINE + 64], lines[2 * POOL_HALF], best[POOL_OUT];
  I row[POOL_LINE + 64], rows[2 * POOL_HALF], where[POOL_OUT];
  int64_t begin[2], end[2];
  const int64_t widest = ((out < part ? out : part) - 1) * stride + kernel + 64;
  for (int64_t i = 0; i < widest; ++i) line[i] = 0;
  for (int64_t i = 0; i < widest; ++i) row[i] = 0;
  for (int64_t d = 0; d < s.out_size[0]; ++d) {
    pool_window_range(s, 0, d, begin, end);
    for (int64_t h = 0; h < s.out_size[1]; ++h, dy += out) {
      pool_window_range(s, 1, h, begin + 1, end + 1);
      for (int64_t w = 0; w < out; w += part) {
        const int64_t n = out - w < part ? out - w : part, from = w * stride - s.pad[2];
        const int64_t width = (n - 1) * stride + kernel;
        pool_maxima_of_rows(s, x, begin, end, from, width, line, row);
        const int64_t whole = (n + 15) / 16 * 16;
        if (stride == 1) {
          pool_maxima_along<1>(line, row, whole, stride, kernel, best, where);
        } else if (stride == 2) {
          const int64_t half = ((width + 1) / 2 + 15) / 16 * 16 + 16;
          pool_split_even_odd(line, half, lines);
          pool_split_even_odd(row, half, rows);
          pool_maxima_along<2>(lines, rows, whole, stride, kernel, best, where);
        } else {
          pool_maxima_along<0>(line, row, n, stride, kernel, best, where);
        }
        T* to = dx + (begin[0] * s.in_size[1] + begin[1]) * s.in_size[2] + from;
        for (int64_t i = 0; i < n; ++i) to[i * stride + where[i]] += dy[w + i];
      }
    }
  }
}

// line[j * S + r] = the sum of g[j - m] over the windows m that reach there, for j < n.
template <int S, int K, typename T>
CYNET_XINLINE void pool_spread_gradient(const T* g, int64_t n, T* line) {
  CYNET_IVDEP
  for (int64_t j = 0; j < n; ++j) {
    for (int r = 0; r < S; ++r) {
      T sum = 0;
      for (int m = 0; r + m * S < K; ++m) sum += g[j - m];
      line[j * S + r] = sum;
    }
  }
}

// dx += the gradient of sums and averages; `fresh`: dx = it, if windows tile the plane.
template <typename T>
static void sum_pool_rows_grad(const PoolShape& s, const T* dy, T* dx, bool fresh) {
  const int64_t stride = s.stride[2], kernel = s.kernel[2], out = s.out_size[2];
  const int64_t part = pool_outputs_per_block(s), around = (kernel - 1) / stride;
  T buffer[POOL_OUT + 2 * POOL_KERNEL], line[POOL_LINE + POOL_KERNEL];
  int64_t begin[3], end[3];
  T* const g = buffer + around;
  for (int64_t d = 0; d < s.out_size[0]; ++d) {
    const int64_t deep = pool_window_range(s, 0, d, begin, end);
    for (int64_t h = 0; h < s.out_size[1]; ++h, dy += out) {
      const int64_t high = deep * pool_window_range(s, 1, h, begin + 1, end + 1);
      for (int64_t w = 0; w < out; w += part) {
        const int64_t n = out - w < part ? out - w : part, from = w * stride - s.pad[2];
        const int64_t width = (n - 1) * stride + kernel;
        for (int64_t i = 0; i < around; ++i) g[i - around] = g[n + i] = 0;
        if (s.type == POOL_AVG) {
          for (int64_t i = 0; i < n; ++i) {
            const int64_t counted = high * pool_window_range(s, 2, w + i, begin + 2, end + 2);
            g[i] = counted > 0 ? dy[w + i] / static_cast<T>(counted) : T(0);
          }
        } else {
          for (int64_t i = 0; i < n; ++i) g[i] = dy[w + i];
        }
        if (stride == 2 && kernel == 2) pool_spread_gradient<2, 2>(g, n, line);
        else if (stride == 2 && kernel == 3) pool_spread_gradient<2, 3>(g, n + 1, line);
        else if (stride == 1 && kernel == 2) pool_spread_gradient<1, 2>(g, n + 1, line);
        else if (stride == 1 && kernel == 3) pool_spread_gradient<1, 3>(g, n + 2, line);
        else {
          for (int64_t i = 0; i < width; ++i) line[i] = 0;
          for (int64_t i = 0; i < n; ++i) {
            CYNET_IVDEP
            for (int64_t k = 0; k < kernel; ++k) line[i * stride + k] += g[i];
          }
        }
        const int64_t low = from < 0 ? -from : 0;
        const int64_t last = s.in_size[2] - from < width ? s.in_size[2] - from : width;
        for (int64_t z = begin[0]; z < end[0]; ++z) {
          for (int64_t y = begin[1]; y < end[1]; ++y) {
            T* to = dx + (z * s.in_size[1] + y) * s.in_size[2] + from;
            if (fresh) {
              for (int64_t i = low; i < last; ++i) to[i] = line[i];
            } else {
              for (int64_t i = low; i < last; ++i) to[i] += line[i];
            }
          }
        }
      }
    }
  }
}
