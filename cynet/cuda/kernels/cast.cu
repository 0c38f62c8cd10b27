// Elements of one dtype as another.
#include "common.cuh"
#include "elementwise/convert.h"

// out (+)= x; what is added is x in the dtype of out
template <typename From, typename To>
__global__ void cast(const From* x, To* out, Index n, int add) {
  CYNET_EACH(i, n) {
    const To value = narrow<To>(cynet::convert_one<computed<To>>(load(x, i)));
    if (add) put(out, i, widen(value), true);
    else out[i] = value;
  }
}
