// Every scalar function of the elementwise families, once: forward functors and gradient functors,
// for the CPU loops and for CUDA. A functor has `template <T> static T map(...)`; T is float or
// double, and an integer type where the table that names it says so.
//
// A unary gradient functor maps the input or the output of its function (the operator's row says
// which) to the derivative; a binary one maps both inputs. Loops multiply by the gradient.
#ifndef CYNET_FUNCTORS_H
#define CYNET_FUNCTORS_H

#include <cmath>
#include <type_traits>

#include "common/special_math.h"
#include "common/wrapping.h"

namespace cynet {
namespace functor {

#define CYNET_UNARY_OP(Name, ...)         \
  struct Name {                           \
    template <typename T>                 \
    static CYNET_XINLINE T map(T x) {     \
      return static_cast<T>(__VA_ARGS__); \
    }                                     \
  };

#define CYNET_BINARY_OP(Name, ...)         \
  struct Name {                            \
    template <typename T>                  \
    static CYNET_XINLINE T map(T a, T b) { \
      return static_cast<T>(__VA_ARGS__);  \
    }                                      \
  };

// A functor with `is_fast` has a branch-free float form, `fast_form`, where is_fast(x). The
// CPU loops take it where all of a few neighbours do.
#define CYNET_TRIGONOMETRIC(Name)                                                     \
  struct Name {                                                                       \
    template <typename T>                                                             \
    static CYNET_XINLINE T map(T x) {                                                 \
      return static_cast<T>(std::Name(x));                                            \
    }                                                                                 \
    static CYNET_XINLINE bool is_fast(float x) { return math::can_use_fast_trig(x); } \
    static CYNET_XINLINE float fast_form(float x) { return math::fast_##Name(x); }    \
  };

template <typename T>
CYNET_XINLINE bool is_nan(T x) {
  return x != x;
}

// ----- unary, integers too -----------------------------------------------------------------------
CYNET_UNARY_OP(identity, x)
CYNET_UNARY_OP(zero, T(0) * 0)
CYNET_UNARY_OP(one, T(1))
CYNET_UNARY_OP(negative, negative_of(x))
CYNET_UNARY_OP(abs, x < T(0) ? negative_of(x) : (x == T(0) ? T(0) : x))
CYNET_UNARY_OP(sign, T(x > T(0)) - T(x < T(0)))
CYNET_UNARY_OP(square, product_of(x, x))
CYNET_UNARY_OP(relu, x < T(0) ? T(0) : x)
CYNET_UNARY_OP(logical_not, x == T(0))

// Rounding functions; they leave integers as they are.
#define CYNET_ROUNDING(Name, ...)                         \
  struct Name {                                           \
    template <typename T>                                 \
    static CYNET_XINLINE T map(T x) {                     \
      if constexpr (std::is_integral<T>::value) return x; \
      else return static_cast<T>(__VA_ARGS__);            \
    }                                                     \
  };
CYNET_ROUNDING(round, math::round(x))
CYNET_ROUNDING(ceil, std::ceil(x))
CYNET_ROUNDING(floor, std::floor(x))
CYNET_ROUNDING(trunc, std::trunc(x))
// Ties go down, as MXNet's rint has it (0.5 -> 0, 1.5 -> 1, -0.5 -> -1).
CYNET_ROUNDING(rint, x - std::floor(x) <= std::ceil(x) - x ? std::floor(x) : std::ceil(x))
#undef CYNET_ROUNDING

// The number in a signed type that can represent it.
template <typename T>
CYNET_XINLINE auto signed_of(T a) {  // the number in a signed type that can hold it
  if constexpr (std::is_unsigned<T>::value) return static_cast<int>(a);
  else return a;
}

// Functions of bits; floats give NaN, and operators refuse floats.
#define CYNET_BITWISE(Name, parameters, ...)                                        \
  struct Name {                                                                     \
    template <typename T>                                                           \
    static CYNET_XINLINE T map parameters {                                         \
      if constexpr (std::is_integral<T>::value) return static_cast<T>(__VA_ARGS__); \
      else return std::numeric_limits<T>::quiet_NaN();                              \
    }                                                                               \
  };
CYNET_BITWISE(bitwise_not, (T x), ~x)
CYNET_BITWISE(bitwise_and, (T a, T b), a& b)
CYNET_BITWISE(bitwise_or, (T a, T b), a | b)
CYNET_BITWISE(bitwise_xor, (T a, T b), a ^ b)
CYNET_BITWISE(left_shift, (T a, T b), shift_left(a, b))
CYNET_BITWISE(right_shift, (T a, T b), shift_right(a, b))
// uint8 numbers are widened first, so that 255 is not -1.
CYNET_BITWISE(gcd, (T a, T b), integer_gcd(signed_of(a), signed_of(b)))
CYNET_BITWISE(lcm, (T a, T b), integer_lcm(signed_of(a), signed_of(b)))
#undef CYNET_BITWISE

// 1 or 0 for each number.
CYNET_UNARY_OP(isnan, x != x)
CYNET_UNARY_OP(isinf, x - x != x - x && x == x)
CYNET_UNARY_OP(isfinite, x - x == x - x)
struct signbit {
  template <typename T>
  static CYNET_XINLINE T map(T x) {
    if constexpr (std::is_integral<T>::value) return T(x < T(0));
    else return T(std::signbit(x));
  }
};

// erfinv. Integers give MXNet's values: infinity, cast, at 1 and -1, else 0.
struct erfinv {
  template <typename T>
  static CYNET_XINLINE T map(T x) {
    if constexpr (std::is_integral<T>::value) {
      const bool one = x == T(1) || (std::is_signed<T>::value && x == T(-1));
      return one && sizeof(T) >= 4 ? std::numeric_limits<T>::min() : T(0);
    } else {
      return static_cast<T>(math::erfinv(x));
    }
  }
};

// ----- unary, real -------------------------------------------------------------------------------
CYNET_UNARY_OP(exp, math::exp(x))
CYNET_UNARY_OP(log, math::log(x))
CYNET_UNARY_OP(log2, math::log2(x))
CYNET_UNARY_OP(log10, math::log10(x))
CYNET_UNARY_OP(log1p, math::log1p(x))
CYNET_UNARY_OP(expm1, math::expm1(x))
CYNET_UNARY_OP(sqrt, std::sqrt(x))
CYNET_UNARY_OP(rsqrt, T(1) / std::sqrt(x))
CYNET_UNARY_OP(cbrt, math::cbrt(x))
CYNET_UNARY_OP(rcbrt, T(1) / math::cbrt(x))
CYNET_UNARY_OP(reciprocal, T(1) / x)
CYNET_TRIGONOMETRIC(sin)
CYNET_TRIGONOMETRIC(cos)
CYNET_TRIGONOMETRIC(tan)
CYNET_UNARY_OP(arcsin, math::arcsin(x))
CYNET_UNARY_OP(arccos, math::arccos(x))
CYNET_UNARY_OP(arctan, math::arctan(x))
CYNET_UNARY_OP(sinh, math::sinh(x))
CYNET_UNARY_OP(cosh, math::cosh(x))
CYNET_UNARY_OP(tanh, math::tanh(x))
CYNET_UNARY_OP(arcsinh, math::arcsinh(x))
CYNET_UNARY_OP(arccosh, math::arccosh(x))
CYNET_UNARY_OP(arctanh, math::arctanh(x))
CYNET_UNARY_OP(sigmoid, math::sigmoid(x))
CYNET_UNARY_OP(softsign, x / (T(1) + std::fabs(x)))
CYNET_UNARY_OP(softrelu, (x > T(0) ? x : T(0)) + math::log1p(math::exp(-std::fabs(x))))
CYNET_UNARY_OP(erf, math::erf(x))
CYNET_UNARY_OP(gamma, std::tgamma(x))
struct gammaln {
  template <typename T>
  static CYNET_XINLINE T map(T x) {
    return static_cast<T>(std::lgamma(x));
  }
  static CYNET_XINLINE bool is_fast(float x) { return math::has_fast_gammaln(x); }
  static CYNET_XINLINE float fast_form(float x) { return math::fast_gammaln(x); }
};
CYNET_UNARY_OP(degrees, x* T(57.29577951308232))
CYNET_UNARY_OP(radians, x* T(0.017453292519943295))

// ----- unary gradients: of x unless the name ends in _y ------------------------------------------
CYNET_UNARY_OP(two_x, product_of(T(2), x))
CYNET_UNARY_OP(minus_one, T(-1))
CYNET_UNARY_OP(relu_grad_y, x > T(0) ? T(1) : (is_nan(x) ? x : T(0)))
CYNET_UNARY_OP(log2_grad, T(1.4426950408889634) / x)
CYNET_UNARY_OP(log10_grad, T(0.4342944819032518) / x)
CYNET_UNARY_OP(log1p_grad, T(1) / (T(1) + x))
CYNET_UNARY_OP(expm1_grad_y, x + T(1))
CYNET_UNARY_OP(sqrt_grad_y, T(0.5) / x)
CYNET_UNARY_OP(rsqrt_grad, T(-0.5) / (x * std::sqrt(x)))
CYNET_UNARY_OP(cbrt_grad_y, T(1) / (T(3) * x * x))
CYNET_UNARY_OP(rcbrt_grad, T(-1) / (T(3) * x * math::cbrt(x)))
CYNET_UNARY_OP(reciprocal_grad, T(-1) / (x * x))
struct cos_grad {
  template <typename T>
  static CYNET_XINLINE T map(T x) {
    return -sin::map(x);
  }
  static CYNET_XINLINE bool is_fast(float x) { return sin::is_fast(x); }
  static CYNET_XINLINE float fast_form(float x) { return -sin::fast_form(x); }
};
CYNET_UNARY_OP(tan_grad_y, T(1) + x * x)
CYNET_UNARY_OP(arcsin_grad, T(1) / std::sqrt(T(1) - x * x))
CYNET_UNARY_OP(arccos_grad, T(-1) / std::sqrt(T(1) - x * x))
CYNET_UNARY_OP(arctan_grad, T(1) / (T(1) + x * x))
CYNET_UNARY_OP(tanh_grad_y, T(1) - x * x)
CYNET_UNARY_OP(arcsinh_grad, T(1) / std::sqrt(x * x + T(1)))
CYNET_UNARY_OP(arccosh_grad, T(1) / std::sqrt(x * x - T(1)))
CYNET_UNARY_OP(arctanh_grad, T(1) / (T(1) - x * x))
CYNET_UNARY_OP(sigmoid_grad_y, x*(T(1) - x))
CYNET_UNARY_OP(softsign_grad, T(1) / ((T(1) + std::fabs(x)) * (T(1) + std::fabs(x))))
CYNET_UNARY_OP(softrelu_grad_y, -math::expm1(-x))
CYNET_UNARY_OP(erf_grad, T(1.1283791670955126) * math::exp(-x * x))
CYNET_UNARY_OP(erfinv_grad_y, T(0.886226925452758) * math::exp(x * x))
CYNET_UNARY_OP(gamma_grad, std::tgamma(x) * T(math::digamma(static_cast<double>(x))))
CYNET_UNARY_OP(gammaln_grad, math::digamma(static_cast<double>(x)))
CYNET_UNARY_OP(degrees_grad, T(57.29577951308232))
CYNET_UNARY_OP(radians_grad, T(0.017453292519943295))

// Base of binary functors with branches on one operand: a repeated operand is expanded. If that
// operand repeats, compilers would hoist the branches out of the loop and not vectorise it, so the
// loops expand it to a run. `at_two_functor`: the functor for b equal to 2 throughout.
struct prefers_expanded_scalar {};  // base of functors: a repeated operand is expanded

// ----- binary ------------------------------------------------------------------------------------
CYNET_BINARY_OP(plus, sum_of(a, b))
CYNET_BINARY_OP(minus, difference_of(a, b))
CYNET_BINARY_OP(mul, product_of(a, b))
struct hypot {
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    const math::Hypotenuse<T> h(a, b);
    const T inf = std::numeric_limits<T>::infinity();
    const bool far = (std::fabs(a) == inf) | (std::fabs(b) == inf);  // also beside NaN
    return far ? inf : static_cast<T>(h.root * h.unit);
  }
};
CYNET_BINARY_OP(maximum, a > b || is_nan(a) ? a : b)
CYNET_BINARY_OP(minimum, a < b || is_nan(a) ? a : b)
CYNET_BINARY_OP(equal, a == b)
CYNET_BINARY_OP(not_equal, a != b)
CYNET_BINARY_OP(greater, a > b)
CYNET_BINARY_OP(greater_equal, a >= b)
CYNET_BINARY_OP(lesser, a < b)
CYNET_BINARY_OP(lesser_equal, a <= b)
CYNET_BINARY_OP(logical_and, (a != T(0)) & (b != T(0)))  // without branches
CYNET_BINARY_OP(logical_or, (a != T(0)) | (b != T(0)))
CYNET_BINARY_OP(logical_xor, (a != T(0)) != (b != T(0)))

struct div {
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    if constexpr (std::is_integral<T>::value) return integer_quotient(a, b);
    else return a / b;
  }
};

// The remainder has the sign of the divisor, and is 0 when the divisor is.
struct mod {
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    if constexpr (std::is_integral<T>::value) {
      return integer_remainder(a, b);
    } else {
      if (b == T(0)) return T(0);
      const T r = std::fmod(a, b);
      return r != T(0) && ((r < T(0)) != (b < T(0))) ? r + b : r;
    }
  }
  static CYNET_XINLINE bool is_fast(float a, float b) { return math::has_fast_mod(a, b); }
  static CYNET_XINLINE float fast_form(float a, float b) { return math::fast_mod(a, b); }
};

