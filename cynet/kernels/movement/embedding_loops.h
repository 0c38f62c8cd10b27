// The loop of embedding.h, compiled for each level (levels.h).

// Adds columns first .. last of n adjacent rows of x to rows of y, in order.
template <typename T>
static void add_rows(const T* x, const int64_t* rows, int64_t n, int64_t dim, int64_t first,
                     int64_t last, T* y) {
  for (int64_t i = 0; i < n; ++i) {
    const T* from = x + i * dim;
    T* to = y + rows[i] * dim;
    if (i + ROWS_AHEAD < n)
      fetch_row<true>(reinterpret_cast<const char*>(y + rows[i + ROWS_AHEAD] * dim + first),
                      (last - first) * sizeof(T));
    CYNET_IVDEP
    for (int64_t k = first; k < last; ++k) to[k] += from[k];
  }
}
