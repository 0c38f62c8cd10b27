"""Loops of the optimizers' update rules; `find_update` of table.pxd finds one by name and dtype."""

from libc.stdint cimport int64_t

from ..parallel cimport threads_for

cdef extern from "update/update_arrays.h" namespace "cynet" nogil:
    const int64_t UPDATE_BLOCK  # elements that a loop takes together
    struct UpdateParams:
        double lr
        double wd
        double rescale
        double clip    # negative: no clipping
        double a       # a to f: parameters of the rule, see update.h
        double b
        double c
        double d
        double e
        double f
    struct UpdateArrays:
        const void* weight
        const void* grad
        void* out       # may be the weight
        void* state[4]  # states of the rule; a float32 master of the weight comes last
    ctypedef void (*UpdateLoop)(int threads, const UpdateParams& params, const UpdateArrays& arrays,
                                int64_t n) noexcept
    # True if these parameters do not change a weight with gradient 0, if the rule allows it.
    bint can_skip_zero_gradients(const UpdateParams& params)

cdef inline void run_update(UpdateLoop loop, const UpdateParams* params, const UpdateArrays* arrays,
                            int64_t n) noexcept nogil:
    loop(threads_for(n), params[0], arrays[0], n)
