// Levels of CPU capability: which there are, which of them this machine has, and how code is
// compiled for each of them.
//
// A header of loops has neither include guard nor #include. Another header includes what they need,
// and then the loops once for each level:
//     #define CYNET_LOOPS "sum_loops.h"
//     #include "each_level.h"
// which makes namespaces cynet::baseline, cynet::avx2 and cynet::avx512. CYNET_AT_LEVELS(f<float>)
// lists f<float> of each, as an initializer of a table indexed by level. Loops may call what is
// CYNET_XINLINE (inlined, so compiled for the caller's level) and each other; any other inline
// function that they call is compiled once, for the baseline.
#ifndef CYNET_LEVELS_H
#define CYNET_LEVELS_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_THREAD__)
#define CYNET_X86_LEVELS 1
#endif

// Behind the parameters of a lambda: it is inlined.
#if defined(__GNUC__)
#define CYNET_XLAMBDA __attribute__((always_inline))
#else
#define CYNET_XLAMBDA
#endif

namespace cynet {

#ifdef CYNET_X86_LEVELS
enum Level { BASELINE, AVX2, AVX512, N_LEVEL };
#define CYNET_AT_LEVELS(...) \
  {                          \
    baseline::__VA_ARGS__, avx2::__VA_ARGS__, avx512::__VA_ARGS__ \
  }
#else
enum Level { BASELINE, N_LEVEL };
#define CYNET_AT_LEVELS(...) \
  { baseline::__VA_ARGS__ }
#endif

// The highest level whose instructions this machine and its operating system have.
inline int machine_level() {
#ifdef CYNET_X86_LEVELS
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return BASELINE;
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
             ? AVX512
             : AVX2;
#else
  return BASELINE;
#endif
}

}  // namespace cynet

#endif
