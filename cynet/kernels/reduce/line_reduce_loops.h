// Sums over rows of memory, compiled for each CPU level (levels.h). Included by line_reduce.h.
//
// SUM_LANES partial sums let the compiler vectorise; after each block they are added in double. The
// loops over SUM_FEW terms must stay loops: if GCC unrolls them first, it does not vectorise.

enum { SUM_LANES = 64, SUM_FEW = 16, SUM_BLOCK = 4096 };

// The sum of term(i) over [0, n).
template <typename T, class F>
CYNET_XINLINE double sum_terms(int64_t n, F&& term) {
  double total = 0;
  for (int64_t start = 0; start < n; start += SUM_BLOCK) {
    const int64_t stop = start + SUM_BLOCK < n ? start + SUM_BLOCK : n;
    T lanes[SUM_LANES];
    for (int l = 0; l < SUM_LANES; ++l) lanes[l] = 0;
    int64_t i = start;
    for (; i + SUM_LANES <= stop; i += SUM_LANES)
      for (int l = 0; l < SUM_LANES; ++l) lanes[l] += term(i + l);
    for (; i + SUM_FEW <= stop; i += SUM_FEW)
#pragma GCC unroll 1
      for (int l = 0; l < SUM_FEW; ++l) lanes[l] += term(i + l);
    if (stop - start < SUM_FEW) {
      for (int l = 0; i + l < stop; ++l) lanes[l] += term(i + l);
    } else if (i < stop) {  // the last SUM_FEW terms; those added before count 0
      const int64_t last = stop - SUM_FEW;
#pragma GCC unroll 1
      for (int l = 0; l < SUM_FEW; ++l) {
        const T value = term(last + l);
        lanes[l] += last + l >= i ? value : T(0);
      }
    }
    double few[SUM_FEW];
    for (int l = 0; l < SUM_FEW; ++l) {
      few[l] = 0;
      for (int k = l; k < SUM_LANES; k += SUM_FEW) few[l] += lanes[k];
    }
    for (int l = 0; l < 8; ++l) few[l] += few[l + 8];
    for (int l = 0; l < 4; ++l) few[l] += few[l + 4];
    total += (few[0] + few[2]) + (few[1] + few[3]);
  }
  return total;
}

template <typename T>
double line_sum(const T* x, int64_t n, T center) {
  return sum_terms<T>(n, [=](int64_t i) { return x[i] - center; });
}

template <typename T>
double line_squares(const T* x, int64_t n, T center) {
  return sum_terms<T>(n, [=](int64_t i) { return (x[i] - center) * (x[i] - center); });
}

template <typename T>
double line_product(const T* g, const T* x, int64_t n, T center) {
  return sum_terms<T>(n, [=](int64_t i) { return g[i] * (x[i] - center); });
}

// y[j] += the sum over rows of x[row, j], for the columns [begin, end).
template <typename T>
void column_sums(const T* x, int64_t rows, int64_t cols, int64_t begin, int64_t end, T* y) {
  int64_t j = begin;
  for (; j + SUM_LANES <= end; j += SUM_LANES) {  // sums in registers
    T sum[SUM_LANES];
    for (int l = 0; l < SUM_LANES; ++l) sum[l] = y[j + l];
    for (int64_t i = 0; i < rows; ++i)
      for (int l = 0; l < SUM_LANES; ++l) sum[l] += x[i * cols + j + l];
    for (int l = 0; l < SUM_LANES; ++l) y[j + l] = sum[l];
  }
  for (int64_t i = 0; i < rows; ++i) {
    const T* row = x + i * cols;
    CYNET_IVDEP
    for (int64_t k = j; k < end; ++k) y[k] += row[k];
  }
}

// y = or += (x - center) scale gamma + beta.
template <typename T>
CYNET_XINLINE void scaled_line(const T* x, const T* gamma, const T* beta, T* y, int64_t n, T center,
                               T scale, bool add) {
  if (add) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] += (x[i] - center) * scale * gamma[i] + beta[i];
  } else {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - center) * scale * gamma[i] + beta[i];
  }
}

#if defined(__GNUC__)
enum { SHORT_LINE = 256 };

// normalized_line for 1 to SHORT_LINE floats, which are read once.
CYNET_XINLINE void normalized_short(const float* x, const float* gamma, const float* beta, float* y,
                                    int64_t n, double eps, bool add, double* mean, double* std) {
  const int count = static_cast<int>((n + LANES - 1) / LANES), last = count - 1;
  const int64_t rest = n - last * LANES;
  Vec v[SHORT_LINE / LANES], total = {}, squares = {};
  for (int k = 0; k < last; ++k) {
    v[k] = load(x + k * LANES);
    total += v[k];
  }
  v[last] = load_part(x + last * LANES, rest);
  total += v[last];
  *mean = fold_wide(total) / n;
  const float center = static_cast<float>(*mean);
  for (int k = 0; k < last; ++k) {
    v[k] -= center;
    squares += v[k] * v[k];
  }
  v[last] = first_of(v[last] - center, rest, 0.0f);
  squares += v[last] * v[last];
  *std = std::sqrt(fold_wide(squares) / n + eps);
  const float scale = static_cast<float>(1 / *std);
  for (int k = 0; k < count; ++k) {
    const bool part = k == last;
    float* to = y + k * LANES;
    const Vec g = part ? load_part(gamma + k * LANES, rest) : load(gamma + k * LANES);
    const Vec b = part ? load_part(beta + k * LANES, rest) : load(beta + k * LANES);
    Vec value = v[k] * scale * g + b;
    if (add) value += part ? load_part(to, rest) : load(to);
    if (part) store_part(to, value, rest);
    else store(to, value);
  }
}
#endif

