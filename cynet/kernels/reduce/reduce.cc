// The table of reductions, whose loops are in reduce.h.
#include "reduce/reduce.h"

namespace cynet {

// The mean of integers: a sum, divided in double.
template <typename T>
struct mean : sum<T> {
  static double finish(int64_t a, double divisor) { return static_cast<double>(a) / divisor; }
};

struct ReduceRow {  // a reduction's loops by dtype
  const char* name;
  ReduceLoop loop[N_DTYPE];
};

// R for floats, I for signed integers, U for unsigned ones; a bool is one of 0 and 1.
#define CYNET_REDUCE_AS(R, I, U)                                                                \
  {                                                                                             \
    #R, {                                                                                       \
      reduce_loop<float, R<float>>, reduce_loop<double, R<double>>, reduce_loop<half, R<half>>, \
          reduce_loop<uint8_t, U<uint8_t>>, reduce_loop<int32_t, I<int32_t>>,                   \
          reduce_loop<int8_t, I<int8_t>>, reduce_loop<int64_t, I<int64_t>>,                     \
          reduce_loop<uint8_t, U<uint8_t>, bool>, reduce_loop<bfloat16, R<bfloat16>>            \
    }                                                                                           \
  }
#define CYNET_REDUCE(R) CYNET_REDUCE_AS(R, R, R)
// A reduction of integers to another dtype; floats have no such row.
#define CYNET_REDUCE_TO(Name, R, O)                                                         \
  {                                                                                         \
    #Name, {                                                                                \
      nullptr, nullptr, nullptr, reduce_loop<uint8_t, R<uint8_t>, O>,                       \
          reduce_loop<int32_t, R<int32_t>, O>, reduce_loop<int8_t, R<int8_t>, O>,           \
          reduce_loop<int64_t, R<int64_t>, O>, reduce_loop<uint8_t, R<uint8_t>, O>, nullptr \
    }                                                                                       \
  }
static const ReduceRow reduce_table[] = {
    // all reducers
    CYNET_REDUCE(sum),
    CYNET_REDUCE_AS(nansum, sum, sum),
    CYNET_REDUCE(prod),
    CYNET_REDUCE_AS(nanprod, prod, prod),
    CYNET_REDUCE(max),
    CYNET_REDUCE(min),
    CYNET_REDUCE(norm2),
    CYNET_REDUCE_AS(norm1, norm1, sum),
    CYNET_REDUCE_TO(wide_sum, sum, int64_t),
    CYNET_REDUCE_TO(wide_prod, prod, int64_t),
    CYNET_REDUCE_TO(real_mean, mean, float),
};

ReduceLoop find_reduce_loop(const char* name, int dtype) {
  for (const ReduceRow& row : reduce_table)
    if (std::strcmp(row.name, name) == 0) return row.loop[dtype_index(dtype)];
  return nullptr;
}

// The name of reduction i, for reductions of all dtypes.
const char* reducer_name(size_t i) {
  const bool is = i < sizeof(reduce_table) / sizeof(reduce_table[0]) && reduce_table[i].loop[F32];
  return is ? reduce_table[i].name : nullptr;
}

}  // namespace cynet
