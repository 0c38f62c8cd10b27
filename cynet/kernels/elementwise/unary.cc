// The unary loops out = F(x), by functor name.
#include "elementwise/elementwise.h"
#include "elementwise/functor_tables.h"
#include "elementwise/functors.h"

namespace cynet {

#define REAL(F) CYNET_REAL_FUNCTOR_ROW(F, unary_loop, functor::F)  // a row with loops for floats
#define ALL(F) CYNET_FUNCTOR_ROW(F, unary_loop, functor::F)  // a row with loops for all dtypes
static const FunctorRow<UnaryLoop> rows[] = {
    // loops of each functor, by dtype
    // one per functor
    ALL(identity), ALL(zero),        ALL(one),      ALL(negative),    ALL(abs),
    ALL(sign),     ALL(square),      ALL(relu),     ALL(logical_not), REAL(exp),
    REAL(log),     REAL(log2),       REAL(log10),   REAL(log1p),      REAL(expm1),
    REAL(sqrt),    REAL(rsqrt),      REAL(cbrt),    REAL(rcbrt),      REAL(reciprocal),
    ALL(round),    ALL(rint),        ALL(ceil),     ALL(floor),       ALL(trunc),
    REAL(sin),     REAL(cos),        REAL(tan),     REAL(arcsin),     REAL(arccos),
    REAL(arctan),  REAL(sinh),       REAL(cosh),    REAL(tanh),       REAL(arcsinh),
    REAL(arccosh), REAL(arctanh),    REAL(sigmoid), REAL(softsign),   REAL(softrelu),
    REAL(erf),     ALL(erfinv),      REAL(gamma),   REAL(gammaln),    REAL(degrees),
    REAL(radians), ALL(bitwise_not), ALL(isnan),    ALL(isinf),       ALL(isfinite),
    ALL(signbit),
};

CYNET_FUNCTOR_TABLE(unary)

}  // namespace cynet
