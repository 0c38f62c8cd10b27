"""Losses: operators that make their own gradient."""

from . import (
    ctc_loss,
    hawkesll,
    kl_sparse_reg,
    make_loss,
    regression_output,
    softmax_cross_entropy,
    softmax_output,
    svm_output,
)
