// CUDA's names of mathematics and bits, where the C library has none or a slower one.
#ifndef CYNET_MATH_H
#define CYNET_MATH_H

// expf, logf and tanhf as cynet's own kernels compute them: at most 2 ulp, as CUDA's, and without a
// call, so that loops over them vectorise. fmaxf and fminf without one, too: a NaN gives way to a
// number.
static inline float cynet_expf(float x) { return cynet::math::exp(x); }
static inline float cynet_logf(float x) { return cynet::math::log(x); }
static inline float cynet_tanhf(float x) { return cynet::math::tanh(x); }
#define CYNET_DEFINE_MAX_MIN(R, A, B, max, min)                                        \
  static inline R max(A x, B y) { return (x > y) | (y != y) ? static_cast<R>(x) : y; } \
  static inline R min(A x, B y) { return (x < y) | (y != y) ? static_cast<R>(x) : y; }
CYNET_DEFINE_MAX_MIN(float, float, float, cynet_fmaxf, cynet_fminf)
CYNET_DEFINE_MAX_MIN(float, float, float, cynet_fmax, cynet_fmin)
CYNET_DEFINE_MAX_MIN(double, double, double, cynet_fmax, cynet_fmin)
CYNET_DEFINE_MAX_MIN(double, double, float, cynet_fmax, cynet_fmin)
CYNET_DEFINE_MAX_MIN(double, float, double, cynet_fmax, cynet_fmin)
#undef CYNET_DEFINE_MAX_MIN
// Loops that look for an extreme (reductions.py).
#pragma omp declare reduction(cynet_fmax : float, double : omp_out = cynet_fmax(omp_out, omp_in)) \
    initializer(omp_priv = NAN)
#pragma omp declare reduction(cynet_fmin : float, double : omp_out = cynet_fmin(omp_out, omp_in)) \
    initializer(omp_priv = NAN)
#pragma omp declare reduction(cynet_greater : float,                                      \
                                  double : omp_out = omp_out < omp_in ? omp_in : omp_out) \
    initializer(omp_priv = -INFINITY)
#pragma omp declare reduction(cynet_less : float,                                         \
                                  double : omp_out = omp_in < omp_out ? omp_in : omp_out) \
    initializer(omp_priv = INFINITY)
namespace std {
using ::cynet_expf;
using ::cynet_fmaxf;
using ::cynet_fminf;
using ::cynet_logf;
using ::cynet_tanhf;
}  // namespace std
// Macros, since the C library has some of these names, too.
#define expf(...) cynet_expf(__VA_ARGS__)
#define logf(...) cynet_logf(__VA_ARGS__)
#define tanhf(...) cynet_tanhf(__VA_ARGS__)
#define fmaxf(...) cynet_fmaxf(__VA_ARGS__)
#define fminf(...) cynet_fminf(__VA_ARGS__)
#define __expf(...) cynet_expf(__VA_ARGS__)
#define __logf(...) cynet_logf(__VA_ARGS__)
#define __tanhf(...) cynet_tanhf(__VA_ARGS__)
#define __log2f(...) ::log2f(__VA_ARGS__)
#define __log10f(...) ::log10f(__VA_ARGS__)
#define __exp10f(...) ::powf(10.0f, __VA_ARGS__)
#define __powf(...) ::powf(__VA_ARGS__)
#define __sinf(...) ::sinf(__VA_ARGS__)
#define __cosf(...) ::cosf(__VA_ARGS__)
#define __tanf(...) ::tanf(__VA_ARGS__)
static inline void cynet_sincosf(float x, float* s, float* c) { *s = ::sinf(x), *c = ::cosf(x); }
#define __sincosf(...) cynet_sincosf(__VA_ARGS__)
static inline float __fdividef(float x, float y) { return x / y; }
static inline float fdividef(float x, float y) { return x / y; }
static inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

