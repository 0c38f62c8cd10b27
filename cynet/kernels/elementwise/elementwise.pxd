"""Runs elementwise loops over whole arrays: contiguous, with one operand repeated, or broadcast."""

from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob

cdef extern from "isa/kernel_table.h" namespace "cynet" nogil:
    struct Kernel:
        void* loop    # NULL if there is no such functor
        int dtype     # dtype of the arrays
        int compute   # dtype of the loop: float16 and some integers are converted around it
        int add       # 1: adds to the output
    struct Space:
        # Operands over one index space; strides in elements, 0 to repeat; operand 0 is the output.
        int ndim
        int operands
        int64_t size
        int64_t shape[8]
        int64_t stride[4][8]

# out = F(x) over n elements
cdef void run_unary(const Kernel* kernel, const void* x, void* out, int64_t n) noexcept nogil
# out = F(a, b); a stride is 1, or 0 for one element that repeats
cdef void run_binary(const Kernel* kernel, const void* a, int sa, const void* b, int sb, void* out,
                     int64_t n) noexcept nogil
# out = g * F(a, b)
cdef void run_grad(const Kernel* kernel, const void* g, int sg, const void* a, int sa,
                   const void* b, int sb, void* out, int64_t n) noexcept nogil
# Makes the collapsed space of operands, aligned at their last axes; the first is the output.
cdef void make_space(Space* space, const TBlob** operands, int n) noexcept nogil
# run_binary and run_grad over a space: operands out, a, b / out, g, a, b
cdef void broadcast_binary(const Kernel* kernel, const Space* space, const void* a, const void* b,
                           void* out) noexcept nogil
cdef void broadcast_grad(const Kernel* kernel, const Space* space, const void* g, const void* a,
                         const void* b, void* out) noexcept nogil
# Conversion of elements to another dtype
cdef void run_cast(int from_dtype, int to_dtype, const void* src, void* dst,
                   int64_t n) noexcept nogil
# Cast and add: `identity` is the unary kernel of that name for the target dtype, adding
cdef void run_cast_add(const Kernel* identity, int from_dtype, const void* src, void* dst,
                       int64_t n) noexcept nogil
