// The loops of softmax for each level.
#ifndef CYNET_SOFTMAX_H
#define CYNET_SOFTMAX_H

#include "elementwise/elementwise.h"
#include "common/scalar_math.h"

#ifdef CYNET_X86_LEVELS
#include <immintrin.h>
#endif

#define CYNET_LOOPS "isa/simd.h"
#include "isa/for_each_isa.h"
#define CYNET_LOOPS "reduce/softmax_loops.h"
#include "isa/for_each_isa.h"

#endif
