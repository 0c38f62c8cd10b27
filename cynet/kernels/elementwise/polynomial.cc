// a x^2 + b x + c of every dtype, and its gradient. Integers by double, truncated.
#include <type_traits>

#include "common/by_dtype.h"
#include "kernel.h"

namespace cynet {
#define POLYNOMIAL(field) field(double, a) field(double, b) field(double, c)
CYNET_PARAMS(Polynomial, POLYNOMIAL)
#define SLOPE(field) field(double, p) field(double, q)
CYNET_PARAMS(Slope, SLOPE)

// y (+)= g (a x^2 + b x + c); g may be missing
template <typename T>
static void put_polynomial(const Args& args, double a_, double b_, double c_, const T* g,
                           const T* x) {
  typedef typename std::conditional<std::is_same<T, half>::value || std::is_same<T, float>::value,
                                    float, double>::type C;
  const C a = static_cast<C>(a_), b = static_cast<C>(b_), c = static_cast<C>(c_);
  T* y = args.output<T>(0);
  const bool add = args.add[0];
  parallel_for(args.threads, args.out[0]->size, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      C value = c;
      if (a != 0 || b != 0) {  // else x is not given
        const C v = convert_one<C>(x[i]);
        value += (a * v + b) * v;
      }
      if (g) value *= convert_one<C>(g[i]);
      const T made = convert_one<T>(value);
      if (add) add_element(y + i, made);
      else y[i] = made;
    }
  });
}

template <typename T>
static void polynomial(const Args& args) {
  const Polynomial& p = args.as<Polynomial>();
  put_polynomial<T>(args, p.a, p.b, p.c, nullptr, args.input<T>(0));
}

// dx (+)= dy (p x + q)
template <typename T>
static void polynomial_grad(const Args& args) {
  const Slope& s = args.as<Slope>();
  put_polynomial<T>(args, 0, s.p, s.q, args.input<T>(0), args.input<T>(1));
}
}  // namespace cynet

CYNET_PLAIN_KERNEL(polynomial, Polynomial, 1, CYNET_NUMBERS)
CYNET_PLAIN_KERNEL(polynomial_grad, Slope, 1, CYNET_NUMBERS)
