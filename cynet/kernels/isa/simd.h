// Vectors of LANES floats at one CPU level. Included first by headers of loops that are written in
// vectors (for_each_isa.h); what includes them includes <cstring>, half.h, levels.h and, on x86-64,
// <immintrin.h>.

constexpr int LANES = CYNET_LANES;  // floats in a vector
#if defined(__GNUC__)
typedef float Vec __attribute__((vector_size(LANES * 4), may_alias));  // a vector register
typedef float UnalignedVec __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

CYNET_XINLINE Vec load(const float* p) { return *reinterpret_cast<const UnalignedVec*>(p); }
CYNET_XINLINE void store(float* p, Vec v) { *reinterpret_cast<UnalignedVec*>(p) = v; }
CYNET_XINLINE Vec rectify(Vec v) { return v < 0 ? Vec{} : v; }
// The gradient of relu from its output y: 1, 0, or NaN for NaN.
CYNET_XINLINE Vec relu_gradient(Vec y) { return y > 0 ? Vec{} + 1 : 0 * y; }
typedef int32_t IVec __attribute__((vector_size(LANES * 4), may_alias));  // integer lanes
typedef float Vec4 __attribute__((vector_size(16), may_alias));  // four floats
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
CYNET_XINLINE Vec rectify(Vec v) {
  for (int i = 0; i < LANES; ++i) v.lane[i] = v.lane[i] < 0 ? 0 : v.lane[i];
  return v;
}
CYNET_XINLINE Vec relu_gradient(Vec y) {
  for (int i = 0; i < LANES; ++i) y.lane[i] = y.lane[i] > 0 ? 1 : 0 * y.lane[i];
  return y;
}
#endif

CYNET_XINLINE Vec& at(float* p) { return *reinterpret_cast<Vec*>(p); }  // the vector at an address
CYNET_XINLINE const Vec& at(const float* p) { return *reinterpret_cast<const Vec*>(p); }

#if CYNET_LANES == 8
// A mask with all bits of the first n of 8 lanes set.
CYNET_XINLINE __m256i first_lanes_mask(int64_t n) {
  static const int32_t bits[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bits + 8 - n));
}
#endif

// Prefetches memory that will soon be read, or written.
template <bool WRITTEN>
CYNET_XINLINE void prefetch_line(const void* p) {
#if defined(__GNUC__)
  __builtin_prefetch(p, WRITTEN, 2);
#endif
}

// Loads the first n <= LANES floats; the other lanes are 0.
CYNET_XINLINE Vec load_part(const float* p, int64_t n) {
#if CYNET_LANES == 16
  return reinterpret_cast<Vec>(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1 << n) - 1), p));
#elif CYNET_LANES == 8
  return reinterpret_cast<Vec>(_mm256_maskload_ps(p, first_lanes_mask(n)));
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
  if (n >= LANES) return store(p, v);
  // Zen takes 12 cycles and 42 operations for one masked store
  const __m256 lanes = reinterpret_cast<__m256>(v);
  __m128 rest = _mm256_castps256_ps128(lanes);
  if (n & 4) {
    _mm_storeu_ps(p, rest);
    rest = _mm256_extractf128_ps(lanes, 1);
    p += 4;
  }
  if (n & 2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), rest);
    rest = _mm_movehl_ps(rest, rest);
    p += 2;
  }
  if (n & 1) _mm_store_ss(p, rest);
#else
  std::memcpy(p, &v, n * sizeof(float));
#endif
}

// A non-temporal store (bypasses the caches) to memory that is aligned like a vector. Others may
// read it after fence_past_cache_stores.
CYNET_XINLINE void store_past_cache(float* p, Vec v) {
#if CYNET_LANES == 16
  _mm512_stream_ps(p, reinterpret_cast<__m512>(v));
#elif CYNET_LANES == 8
  _mm256_stream_ps(p, reinterpret_cast<__m256>(v));
#elif defined(CYNET_X86_LEVELS)
  _mm_stream_ps(p, reinterpret_cast<__m128>(v));
#else
  at(p) = v;
#endif
}
CYNET_XINLINE void fence_past_cache_stores() {
#ifdef CYNET_X86_LEVELS
  _mm_sfence();
#endif
}

#if defined(__GNUC__)
// Reduces all lanes by `op` to four floats; op::of takes two vectors of any width.
template <class op>
CYNET_XINLINE Vec4 fold_to_four(Vec v) {  // reduces all lanes by the functor `op`
#if CYNET_LANES == 16
  const __m512 all = reinterpret_cast<__m512>(v);
  const __m256 low = _mm512_castps512_ps256(all);
  const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(all), 1));
  const __m256 half = op::combine(low, high);
#elif CYNET_LANES == 8
  const __m256 half = reinterpret_cast<__m256>(v);
#endif
#if CYNET_LANES >= 8
  return reinterpret_cast<Vec4>(
      op::combine(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1)));
#else
  return v;
#endif
}

struct Plus {
  template <typename V>
  static CYNET_XINLINE V combine(V a, V b) {  // lanewise sum
    return a + b;
  }
};
struct Greater {
  template <typename V>
  static CYNET_XINLINE V combine(V a, V b) {  // lanewise maximum
    return a > b ? a : b;
  }
};
struct Less {
  template <typename V>
  static CYNET_XINLINE V combine(V a, V b) {  // lanewise minimum
    return a < b ? a : b;
  }
};

// Reduces all lanes by `op`.
template <class op>
CYNET_XINLINE float fold_lanes(Vec v) {  // reduces all lanes by the functor `op`
  const Vec4 four = fold_to_four<op>(v);
  return op::combine(op::combine(four[0], four[2]), op::combine(four[1], four[3]));
}
CYNET_XINLINE double sum_in_double(Vec v) {
  const Vec4 four = fold_to_four<Plus>(v);
  return (static_cast<double>(four[0]) + four[2]) + (static_cast<double>(four[1]) + four[3]);
}

// v, with `other` in lanes n and above
CYNET_XINLINE Vec keep_first_lanes(Vec v, int64_t n, float other) {
  static const int32_t lane_numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  IVec lane;
  std::memcpy(&lane, lane_numbers, sizeof lane);
  return lane < static_cast<int32_t>(n) ? v : Vec{} + other;
}
#endif
