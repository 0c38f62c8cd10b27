"""Convolution of small channels-last images: what others need of its sizes."""

from ...kernels.products cimport WindowShape


# Of data and out (N, C, H, W) and the window of `prop`.
cdef WindowShape shape_of(prop, data, out) except *
