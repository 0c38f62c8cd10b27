// bfloat16, the upper half of a float: exact conversion to float, rounding to nearest even, on any
// compiler. Subnormal numbers are preserved, and NaN stays NaN.
#ifndef CYNET_BFLOAT16_H
#define CYNET_BFLOAT16_H

#include <type_traits>

#include "common/half.h"

namespace cynet {

struct bfloat16 {  // the upper 16 bits of a float
  uint16_t bits;

  bfloat16() = default;
  CYNET_XINLINE explicit bfloat16(float value) : bits(from_float(value)) {}
  CYNET_XINLINE operator float() const { return to_float(bits); }

  static CYNET_XINLINE uint16_t from_float(float value) {
    const uint32_t all = bit_cast<uint32_t>(value);
    // just under half a unit, and the odd bit to break ties to even; overflow gives infinity
    const uint32_t near = (all + 0x7fffu + ((all >> 16) & 1u)) >> 16;
    const uint32_t nan = (all >> 16) | 0x40u;  // makes the NaN quiet, even if its other bits are 0
    return static_cast<uint16_t>((all & 0x7fffffffu) > 0x7f800000u ? nan : near);
  }

  static CYNET_XINLINE float to_float(uint16_t b) {
    return bit_cast<float>(static_cast<uint32_t>(b) << 16);
  }
};

// True for float types of two bytes; kernels compute in float for them.
template <typename T>
constexpr bool is_narrow = std::is_same<T, half>::value || std::is_same<T, bfloat16>::value;

}  // namespace cynet

#endif
