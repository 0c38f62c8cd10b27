// Elements of one dtype as another.
#include "common.cuh"
#include "convert.h"

// out (+)= x; what is added is x in the dtype of out
template <typename From, typename To>
__global__ void cast(const From* x, To* out, Index n, int add) {
  CYNET_EACH(i, n) put(out, i, static_cast<computed<To>>(cynet::convert_one<To>(x[i])), add);
}