static inline float cynet_rsqrt(float x) { return 1.0f / ::sqrtf(x); }
static inline double cynet_rsqrt(double x) { return 1.0 / ::sqrt(x); }
#define rsqrtf(...) cynet_rsqrt(static_cast<float>(__VA_ARGS__))
#define rsqrt(...) cynet_rsqrt(__VA_ARGS__)
#define __frsqrt_rn(...) cynet_rsqrt(static_cast<float>(__VA_ARGS__))
static inline float rcbrtf(float x) { return 1.0f / ::cbrtf(x); }
static inline double rcbrt(double x) { return 1.0 / ::cbrt(x); }
// Exact zeros and ones at multiples of 1/2: the argument is reduced before it meets pi.
static inline double cynet_sinpi(double x) {
  const double r = ::remainder(x, 2.0), a = ::fabs(r);
  const double y = ::sin(3.14159265358979323846 * (a > 0.5 ? 1.0 - a : a));
  return ::copysign(y, r);
}
static inline double cynet_cospi(double x) {
  return cynet_sinpi(0.5 - ::fabs(::remainder(x, 2.0)));
}
#define sinpif(...) static_cast<float>(cynet_sinpi(__VA_ARGS__))
#define cospif(...) static_cast<float>(cynet_cospi(__VA_ARGS__))
#define sinpi(...) cynet_sinpi(__VA_ARGS__)
#define cospi(...) cynet_cospi(__VA_ARGS__)
static inline float erfinvf(float x) { return static_cast<float>(cynet::math::erfinv(x)); }
static inline double erfinv(double x) { return cynet::math::erfinv(x); }
static inline float normcdff(float x) { return 0.5f * ::erfcf(-x * 0.70710678f); }
static inline double normcdf(double x) { return 0.5 * ::erfc(-x * M_SQRT1_2); }
// The argument whose erfc is x, by one Newton step more where erfinv's is rounded off near 1.
static inline double erfcinv(double x) {  // inverse of erfc
  if (!(x < 1e-6)) return cynet::math::erfinv(1.0 - x);
  if (!(x > 0.0)) return x == 0.0 ? INFINITY : NAN;
  double y = ::sqrt(-::log(x * ::sqrt(-::log(x) * M_PI)));
  for (int i = 0; i < 4; ++i) {
    const double e = ::erfc(y);
    y += (e - x) / (M_2_SQRTPI * ::exp(-y * y));
  }
  return y;
}
static inline float erfcinvf(float x) { return static_cast<float>(erfcinv(x)); }
static inline double normcdfinv(double x) { return -M_SQRT2 * erfcinv(2.0 * x); }
static inline float normcdfinvf(float x) { return static_cast<float>(normcdfinv(x)); }
// e^(x^2) erfc(x): by a continued fraction (Abramowitz and Stegun 7.1.14) where erfc is tiny.
static inline double erfcx(double x) {  // exp(x * x) * erfc(x)
  if (x < 5.0) return ::exp(x * x) * ::erfc(x);
  double tail = 0.0;
  for (int i = 60; i > 0; --i) tail = 0.5 * i / (x + tail);
  return 0.5 * M_2_SQRTPI / (x + tail);
}
static inline float erfcxf(float x) { return static_cast<float>(erfcx(x)); }
#define CYNET_NORM_FUNCTIONS(T, f)                                                      \
  static inline T norm3d##f(T a, T b, T c) { return std::sqrt(a * a + b * b + c * c); } \
  static inline T norm4d##f(T a, T b, T c, T d) {                                       \
    return std::sqrt(a * a + b * b + c * c + d * d);                                    \
  }                                                                                     \
  static inline T rnorm3d##f(T a, T b, T c) { return 1 / norm3d##f(a, b, c); }          \
  static inline T rnorm4d##f(T a, T b, T c, T d) { return 1 / norm4d##f(a, b, c, d); }  \
  static inline T rhypot##f(T a, T b) { return 1 / std::hypot(a, b); }                  \
  static inline T norm##f(int n, const T* p) {                                          \
    T sum = 0;                                                                          \
    for (int i = 0; i < n; ++i) sum += p[i] * p[i];                                     \
    return std::sqrt(sum);                                                              \
  }                                                                                     \
  static inline T rnorm##f(int n, const T* p) { return 1 / norm##f(n, p); }
CYNET_NORM_FUNCTIONS(float, f)
CYNET_NORM_FUNCTIONS(double, )
#undef CYNET_NORM_FUNCTIONS

