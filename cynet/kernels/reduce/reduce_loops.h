// The inner loops of the reductions, compiled for each level (levels.h). Included by reduce.h.

#if defined(__GNUC__)
// True if a row is so long that it is read as four parallel streams, for the prefetchers.
CYNET_XINLINE bool is_streamed(int64_t n) { return LANES >= 8 && n >= 1 << 19; }

// The maximum (or minimum) of n >= LANES floats. False if there may be a NaN, which their sum
// shows. The last vector may overlap the one before.
template <class op>
CYNET_XINLINE bool try_find_extreme(const float* x, int64_t n, float* found) {
  Vec best[4], sum[4];
  for (int k = 0; k < 4; ++k) {
    best[k] = load(x);
    sum[k] = Vec{};
  }
  const int64_t rounds = n / (4 * LANES);
  const int64_t apart = is_streamed(n) ? rounds * LANES : LANES;
  const int64_t step = is_streamed(n) ? LANES : 4 * LANES;
  const float* at = x;
  for (int64_t r = 0; r < rounds; ++r, at += step) {
    for (int k = 0; k < 4; ++k) {
      const Vec v = load(at + k * apart);
      best[k] = op::combine(v, best[k]);
      sum[k] += v;
    }
  }
  int64_t i = rounds * (4 * LANES);
  for (; i + LANES <= n; i += LANES) {
    best[0] = op::combine(load(x + i), best[0]);
    sum[0] += load(x + i);
  }
  if (i < n) {
    best[1] = op::combine(load(x + n - LANES), best[1]);
    sum[1] += load(x + n - LANES);
  }
  const float total = fold_lanes<Plus>((sum[0] + sum[1]) + (sum[2] + sum[3]));
  *found =
      fold_lanes<op>(op::combine(op::combine(best[0], best[1]), op::combine(best[2], best[3])));
  return total == total;
}

// The sum of a streamed row: 64 floats are added in float, then in double.
inline double streamed_sum(const float* x, int64_t n) {
  const int64_t apart = n / (4 * LANES) * LANES;
  double lanes[4 * LANES] = {}, total = 0;
  for (int64_t i = 0; i < apart;) {
    const int64_t stop = std::min<int64_t>(apart, i + 64 * LANES);
    Vec part[4] = {};
    for (; i < stop; i += LANES)
      for (int k = 0; k < 4; ++k) part[k] += load(x + k * apart + i);
    float parts[4 * LANES];
    for (int k = 0; k < 4; ++k) store(parts + k * LANES, part[k]);
    for (int l = 0; l < 4 * LANES; ++l) lanes[l] += parts[l];
  }
  for (int l = 0; l < 4 * LANES; ++l) total += lanes[l];
  for (int64_t i = 4 * apart; i < n; ++i) total += x[i];
  return total;
}

template <class R>
struct extreme_op;
template <>
struct extreme_op<max<float>> {
  typedef Greater op;
};
template <>
struct extreme_op<min<float>> {
  typedef Less op;
};
#endif

