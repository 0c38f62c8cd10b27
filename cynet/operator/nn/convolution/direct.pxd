"""Convolution of small channels-last images: its sizes, for other modules."""

from ....kernels.gemm.small cimport ConvWindow


# The sizes of a ConvDesc with two spatial axes.
cdef ConvWindow conv_window_of(desc) except *  # sizes for the kernels
