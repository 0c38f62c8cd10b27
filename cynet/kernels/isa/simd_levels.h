// The types and functions of simd.h for each level.
#ifndef CYNET_SIMD_LEVELS_H
#define CYNET_SIMD_LEVELS_H

#include <cstring>

#include "common/half.h"
#include "isa/levels.h"

#ifdef CYNET_X86_LEVELS
#include <immintrin.h>
#endif

#define CYNET_PER_ISA_FILE "isa/simd.h"
#include "isa/for_each_isa.h"

#endif
