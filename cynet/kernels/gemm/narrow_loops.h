// Narrow products at one CPU level: with so few rows or columns, packing b costs too much. After
// small_loops.h; included by small.h for each level.
//
// b is read in place. If its columns are contiguous (transposed b), rows of a are multiplied by
// columns of b: dot products. If its rows are contiguous, each is multiplied by numbers of a and
// added to the result. The time is that of reading b once. The order of sums does not depend on the
// number of threads.

// Rows from which on packing pays: for a transposed b, and for an ordinary one. With vectors of
// less than a cache line, parts of the rows of a large b are read too slowly.
constexpr int64_t MIN_PACKED_TRANSPOSED = LANES == 16 ? 16 : 8, MIN_PACKED_ROWS = 17;  // rows of a
// Contiguous columns from which on packing pays, for many rows. With columns shorter than
// NARROW_LINE it pays from the third.
constexpr int64_t MIN_PACKED_COLUMNS = LANES == 16 ? 9 : 6, NARROW_LINE = 64;  // columns
constexpr int64_t CACHED_B_FLOATS = 1 << 20;  // floats of a b that stays in the cache
constexpr int64_t MAX_NARROW_FLOATS = LANES == 16 ? INT64_MAX : CACHED_B_FLOATS;  // floats of b
// With vectors of a whole cache line, a b that fits the cache is read in place for more rows:
// MIN_PACKED_PLAIN for a plain product (same order of sums up to DEPTH), more in place of a BLAS
// call, as long as three vectors of b's columns stay in the second-level cache.
constexpr int64_t MIN_PACKED_PLAIN = LANES == 16 ? 129 : MIN_PACKED_ROWS;  // rows of a
constexpr int64_t MIN_BLAS_ROWS = LANES == 16 ? 513 : MIN_PACKED_ROWS, MIN_BLAS_DEPTH = 2400;
constexpr int64_t PREFETCH_ROWS = 12;  // of b: the hardware does not see the pattern
constexpr int TILE_ROWS = LANES == 16 ? 4 : 2;  // rows by 4 columns of sums in registers

inline bool narrow_is_profitable(int64_t m, int64_t n, int64_t k, bool b_transposed, NarrowUse of) {
  if (b_transposed)
    return m < MIN_PACKED_TRANSPOSED || n < (k < NARROW_LINE ? 3 : MIN_PACKED_COLUMNS);
  if (m < MIN_PACKED_ROWS) return n * k < MAX_NARROW_FLOATS;
  if (n * k >= CACHED_B_FLOATS) return false;
  return of == INSTEAD_OF_BLAS ? m < MIN_BLAS_ROWS && k <= MIN_BLAS_DEPTH
                               : m < MIN_PACKED_PLAIN && k <= DEPTH;
}

// Adds up the lanes of each of C vectors.
template <int C>
CYNET_XINLINE void sum_lanes(const Vec* vectors, float* sums) {
#if defined(__GNUC__)
  if constexpr (C == 4) {
    const auto pair = [](Vec v, Vec w) {
      const Vec4 a = fold_to_four<Plus>(v), b = fold_to_four<Plus>(w);
      return Vec4{a[0], b[0], a[1], b[1]} + Vec4{a[2], b[2], a[3], b[3]};
    };
    const Vec4 a = pair(vectors[0], vectors[1]), b = pair(vectors[2], vectors[3]);
    const Vec4 all = Vec4{a[0], a[1], b[0], b[1]} + Vec4{a[2], a[3], b[2], b[3]};
    std::memcpy(sums, &all, sizeof all);
  } else {
    for (int c = 0; c < C; ++c) sums[c] = fold_lanes<Plus>(vectors[c]);
  }
#else
  for (int c = 0; c < C; ++c) {
    sums[c] = 0;
    for (int i = 0; i < LANES; ++i) sums[c] += vectors[c].lane[i];
  }
#endif
}

// Computes R rows by C columns of the result.
template <int R, int C>
inline void sum_narrow_dots(const Product& p, int64_t row, int64_t column) {
  Vec sums[R][C] = {};
  const float* a = p.a + row * p.a_row;
  const float* b = p.b + column * p.b_row;
  const auto add = [&](const auto& read) {
    Vec lines[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) lines[c] = read(b + c * p.b_row);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Vec value = read(a + r * p.a_row);
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) sums[r][c] += value * lines[c];
    }
  };
  int64_t k = 0;
  for (; k + LANES <= p.k; k += LANES) add([&](const float* from) { return load(from + k); });
  if (k < p.k) add([&](const float* from) { return load_part(from + k, p.k - k); });
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    float all[C];
    sum_lanes<C>(sums[r], all);
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) {
      float* to = p.c + (row + r) * p.c_row + column + c;
      float y = all[c];
      if (p.bias) y += p.bias[column + c];
      if (p.add) y += *to;
      if (p.mask) y *= (p.mask[to - p.c] > 0 ? 1 : 0 * p.mask[to - p.c]);
      *to = p.relu && y < 0 ? 0 : y;
    }
  }
}

// Computes rows row .. last by C columns, b transposed.
template <int C>
inline void sum_narrow_columns(const Product& p, int64_t row, int64_t last, int64_t column) {
  for (; row + TILE_ROWS <= last; row += TILE_ROWS) sum_narrow_dots<TILE_ROWS, C>(p, row, column);
  for (; row + 2 <= last; row += 2) sum_narrow_dots<2, C>(p, row, column);
  if (row < last) sum_narrow_dots<1, C>(p, row, column);
}

