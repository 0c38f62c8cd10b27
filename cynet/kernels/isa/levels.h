// Levels of CPU capability: those that exist, those of this machine, and compilation for each.
//
// A header of loops has neither include guard nor #include. Another header includes what they need,
// and then the loops once for each level:
//     #define CYNET_PER_ISA_FILE "sum_loops.h"
//     #include "isa/for_each_isa.h"
// which makes namespaces cynet::baseline, cynet::avx2 and cynet::avx512. CYNET_AT_LEVELS(f<float>)
// lists f<float> of each, as an initializer of a table indexed by level. Loops may call what is
// CYNET_XINLINE (inlined, so compiled for the caller's level) and each other; any other inline
// function that they call is compiled once, for the baseline.
#ifndef CYNET_LEVELS_H
#define CYNET_LEVELS_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_THREAD__)
#define CYNET_X86_LEVELS 1  // loops exist for several x86 levels
#endif

// An attribute behind the parameters of a lambda: the lambda is inlined.
#if defined(__GNUC__)
#define CYNET_XLAMBDA __attribute__((always_inline))  // inlines a lambda
#else
#define CYNET_XLAMBDA  // inlines a lambda
#endif

#ifdef CYNET_X86_LEVELS
#include <cpuid.h>
#endif
#if defined(CYNET_X86_LEVELS) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace cynet {

#ifdef CYNET_X86_LEVELS
// CPU levels. The AMX level differs from AVX-512 in some products only.
enum Level { BASELINE, AVX2, AVX512, AMX, N_LEVEL };
#define CYNET_AT_LEVELS(...) \
  {baseline::__VA_ARGS__, avx2::__VA_ARGS__, avx512::__VA_ARGS__, avx512::__VA_ARGS__}
#if defined(__linux__) && __has_include(<amxbf16intrin.h>)
#define CYNET_AMX 1  // the compiler knows AMX
#endif
#else
// All levels share one set of loops: the baseline and, on aarch64, "neon", which uses these loops
// and not a library for matrix products and convolutions.
#include "isa/one_set.h"
#endif

#ifdef CYNET_AMX
// True if the CPU has AMX for bfloat16 and the operating system lets this process use it.
inline bool has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  enum { BF16 = 1 << 22, TILE = 1 << 24 };
  enum { REQUEST = 0x1023, TILE_DATA = 18 };  // arch_prctl's ARCH_REQ_XCOMP_PERM
  return (d & BF16) && (d & TILE) && syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}
#else
inline bool has_amx() { return false; }
#endif

inline int find_machine_level() {
#ifdef CYNET_X86_LEVELS
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return BASELINE;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
    return AVX2;
  return has_amx() ? AMX : AVX512;
#else
  return N_LEVEL - 1;
#endif
}

// The highest level whose instructions this machine and its operating system have.
inline int machine_level() {
  static const int level = find_machine_level();
  return level;
}

// True if the CPU has one AVX-512 multiplier and not two: Zen 4, AMD's family 0x19.
inline bool detect_single_avx512_unit() {
#ifdef CYNET_X86_LEVELS
  unsigned a = 0, b = 0, c = 0, d = 0;
  __builtin_cpu_init();
  return __builtin_cpu_is("amd") && __get_cpuid(1, &a, &b, &c, &d) &&
         (a >> 8 & 0xf) + (a >> 20 & 0xff) == 0x19;
#else
  return false;
#endif
}

inline bool has_single_avx512_unit() {
  static const bool once = detect_single_avx512_unit();
  return once;
}

}  // namespace cynet

#endif
