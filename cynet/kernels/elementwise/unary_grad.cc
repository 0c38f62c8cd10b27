// The unary gradient loops out = gradient * F(input or output), by functor name.
#include "elementwise/elementwise.h"
#include "elementwise/functor_tables.h"
#include "elementwise/functors.h"

namespace cynet {

#define REAL(F) CYNET_REAL_FUNCTOR_ROW(F, binary_loop, gradient_times<functor::F>)  // for floats
#define ALL(F) CYNET_FUNCTOR_ROW(F, binary_loop, gradient_times<functor::F>)  // for all dtypes
static const FunctorRow<BinaryLoop> rows[] = {
    // loops of each functor, by dtype
    // one per functor
    ALL(two_x),          ALL(minus_one),
    ALL(relu_grad_y),    ALL(sign),
    REAL(log2_grad),     REAL(log10_grad),
    REAL(log1p_grad),    REAL(expm1_grad_y),
    REAL(sqrt_grad_y),   REAL(rsqrt_grad),
    REAL(cbrt_grad_y),   REAL(rcbrt_grad),
    REAL(reciprocal),    REAL(reciprocal_grad),
    REAL(cos),           REAL(cos_grad),
    REAL(tan_grad_y),    REAL(arcsin_grad),
    REAL(arccos_grad),   REAL(arctan_grad),
    REAL(sinh),          REAL(cosh),
    REAL(tanh_grad_y),   REAL(arcsinh_grad),
    REAL(arccosh_grad),  REAL(arctanh_grad),
    REAL(sigmoid),       REAL(sigmoid_grad_y),
    REAL(softsign_grad), REAL(softrelu_grad_y),
    REAL(erf_grad),      REAL(erfinv_grad_y),
    REAL(gamma_grad),    REAL(gammaln_grad),
    REAL(degrees_grad),  REAL(radians_grad),
    ALL(identity),       ALL(one),
    ALL(zero),
};

CYNET_FUNCTOR_TABLE(unary_grad)

}  // namespace cynet
