"""Convolution of small channels-last images: what others need of its sizes."""

from ....kernels.gemm.small cimport WindowShape


# Of data and out (N, C, H, W) and the window of `prop`.
cdef WindowShape shape_of(prop, data, out) except *
# Whether the gradient of data, of few channels, is made by window_spread, by `shape`, which is
# filled in.
cdef bint spreads_data(prop, data, out, WindowShape* shape) except *
