// Vectors of 16-bit and 32-bit integers at one CPU level (isa/for_each_isa.h), for exact products
// of 8-bit integers: these are widened to 16 bits, and sums of two products have 32.

#if CYNET_LANES == 16
typedef __m512i Ints;
#elif CYNET_LANES == 8
typedef __m256i Ints;
#elif defined(CYNET_X86_LEVELS)
typedef __m128i Ints;
#else
struct Ints {  // a register of int32
  int32_t lane[CYNET_LANES];
};
#endif
enum { WIDTH = CYNET_LANES, SHORTS = 2 * CYNET_LANES };  // lanes of 32 bits, of 16 bits

#if CYNET_LANES == 16
CYNET_XINLINE Ints zero_ints() { return _mm512_setzero_si512(); }
CYNET_XINLINE Ints load_ints(const void* p) { return _mm512_loadu_si512(p); }
CYNET_XINLINE void store_ints(void* p, Ints v) { _mm512_storeu_si512(p, v); }
CYNET_XINLINE Ints broadcast_pair(const int16_t* p) {
  int32_t pair;
  std::memcpy(&pair, p, 4);
  return _mm512_set1_epi32(pair);
}
CYNET_XINLINE Ints add_ints(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
CYNET_XINLINE Ints pair_products(Ints a, Ints b) { return _mm512_madd_epi16(a, b); }
CYNET_XINLINE Ints load_widened(const uint8_t* p) {
  return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
CYNET_XINLINE Ints load_widened(const int8_t* p) {
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
CYNET_XINLINE Ints interleave_low(Ints a, Ints b) { return _mm512_unpacklo_epi16(a, b); }
CYNET_XINLINE Ints interleave_high(Ints a, Ints b) { return _mm512_unpackhi_epi16(a, b); }
#elif CYNET_LANES == 8
CYNET_XINLINE Ints zero_ints() { return _mm256_setzero_si256(); }
CYNET_XINLINE Ints load_ints(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
CYNET_XINLINE void store_ints(void* p, Ints v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
CYNET_XINLINE Ints broadcast_pair(const int16_t* p) {
  int32_t pair;
  std::memcpy(&pair, p, 4);
  return _mm256_set1_epi32(pair);
}
CYNET_XINLINE Ints add_ints(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
CYNET_XINLINE Ints pair_products(Ints a, Ints b) { return _mm256_madd_epi16(a, b); }
CYNET_XINLINE Ints load_widened(const uint8_t* p) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
CYNET_XINLINE Ints load_widened(const int8_t* p) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
CYNET_XINLINE Ints interleave_low(Ints a, Ints b) { return _mm256_unpacklo_epi16(a, b); }
CYNET_XINLINE Ints interleave_high(Ints a, Ints b) { return _mm256_unpackhi_epi16(a, b); }
#elif defined(CYNET_X86_LEVELS)
CYNET_XINLINE Ints zero_ints() { return _mm_setzero_si128(); }
CYNET_XINLINE Ints load_ints(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
CYNET_XINLINE void store_ints(void* p, Ints v) { _mm_storeu_si128(static_cast<__m128i*>(p), v); }
CYNET_XINLINE Ints broadcast_pair(const int16_t* p) {
  int32_t pair;
  std::memcpy(&pair, p, 4);
  return _mm_set1_epi32(pair);
}
CYNET_XINLINE Ints add_ints(Ints a, Ints b) { return _mm_add_epi32(a, b); }
CYNET_XINLINE Ints pair_products(Ints a, Ints b) { return _mm_madd_epi16(a, b); }
CYNET_XINLINE Ints load_widened(const uint8_t* p) {
  return _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)),
                           _mm_setzero_si128());
}
CYNET_XINLINE Ints load_widened(const int8_t* p) {
  const __m128i v = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return _mm_srai_epi16(_mm_unpacklo_epi8(v, v), 8);
}
CYNET_XINLINE Ints interleave_low(Ints a, Ints b) { return _mm_unpacklo_epi16(a, b); }
CYNET_XINLINE Ints interleave_high(Ints a, Ints b) { return _mm_unpackhi_epi16(a, b); }
#else
CYNET_XINLINE Ints zero_ints() { return Ints{}; }
CYNET_XINLINE Ints load_ints(const void* p) {
  Ints v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
CYNET_XINLINE void store_ints(void* p, const Ints& v) { std::memcpy(p, &v, sizeof v); }
CYNET_XINLINE Ints broadcast_pair(const int16_t* p) {
  Ints v;
  for (int i = 0; i < WIDTH; ++i) std::memcpy(v.lane + i, p, 4);
  return v;
}
CYNET_XINLINE Ints add_ints(const Ints& a, const Ints& b) {
  Ints v;
  for (int i = 0; i < WIDTH; ++i) v.lane[i] = a.lane[i] + b.lane[i];
  return v;
}
CYNET_XINLINE Ints pair_products(const Ints& a, const Ints& b) {  // sums of two products
  int16_t x[SHORTS], y[SHORTS];
  Ints v;
  std::memcpy(x, &a, sizeof x);
  std::memcpy(y, &b, sizeof y);
  for (int i = 0; i < WIDTH; ++i)
    v.lane[i] = int32_t(x[2 * i]) * y[2 * i] + int32_t(x[2 * i + 1]) * y[2 * i + 1];
  return v;
}
template <typename T>
CYNET_XINLINE Ints load_widened(const T* p) {
  int16_t x[SHORTS];
  for (int i = 0; i < SHORTS; ++i) x[i] = p[i];
  return load_ints(x);
}
template <int FROM>
CYNET_XINLINE Ints interleave_from(const Ints& a, const Ints& b) {  // from element FROM on
  int16_t x[SHORTS], y[SHORTS], z[SHORTS];
  std::memcpy(x, &a, sizeof x);
  std::memcpy(y, &b, sizeof y);
  for (int i = 0; i < WIDTH; ++i) z[2 * i] = x[FROM + i], z[2 * i + 1] = y[FROM + i];
  return load_ints(z);
}
CYNET_XINLINE Ints interleave_low(const Ints& a, const Ints& b) { return interleave_from<0>(a, b); }
CYNET_XINLINE Ints interleave_high(const Ints& a, const Ints& b) {
  return interleave_from<WIDTH>(a, b);
}
#endif

// Stores sums whose pairs came from interleave_low and interleave_high in order: unpacking goes
// by quarters of a register.
CYNET_XINLINE void store_sums(int32_t* to, Ints low, Ints high) {
#if CYNET_LANES == 8
  store_ints(to, _mm256_permute2x128_si256(low, high, 0x20));
  store_ints(to + WIDTH, _mm256_permute2x128_si256(low, high, 0x31));
#else
  int32_t parts[2][WIDTH];
  store_ints(parts[0], low);
  store_ints(parts[1], high);
  for (int i = 0; i < WIDTH; i += 4) {
    std::memcpy(to + 2 * i, parts[0] + i, 16);
    std::memcpy(to + 2 * i + 4, parts[1] + i, 16);
  }
#endif
}
