// Transposes of blocks of vectors, at one CPU level, after simd.h. Included by headers of loops
// that turn matrices in registers.

#if CYNET_LANES == 16
// Loads four floats of each line, `step` floats apart; the functions below interleave such vectors.
CYNET_XINLINE __m512 load_fours(const float* from, int64_t step) {  // 4 floats of 4 lines
  __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(from));
  v = _mm512_insertf32x4(v, _mm_loadu_ps(from + step), 1);
  v = _mm512_insertf32x4(v, _mm_loadu_ps(from + 2 * step), 2);
  return _mm512_insertf32x4(v, _mm_loadu_ps(from + 3 * step), 3);
}
CYNET_XINLINE void interleave(__m512 a, __m512 b, __m512* low, __m512* high) {
  *low = _mm512_unpacklo_ps(a, b);
  *high = _mm512_unpackhi_ps(a, b);
}
CYNET_XINLINE void interleave_pairs(__m512 a, __m512 b, Vec* low, Vec* high) {
  const __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);
  *low = reinterpret_cast<Vec>(_mm512_unpacklo_pd(x, y));
  *high = reinterpret_cast<Vec>(_mm512_unpackhi_pd(x, y));
}
#elif CYNET_LANES == 8
CYNET_XINLINE __m256 load_fours(const float* from, int64_t step) {  // 4 floats of 2 lines
  const __m256 v = _mm256_castps128_ps256(_mm_loadu_ps(from));
  return _mm256_insertf128_ps(v, _mm_loadu_ps(from + step), 1);
}
CYNET_XINLINE void interleave(__m256 a, __m256 b, __m256* low, __m256* high) {
  *low = _mm256_unpacklo_ps(a, b);
  *high = _mm256_unpackhi_ps(a, b);
}
CYNET_XINLINE void interleave_pairs(__m256 a, __m256 b, Vec* low, Vec* high) {
  const __m256d x = _mm256_castps_pd(a), y = _mm256_castps_pd(b);
  *low = reinterpret_cast<Vec>(_mm256_unpacklo_pd(x, y));
  *high = reinterpret_cast<Vec>(_mm256_unpackhi_pd(x, y));
}
#elif defined(__GNUC__)
CYNET_XINLINE Vec load_fours(const float* from, int64_t) { return load(from); }  // 4 floats
CYNET_XINLINE void interleave(Vec a, Vec b, Vec* low, Vec* high) {
  *low = Vec{a[0], b[0], a[1], b[1]};
  *high = Vec{a[2], b[2], a[3], b[3]};
}
CYNET_XINLINE void interleave_pairs(Vec a, Vec b, Vec* low, Vec* high) {
  *low = Vec{a[0], a[1], b[0], b[1]};
  *high = Vec{a[2], a[3], b[2], b[3]};
}
#endif

#if defined(__GNUC__)
// Transposes the 4x4 blocks of four vectors.
template <class Register>
CYNET_XINLINE void transpose_fours(Register a, Register b, Register c, Register d, Vec* rows) {
  auto ab = a, cd = c, ab_high = a, cd_high = c;
  interleave(a, b, &ab, &ab_high);
  interleave(c, d, &cd, &cd_high);
  interleave_pairs(ab, cd, rows, rows + 1);
  interleave_pairs(ab_high, cd_high, rows + 2, rows + 3);
}

// Four floats of LANES lines, `step` floats apart: memory exchanges them by fours, two shuffles a
// vector do the rest. rows[i] gets the i-th of each.
CYNET_XINLINE void load_transposed_fours(const float* from, int64_t step, Vec* rows) {
  transpose_fours(load_fours(from, 4 * step), load_fours(from + step, 4 * step),
                  load_fours(from + 2 * step, 4 * step), load_fours(from + 3 * step, 4 * step),
                  rows);
}
#endif

// Transposes a square of LANES vectors.
CYNET_XINLINE void transpose_lanes(Vec* rows) {
#if defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 12) && CYNET_LANES == 16
#define CYNET_LOW_INDEX(j, d) ((j) & (d) ? 16 + (j) - (d) : (j))  // lane of a shuffle
#define CYNET_HIGH_INDEX(j, d) ((j) & (d) ? 16 + (j) : (j) + (d))  // lane of a shuffle
#define CYNET_SHUFFLE(f, d)                                                                    \
  __builtin_shufflevector(a, b, f(0, d), f(1, d), f(2, d), f(3, d), f(4, d), f(5, d), f(6, d), \
                          f(7, d), f(8, d), f(9, d), f(10, d), f(11, d), f(12, d), f(13, d),   \
                          f(14, d), f(15, d))
#define CYNET_TRANSPOSE_STAGE(d)                                          \
  _Pragma("GCC unroll 16") for (int i = 0; i < 16; ++i) if (!(i & (d))) { \
    const Vec a = rows[i], b = rows[i + (d)];                             \
    rows[i] = CYNET_SHUFFLE(CYNET_LOW_INDEX, d);                          \
    rows[i + (d)] = CYNET_SHUFFLE(CYNET_HIGH_INDEX, d);                   \
  }
  CYNET_TRANSPOSE_STAGE(1)
  CYNET_TRANSPOSE_STAGE(2)
  CYNET_TRANSPOSE_STAGE(4)
  CYNET_TRANSPOSE_STAGE(8)
#undef CYNET_TRANSPOSE_STAGE
#undef CYNET_SHUFFLE
#undef CYNET_HIGH_INDEX
#undef CYNET_LOW_INDEX
#elif CYNET_LANES == 8
  Vec low[4], high[4];  // columns i and i + 4 of rows 0 .. 3 (low) and 4 .. 7 (high)
  const __m256* lines = reinterpret_cast<const __m256*>(rows);
  transpose_fours(lines[0], lines[1], lines[2], lines[3], low);
  transpose_fours(lines[4], lines[5], lines[6], lines[7], high);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m256 a = reinterpret_cast<__m256>(low[i]), b = reinterpret_cast<__m256>(high[i]);
    rows[i] = reinterpret_cast<Vec>(_mm256_permute2f128_ps(a, b, 0x20));
    rows[i + 4] = reinterpret_cast<Vec>(_mm256_permute2f128_ps(a, b, 0x31));
  }
#elif defined(__GNUC__) && CYNET_LANES == 4
  transpose_fours(rows[0], rows[1], rows[2], rows[3], rows);
#else
  float* all = reinterpret_cast<float*>(rows);
  for (int i = 0; i < LANES; ++i)
    for (int j = 0; j < i; ++j) std::swap(all[i * LANES + j], all[j * LANES + i]);
#endif
}

// The first n floats of `lines` lines, `step` floats apart, neither more than LANES: rows[i] gets
// the i-th of each. `rows` are zeros before.
CYNET_XINLINE void load_transposed(const float* from, int64_t step, int64_t lines, int64_t n,
                                   Vec* rows) {
  for (int64_t i = 0; i < lines; ++i)
    rows[i] = n == LANES ? load(from + i * step) : load_part(from + i * step, n);
  transpose_lanes(rows);
}

// Loads n floats, `step` apart; the other lanes are 0.
CYNET_XINLINE Vec load_strided(const float* from, int64_t step, int64_t n) {
  float all[LANES] = {};
  for (int64_t i = 0; i < n; ++i) all[i] = from[i * step];
  return load(all);
}
