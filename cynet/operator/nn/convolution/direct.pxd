"""Convolution of small channels-last images: what others need of its sizes."""

from ....kernels.gemm.small cimport ConvWindow


# The sizes of a ConvDesc with two spatial axes.
cdef ConvWindow shape_of(desc) except *
