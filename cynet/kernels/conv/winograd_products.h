// Winograd's products in one form: transformed tiles times transformed weights, laid out as
// winograd_plans.h says. After winograd_plans.h; included by winograd_forms.h for each form.

// sum[b][i] += values[i * step] * lines[b * apart]: COUNT numbers by BLOCKS vectors.
template <int COUNT, int BLOCKS>
CYNET_XINLINE void add_outer_product(const float* values, int64_t step, const float* lines,
                                     int64_t apart, Vec (&sum)[BLOCKS][COUNT]) {
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

// Calls add(v, u, c) for all channels c. A channel block has ROWS by V_LINES vectors in v; a
// channel has U_LINES vectors in u.
template <int V_LINES, int U_LINES, class Add>
CYNET_XINLINE void for_channels(const float* v, const float* u, int64_t channels, const Add& add) {
  for (; channels >= LANES; channels -= LANES) {
#pragma GCC unroll 16
    for (int c = 0; c < LANES; ++c) add(v, u, c);
    v += V_LINES * ROWS * LANES;
    u += U_LINES * LANES * LANES;
  }
  for (int64_t c = 0; c < channels; ++c) add(v, u, c);
}

// Transforms the columns of one tile into s[N].
template <int P, int N, class Get>
CYNET_XINLINE void transform_columns(const Get& get, float* s) {
  Vec x[P], y[N];
#pragma GCC unroll 6
  for (int j = 0; j < P; ++j) x[j] = get(j);
  positions_to_outputs<P, N>(x, y);
#pragma GCC unroll 6
  for (int j = 0; j < N; ++j) at(s + j * LANES) = y[j];
}

// Row i of the positions of ROWS tiles and one filter block: the sums over channels of v u, then
// the transform along the columns to s[tile][i][N].
template <int P, int N>
CYNET_XINLINE void sum_products_of_row(const float* v, const float* u, int64_t channels, float* s) {
  Vec sum[P][ROWS] = {};
  for_channels<P, P>(v, u, channels, [&](const float* v, const float* u, int64_t c) CYNET_XLAMBDA {
#pragma GCC unroll 6
    for (int j = 0; j < P; ++j) {
      const Vec weight = at(u + (c * P + j) * LANES);
#pragma GCC unroll 4
      for (int r = 0; r < ROWS; ++r) sum[j][r] += v[(j * ROWS + r) * LANES + c] * weight;
    }
  });
#pragma GCC unroll 4
  for (int r = 0; r < ROWS; ++r)
    transform_columns<P, N>([&](int j) CYNET_XLAMBDA { return sum[j][r]; }, s + r * P * N * LANES);
}

// One position of TILES tiles (up to ROWS) and BLOCKS filter blocks: the sums over channels of v u,
// to s[block][tile]. Weights are prefetched 16 KiB ahead, as many serve a few tiles only.
template <int TILES, int BLOCKS>
inline void sum_products_at_position(const float* v, const float* u, int64_t channels, float* s) {
  constexpr int64_t PREFETCH_FLOATS = 4096;
  Vec sum[BLOCKS][TILES] = {};
  for_channels<1, BLOCKS>(v, u, channels,
                          [&](const float* v, const float* u, int64_t c) CYNET_XLAMBDA {
                            prefetch_line<false>(u + c * BLOCKS * LANES + PREFETCH_FLOATS);
                            add_outer_product(v + c, LANES, u + c * BLOCKS * LANES, LANES, sum);
                          });
#pragma GCC unroll 2
  for (int b = 0; b < BLOCKS; ++b)
#pragma GCC unroll 12
    for (int r = 0; r < TILES; ++r) at(s + (b * ROWS + r) * LANES) = sum[b][r];
}

template <int BLOCKS>
inline void sum_tile_products(int64_t tiles, const float* v, const float* u, int64_t channels,
                              float* s) {
  const auto run = tiles > 2 * STEP ? &sum_products_at_position<ROWS, BLOCKS>
                   : tiles > STEP   ? &sum_products_at_position<2 * STEP, BLOCKS>
                                    : &sum_products_at_position<STEP, BLOCKS>;
  run(v, u, channels, s);
}

// Multiplies transformed tiles v by transformed filters u, blocks b to last (at most plan.chunk of
// them), to the sums s.
template <int P, int N>
inline void sum_products(const ForwardPlan& plan, const float* v, const float* u, int64_t channels,
                         int64_t tiles, int64_t b, int64_t last, float* s) {
  const int64_t groups = (tiles + ROWS - 1) / ROWS;
  if constexpr (BY_ROW) {
    for (int64_t i = 0; i < P; ++i)
      for (int64_t g = 0; g < groups; ++g)
        sum_products_of_row<P, N>(v + i * plan.v_down + g * plan.v_group,
                                  u + plan.u_offset(b, 0) + i * plan.u_down, channels,
                                  s + g * plan.s_group + i * plan.s_position);
  } else {
    for (int64_t q = 0; q < P * P; ++q)
      for (int64_t f = b; f < last; f += FILTERS) {
        const auto run = plan.interleaved_block_count(f) == FILTERS ? &sum_tile_products<FILTERS>
                                                                    : &sum_tile_products<1>;
        for (int64_t g = 0; g < groups; ++g)
          run(tiles - g * ROWS, v + q * plan.v_across + g * plan.v_group,
              u + q * plan.u_across + plan.u_offset(f, 0), channels,
              s + q * plan.s_position + g * plan.s_group + (f - b) * plan.s_block);
      }
  }
}

// u[channel] += sum over tiles of v[tile][channel] m[tile], COUNT channels by BLOCKS filter blocks,
// m_block and u_block floats apart.
template <int COUNT, int BLOCKS>
CYNET_XINLINE void add_outer_tile(const float* v, const float* m, int64_t m_block, int64_t tiles,
                                  float* u, int64_t u_block) {
  Vec sum[BLOCKS][COUNT];
#pragma GCC unroll 2
  for (int b = 0; b < BLOCKS; ++b)
#pragma GCC unroll 16
    for (int c = 0; c < COUNT; ++c) sum[b][c] = at(u + b * u_block + c * LANES);
#pragma GCC unroll 2
  for (int64_t t = 0; t < tiles; ++t)
    add_outer_product(v + t * LANES, 1, m + t * LANES, m_block, sum);
#pragma GCC unroll 2
  for (int b = 0; b < BLOCKS; ++b)
#pragma GCC unroll 16
    for (int c = 0; c < COUNT; ++c) at(u + b * u_block + c * LANES) = sum[b][c];
}

// Adds all channels (rounded up by at most three) of a filter block, or of FILTERS blocks.
inline void add_outer_products(int64_t channels, int64_t filters, const float* v, const float* m,
                               int64_t m_block, int64_t tiles, float* u, int64_t u_block) {
  if constexpr (BY_ROW) {
    if (channels > LANES * 3 / 4) return add_outer_tile<LANES, 1>(v, m, 0, tiles, u, 0);
    if (channels > LANES / 2) return add_outer_tile<LANES * 3 / 4, 1>(v, m, 0, tiles, u, 0);
    if (channels > LANES / 4) return add_outer_tile<LANES / 2, 1>(v, m, 0, tiles, u, 0);
    return add_outer_tile<LANES / 4, 1>(v, m, 0, tiles, u, 0);
  }
  constexpr int HALF = LANES / 2;
  for (int64_t c = 0; c < LANES && c < channels; c += HALF)
    (filters > 1 ? add_outer_tile<HALF, FILTERS>
                 : add_outer_tile<HALF, 1>)(v + c, m, m_block, tiles, u + c * LANES, u_block);
}
