// Reads indices of any dtype and checks that they are within an axis.
#ifndef CYNET_READ_WITHIN_H
#define CYNET_READ_WITHIN_H

#include "common/by_dtype.h"
#include "kernel.h"

#define CYNET_PER_ISA_FILE "movement/read_within_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

// Reads m indices, truncated. Returns whether all are within [0, n), else what `index` holds is of
// no use; false also where n does not fit into 31 bits.
inline bool read_in_range(int level, int dtype, const void* numbers, int64_t m, int64_t n,
                          int64_t* index) {
  if (n >= INT32_MAX) return false;
  bool within = false;
  call_for_dtype(dtype, [=, &within](auto zero) {
    typedef bool (*Loop)(const void*, int64_t, int64_t, int64_t*);
    const Loop loops[N_LEVEL] = CYNET_AT_LEVELS(read_in_range_row<decltype(zero)>);
    within = loops[level](numbers, m, n, index);
  });
  return within;
}

}  // namespace cynet

#endif
