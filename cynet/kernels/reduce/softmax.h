// The loops of softmax for each level.
#ifndef CYNET_SOFTMAX_H
#define CYNET_SOFTMAX_H

#include "common/scalar_math.h"
#include "elementwise/elementwise.h"
#include "isa/simd_levels.h"

#define CYNET_PER_ISA_FILE "reduce/softmax_loops.h"
#include "isa/for_each_isa.h"

#endif
