"""The gradient of cross-entropy at the output of a softmax."""

from cython cimport floating
from libc.stdint cimport int64_t

cdef struct SoftmaxLoss:
    int64_t outer, n, inner  # classes along the middle axis
    int64_t labels           # how many labels there are in all
    bint use_ignore
    int ignore_label
    int normalization        # 0: by inner alone, 1: by labels, 2: by those not ignore_label
    double scale
    double smooth            # the part of 1 that all other classes share

# dx (+)= scale / normalization * (y - onehot(label)) (* dy); a label outside [0, n) marks no class
cdef void softmax_loss_gradient(const SoftmaxLoss* loss, const floating* y, const floating* label,
                                const floating* dy, floating* dx, bint add) noexcept nogil
# dx (+)= scale * (y - label) (* dy): of labels that are probabilities, and of squared errors
cdef void scaled_difference(const floating* y, const floating* label, const floating* dy,
                            double scale, floating* dx, int64_t size, bint add) noexcept nogil
