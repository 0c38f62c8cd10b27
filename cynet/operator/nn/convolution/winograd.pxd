"""A convolution of channels-last images by Winograd's products."""

from ....kernels.conv.winograd cimport WinogradShape
from .own cimport OwnConvolution


cdef class WinogradConvolution(OwnConvolution):
    cdef WinogradShape shape
    cdef bint packed  # whether weights come as winograd_pack_w makes them
