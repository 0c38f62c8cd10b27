// Conversion of elements to another dtype.
#include "common.cuh"
#include "elementwise/convert.h"

// out (+)= x, where x is converted to the dtype of out before it is added
template <typename From, typename To>
__global__ void cast(const From* x, To* out, Index n, int add) {
  CYNET_FOR(i, n) {
    const To value = narrow<To>(cynet::convert_one<opmath_t<To>>(load(x, i)));
    if (add) store(out, i, widen(value), true);
    else out[i] = value;
  }
}
