// The inner loop of products that read the right operand in place; its rows may be anywhere. At one
// CPU level, after simd.h; included before the loops of small.h and implicit_gemm.h.

// Tile of sums in registers: ROWS rows by WIDTH vectors.
#if defined(__aarch64__)
constexpr int ROWS = 8;  // rows of a tile of sums
#else
constexpr int ROWS = LANES == 16 ? 8 : 4;  // rows of a tile of sums
#endif
constexpr int WIDTH = 3;  // vectors in a row of the tile

constexpr int64_t vector_count(int64_t n) { return (n + LANES - 1) / LANES; }

// R rows of a (`depth` numbers, rows `a_row` floats apart) by V vectors, the last one with `lanes`
// lanes. line(k) is where row k of the right operand begins. Writes whole vectors to `to`.
template <int R, int V, bool PART, class Line>
CYNET_XINLINE void line_sums(const float* a, int64_t a_row, int64_t depth, const Line& line,
                             int64_t lanes, float* to, int64_t step) {
  Vec sums[R][V] = {};
  for (int64_t k = 0; k < depth; ++k) {
    const float* from = line(k);
    Vec part[V];
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v)
      part[v] = PART && v == V - 1 ? load_part(from + v * LANES, lanes) : load(from + v * LANES);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const float value = a[r * a_row + k];
#pragma GCC unroll 12
      for (int v = 0; v < V; ++v) sums[r][v] += value * part[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v) store(to + r * step + v * LANES, sums[r][v]);
}
