// One element of an array assigned to one of another dtype, for CPU and CUDA.
#ifndef CYNET_ELEMENT_H
#define CYNET_ELEMENT_H

#include <cstdint>
#include <type_traits>

#include "half.h"

namespace cynet {

// C++ leaves a float outside the target's range undefined: go through int64.
template <typename D, typename S>
CYNET_XINLINE D convert_element(S value) {
  if constexpr (std::is_same_v<D, S>) {
    return value;
  } else if constexpr (std::is_same_v<S, half>) {
    return convert_element<D, float>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<D, half>) {
    return half(static_cast<float>(value));
  } else if constexpr (std::is_same_v<D, bool>) {
    return value != S(0);
  } else if constexpr (std::is_floating_point_v<S> && std::is_integral_v<D>) {
    constexpr S limit = static_cast<S>(9223372036854775808.0);
    if (!(value > -limit && value < limit)) return static_cast<D>(INT64_MIN);
    return static_cast<D>(static_cast<int64_t>(value));
  } else {
    return static_cast<D>(value);
  }
}

}  // namespace cynet

#endif