// Arithmetic with the rounding to nearest in its name: never joined with another operation.
template <typename T>
__attribute__((always_inline)) static inline T cynet_rounded(T x) {
#if defined(__x86_64__)
  __asm__("" : "+x"(x));
#elif defined(__aarch64__)
  __asm__("" : "+w"(x));
#else
  volatile T stored = x;
  x = stored;
#endif
  return x;
}
#define CYNET_ROUNDED_OPS(T, p)                                            \
  static inline T __##p##add_rn(T a, T b) { return cynet_rounded(a + b); } \
  static inline T __##p##sub_rn(T a, T b) { return cynet_rounded(a - b); } \
  static inline T __##p##mul_rn(T a, T b) { return cynet_rounded(a * b); } \
  static inline T __##p##div_rn(T a, T b) { return cynet_rounded(a / b); } \
  static inline T __##p##rcp_rn(T a) { return T(1) / a; }                  \
  static inline T __##p##sqrt_rn(T a) { return std::sqrt(a); }
CYNET_ROUNDED_OPS(float, f)
CYNET_ROUNDED_OPS(double, d)
#undef CYNET_ROUNDED_OPS
static inline float __fmaf_rn(float a, float b, float c) { return ::fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return ::fma(a, b, c); }

// ----- conversions: values out of range saturate and NaN becomes 0, as on the device
template <typename To, typename From>
static inline To cynet_saturate(From x) {  // limits x to the range of To; NaN becomes 0
  if (x != x) return 0;
  if (x >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return static_cast<To>(x);
}
#define CYNET_INTEGER_CONVERSIONS(From, from, To, to)                                         \
  static inline To __##from##2##to##_rn(From x) { return cynet_saturate<To>(std::rint(x)); }  \
  static inline To __##from##2##to##_rz(From x) { return cynet_saturate<To>(std::trunc(x)); } \
  static inline To __##from##2##to##_ru(From x) { return cynet_saturate<To>(std::ceil(x)); }  \
  static inline To __##from##2##to##_rd(From x) { return cynet_saturate<To>(std::floor(x)); } \
  static inline From __##to##2##from##_rn(To x) { return static_cast<From>(x); }
CYNET_INTEGER_CONVERSIONS(float, float, int, int)
CYNET_INTEGER_CONVERSIONS(float, float, unsigned, uint)
CYNET_INTEGER_CONVERSIONS(float, float, long long, ll)
CYNET_INTEGER_CONVERSIONS(float, float, unsigned long long, ull)
CYNET_INTEGER_CONVERSIONS(double, double, int, int)
CYNET_INTEGER_CONVERSIONS(double, double, unsigned, uint)
CYNET_INTEGER_CONVERSIONS(double, double, long long, ll)
CYNET_INTEGER_CONVERSIONS(double, double, unsigned long long, ull)
#undef CYNET_INTEGER_CONVERSIONS
static inline float __double2float_rn(double x) { return static_cast<float>(x); }

static inline int __float_as_int(float x) { return cynet::bit_cast<int>(x); }
static inline unsigned __float_as_uint(float x) { return cynet::bit_cast<unsigned>(x); }
static inline float __int_as_float(int x) { return cynet::bit_cast<float>(x); }
static inline float __uint_as_float(unsigned x) { return cynet::bit_cast<float>(x); }
static inline long long __double_as_longlong(double x) { return cynet::bit_cast<long long>(x); }
static inline double __longlong_as_double(long long x) { return cynet::bit_cast<double>(x); }
static inline int __double2hiint(double x) {  // upper 32 bits
  return static_cast<int>(cynet::bit_cast<uint64_t>(x) >> 32);
}
static inline int __double2loint(double x) {  // lower 32 bits
  return static_cast<int>(cynet::bit_cast<uint64_t>(x));
}
static inline double __hiloint2double(int high, int low) {
  return cynet::bit_cast<double>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 |
                                 static_cast<uint32_t>(low));
}

