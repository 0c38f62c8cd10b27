// float16 as two bytes: exact conversion from and to float, rounding to nearest even.
#ifndef CYNET_HALF_H
#define CYNET_HALF_H

#include <cstdint>
#include <cstring>

// CYNET_XINLINE: always inlined, so a loop and the functions it calls are compiled for one CPU
// level (levels.h); CYNET_XFUNCTION: an ordinary function. Both run in CUDA too.
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define CYNET_XFUNCTION __host__ __device__ inline  // for CPU and GPU
#define CYNET_XINLINE CYNET_XFUNCTION  // for CPU and GPU
#else
#define CYNET_XFUNCTION inline  // for the CPU alone
#if defined(_MSC_VER)
#define CYNET_XINLINE __forceinline  // always inlined
#else
#define CYNET_XINLINE inline __attribute__((always_inline))  // always inlined
#endif
#endif

namespace cynet {

template <typename To, typename From>
CYNET_XINLINE To bit_cast(From value) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast between sizes");
  To out;
  memcpy(&out, &value, sizeof(To));
  return out;
}

struct half {  // IEEE 754 float of 16 bits
  uint16_t bits;

  half() = default;
  CYNET_XINLINE explicit half(float value) : bits(from_float(value)) {}
  CYNET_XINLINE operator float() const { return to_float(bits); }

  static CYNET_XINLINE uint16_t from_float(float value) {
    const uint32_t all = bit_cast<uint32_t>(value);
    const uint32_t sign = (all >> 16) & 0x8000u, f = all & 0x7fffffffu;
    // normal: re-bias the exponent, add just under half a unit, and the odd bit for ties to even
    const uint32_t normal = (f + 0xc8000fffu + ((f >> 13) & 1u)) >> 13;
    // subnormal: adding 0.5 lets the float adder align and round the mantissa
    const uint32_t small = bit_cast<uint32_t>(bit_cast<float>(f) + 0.5f) - 0x3f000000u;
    const uint32_t payload = (f & 0x007fffffu) >> 13;
    const uint32_t nan = 0x7c00u | (payload ? payload : 1u);
    const uint32_t finite = f < 0x38800000u ? small : (f < 0x47800000u ? normal : 0x7c00u);
    return static_cast<uint16_t>(sign | (f > 0x7f800000u ? nan : finite));
  }

  static CYNET_XINLINE float to_float(uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
    const uint32_t f = static_cast<uint32_t>(h & 0x7fffu) << 13;
    const uint32_t exponent = f & 0x0f800000u;
    const uint32_t normal = f + 0x38000000u;
    const uint32_t special = f + 0x70000000u;  // inf, nan
    const uint32_t small = bit_cast<uint32_t>(bit_cast<float>(f + 0x38800000u) - 6.103515625e-05f);
    const uint32_t out = exponent == 0x0f800000u ? special : (exponent == 0 ? small : normal);
    return bit_cast<float>(out | sign);
  }
};

}  // namespace cynet

#endif
