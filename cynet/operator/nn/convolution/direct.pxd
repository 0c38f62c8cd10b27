"""Convolution of small channels-last images: what others need of its sizes."""

from ....kernels.gemm.small cimport WindowShape


# The sizes of a ConvDesc with two spatial axes.
cdef WindowShape shape_of(desc) except *