// Computes the columns column .. end by dot products.
inline void sum_narrow_transposed(const Product& p, int64_t row, int64_t last, int64_t column,
                                  int64_t end) {
  for (; column + 4 <= end; column += 4) sum_narrow_columns<4>(p, row, last, column);
  for (; column < end; ++column) sum_narrow_columns<1>(p, row, last, column);
}

// Writes the sums of `rows` rows and `vectors` of columns, the last one with `lanes` lanes.
inline void write_narrow_sums(const TileJob& job, const Product& p, const Vec* sums, int rows,
                              int vectors, int64_t row, int64_t column, int64_t lanes) {
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v) {
      const int64_t from = column + v * LANES, to = (row + r) * p.c_row + from;
      write_sums(job, *sums++, p.c + to, p.bias ? p.bias + from : nullptr,
                 p.mask ? p.mask + to : nullptr, v == vectors - 1 ? lanes : LANES);
    }
}

// Computes R rows by V vectors of columns, the last with `lanes` lanes; b is not transposed.
template <int R, int V, bool PART>
inline void sum_narrow_lines(const TileJob& job, const Product& p, int64_t row, int64_t column,
                             int64_t lanes) {
  const auto line = [&](int64_t k) CYNET_XLAMBDA {
    const float* from = p.b + k * p.b_row + column;
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v) prefetch_line<false>(from + PREFETCH_ROWS * p.b_row + v * LANES);
    return from;
  };
  const bool plain = !PART && !(job.add || job.relu || p.bias || p.mask);
  Vec made[R * V];
  float* to = plain ? p.c + row * p.c_row + column : reinterpret_cast<float*>(made);
  line_sums<R, V, PART>(p.a + row * p.a_row, p.a_row, p.k, line, lanes, to,
                        plain ? p.c_row : V * LANES);
  if (!plain) write_narrow_sums(job, p, made, R, V, row, column, lanes);
}

// Computes the columns j .. end, at most V vectors.
template <int R, int V, bool PART = false>
inline void sum_narrow_strip(const TileJob& job, const Product& p, int64_t row, int64_t j,
                             int64_t end) {
  const int64_t left = end - j - (V - 1) * LANES;
  if (left == LANES && !PART) sum_narrow_lines<R, V, false>(job, p, row, j, LANES);
  else if (left > 0) sum_narrow_lines<R, V, true>(job, p, row, j, left);
  else if constexpr (V > 1) sum_narrow_strip<R, V - 1, true>(job, p, row, j, end);
}

// Computes at most R rows, WIDTH vectors at a time.
template <int R>
inline void sum_few_rows(int64_t rows, const TileJob& job, const Product& p, int64_t row, int64_t j,
                         int64_t end) {
  if (rows == R) sum_narrow_strip<R, WIDTH>(job, p, row, j, end);
  else if constexpr (R > 1) sum_few_rows<R - 1>(rows, job, p, row, j, end);
}

// Computes rows row .. last by columns j .. end. One or two rows take more vectors at a time: with
// fewer sums each addition would wait for the one before.
inline void sum_one_part(const TileJob& job, const Product& p, int64_t row, int64_t last, int64_t j,
                         int64_t end) {
  const int64_t rows = last - row, parts = (rows + ROWS - 1) / ROWS;
  const int64_t width = (p.m == 1 ? 4 : p.m == 2 ? 2 : 1) * WIDTH;
  for (; j < end; j += width * LANES) {
    const int64_t stop = std::min(j + width * LANES, end);
    if (p.m == 1) sum_narrow_strip<1, 4 * WIDTH>(job, p, 0, j, stop);
    else if (p.m == 2) sum_narrow_strip<2, 2 * WIDTH>(job, p, 0, j, stop);
    else
      for (int64_t i = 0; i < parts; ++i) {
        const int64_t first = part_start(rows, i, parts);
        sum_few_rows<ROWS>(part_start(rows, i + 1, parts) - first, job, p, row + first, j, stop);
      }
  }
}

// Divides the columns among threads, or the rows if there are many.
inline void sum_narrow_untransposed(const Product& p, int threads) {
  const TileJob job = {p.a, p.a_row, p.k, p.c_row, p.relu, p.add};
  const int64_t vectors = vector_count(p.n);
  const bool by_rows = p.m >= threads * ROWS && vectors < 2 * WIDTH * threads;
  parallel_for(threads, by_rows ? p.m : vectors, [&](int64_t begin, int64_t last) {
    if (by_rows) sum_one_part(job, p, begin, last, 0, p.n);
    else sum_one_part(job, p, 0, p.m, begin * LANES, std::min(last * LANES, p.n));
  });
}

inline void multiply_narrow(const Product& p, int threads) {
  if (!p.b_transposed) return sum_narrow_untransposed(p, threads);
  if (p.m < MIN_PACKED_TRANSPOSED)
    parallel_for(threads, (p.n + 3) / 4, [&](int64_t begin, int64_t end) {
      sum_narrow_transposed(p, 0, p.m, 4 * begin, std::min(4 * end, p.n));
    });
  else
    parallel_for(threads, (p.m + TILE_ROWS - 1) / TILE_ROWS, [&](int64_t begin, int64_t end) {
      sum_narrow_transposed(p, begin * TILE_ROWS, std::min(end * TILE_ROWS, p.m), 0, p.n);
    });
}