// ----- integers and bits
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
static inline int __clzll(long long x) {
  return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x) {  // reverses the bits
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
static inline unsigned long long __brevll(unsigned long long x) {  // reverses the bits
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
static inline int __mulhi(int a, int b) {  // upper 32 bits of the product
  return static_cast<int>((static_cast<int64_t>(a) * b) >> 32);
}
static inline unsigned __umulhi(unsigned a, unsigned b) {  // upper 32 bits of the product
  return static_cast<unsigned>((static_cast<uint64_t>(a) * b) >> 32);
}
static inline long long __mul64hi(long long a, long long b) {  // upper 64 bits of the product
  return static_cast<long long>((static_cast<__int128>(a) * b) >> 64);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
static inline int __mul24(int a, int b) {  // product of 24-bit numbers
  return static_cast<int>(static_cast<int64_t>(a << 8 >> 8) * (b << 8 >> 8));
}
static inline unsigned __umul24(unsigned a, unsigned b) {  // product of 24-bit numbers
  return (a & 0xffffffu) * (b & 0xffffffu);
}
static inline unsigned __sad(int a, int b, unsigned c) {  // |a - b| + c
  return (a > b ? static_cast<unsigned>(a) - b : static_cast<unsigned>(b) - a) + c;
}
static inline unsigned __usad(unsigned a, unsigned b, unsigned c) {  // |a - b| + c
  return (a > b ? a - b : b - a) + c;
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  return static_cast<unsigned>(both << (shift & 31) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  return static_cast<unsigned>(both >> (shift & 31));
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {  // picks four bytes
  const uint64_t both = static_cast<uint64_t>(b) << 32 | a;
  unsigned out = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned pick = selector >> (4 * i);
    unsigned byte = static_cast<unsigned>(both >> (8 * (pick & 7))) & 0xffu;
    if (pick & 8) byte = byte & 0x80u ? 0xffu : 0u;
    out |= byte << (8 * i);
  }
  return out;
}

// ----- min and max of every pair that CUDA has
#define CYNET_DEFINE_MIN_MAX(R, A, B)                                                     \
  static inline constexpr R min(A a, B b) {                                               \
    return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(a) : static_cast<R>(b); \
  }                                                                                       \
  static inline constexpr R max(A a, B b) {                                               \
    return static_cast<R>(a) < static_cast<R>(b) ? static_cast<R>(b) : static_cast<R>(a); \
  }
CYNET_DEFINE_MIN_MAX(int, int, int)
CYNET_DEFINE_MIN_MAX(unsigned, unsigned, unsigned)
CYNET_DEFINE_MIN_MAX(unsigned, int, unsigned)
CYNET_DEFINE_MIN_MAX(unsigned, unsigned, int)
CYNET_DEFINE_MIN_MAX(long, long, long)
CYNET_DEFINE_MIN_MAX(unsigned long, unsigned long, unsigned long)
CYNET_DEFINE_MIN_MAX(unsigned long, long, unsigned long)
CYNET_DEFINE_MIN_MAX(unsigned long, unsigned long, long)
CYNET_DEFINE_MIN_MAX(long long, long long, long long)
CYNET_DEFINE_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
CYNET_DEFINE_MIN_MAX(unsigned long long, long long, unsigned long long)
CYNET_DEFINE_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef CYNET_DEFINE_MIN_MAX
// A NaN gives way to a number, as in fminf.
static inline float min(float a, float b) { return cynet_fminf(a, b); }
static inline float max(float a, float b) { return cynet_fmaxf(a, b); }
static inline double min(double a, double b) { return cynet_fmin(a, b); }
static inline double max(double a, double b) { return cynet_fmax(a, b); }
static inline double min(float a, double b) { return cynet_fmin(a, b); }
static inline double max(float a, double b) { return cynet_fmax(a, b); }
static inline double min(double a, float b) { return cynet_fmin(a, b); }
static inline double max(double a, float b) { return cynet_fmax(a, b); }
static inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
static inline long long llmin(long long a, long long b) { return a < b ? a : b; }
static inline long long llmax(long long a, long long b) { return a > b ? a : b; }

// ----- memory that only reads, or streams past the caches
template <typename T>
static inline T __ldg(const T* p) {  // a load through the read-only cache
  return *p;
}
template <typename T>
static inline T __ldcg(const T* p) {  // a load cached in L2 only
  return *p;
}
template <typename T>
static inline T __ldcs(const T* p) {  // a streaming load
  return *p;
}
template <typename T>
static inline void __stcs(T* p, T value) {  // a streaming store
  *p = value;
}

// ----- time, in ticks of a nanosecond
static inline long long clock64() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
static inline void __nanosleep(unsigned) {}

#endif
