// A kernel as operators store it: its loop, the types around it, and the axes it runs over. The
// loops themselves are in elementwise.h, so that code that stores a kernel does not compile them.
#ifndef CYNET_KERNEL_H
#define CYNET_KERNEL_H

#include <cstdint>

// A pragma for loops whose operands are disjoint or identical: no loop-carried dependence.
#if defined(__clang__)
#define CYNET_IVDEP _Pragma("clang loop vectorize(assume_safety)")  // vectorize
#elif defined(__GNUC__)
#define CYNET_IVDEP _Pragma("GCC ivdep")  // iterations are independent
#else
#define CYNET_IVDEP  // loop iterations are independent
#endif

// For a function that is slower when inlined, that must be compiled for the baseline, or whose code
// would else be repeated at each call.
#if defined(__GNUC__)
#define CYNET_NOINLINE __attribute__((noinline))
#else
#define CYNET_NOINLINE
#endif

namespace cynet {

// dtypes as in _typedefs.pxd. Tables by dtype have N_DTYPE rows; `dtype_index` returns the row:
// bfloat16 comes last.
enum { F32, F64, F16, U8, I32, I8, I64, BOOL, BF16 = 12 };
enum { N_DTYPE = 9 };
enum { N_REQ = 2 };  // write, add

inline int dtype_index(int dtype) { return dtype == BF16 ? 8 : dtype; }

inline int64_t element_size(int dtype) {
  switch (dtype) {
    case F64:
    case I64: return 8;
    case F32:
    case I32: return 4;
    case F16:
    case BF16: return 2;
    default: return 1;
  }
}

struct Kernel {  // a loop and its dtypes
  void* loop;   // UnaryLoop, BinaryLoop or GradLoop; NULL: no loop of the functor for this dtype
  int dtype;    // dtype of the arrays
  int compute;  // dtype in which the loop computes
  int add;      // 1: adds to the output
};

enum { MAX_OPERANDS = 4, MAX_AXES = 8 };

// Operands over one index space; strides in elements, 0 where an operand repeats. The output is
// operand 0 and contiguous.
struct Space {  // index space of broadcast operands
  int ndim;
  int operands;
  int64_t size;
  int64_t shape[MAX_AXES];
  int64_t stride[MAX_OPERANDS][MAX_AXES];
};

}  // namespace cynet

#endif
