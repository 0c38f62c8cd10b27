// Matrices transposed in memory, compiled for each level (levels.h), after simd_transpose.h.
// Included by transpose.h.

static void transpose_elements(const Transposition& s, const float* from, float* to, int64_t i,
                               int64_t i_end, int64_t j, int64_t j_end) {
  for (; j < j_end; ++j)
    for (int64_t r = i; r < i_end; ++r) {
      float* at = to + j * s.to_step + r;
      const float value = from[r * s.from_step + j];
      *at = s.add ? *at + value : value;
    }
}

#if defined(__GNUC__)
// Transposes LANES rows by 4 columns; writes the last 4 - `done` columns.
CYNET_XINLINE void transpose_four_columns(const Transposition& s, const float* from, float* to,
                                          int64_t i, int64_t j, int done) {
  Vec four[4];
  load_transposed_fours(from + i * s.from_step + j, s.from_step, four);
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    if (k < done) continue;
    float* at = to + (j + k) * s.to_step + i;
    store(at, s.add ? load(at) + four[k] : four[k]);
  }
}

// Transposes LANES rows from row i on.
static void transpose_rows(const Transposition& s, const float* from, float* to, int64_t i,
                           int64_t j, int64_t j_end) {
  if (j_end - j < 4) return transpose_elements(s, from, to, i, i + LANES, j, j_end);
  for (; j + 4 <= j_end; j += 4) transpose_four_columns(s, from, to, i, j, 0);
  if (j < j_end) transpose_four_columns(s, from, to, i, j_end - 4, static_cast<int>(j + 4 - j_end));
}

CYNET_XINLINE Vec4 quarter_of(Vec v, int k) {
#if CYNET_LANES == 4
  return k ? Vec4{} : v;
#elif CYNET_LANES == 16
  const __m512 all = reinterpret_cast<__m512>(v);
  return reinterpret_cast<Vec4>(k == 0   ? _mm512_castps512_ps128(all)
                                : k == 1 ? _mm512_extractf32x4_ps(all, 1)
                                : k == 2 ? _mm512_extractf32x4_ps(all, 2)
                                         : _mm512_extractf32x4_ps(all, 3));
#else
  const __m256 all = reinterpret_cast<__m256>(v);
  return reinterpret_cast<Vec4>(k ? _mm256_extractf128_ps(all, 1) : _mm256_castps256_ps128(all));
#endif
}

#if CYNET_LANES == 16
CYNET_XINLINE __m512 load_row(const float* from) { return _mm512_loadu_ps(from); }
#elif CYNET_LANES == 8
CYNET_XINLINE __m256 load_row(const float* from) { return _mm256_loadu_ps(from); }
#else
CYNET_XINLINE Vec load_row(const float* from) { return load(from); }
#endif

CYNET_XINLINE void write_four(float* at, Vec4 v, bool add) {
  Vec4 old;
  if (add) {
    std::memcpy(&old, at, sizeof old);
    v += old;
  }
  std::memcpy(at, &v, sizeof v);
}

// Transposes four rows by four columns.
CYNET_XINLINE void transpose_square(const Transposition& s, const float* from, float* to, int64_t i,
                                    int64_t j) {
  Vec4 a, b, c, d;
  from += i * s.from_step + j;
  to += j * s.to_step + i;
  std::memcpy(&a, from, sizeof a);
  std::memcpy(&b, from + s.from_step, sizeof b);
  std::memcpy(&c, from + 2 * s.from_step, sizeof c);
  std::memcpy(&d, from + 3 * s.from_step, sizeof d);
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) write_four(to + k * s.to_step, Vec4{a[k], b[k], c[k], d[k]}, s.add);
}

