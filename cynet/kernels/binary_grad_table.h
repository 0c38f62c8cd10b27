// The loops out = gradient * F(a, b), by functor name. Included by binary_grad.pyx alone.
#ifndef CYNET_BINARY_GRAD_TABLE_H
#define CYNET_BINARY_GRAD_TABLE_H

#include "elementwise.h"
#include "functors.h"

namespace cynet {

#define REAL(F) CYNET_REAL_ROW(F, grad_loop, functor::F)
static const Row<GradLoop> binary_grad_table[] = {
    REAL(grad_one),    REAL(grad_minus_one), REAL(grad_left),    REAL(grad_right),
    REAL(div_lgrad),   REAL(div_rgrad),      REAL(mod_rgrad),    REAL(power_lgrad),
    REAL(power_rgrad), REAL(hypot_lgrad),    REAL(hypot_rgrad),  REAL(greater_equal),
    REAL(lesser),      REAL(lesser_equal),   REAL(greater),      REAL(equal),
    REAL(prod_grad),   REAL(nansum_grad),    REAL(nanprod_grad), REAL(norm_grad),
    REAL(sign_grad),   REAL(smooth_l1_grad), REAL(leaky_grad),  REAL(elu_grad),
    REAL(selu_grad),   REAL(gelu_grad),
};
#undef REAL

}  // namespace cynet

#endif
