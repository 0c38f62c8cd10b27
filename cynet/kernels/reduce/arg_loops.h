// The first maximum (or minimum) or NaN of columns, compiled for each CPU level (levels.h).
// Included by reduce.h.

enum { ARG_COLUMNS = 512 };

// Whether x replaces the best so far.
template <bool greatest, typename V>
CYNET_XINLINE bool arg_better(V x, V best) {
  return (greatest ? x > best : x < best) | ((x != x) & (best == best));
}

// For m <= ARG_COLUMNS adjacent columns, over n < 2**32 rows that are `step` apart.
template <typename T, bool greatest>
void arg_columns(const T* x, int64_t n, int64_t step, int64_t m, int64_t* places) {
  typedef value_of<T> V;
  typedef typename std::conditional<sizeof(T) == 8, int64_t, uint32_t>::type I;
  V best[ARG_COLUMNS];
  I place[ARG_COLUMNS];
  for (int64_t c = 0; c < m; ++c) {
    best[c] = x[c];
    place[c] = 0;
  }
  for (int64_t r = 1; r < n; ++r) {
    const T* row = x + r * step;
    const I here = static_cast<I>(r);
    CYNET_IVDEP
    for (int64_t c = 0; c < m; ++c) {
      const V value = row[c];
      const bool better = arg_better<greatest>(value, best[c]);
      best[c] = better ? value : best[c];
      place[c] = better ? here : place[c];
    }
  }
  for (int64_t c = 0; c < m; ++c) places[c] = place[c];
}

// For n contiguous elements.
template <typename T, bool greatest>
int64_t arg_row(const T* x, int64_t n) {
#if defined(__GNUC__)
  if constexpr (std::is_same<T, float>::value) {
    typedef typename std::conditional<greatest, Greater, Less>::type op;
    float best;
    if (n >= 2 * CYNET_LANES && extreme_row<op>(x, n, &best)) {
      int64_t i = 0;
      for (; i + 2 * CYNET_LANES <= n; i += 2 * CYNET_LANES) {
        const IVec here = (load(x + i) == best) | (load(x + i + CYNET_LANES) == best);
        if (fold<Less>(reinterpret_cast<Vec>(here & 0x3f800000) * -1.0f) < 0.0f) break;
      }
      while (x[i] != best) ++i;
      return i;
    }
  }
#endif
  int64_t best = 0;
  for (int64_t i = 1; i < n; ++i)
    if (arg_better<greatest, value_of<T>>(x[i], x[best])) best = i;
  return best;
}
