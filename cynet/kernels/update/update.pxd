"""Loops of the optimizers' update rules, picked by name and dtype when an operator is made."""

from libc.stdint cimport int64_t

cdef extern from "update/update_arrays.h" namespace "cynet" nogil:
    const int64_t UPDATE_BLOCK  # elements that a loop takes together
    struct UpdateParams:
        double lr
        double wd
        double rescale
        double clip    # negative: none
        double a       # a to e: of the rule, named in update.h
        double b
        double c
        double d
        double e
    struct UpdateArrays:
        const void* weight
        const void* grad
        void* out       # may be the weight
        void* state[4]  # of the rule; a float32 master of the weight comes last
    ctypedef void (*UpdateLoop)(int threads, const UpdateParams& params, const UpdateArrays& arrays,
                                int64_t n) noexcept
    # Whether a weight with gradient 0 stays as it is with these numbers, if the rule allows it.
    bint leaves_alone(const UpdateParams& params)

# Whether the rule leaves weights alone whose gradient is 0.
cdef bint update_rests(const char* rule) noexcept nogil

# Raises MissingLoop when there is no such rule for the weight's dtype.
cdef UpdateLoop find_update(const char* rule, int dtype, bint master, bint add) except NULL
cdef void run_update(UpdateLoop loop, const UpdateParams* params, const UpdateArrays* arrays,
                     int64_t n) noexcept nogil
