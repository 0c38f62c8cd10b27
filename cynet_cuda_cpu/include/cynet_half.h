// __half, __half2 and __nv_bfloat16: stored in two bytes, computed in float and rounded to nearest
// even after each operation, as the functions of cuda_fp16.h and cuda_bf16.h round.
#ifndef CYNET_EMULATOR_HALF_H
#define CYNET_EMULATOR_HALF_H

#include "common/half.h"

struct __half {
  uint16_t bits;

  __half() = default;
  __half(float x) : bits(cynet::half::from_float(x)) {}
  __half(double x) : __half(static_cast<float>(x)) {}
  __half(int x) : __half(static_cast<float>(x)) {}
  __half(unsigned x) : __half(static_cast<float>(x)) {}
  __half(long long x) : __half(static_cast<float>(x)) {}
  __half(unsigned long long x) : __half(static_cast<float>(x)) {}
  operator float() const { return cynet::half::to_float(bits); }
};

struct __nv_bfloat16 {
  uint16_t bits;

  __nv_bfloat16() = default;
  __nv_bfloat16(float x) {
    const uint32_t all = cynet::bit_cast<uint32_t>(x);
    const bool nan = (all & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<uint16_t>(nan ? 0x7fffu : (all + 0x7fffu + ((all >> 16) & 1u)) >> 16);
  }
  __nv_bfloat16(double x) : __nv_bfloat16(static_cast<float>(x)) {}
  __nv_bfloat16(int x) : __nv_bfloat16(static_cast<float>(x)) {}
  operator float() const { return cynet::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

typedef __half half;
typedef __nv_bfloat16 nv_bfloat16;

#define CYNET_HALF_OPERATORS(H)                                                             \
  static inline H operator+(const H& a, const H& b) { return H(float(a) + float(b)); }      \
  static inline H operator-(const H& a, const H& b) { return H(float(a) - float(b)); }      \
  static inline H operator*(const H& a, const H& b) { return H(float(a) * float(b)); }      \
  static inline H operator/(const H& a, const H& b) { return H(float(a) / float(b)); }      \
  static inline H operator-(const H& a) { return H(-float(a)); }                            \
  static inline H& operator+=(H& a, const H& b) { return a = a + b; }                       \
  static inline H& operator-=(H& a, const H& b) { return a = a - b; }                       \
  static inline H& operator*=(H& a, const H& b) { return a = a * b; }                       \
  static inline H& operator/=(H& a, const H& b) { return a = a / b; }                       \
  static inline bool operator==(const H& a, const H& b) { return float(a) == float(b); }    \
  static inline bool operator!=(const H& a, const H& b) { return float(a) != float(b); }    \
  static inline bool operator<(const H& a, const H& b) { return float(a) < float(b); }      \
  static inline bool operator<=(const H& a, const H& b) { return float(a) <= float(b); }    \
  static inline bool operator>(const H& a, const H& b) { return float(a) > float(b); }      \
  static inline bool operator>=(const H& a, const H& b) { return float(a) >= float(b); }    \
  static inline H __hadd(H a, H b) { return a + b; }                                        \
  static inline H __hsub(H a, H b) { return a - b; }                                        \
  static inline H __hmul(H a, H b) { return a * b; }                                        \
  static inline H __hdiv(H a, H b) { return a / b; }                                        \
  static inline H __hneg(H a) { return -a; }                                                \
  static inline H __habs(H a) { return H(::fabsf(float(a))); }                              \
  static inline H __hfma(H a, H b, H c) { return H(::fmaf(float(a), float(b), float(c))); } \
  static inline H __hmax(H a, H b) { return H(::fmaxf(float(a), float(b))); }               \
  static inline H __hmin(H a, H b) { return H(::fminf(float(a), float(b))); }               \
  static inline bool __heq(H a, H b) { return a == b; }                                     \
  static inline bool __hne(H a, H b) { return a != b; }                                     \
  static inline bool __hlt(H a, H b) { return a < b; }                                      \
  static inline bool __hle(H a, H b) { return a <= b; }                                     \
  static inline bool __hgt(H a, H b) { return a > b; }                                      \
  static inline bool __hge(H a, H b) { return a >= b; }                                     \
  static inline bool __hisnan(H a) { return std::isnan(float(a)); }                         \
  static inline H hexp(H a) { return H(::expf(float(a))); }                                 \
  static inline H hlog(H a) { return H(::logf(float(a))); }                                 \
  static inline H hsqrt(H a) { return H(::sqrtf(float(a))); }                               \
  static inline H hrsqrt(H a) { return H(1.0f / ::sqrtf(float(a))); }                       \
  static inline H hrcp(H a) { return H(1.0f / float(a)); }                                  \
  static inline H hsin(H a) { return H(::sinf(float(a))); }                                 \
  static inline H hcos(H a) { return H(::cosf(float(a))); }                                 \
  static inline H hfloor(H a) { return H(::floorf(float(a))); }                             \
  static inline H hceil(H a) { return H(::ceilf(float(a))); }

CYNET_HALF_OPERATORS(__half)
CYNET_HALF_OPERATORS(__nv_bfloat16)
#undef CYNET_HALF_OPERATORS

static inline __half __float2half(float x) { return __half(x); }
static inline __half __float2half_rn(float x) { return __half(x); }
static inline __half __double2half(double x) { return __half(x); }
static inline __half __int2half_rn(int x) { return __half(x); }
static inline float __half2float(__half x) { return float(x); }
static inline int __half2int_rn(__half x) { return static_cast<int>(::rintf(float(x))); }
static inline int __half2int_rz(__half x) { return static_cast<int>(float(x)); }
static inline unsigned short __half_as_ushort(__half x) { return x.bits; }
static inline __half __ushort_as_half(unsigned short bits) {
  __half out;
  out.bits = bits;
  return out;
}
static inline __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
static inline __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
static inline float __bfloat162float(__nv_bfloat16 x) { return float(x); }

struct __attribute__((aligned(4))) __half2 {
  __half x, y;
  __half2() = default;
  __half2(__half a, __half b) : x(a), y(b) {}
};
typedef __half2 half2;

static inline __half2 make_half2(__half x, __half y) { return __half2(x, y); }
static inline __half2 __halves2half2(__half x, __half y) { return __half2(x, y); }
static inline __half2 __half2half2(__half x) { return __half2(x, x); }
static inline __half2 __float2half2_rn(float x) { return __half2(x, x); }
static inline __half2 __floats2half2_rn(float x, float y) { return __half2(x, y); }
static inline __half2 __float22half2_rn(float2 v) { return __half2(v.x, v.y); }
static inline float2 __half22float2(__half2 v) { return float2{float(v.x), float(v.y)}; }
static inline __half __low2half(__half2 v) { return v.x; }
static inline __half __high2half(__half2 v) { return v.y; }
static inline float __low2float(__half2 v) { return float(v.x); }
static inline float __high2float(__half2 v) { return float(v.y); }
static inline __half2 __hadd2(__half2 a, __half2 b) { return __half2(a.x + b.x, a.y + b.y); }
static inline __half2 __hsub2(__half2 a, __half2 b) { return __half2(a.x - b.x, a.y - b.y); }
static inline __half2 __hmul2(__half2 a, __half2 b) { return __half2(a.x * b.x, a.y * b.y); }
static inline __half2 __h2div(__half2 a, __half2 b) { return __half2(a.x / b.x, a.y / b.y); }
static inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return __half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
static inline __half2 operator+(__half2 a, __half2 b) { return __hadd2(a, b); }
static inline __half2 operator-(__half2 a, __half2 b) { return __hsub2(a, b); }
static inline __half2 operator*(__half2 a, __half2 b) { return __hmul2(a, b); }
static inline __half2 operator/(__half2 a, __half2 b) { return __h2div(a, b); }

#endif
