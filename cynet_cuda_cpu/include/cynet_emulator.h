// CUDA C++ on the host: included before the source of every emulated kernel (-include).
//
// The language's qualifiers become nothing or what C++ has for them, threadIdx and its kin become
// variables of the running system thread, and cynet_launch runs a grid. docs/architecture/rtc.md
// lists what is emulated and what is not.
#ifndef CYNET_EMULATOR_H
#define CYNET_EMULATOR_H

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <math.h>
#include <stdint.h>

#include "parallel.h"
#include "common/special_math.h"

// A kernel is compiled as if for compute capability 8.0.
#define __CUDA_ARCH__ 800
#define CYNET_EMULATED 1  // tells the emulator from nvcc

#ifndef CYNET_CHECKED
#define CYNET_CHECKED 0  // 1: the checking mode
#endif
#ifndef CYNET_SHARED_LIMIT
#define CYNET_SHARED_LIMIT 49152  // bytes of shared memory of a block
#endif

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __restrict __restrict__
// The threads of a block run on one system thread, other blocks on others. The checking mode runs
// one block after another, so that the compiler can put a red zone behind each array.
#if CYNET_CHECKED
#define __shared__ static
#else
#define __shared__ static __thread
#endif

#include "cynet_vectors.h"

static __thread uint3 threadIdx, blockIdx;
static __thread dim3 blockDim, gridDim;
static constexpr int warpSize = 32;  // lanes of a warp

#include "cynet_half.h"
#include "cynet_math.h"
#include "cynet_threads.h"
#include "cynet_faults.h"
#include "cynet_check.h"
#include "cynet_atomics.h"
#include "cynet_launch.h"

#endif
