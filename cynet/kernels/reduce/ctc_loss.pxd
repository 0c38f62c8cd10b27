"""Connectionist temporal classification, for float and double."""

from cython cimport floating
from libc.stdint cimport int64_t

cdef extern from "reduce/ctc_loss.h" namespace "cynet" nogil:
    # Scores are (steps, batch, classes); labels (batch, most), of which the first lengths[b] count,
    # each a class but the blank; times[b] <= steps.
    struct CTCShape:
        int64_t steps, batch, classes, most, blank
        const int64_t* labels
        const int64_t* lengths
        const int64_t* times

# Elements of scratch that `threads` threads need.
cdef int64_t ctc_loss_space(const CTCShape* shape, bint backward, int threads) noexcept nogil
# How many threads the work is worth.
cdef int ctc_loss_threads(const CTCShape* shape) noexcept nogil
# y[b] (+)= - log of the probability, under softmax(x), that the labels are what is left of a sample
# when repeated classes are merged and blanks taken out; 0 where its steps are too few for them.
cdef void ctc_loss_forward(const CTCShape* shape, const floating* x, floating* y, bint add,
                           floating* space, int threads) noexcept nogil
# dx (+)= its gradient, zeros behind times[b]
cdef void ctc_loss_backward(const CTCShape* shape, const floating* dy, const floating* x,
                            floating* dx, bint add, floating* space, int threads) noexcept nogil
