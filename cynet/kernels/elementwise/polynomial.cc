// a x^2 + b x + c of every dtype, and its gradient. Integers by double, truncated.
#ifndef CYNET_LANES
#include <type_traits>

#include "common/by_dtype.h"
#include "kernel.h"

namespace cynet {
#define POLYNOMIAL_FIELDS(field) field(double, a) field(double, b) field(double, c)
CYNET_PARAMS(Polynomial, POLYNOMIAL_FIELDS)
#define POLYNOMIAL_GRAD_FIELDS(field) field(double, p) field(double, q)
CYNET_PARAMS(Slope, POLYNOMIAL_GRAD_FIELDS)
}  // namespace cynet

#define CYNET_PER_ISA_FILE "elementwise/polynomial.cc"
#include "isa/for_each_isa.h"

CYNET_KERNEL(polynomial, Polynomial, 1, CYNET_NUMBERS)
CYNET_KERNEL(polynomial_grad, Slope, 1, CYNET_NUMBERS)
#else
namespace {

template <typename T>
using computed_type =  // float for half and float, else double
    typename std::conditional<std::is_same<T, half>::value || std::is_same<T, float>::value, float,
                              double>::type;

// y[i] (+)= value(i) for the elements of the first output
template <typename T, class Value>
CYNET_XINLINE void set_or_add(const Args& args, const Value& value) {
  T* y = args.output<T>(0);
  const bool add = args.add[0];
  parallel_for(args.threads, args.out[0]->size, [=](int64_t begin, int64_t end) {
    if (add) {
      CYNET_IVDEP
      for (int64_t i = begin; i < end; ++i) add_element(y + i, convert_one<T>(value(i)));
    } else {
      CYNET_IVDEP
      for (int64_t i = begin; i < end; ++i) y[i] = convert_one<T>(value(i));
    }
  });
}

template <typename T>
void polynomial(const Args& args) {
  typedef computed_type<T> C;
  const Polynomial& p = args.as<Polynomial>();
  const C a = static_cast<C>(p.a), b = static_cast<C>(p.b), c = static_cast<C>(p.c);
  const T* x = args.input<T>(0);
  if (a == 0 && b == 0) return set_or_add<T>(args, [=](int64_t) CYNET_XLAMBDA { return c; });
  if (a == 0) {  // infinity times 0 would be NaN
    set_or_add<T>(args, [=](int64_t i) CYNET_XLAMBDA { return c + b * convert_one<C>(x[i]); });
    return;
  }
  set_or_add<T>(args, [=](int64_t i) CYNET_XLAMBDA {
    const C v = convert_one<C>(x[i]);
    return c + (a * v + b) * v;
  });
}

// dx (+)= dy (p x + q); x is not given where p is 0
template <typename T>
void polynomial_grad(const Args& args) {
  typedef computed_type<T> C;
  const Slope& s = args.as<Slope>();
  const C p = static_cast<C>(s.p), q = static_cast<C>(s.q);
  const T *g = args.input<T>(0), *x = args.input<T>(1);
  if (p == 0) {
    set_or_add<T>(args, [=](int64_t i) CYNET_XLAMBDA { return q * convert_one<C>(g[i]); });
    return;
  }
  set_or_add<T>(args, [=](int64_t i) CYNET_XLAMBDA {
    return (q + p * convert_one<C>(x[i])) * convert_one<C>(g[i]);
  });
}

}  // namespace
#endif