// Reduces n contiguous elements with enough partial results for vectorisation.
template <typename T, class R>
typename R::acc reduce_row(const T* x, int64_t n) {
  enum { LANES = 64, ROUNDS = 64, SHORT = LANES * ROUNDS, FEW = 16 };
  typedef typename R::acc acc;
  typedef typename R::part part;
#if defined(__GNUC__)
  if constexpr (std::is_same<R, max<float>>::value || std::is_same<R, min<float>>::value) {
    float found;
    if (n >= CYNET_LANES && try_find_extreme<typename extreme_op<R>::op>(x, n, &found))
      return found;
  }
  if constexpr (std::is_same<R, sum<float>>::value) {
    if (is_streamed(n)) return streamed_sum(x, n);
  }
#endif
  acc lanes[LANES];
  if (n < LANES) {
    lanes[0] = R::init();
    for (int64_t i = 0; i < n; ++i) R::step(lanes[0], x[i]);
    return lanes[0];
  }
  if (n <= SHORT) {  // a short row takes one round
    part parts[LANES];
    for (int l = 0; l < LANES; ++l) parts[l] = static_cast<part>(R::init());
    for (; n >= LANES; x += LANES, n -= LANES) {
      for (int l = 0; l < LANES; ++l) R::step(parts[l], x[l]);
    }
    for (; n >= FEW; x += FEW, n -= FEW)
      for (int l = 0; l < FEW; ++l) R::step(parts[l], x[l]);
    if (n > 0) {  // the last FEW elements; FEW - n of them are read twice
      const T* last = x + n - FEW;
      const int seen = FEW - static_cast<int>(n);
      const compute_value<T> nothing = static_cast<compute_value<T>>(R::init());
      if constexpr (sizeof(part) > sizeof(compute_value<T>)) {  // two loops: both are vectorised
        compute_value<T> rest[FEW];
#pragma GCC unroll 1
        for (int l = 0; l < FEW; ++l) {
          const compute_value<T> value = last[l];
          rest[l] = l >= seen ? value : nothing;
        }
        for (int l = 0; l < FEW; ++l) R::step(parts[l], rest[l]);
      } else {
        for (int l = 0; l < FEW; ++l) {
          const compute_value<T> value = last[l];
          R::step(parts[l], l >= seen ? value : nothing);
        }
      }
    }
    for (int l = 0; l < FEW; ++l) {
      lanes[l] = static_cast<acc>(parts[l]);
      for (int k = FEW; k < LANES; k += FEW) R::merge(lanes[l], static_cast<acc>(parts[l + k]));
    }
    for (int l = 0; l < 8; ++l) R::merge(lanes[l], lanes[l + 8]);
    for (int l = 0; l < 4; ++l) R::merge(lanes[l], lanes[l + 4]);
    for (int l = 0; l < 2; ++l) R::merge(lanes[l], lanes[l + 2]);
    R::merge(lanes[0], lanes[1]);
    return lanes[0];
  }
  for (int l = 0; l < LANES; ++l) lanes[l] = R::init();
  while (n >= LANES) {
    part parts[LANES];
    for (int l = 0; l < LANES; ++l) parts[l] = static_cast<part>(R::init());
    for (int k = 0; k < ROUNDS && n >= LANES; ++k, x += LANES, n -= LANES) {
      for (int l = 0; l < LANES; ++l) R::step(parts[l], x[l]);
    }
    for (int l = 0; l < LANES; ++l) R::merge(lanes[l], static_cast<acc>(parts[l]));
  }
  for (int l = 0; l < n; ++l) R::step(lanes[l], x[l]);
  for (int width = LANES / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) R::merge(lanes[l], lanes[l + width]);
  return lanes[0];
}

// Reduces n adjacent columns over positions [begin, end) of the reduced axes, four rows at a time.
template <typename T, class R>
void reduce_columns(const ReduceSpace& s, const T* x, int64_t n, int64_t begin, int64_t end,
                    typename R::acc* acc) {
  typedef typename R::part part;
  auto row = [&](int64_t r) {
    return x + (s.n_reduced == 1 ? r * s.reduced_stride[0]
                                 : offset_of(r, s.n_reduced, s.reduced, s.reduced_stride));
  };
  for (int64_t c = 0; c < n; ++c) acc[c] = R::init();
  int64_t r = begin;
  for (; r + 4 <= end; r += 4) {
    const T *a = row(r), *b = row(r + 1), *d = row(r + 2), *e = row(r + 3);
    CYNET_IVDEP
    for (int64_t c = 0; c < n; ++c) {
      if constexpr (std::is_same<part, typename R::acc>::value) {
        part all = acc[c];
        R::step(all, a[c]);
        R::step(all, b[c]);
        R::step(all, d[c]);
        R::step(all, e[c]);
        acc[c] = all;
      } else {
        part sum = static_cast<part>(R::init());
        R::step(sum, a[c]);
        R::step(sum, b[c]);
        R::step(sum, d[c]);
        R::step(sum, e[c]);
        R::merge(acc[c], static_cast<typename R::acc>(sum));
      }
    }
  }
  for (; r < end; ++r) {
    const T* from = row(r);
    CYNET_IVDEP
    for (int64_t c = 0; c < n; ++c) R::step(acc[c], from[c]);
  }
}
