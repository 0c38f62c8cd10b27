// The inner loops of the reductions, compiled for each level (levels.h). Included by reduce.h.

// n elements side by side, in so many lanes that compilers keep the loops over them and vectorise.
template <typename T, class R>
typename R::acc reduce_row(const T* x, int64_t n) {
  enum { LANES = 64, ROUNDS = 16, SHORT = LANES * ROUNDS, FEW = 16 };
  typedef typename R::acc acc;
  typedef typename R::part part;
  acc lanes[LANES];
  if (n < LANES) {
    lanes[0] = R::init();
    for (int64_t i = 0; i < n; ++i) R::step(lanes[0], x[i]);
    return lanes[0];
  }
  if (n <= SHORT) {  // one round: its parts are all there is
    part parts[LANES];
    for (int l = 0; l < LANES; ++l) parts[l] = static_cast<part>(R::init());
    for (; n >= LANES; x += LANES, n -= LANES)
      for (int l = 0; l < LANES; ++l) R::step(parts[l], x[l]);
    for (; n >= FEW; x += FEW, n -= FEW)
      for (int l = 0; l < FEW; ++l) R::step(parts[l], x[l]);
    for (int l = 0; l < n; ++l) R::step(parts[l], x[l]);
    for (int l = 0; l < FEW; ++l) {
      lanes[l] = static_cast<acc>(parts[l]);
      for (int k = FEW; k < LANES; k += FEW) R::merge(lanes[l], static_cast<acc>(parts[l + k]));
    }
    for (int width = FEW / 2; width > 0; width /= 2)
      for (int l = 0; l < width; ++l) R::merge(lanes[l], lanes[l + width]);
    return lanes[0];
  }
  for (int l = 0; l < LANES; ++l) lanes[l] = R::init();
  while (n >= LANES) {
    part parts[LANES];
    for (int l = 0; l < LANES; ++l) parts[l] = static_cast<part>(R::init());
    for (int k = 0; k < ROUNDS && n >= LANES; ++k, x += LANES, n -= LANES)
      for (int l = 0; l < LANES; ++l) R::step(parts[l], x[l]);
    for (int l = 0; l < LANES; ++l) R::merge(lanes[l], static_cast<acc>(parts[l]));
  }
  for (int l = 0; l < n; ++l) R::step(lanes[l], x[l]);
  for (int width = LANES / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) R::merge(lanes[l], lanes[l + width]);
  return lanes[0];
}

// n columns side by side, over positions [begin, end) of the reduced axes.
template <typename T, class R>
void reduce_columns(const ReduceSpace& s, const T* x, int64_t n, int64_t begin, int64_t end,
                    typename R::acc* acc) {
  for (int64_t c = 0; c < n; ++c) acc[c] = R::init();
  for (int64_t r = begin; r < end; ++r) {
    const T* from = x + offset_of(r, s.n_reduced, s.reduced, s.reduced_stride);
    for (int64_t c = 0; c < n; ++c) R::step(acc[c], from[c]);
  }
}
