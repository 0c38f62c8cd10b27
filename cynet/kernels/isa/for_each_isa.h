// Includes CYNET_PER_ISA_FILE once for each level; levels.h explains the use. It has no guard.
// CYNET_LANES is the number of floats in a vector register of the level.
#include "isa/levels.h"

namespace cynet {
namespace baseline {
#define CYNET_LANES 4  // floats in a vector
#include CYNET_PER_ISA_FILE
#undef CYNET_LANES
}
}  // namespace cynet

#ifdef CYNET_X86_LEVELS
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace cynet {
namespace avx2 {
#define CYNET_LANES 8  // floats in a vector
#include CYNET_PER_ISA_FILE
#undef CYNET_LANES
}
}  // namespace cynet
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push( \
    __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#endif
namespace cynet {
namespace avx512 {
#define CYNET_LANES 16  // floats in a vector
#include CYNET_PER_ISA_FILE
#undef CYNET_LANES
}
}  // namespace cynet
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#undef CYNET_PER_ISA_FILE
