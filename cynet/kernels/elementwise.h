// Loops over functors and the tables that hold them. Pure C++, no Python; drive.h runs them.
//
// A loop works on one contiguous run of elements of one compute type: float, double or an integer
// type. float16 is computed in float, an integer type without a loop of its own in double.
#ifndef CYNET_ELEMENTWISE_H
#define CYNET_ELEMENTWISE_H

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "half.h"

#if defined(__clang__)
#define CYNET_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define CYNET_IVDEP \
  _Pragma("GCC ivdep")  // operands are disjoint or the same: no loop-carried dependence
#else
#define CYNET_IVDEP
#endif

namespace cynet {

enum { F32, F64, F16, U8, I32, I8, I64, BOOL, N_DTYPE };  // as _typedefs.pxd
enum { N_REQ = 2 };                                       // write, add

// a, b, g are runs of n elements (stride 1) or one element repeated (stride 0).
typedef void (*UnaryLoop)(const void* x, void* out, int64_t n);
typedef void (*BinaryLoop)(const void* a, int sa, const void* b, int sb, void* out, int64_t n);
typedef void (*GradLoop)(const void* g, int sg, const void* a, int sa, const void* b, int sb,
                         void* out, int64_t n);

inline int64_t element_size(int dtype) {
  switch (dtype) {
    case F64:
    case I64:
      return 8;
    case F32:
    case I32:
      return 4;
    case F16:
      return 2;
    default:
      return 1;
  }
}

// ----- the loops
// -----------------------------------------------------------------------------------
template <bool add, typename T>
CYNET_XINLINE void put(T& out, T value) {
  if constexpr (add) out = static_cast<T>(out + value);
  else out = value;
}

template <class F, typename T, bool add>
void unary_loop(const void* x_, void* out_, int64_t n) {
  const T* x = static_cast<const T*>(x_);
  T* out = static_cast<T*>(out_);
  CYNET_IVDEP
  for (int64_t i = 0; i < n; ++i) put<add>(out[i], F::template map<T>(x[i]));
}

template <class F, typename T, bool add>
void binary_loop(const void* a_, int sa, const void* b_, int sb, void* out_, int64_t n) {
  const T* a = static_cast<const T*>(a_);
  const T* b = static_cast<const T*>(b_);
  T* out = static_cast<T*>(out_);
  if (sa && sb) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) put<add>(out[i], F::template map<T>(a[i], b[i]));
  } else if (sa) {
    const T one = b[0];
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) put<add>(out[i], F::template map<T>(a[i], one));
  } else if (sb) {
    const T one = a[0];
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) put<add>(out[i], F::template map<T>(one, b[i]));
  } else {
    const T one = F::template map<T>(a[0], b[0]);
    for (int64_t i = 0; i < n; ++i) put<add>(out[i], one);
  }
}

// out = g * F(x): a unary gradient as a binary functor.
template <class F>
struct times {
  template <typename T>
  static CYNET_XINLINE T map(T g, T x) {
    return g * F::template map<T>(x);
  }
};

template <class F, typename T, bool add>
void grad_loop(const void* g_, int sg, const void* a_, int sa, const void* b_, int sb, void* out_,
               int64_t n) {
  const T* g = static_cast<const T*>(g_);
  const T* a = static_cast<const T*>(a_);
  const T* b = static_cast<const T*>(b_);
  T* out = static_cast<T*>(out_);
  if (sg && sa && sb) {
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) put<add>(out[i], g[i] * F::template map<T>(a[i], b[i]));
  } else if (sg && sa) {
    const T y = b[0];
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) put<add>(out[i], g[i] * F::template map<T>(a[i], y));
  } else if (sg && sb) {
    const T x = a[0];
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) put<add>(out[i], g[i] * F::template map<T>(x, b[i]));
  } else if (!sg && sa && !sb) {
    const T gy = g[0], y = b[0];
    CYNET_IVDEP
    for (int64_t i = 0; i < n; ++i) put<add>(out[i], gy * F::template map<T>(a[i], y));
  } else {
    for (int64_t i = 0; i < n; ++i)
      put<add>(out[i], g[i * sg] * F::template map<T>(a[i * sa], b[i * sb]));
  }
}

// ----- tables
// --------------------------------------------------------------------------------------
struct Kernel {
  void* loop;   // UnaryLoop, BinaryLoop or GradLoop; NULL: the functor has none for this dtype
  int dtype;    // of the arrays
  int compute;  // of the loop
  int add;      // 1: adds to what the output holds
};

struct Row {
  const char* name;
  void* loop[N_REQ][N_DTYPE];
};

#define CYNET_LOOPS(Name, Loop, F)                                       \
  {                                                                      \
    #Name, {                                                             \
      {(void*)&Loop<F, float, false>, (void*)&Loop<F, double, false>}, { \
        (void*)&Loop<F, float, true>, (void*)&Loop<F, double, true>      \
      }                                                                  \
    }                                                                    \
  }

#define CYNET_ALL_LOOPS_OF(Loop, F, add) \
  {(void*)&Loop<F, float, add>,          \
   (void*)&Loop<F, double, add>,         \
   nullptr,                              \
   (void*)&Loop<F, uint8_t, add>,        \
   (void*)&Loop<F, int32_t, add>,        \
   (void*)&Loop<F, int8_t, add>,         \
   (void*)&Loop<F, int64_t, add>,        \
   nullptr}
#define CYNET_ALL_LOOPS(Name, Loop, F)                                               \
  {                                                                                  \
    #Name, { CYNET_ALL_LOOPS_OF(Loop, F, false), CYNET_ALL_LOOPS_OF(Loop, F, true) } \
  }

// The loop of functor `name` for `dtype`; bool arrays use the uint8 loop. loop == NULL: no such
// functor.
template <size_t rows>
Kernel find_kernel(const Row (&table)[rows], const char* name, int dtype, int add) {
  Kernel found = {nullptr, dtype, dtype == BOOL ? static_cast<int>(U8) : dtype, add};
  for (size_t i = 0; i < rows; ++i) {
    if (std::strcmp(table[i].name, name) != 0) continue;
    if (!table[i].loop[add][found.compute]) found.compute = dtype == F16 ? F32 : F64;
    found.loop = table[i].loop[add][found.compute];
    break;
  }
  return found;
}

}  // namespace cynet

#endif
