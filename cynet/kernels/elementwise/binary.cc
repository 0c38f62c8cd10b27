// The binary loops out = F(a, b), by functor name.
#include "elementwise/elementwise.h"
#include "elementwise/functor_tables.h"
#include "elementwise/functors.h"

namespace cynet {

#define REAL(F) CYNET_REAL_FUNCTOR_ROW(F, binary_loop, functor::F)  // a row with loops for floats
#define ALL(F) CYNET_FUNCTOR_ROW(F, binary_loop, functor::F)  // a row with loops for all dtypes
static const FunctorRow<BinaryLoop> rows[] = {
    // loops of each functor, by dtype
    // one per functor
    ALL(plus),        ALL(minus),         ALL(mul),          ALL(div),          ALL(mod),
    ALL(power),       ALL(maximum),       ALL(minimum),      ALL(equal),        ALL(not_equal),
    ALL(greater),     ALL(greater_equal), ALL(lesser),       ALL(lesser_equal), ALL(logical_and),
    ALL(logical_or),  ALL(logical_xor),   ALL(grad_left),    REAL(hypot),       REAL(smooth_l1),
    REAL(leaky),      REAL(elu),          REAL(selu),        REAL(gelu),        REAL(polygamma),
    ALL(bitwise_and), ALL(bitwise_or),    ALL(bitwise_xor),  ALL(left_shift),   ALL(right_shift),
    ALL(gcd),         ALL(lcm),           ALL(floor_divide), ALL(fmod),         ALL(remainder),
    ALL(fmax),        ALL(fmin),          REAL(arctan2),     REAL(copysign),    REAL(nextafter),
    REAL(ldexp),      REAL(logaddexp),
};

CYNET_FUNCTOR_TABLE(binary)

}  // namespace cynet
