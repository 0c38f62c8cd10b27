"""The steps of one direction of one recurrent layer, forward and backward (recurrent.h).

The sums over the inputs are the caller's: forward finds them in `gates`, backward leaves their
gradients in `dgates`. Layouts of the arrays stand beside the fields in recurrent.h.
"""

from libc.stdint cimport int64_t

cdef extern from "rnn/recurrent.h" namespace "cynet" nogil:
    ctypedef void (*Dgemm)(bint, bint, int64_t, int64_t, int64_t, double, const double*, int64_t,
                           const double*, int64_t, double, double*, int64_t) noexcept

    enum RecurrentMode:
        RNN_RELU
        RNN_TANH
        LSTM
        GRU

    struct PackedProducts:
        pass

    struct Recurrence:
        int64_t steps, batch, hidden, state
        int mode          # a RecurrentMode
        bint wide         # float64
        bint reverse
        const int64_t* lengths
        bint clip, clip_nan
        double clip_min, clip_max
        Dgemm gemm        # set by recurrent.pyx
        const void* weight
        const void* packed  # both set by pack_recurrence
        const void* projection
        void* full
        void* dfull
        void* dprojected
        const PackedProducts* products
        void* gates
        void* h
        void* c
        void* n
        const void* bias_n
        void* y
        int64_t y_row
        bint y_add
        const void* dy
        void* dh
        void* dc
        void* dgates
        void* dgates_h
        bint wants_dh

# The number of elements of the packed weights, which must be aligned to 64 bytes.
cdef int64_t recurrent_packed_size(Recurrence* r) noexcept nogil
# Packs the recurrent weights and the projection into `to`, for forward or for backward.
cdef void pack_recurrence(Recurrence* r, bint backward, void* to) noexcept nogil
cdef void recurrent_forward(Recurrence* r) noexcept nogil
cdef void recurrent_backward(Recurrence* r) noexcept nogil
# Called after recurrent_backward: true if the gradient of the recurrent weights can skip the first
# step, as its initial state is zero.
cdef bint is_first_gradient_zero(const Recurrence* r) noexcept nogil
