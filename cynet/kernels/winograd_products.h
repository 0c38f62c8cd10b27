// Winograd's products at one CPU level, after winograd_transforms.h: of transformed tiles by
// transformed weights, in the layout that winograd_loops.h describes. Included by winograd.h for
// each level.

// sum[b][i] += values[i * step] * lines[b * apart]: COUNT numbers by BLOCKS vectors.
template <int COUNT, int BLOCKS>
CYNET_XINLINE void add_outer(const float* values, int64_t step, const float* lines, int64_t apart,
                             Vec (&sum)[BLOCKS][COUNT]) {
  Vec line[BLOCKS];
#pragma GCC unroll 2
  for (int b = 0; b < BLOCKS; ++b) line[b] = at(lines + b * apart);
#pragma GCC unroll 16
  for (int i = 0; i < COUNT; ++i) {
    const float value = values[i * step];
#pragma GCC unroll 2
    for (int b = 0; b < BLOCKS; ++b) sum[b][i] += value * line[b];
  }
}

// add(v, u, c) of all channels: v and u of blocks of LANES, whose positions lie between each other.
template <int P, class Add>
CYNET_XINLINE void each_channel(const float* v, const float* u, int64_t channels, const Add& add) {
  for (; channels >= LANES; channels -= LANES) {
#pragma GCC unroll 16
    for (int c = 0; c < LANES; ++c) add(v, u, c);
    v += P * ROWS * LANES;
    u += P * LANES * LANES;
  }
  for (int64_t c = 0; c < channels; ++c) add(v, u, c);
}

// The columns' transform of one tile to s[N].
template <int P, int N, class Get>
CYNET_XINLINE void columns(const Get& get, float* s) {
  Vec x[P], y[N];
#pragma GCC unroll 6
  for (int j = 0; j < P; ++j) x[j] = get(j);
  gather<P, N>(x, y);
#pragma GCC unroll 6
  for (int j = 0; j < N; ++j) at(s + j * LANES) = y[j];
}

// Row i of the positions of ROWS tiles and one filter block: sums over channels of v u, then the
// columns' transform to s[tile][i][N].
template <int P, int N>
CYNET_XINLINE void product(const float* v, const float* u, int64_t channels, float* s) {
  Vec sum[P][ROWS] = {};
  each_channel<P>(v, u, channels, [&](const float* v, const float* u, int64_t c) CYNET_XLAMBDA {
#pragma GCC unroll 6
    for (int j = 0; j < P; ++j) {
      const Vec weight = at(u + (c * P + j) * LANES);
#pragma GCC unroll 4
      for (int r = 0; r < ROWS; ++r) sum[j][r] += v[(j * ROWS + r) * LANES + c] * weight;
    }
  });
#pragma GCC unroll 4
  for (int r = 0; r < ROWS; ++r)
    columns<P, N>([&](int j) CYNET_XLAMBDA { return sum[j][r]; }, s + r * P * N * LANES);
}

// The same with 16 registers, of BLOCKS filter blocks, u_block and s_block floats apart.
template <int P, int N, int BLOCKS>
CYNET_XINLINE void product_by_position(const float* v, const float* u, int64_t u_block,
                                       int64_t channels, float* s, int64_t s_block) {
  Vec sums[BLOCKS][ROWS][P];
  for (int j = 0; j < P; ++j, v += ROWS * LANES, u += LANES) {
    Vec sum[BLOCKS][ROWS] = {};
    each_channel<P>(v, u, channels, [&](const float* v, const float* u, int64_t c) CYNET_XLAMBDA {
      add_outer(v + c, LANES, u + c * P * LANES, u_block, sum);
    });
#pragma GCC unroll 2
    for (int b = 0; b < BLOCKS; ++b)
#pragma GCC unroll 6
      for (int r = 0; r < ROWS; ++r) sums[b][r][j] = sum[b][r];
  }
  for (int b = 0; b < BLOCKS; ++b)
    for (int r = 0; r < ROWS; ++r)
      columns<P, N>([&](int j) CYNET_XLAMBDA { return sums[b][r][j]; },
                    s + b * s_block + r * P * N * LANES);
}

// u[channel] += sum over tiles of v[tile][channel] m[tile], COUNT channels by BLOCKS filter blocks,
// m_block and u_block floats apart.
template <int COUNT, int BLOCKS>
CYNET_XINLINE void outer(const float* v, const float* m, int64_t m_block, int64_t tiles, float* u,
                         int64_t u_block) {
  Vec sum[BLOCKS][COUNT];
#pragma GCC unroll 2
  for (int b = 0; b < BLOCKS; ++b)
#pragma GCC unroll 16
    for (int c = 0; c < COUNT; ++c) sum[b][c] = at(u + b * u_block + c * LANES);
#pragma GCC unroll 2
  for (int64_t t = 0; t < tiles; ++t) add_outer(v + t * LANES, 1, m + t * LANES, m_block, sum);
#pragma GCC unroll 2
  for (int b = 0; b < BLOCKS; ++b)
#pragma GCC unroll 16
    for (int c = 0; c < COUNT; ++c) at(u + b * u_block + c * LANES) = sum[b][c];
}

// As many channels as there are, or up to three more, of a filter block, or with 16 registers of
// up to FILTERS.
inline void outer_of(int64_t channels, int64_t filters, const float* v, const float* m,
                     int64_t m_block, int64_t tiles, float* u, int64_t u_block) {
  if constexpr (WIDE) {
    if (channels > LANES * 3 / 4) return outer<LANES, 1>(v, m, 0, tiles, u, 0);
    if (channels > LANES / 2) return outer<LANES * 3 / 4, 1>(v, m, 0, tiles, u, 0);
    if (channels > LANES / 4) return outer<LANES / 2, 1>(v, m, 0, tiles, u, 0);
    return outer<LANES / 4, 1>(v, m, 0, tiles, u, 0);
  }
  constexpr int HALF = LANES / 2;
  for (int64_t c = 0; c < LANES && c < channels; c += HALF)
    (filters > 1 ? outer<HALF, FILTERS> : outer<HALF, 1>)(v + c, m, m_block, tiles,
                                                          u + c * LANES, u_block);
}