// y = or += (x - mean) / std gamma + beta, with the mean and std of the row.
template <typename T>
void normalized_line(const T* x, const T* gamma, const T* beta, T* y, int64_t n, double eps,
                     bool add, double* mean, double* std) {
#if defined(__GNUC__)
  if constexpr (std::is_same<T, float>::value) {
    if (n <= SHORT_LINE) return normalized_short(x, gamma, beta, y, n, eps, add, mean, std);
  }
#endif
  *mean = line_sum(x, n, T(0)) / n;
  const T center = static_cast<T>(*mean);
  *std = std::sqrt(line_squares(x, n, center) / n + eps);
  scaled_line(x, gamma, beta, y, n, center, static_cast<T>(1 / *std), add);
}

#if defined(__GNUC__)
// normalized_gradient for 1 to SHORT_LINE floats, which are read once.
CYNET_XINLINE void gradient_short(const float* dy, const float* x, const float* gamma, float mean,
                                  float scale, float* dx, int64_t n, bool add) {
  const int count = static_cast<int>((n + LANES - 1) / LANES), last = count - 1;
  const int64_t rest = n - last * LANES;
  Vec g[SHORT_LINE / LANES], v[SHORT_LINE / LANES], total = {}, product = {};
  for (int k = 0; k < last; ++k) {
    g[k] = load(dy + k * LANES) * load(gamma + k * LANES);
    v[k] = (load(x + k * LANES) - mean) * scale;
    total += g[k];
    product += g[k] * v[k];
  }
  g[last] = load_part(dy + last * LANES, rest) * load_part(gamma + last * LANES, rest);
  v[last] = (load_part(x + last * LANES, rest) - mean) * scale;
  total += g[last];
  product += g[last] * v[last];
  const float a = static_cast<float>(fold_wide(total) / n);
  const float b = static_cast<float>(fold_wide(product) / n);
  for (int k = 0; k < count; ++k) {
    float* to = dx + k * LANES;
    Vec value = scale * (g[k] - a - b * v[k]);
    if (add) value += k == last ? load_part(to, rest) : load(to);
    if (k == last) store_part(to, value, rest);
    else store(to, value);
  }
}
#endif

// dx = or += the gradient of normalized_line, given mean and std; dx may be dy.
template <typename T>
void normalized_gradient(const T* dy, const T* x, const T* gamma, T mean, T std, T* dx, int64_t n,
                         bool add) {
  const T scale = 1 / std;
#if defined(__GNUC__)
  if constexpr (std::is_same<T, float>::value) {
    if (n <= SHORT_LINE) return gradient_short(dy, x, gamma, mean, scale, dx, n, add);
  }
#endif
  const T a = static_cast<T>(sum_terms<T>(n, [=](int64_t i) { return dy[i] * gamma[i]; }) / n);
  const T b = static_cast<T>(sum_terms<T>(n, [=](int64_t i) {
    return dy[i] * gamma[i] * ((x[i] - mean) * scale);
  }) / n);
  if (add) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i)
      dx[i] += scale * (dy[i] * gamma[i] - a - b * ((x[i] - mean) * scale));
  } else {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i)
      dx[i] = scale * (dy[i] * gamma[i] - a - b * ((x[i] - mean) * scale));
  }
}

// The first columns of the sums over rows of n: of dy (x - mean) / std, and of dy. Up to FEW_LINES
// rows are added in T, blocks of them in double.
enum { FEW_LINES = 64, GRADIENT_COLUMNS = 4 * LANES };

// Adds up to FEW_LINES rows of `width` columns.
template <typename T, bool WHOLE>
CYNET_XINLINE void skinny_gradients(const T* dy, const T* x, const T* mean, const T* std,
                                 int64_t lines, int64_t n, int width, double* products,
                                 double* totals) {
  const int columns = WHOLE ? static_cast<int>(GRADIENT_COLUMNS) : width;
  T product[GRADIENT_COLUMNS] = {}, total[GRADIENT_COLUMNS] = {};
  for (int64_t line = 0; line < lines; ++line) {
    const T center = mean[line], scale = 1 / std[line];
    for (int i = 0; i < columns; ++i) {
      const T g = dy[line * n + i];
      product[i] += g * ((x[line * n + i] - center) * scale);
      total[i] += g;
    }
  }
  for (int i = 0; i < columns; ++i) products[i] += product[i], totals[i] += total[i];
}

template <typename T>
void normalized_gradient_columns(const T* dy, const T* x, const T* mean, const T* std,
                                 int64_t lines, int64_t n, int64_t columns, double* products,
                                 double* totals) {
  for (int64_t i = 0; i < columns; ++i) products[i] = totals[i] = 0;
  for (int64_t first = 0; first < lines; first += FEW_LINES) {
    const int64_t few = lines - first < FEW_LINES ? lines - first : FEW_LINES;
    for (int64_t at = 0; at < columns; at += GRADIENT_COLUMNS) {
      const int64_t from = first * n + at, width = columns - at;
      if (width >= GRADIENT_COLUMNS)
        skinny_gradients<T, true>(dy + from, x + from, mean + first, std + first, few, n, 0,
                               products + at, totals + at);
      else
        skinny_gradients<T, false>(dy + from, x + from, mean + first, std + first, few, n,
                                static_cast<int>(width), products + at, totals + at);
    }
  }
}