// Transposes four rows from row i on.
static void transpose_four_rows(const Transposition& s, const float* from, float* to, int64_t i,
                                int64_t j, int64_t j_end) {
  const int64_t first = j;
  for (; j + LANES <= j_end; j += LANES) {
    Vec four[4];
    const float* at_row = from + i * s.from_step + j;
    transpose_fours(load_row(at_row), load_row(at_row + s.from_step),
                    load_row(at_row + 2 * s.from_step), load_row(at_row + 3 * s.from_step), four);
#pragma GCC unroll 4
    for (int k = 0; k < LANES / 4; ++k)
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q)
        write_four(to + (j + 4 * k + q) * s.to_step + i, quarter_of(four[q], k), s.add);
  }
  for (; j + 4 <= j_end; j += 4) transpose_square(s, from, to, i, j);
  if (j < j_end && !s.add && j_end - first >= 4) {  // the last four columns; some are copied twice
    transpose_square(s, from, to, i, j_end - 4);
  } else {
    transpose_elements(s, from, to, i, i + 4, j, j_end);
  }
}

#if CYNET_LANES >= 8
CYNET_XINLINE Vec permute_lanes(Vec v, IVec lanes) {
#if CYNET_LANES == 16
  return reinterpret_cast<Vec>(
      _mm512_permutexvar_ps(reinterpret_cast<__m512i>(lanes), reinterpret_cast<__m512>(v)));
#else
  return reinterpret_cast<Vec>(
      _mm256_permutevar8x32_ps(reinterpret_cast<__m256>(v), reinterpret_cast<__m256i>(lanes)));
#endif
}

// Interleaves three channels to pixels of three floats, or separates them, by permutations. Lane l
// of result k is lane `lanes[k][l]` of vector `sources[k][l]`.
struct TripleShuffle {  // transposes between 3 channels and pixels
  IVec lanes[3], sources[3];

  explicit TripleShuffle(bool join) {  // join: 3 planes to pixels
    for (int k = 0; k < 3; ++k)
      for (int l = 0; l < LANES; ++l) {
        const int at = join ? k * LANES + l : 3 * l + k;
        lanes[k][l] = join ? at / 3 : at % LANES;
        sources[k][l] = join ? at % 3 : at / LANES;
      }
  }
  // Copies vectors `from_step` floats apart to vectors `to_step` floats apart.
  CYNET_XINLINE void move_vectors(const float* from, int64_t from_step, float* to, int64_t to_step,
                                  bool add) const {
    const Vec a = load(from), b = load(from + from_step), c = load(from + 2 * from_step);
#pragma GCC unroll 3
    for (int k = 0; k < 3; ++k) {
      const Vec x = permute_lanes(a, lanes[k]), y = permute_lanes(b, lanes[k]),
                z = permute_lanes(c, lanes[k]);
      const Vec v = sources[k] == 0 ? x : sources[k] == 1 ? y : z;
      store(to + k * to_step, add ? load(to + k * to_step) + v : v);
    }
  }
};
#endif
#endif

// Transposes rows i .. i_end and columns j .. j_end.
static void transpose_part(const Transposition& s, const float* from, float* to, int64_t i,
                           int64_t i_end, int64_t j, int64_t j_end) {
#if CYNET_LANES >= 8
  if (s.rows == 3 && s.to_step == 3) {
    const TripleShuffle join(true);
    for (; j + LANES <= j_end; j += LANES)
      join.move_vectors(from + j, s.from_step, to + 3 * j, LANES, s.add);
  } else if (s.columns == 3 && s.from_step == 3) {
    const TripleShuffle split(false);
    for (; i + LANES <= i_end; i += LANES)
      split.move_vectors(from + 3 * i, LANES, to + i, s.to_step, s.add);
  }
#endif
#if defined(__GNUC__)
  const int64_t first = i;
  for (; i + LANES <= i_end; i += LANES) transpose_rows(s, from, to, i, j, j_end);
  for (; i + 4 <= i_end; i += 4) transpose_four_rows(s, from, to, i, j, j_end);
  if (i < i_end && !s.add && i_end - first >= 4) {  // the last four rows; some are copied twice
    transpose_four_rows(s, from, to, i_end - 4, j, j_end);
    i = i_end;
  }
#endif
  for (; i < i_end; i += LANES)
    transpose_elements(s, from, to, i, std::min<int64_t>(i + LANES, i_end), j, j_end);
}
