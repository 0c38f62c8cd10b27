// Vectors of LANES floats at one CPU level. Included first by headers of loops that are written in
// vectors (each_level.h); what includes them includes <cstring>, half.h, levels.h and, on x86-64,
// <immintrin.h>.

constexpr int LANES = CYNET_LANES;
#if defined(__GNUC__)
typedef float Vec __attribute__((vector_size(LANES * 4), may_alias));
typedef float Loose __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

CYNET_XINLINE Vec load(const float* p) { return *reinterpret_cast<const Loose*>(p); }
CYNET_XINLINE void store(float* p, Vec v) { *reinterpret_cast<Loose*>(p) = v; }
CYNET_XINLINE Vec rectified(Vec v) { return v < 0 ? Vec{} : v; }
#else
struct Vec {
  float lane[LANES];
};
#define VECTOR_OPERATOR(op)                                             \
  CYNET_XINLINE Vec operator op(const Vec& a, const Vec& b) {           \
    Vec c;                                                              \
    for (int i = 0; i < LANES; ++i) c.lane[i] = a.lane[i] op b.lane[i]; \
    return c;                                                           \
  }                                                                     \
  CYNET_XINLINE Vec operator op(float a, const Vec& b) {                \
    Vec c;                                                              \
    for (int i = 0; i < LANES; ++i) c.lane[i] = a op b.lane[i];         \
    return c;                                                           \
  }
VECTOR_OPERATOR(+)
VECTOR_OPERATOR(-)
VECTOR_OPERATOR(*)
#undef VECTOR_OPERATOR
CYNET_XINLINE Vec& operator+=(Vec& a, const Vec& b) { return a = a + b; }
CYNET_XINLINE Vec load(const float* p) {
  Vec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
CYNET_XINLINE void store(float* p, const Vec& v) { std::memcpy(p, &v, sizeof v); }
CYNET_XINLINE Vec rectified(Vec v) {
  for (int i = 0; i < LANES; ++i) v.lane[i] = v.lane[i] < 0 ? 0 : v.lane[i];
  return v;
}
#endif

CYNET_XINLINE Vec& at(float* p) { return *reinterpret_cast<Vec*>(p); }
CYNET_XINLINE const Vec& at(const float* p) { return *reinterpret_cast<const Vec*>(p); }

#if CYNET_LANES == 8
// All bits of the first n of 8 lanes.
CYNET_XINLINE __m256i first_lanes(int64_t n) {
  static const int32_t bits[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bits + 8 - n));
}
#endif

// The first n <= LANES floats, zeros behind.
CYNET_XINLINE Vec load_part(const float* p, int64_t n) {
#if CYNET_LANES == 16
  return reinterpret_cast<Vec>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1 << n) - 1), p));
#elif CYNET_LANES == 8
  return reinterpret_cast<Vec>(_mm256_maskload_ps(p, first_lanes(n)));
#else
  Vec v = {};
  std::memcpy(&v, p, n * sizeof(float));
  return v;
#endif
}
CYNET_XINLINE void store_part(float* p, Vec v, int64_t n) {
#if CYNET_LANES == 16
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1 << n) - 1), reinterpret_cast<__m512>(v));
#elif CYNET_LANES == 8
  _mm256_maskstore_ps(p, first_lanes(n), reinterpret_cast<__m256>(v));
#else
  std::memcpy(p, &v, n * sizeof(float));
#endif
}
