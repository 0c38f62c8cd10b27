// Loops over functors and the tables that hold them. Pure C++, no Python; broadcast.h runs them.
//
// float16 is computed in float, an integer type without a loop of its own in double. float and
// double loops are compiled for each level, integer loops for the baseline.
#ifndef CYNET_ELEMENTWISE_H
#define CYNET_ELEMENTWISE_H

#include <cstring>
#include <type_traits>

#include "common/half.h"
#include "isa/kernel_table.h"
#include "common/wrapping.h"

namespace cynet {

// a, b, g are runs of n elements (stride 1) or one element repeated (stride 0).
typedef void (*UnaryLoop)(const void* x, void* out, int64_t n);
typedef void (*BinaryLoop)(const void* a, int sa, const void* b, int sb, void* out, int64_t n);
typedef void (*GradLoop)(const void* g, int sg, const void* a, int sa, const void* b, int sb,
                         void* out, int64_t n);

// True if F has a fast second form for some floats (functors.h).
template <class F, typename = void>
struct has_fast_form : std::false_type {};
template <class F>
struct has_fast_form<F, std::void_t<decltype(&F::fast_form)>> : std::true_type {};

// out = g * F(x): a unary gradient as a binary functor.
template <class F, bool = has_fast_form<F>::value>
struct gradient_times {  // a unary gradient as a functor of g and x
  template <typename T>
  static CYNET_XINLINE T map(T g, T x) {
    return product_of(g, F::template map<T>(x));
  }
};
template <class F>
struct gradient_times<F, true> : gradient_times<F, false> {
  static CYNET_XINLINE bool is_fast(float, float x) { return F::is_fast(x); }
  static CYNET_XINLINE float fast_form(float g, float x) { return g * F::fast_form(x); }
};

namespace functor {
struct prefers_expanded_scalar;
struct identity;
struct plus;
struct minus;
struct mul;
struct grad_one;
struct grad_left;
struct grad_right;
struct relu_grad_y;
}  // namespace functor

// True if loops of F may add to the output directly (elementwise_loops.h): with at most one product
// and no calls, compilers round all elements alike.
template <class F, class... Plain>
constexpr bool is_any_of = (std::is_same<F, Plain>::value || ...);
template <class F>
constexpr bool can_add_directly =
    is_any_of<F, functor::identity, functor::plus, functor::minus, functor::mul, functor::grad_one,
              functor::grad_left, functor::grad_right, functor::relu_grad_y>;
template <class F>
constexpr bool can_add_directly<gradient_times<F>> = can_add_directly<F>;

// True if a repeated operand of F is expanded (functors.h); true if F has an `at_two_functor`.
template <class F>
constexpr bool expands_scalar = std::is_base_of<functor::prefers_expanded_scalar, F>::value;
template <class F, typename = void>
struct has_at_two_functor : std::false_type {};  // F has a functor for b = 2
template <class F>
struct has_at_two_functor<F, std::void_t<typename F::at_two_functor>> : std::true_type {};

}  // namespace cynet

#define CYNET_PER_ISA_FILE "elementwise/elementwise_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

template <typename Loop>
struct FunctorRow {  // loops of a functor by dtype and level
  const char* name;
  Loop loop[N_REQ][N_DTYPE][N_LEVEL];
};

#define CYNET_FLOAT_LOOPS_OF(Loop, F, add) \
  CYNET_AT_LEVELS(Loop<F, float, add>), CYNET_AT_LEVELS(Loop<F, double, add>)
#define CYNET_REAL_FUNCTOR_ROW(Name, Loop, F)                                         \
  {                                                                                   \
    #Name, {                                                                          \
      {CYNET_FLOAT_LOOPS_OF(Loop, F, false)}, { CYNET_FLOAT_LOOPS_OF(Loop, F, true) } \
    }                                                                                 \
  }

#define CYNET_INTEGER_LOOPS_OF(Loop, F, add)                                       \
  {nullptr}, {baseline::Loop<F, uint8_t, add>}, {baseline::Loop<F, int32_t, add>}, \
      {baseline::Loop<F, int8_t, add>}, {baseline::Loop<F, int64_t, add>}, {       \
    nullptr                                                                        \
  }
#define CYNET_FUNCTOR_ROW(Name, Loop, F)                                                \
  {                                                                                     \
    #Name, {                                                                            \
      {CYNET_FLOAT_LOOPS_OF(Loop, F, false), CYNET_INTEGER_LOOPS_OF(Loop, F, false)}, { \
        CYNET_FLOAT_LOOPS_OF(Loop, F, true), CYNET_INTEGER_LOOPS_OF(Loop, F, true)      \
      }                                                                                 \
    }                                                                                   \
  }

// The loop of functor `name` for `dtype`; bool arrays use the uint8 loop, whose sums become 0 or 1
// again (broadcast.h). loop == NULL: no such functor.
template <typename Loop, size_t rows>
Kernel find_kernel(const FunctorRow<Loop> (&table)[rows], const char* name, int dtype, int add,
                   int level) {
  Kernel found = {nullptr, dtype, dtype == BOOL ? static_cast<int>(U8) : dtype, add};
  for (size_t i = 0; i < rows; ++i) {
    if (std::strcmp(table[i].name, name) != 0) continue;
    const auto& loops = table[i].loop[add];
    if (dtype == BF16 || !loops[found.compute][BASELINE])
      found.compute = dtype == F16 || dtype == BF16 ? F32 : F64;
    const Loop loop = loops[found.compute][level];
    found.loop = reinterpret_cast<void*>(loop ? loop : loops[found.compute][BASELINE]);
    break;
  }
  return found;
}

}  // namespace cynet

#endif
