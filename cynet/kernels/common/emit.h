// Helpers for loops over every dtype: half is computed in float, and integers wrap.
#ifndef CYNET_EMIT_H
#define CYNET_EMIT_H

#include <cstdint>
#include <type_traits>

#include "common/half.h"
#include "common/wrapping.h"
#include "elementwise/convert.h"
#include "isa/kernel_table.h"
#include "isa/levels.h"
#include "parallel.h"

namespace cynet {

// The type in which elements of type T are computed: float for half.
template <typename T>
using compute_t = typename std::conditional<std::is_same<T, half>::value, float, T>::type;

template <typename T>
CYNET_XINLINE void emit(T& out, compute_t<T> value, bool add) {  // out = or += value
  if constexpr (std::is_same<T, half>::value) {
    out = half(add ? static_cast<float>(out) + value : value);
  } else {
    out = add ? sum_of(out, value) : value;
  }
}

// Calls F::run<T>(args...) for the C++ type of `dtype`.
template <class F, typename... Args>
inline void call_for_dtype(int dtype, Args... args) {
  switch (dtype) {
    case F32: return F::template run<float>(args...);
    case F64: return F::template run<double>(args...);
    case F16: return F::template run<half>(args...);
    case I32: return F::template run<int32_t>(args...);
    case I8: return F::template run<int8_t>(args...);
    case I64: return F::template run<int64_t>(args...);
    case BOOL: return F::template run<bool>(args...);
    default: return F::template run<uint8_t>(args...);
  }
}

}  // namespace cynet

#endif
