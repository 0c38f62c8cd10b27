// The binary loops, by functor name. Included by binary.pyx alone.
#ifndef CYNET_BINARY_TABLE_H
#define CYNET_BINARY_TABLE_H

#include "elementwise/elementwise.h"
#include "elementwise/functors.h"

namespace cynet {

#define REAL(F) CYNET_REAL_ROW(F, binary_loop, functor::F)
#define ALL(F) CYNET_ROW(F, binary_loop, functor::F)
static const Row<BinaryLoop> binary_table[] = {
    ALL(plus),       ALL(minus),         ALL(mul),       ALL(div),          ALL(mod),
    ALL(power),      ALL(maximum),       ALL(minimum),   ALL(equal),        ALL(not_equal),
    ALL(greater),    ALL(greater_equal), ALL(lesser),    ALL(lesser_equal), ALL(logical_and),
    ALL(logical_or), ALL(logical_xor),   ALL(grad_left), REAL(hypot),       REAL(smooth_l1),
    REAL(leaky),      REAL(elu),           REAL(selu),      REAL(gelu),
    REAL(polygamma),
};
#undef REAL
#undef ALL

}  // namespace cynet

#endif