// NumPy's remainder: by 0 it is NaN for floats, and a 0 has the sign of the divisor.
struct remainder {
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    if constexpr (std::is_integral<T>::value) {
      return integer_remainder(a, b);
    } else {
      const T r = std::fmod(a, b);
      if (r == T(0)) return std::copysign(T(0), b);
      return (r < T(0)) != (b < T(0)) && r == r ? r + b : r;
    }
  }
  static CYNET_XINLINE bool is_fast(float a, float b) { return math::has_fast_mod(a, b); }
  static CYNET_XINLINE float fast_form(float a, float b) {
    const float r = math::fast_mod(a, b);
    return r == 0.0f ? std::copysign(0.0f, b) : r;
  }
};

CYNET_BINARY_OP(left_squared, a* a)

struct power : prefers_expanded_scalar {
  typedef left_squared at_two_functor;
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    if constexpr (std::is_integral<T>::value) return integer_power(a, b);
    else return math::power(a, b);
  }
};

// Towards minus infinity, exact where a - mod(a, b) is a multiple of b.
struct floor_divide {
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    if constexpr (std::is_integral<T>::value) {
      return integer_floor_quotient(a, b);
    } else {
      // NumPy gives NaN and -1 for infinity // 2 and 1 // -infinity
      if (b == T(0) || std::isinf(a) || std::isinf(b)) return std::floor(a / b);
      T rest = std::fmod(a, b), quotient = (a - rest) / b;
      if (rest != T(0) && (b < T(0)) != (rest < T(0))) quotient -= T(1);
      if (quotient == T(0)) return std::copysign(T(0), a / b);
      const T whole = std::floor(quotient);
      return quotient - whole > T(0.5) ? whole + T(1) : whole;
    }
  }
};
// The remainder has the sign of a; by 0 it is 0 for integers, NaN for floats.
struct fmod {
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    if constexpr (std::is_integral<T>::value)
      return b == T(0) ? T(0) : difference_of(a, product_of(integer_quotient(a, b), b));
    else return std::fmod(a, b);
  }
};
// If one operand is NaN, the other one is the result.
CYNET_BINARY_OP(fmax, a >= b || is_nan(b) ? a : b)
CYNET_BINARY_OP(fmin, a <= b || is_nan(b) ? a : b)
CYNET_BINARY_OP(arctan2, std::atan2(a, b))
CYNET_BINARY_OP(copysign, std::copysign(a, b))
CYNET_BINARY_OP(nextafter, std::nextafter(a, b))
// ldexp in two steps, so that a power beyond the range of T does no harm where the result is in it.
CYNET_BINARY_OP(ldexp, a* math::power(T(2), std::floor(b / T(2))) *
                           math::power(T(2), b - std::floor(b / T(2))))
