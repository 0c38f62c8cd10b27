// The binary gradient loops out = gradient * F(a, b), by functor name.
#include "elementwise/elementwise.h"
#include "elementwise/functor_tables.h"
#include "elementwise/functors.h"

namespace cynet {

#define REAL(F) CYNET_REAL_FUNCTOR_ROW(F, grad_loop, functor::F)  // a row with loops for floats
#define ALL(F) CYNET_FUNCTOR_ROW(F, grad_loop, functor::F)  // a row with loops for all dtypes
static const FunctorRow<GradLoop> rows[] = {
    // loops of each functor, by dtype
    // one per functor
    ALL(grad_one),       ALL(grad_minus_one),   ALL(grad_left),        ALL(grad_right),
    ALL(div_lgrad),      ALL(div_rgrad),        ALL(mod_rgrad),        ALL(power_lgrad),
    REAL(power_rgrad),   REAL(hypot_lgrad),     REAL(hypot_rgrad),     ALL(greater_equal),
    ALL(lesser),         ALL(lesser_equal),     ALL(greater),          ALL(equal),
    ALL(prod_grad),      ALL(nansum_grad),      ALL(nanprod_grad),     REAL(norm_grad),
    ALL(sign_grad),      REAL(smooth_l1_grad),  REAL(leaky_grad),      REAL(elu_grad),
    REAL(selu_grad),     REAL(gelu_grad),       REAL(polygamma_grad),  ALL(fmod_rgrad),
    ALL(fmax_lgrad),     ALL(fmax_rgrad),       ALL(fmin_lgrad),       ALL(fmin_rgrad),
    REAL(arctan2_lgrad), REAL(arctan2_rgrad),   REAL(copysign_lgrad),  REAL(ldexp_lgrad),
    REAL(ldexp_rgrad),   REAL(logaddexp_lgrad), REAL(logaddexp_rgrad),
};

CYNET_FUNCTOR_TABLE(binary_grad)

}  // namespace cynet