// log(e^a + e^b) without overflow
struct logaddexp {
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    if (a == b) return a + T(0.69314718055994530942);
    const T apart = a - b;
    if (is_nan(apart)) return apart;
    return (apart > T(0) ? a : b) + math::log1p(math::exp(-std::fabs(apart)));
  }
};

// b is the order, a whole number.
CYNET_BINARY_OP(polygamma, math::polygamma(static_cast<int>(b), static_cast<double>(a)))
CYNET_BINARY_OP(polygamma_grad, math::polygamma(static_cast<int>(b) + 1, static_cast<double>(a)))

// Rectifiers; b is the slope below 0.
CYNET_BINARY_OP(leaky, a > T(0) ? a : b * a)
CYNET_BINARY_OP(elu, a > T(0) ? a : b * math::expm1(a))
CYNET_BINARY_OP(selu, T(1.0507009873554804934) * elu::map<T>(a, T(1.6732632423543772848)))
CYNET_BINARY_OP(gelu, T(0.5) * a * (T(1) + math::erf(a * T(0.70710678118654752440))))

// ----- binary gradients (a, b are the inputs; for reductions a is the input and b the output)
// --------
CYNET_BINARY_OP(grad_one, T(1))
CYNET_BINARY_OP(grad_minus_one, T(-1))
CYNET_BINARY_OP(grad_left, a)
CYNET_BINARY_OP(grad_right, b)
struct div_lgrad {
  template <typename T>
  static CYNET_XINLINE T map(T, T b) {
    return div::map(T(1), b);
  }
};
CYNET_BINARY_OP(div_rgrad, div::map(negative_of(a), product_of(b, b)))
struct mod_rgrad {
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    if constexpr (std::is_integral<T>::value) {
      if (b == T(0)) return T(0);
      return negative_of(integer_quotient(difference_of(a, integer_remainder(a, b)), b));
    } else {
      return -std::floor(a / b);
    }
  }
};
CYNET_BINARY_OP(left_twice, sum_of(a, a))
struct power_lgrad : prefers_expanded_scalar {
  typedef left_twice at_two_functor;
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    return b == T(0) ? T(0) : product_of(b, power::map(a, difference_of(b, T(1))));
  }
};
struct power_rgrad : prefers_expanded_scalar {
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    const T y = math::power(a, b) * math::log(a);
    return (a == T(0)) & (b > T(0)) ? T(0) : y;
  }
};
struct hypot_lgrad {
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    const math::Hypotenuse<T> h(a, b);
    return static_cast<T>(h.a / h.root);
  }
};
struct hypot_rgrad {
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    const math::Hypotenuse<T> h(a, b);
    return static_cast<T>(h.b / h.root);
  }
};
CYNET_BINARY_OP(fmod_rgrad, negative_of(div::map(difference_of(a, fmod::map(a, b)), b)))
CYNET_BINARY_OP(fmax_lgrad, a >= b || is_nan(b))
CYNET_BINARY_OP(fmax_rgrad, !(a >= b || is_nan(b)))
CYNET_BINARY_OP(fmin_lgrad, a <= b || is_nan(b))
CYNET_BINARY_OP(fmin_rgrad, !(a <= b || is_nan(b)))
struct arctan2_lgrad {
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    const math::Hypotenuse<T> h(a, b);
    return static_cast<T>(h.b / h.root / (h.root * h.unit));
  }
};
struct arctan2_rgrad {
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    const math::Hypotenuse<T> h(a, b);
    return static_cast<T>(-h.a / h.root / (h.root * h.unit));
  }
};
CYNET_BINARY_OP(copysign_lgrad, std::copysign(T(1), a) * std::copysign(T(1), b))
CYNET_BINARY_OP(ldexp_lgrad, math::power(T(2), b))
CYNET_BINARY_OP(ldexp_rgrad, a* math::power(T(2), b) * T(0.69314718055994530942))
CYNET_BINARY_OP(logaddexp_lgrad, a == b ? T(0.5) : math::sigmoid(a - b))
CYNET_BINARY_OP(logaddexp_rgrad, a == b ? T(0.5) : math::sigmoid(b - a))
CYNET_BINARY_OP(prod_grad, div::map(b, a))
CYNET_BINARY_OP(nansum_grad, is_nan(a) ? T(0) : T(1))
CYNET_BINARY_OP(nanprod_grad, is_nan(a) ? T(0) : div::map(b, a))
CYNET_BINARY_OP(norm_grad, b == T(0) ? T(0) : a / b)
CYNET_BINARY_OP(sign_grad, T(a > T(0)) - T(a < T(0)))

CYNET_BINARY_OP(leaky_grad, a > T(0) ? T(1) : b)
CYNET_BINARY_OP(elu_grad, a > T(0) ? T(1) : b * math::exp(a))
CYNET_BINARY_OP(selu_grad, T(1.0507009873554804934) * elu_grad::map<T>(a, T(1.6732632423543772848)))
// The gradient of GELU has one product in its sum: compilers could fuse either of two.
CYNET_BINARY_OP(gelu_grad, T(0.5) * ((T(1) + math::erf(a * T(0.70710678118654752440))) +
                                     a * T(0.79788456080286535588) * math::exp(T(-0.5) * a * a)))

// b is sigma: quadratic within 1 / sigma^2, linear outside.
struct smooth_l1 {
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    const T s = b * b, size = std::fabs(a);
    return size > T(1) / s ? size - T(0.5) / s : T(0.5) * a * a * s;
  }
};
struct smooth_l1_grad {
  template <typename T>
  static CYNET_XINLINE T map(T a, T b) {
    const T s = b * b, limit = T(1) / s;
    return a > limit ? T(1) : (a < -limit ? T(-1) : a * s);
  }
};

#undef CYNET_UNARY_OP
#undef CYNET_BINARY_OP
#undef CYNET_TRIGONOMETRIC

}  // namespace functor
}  // namespace cynet

#endif
