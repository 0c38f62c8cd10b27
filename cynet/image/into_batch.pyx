# distutils: extra_compile_args = -O3
"""Copies of an image into a batch's memory: mirrored, with channels first, normalized."""

from libc.stdint cimport int8_t, int64_t, uint8_t

from ..kernels.isa.dispatch cimport cpu_level

import numpy as np

from ..base.errors import ArgumentError, ShapeError

cdef extern from "image/into_batch.h" namespace "cynet" nogil:
    void write_normalized(int level, const uint8_t* source, int64_t stride, int64_t height,
                          int64_t width, int channels, bint mirrored, const float* mean,
                          const float* factor, float* out) noexcept
    void clip_image(int level, const uint8_t* source, int64_t stride, int64_t height,
                    int64_t width, int channels, bint mirrored, uint8_t maximum,
                    uint8_t* out) noexcept


cdef int check_image(const uint8_t[:, :, :] image, int64_t channels, int64_t height,
                     int64_t width) except -1:
    """Check an image's shape, and that the pixels of a row are contiguous in either direction."""
    cdef int64_t step = image.strides[1]
    if image.shape[0] != height or image.shape[1] != width or image.shape[2] != channels:
        raise ShapeError(
            f"an image {(image.shape[0], image.shape[1], image.shape[2])} does not fill"
            f" {(channels, height, width)} of a batch"
        )
    if channels not in (1, 3, 4):
        raise ShapeError(f"an image has 1, 3 or 4 channels, not {channels}")
    if (channels > 1 and image.strides[2] != 1) or (
            width > 1 and step not in (channels, -channels)):
        raise ShapeError("an image whose pixels are not side by side")
    return 0


cdef inline const uint8_t* leftmost_byte(const uint8_t[:, :, :] image,
                                         bint* mirrored) noexcept nogil:
    """Return the first byte of a row; flip `mirrored` if the pixels run from right to left."""
    if image.shape[1] > 1 and image.strides[1] < 0:
        mirrored[0] = not mirrored[0]
        return &image[0, image.shape[1] - 1, 0]
    return &image[0, 0, 0]


def writable_view(array):
    """Return a writable NumPy view of an NDArray (N, C, H, W) that nothing else uses yet."""
    cdef float[:, :, :, ::1] floats
    cdef uint8_t[:, :, :, ::1] bytes_
    cdef int8_t[:, :, :, ::1] signed
    if array.dtype == np.float32:
        floats = array
        return np.asarray(floats)
    if array.dtype == np.uint8:
        bytes_ = array
        return np.asarray(bytes_)
    if array.dtype == np.int8:
        signed = array
        return np.asarray(signed)
    raise ArgumentError(f"a batch of images is float32, uint8 or int8, not {array.dtype}")


def normalize_into(const uint8_t[:, :, :] image, bint mirrored, const float[::1] mean,
                   const float[::1] factor, float[:, :, ::1] out):
    """Compute ``out = (image - mean) * factor`` without the GIL.

    image (array of uint8): (H, W, C) with 1, 3 or 4 channels; its rows may lie apart, and from
        right to left.
    mirrored: bool
    mean, factor (array of float32): One for each channel.
    out (array of float32): (C, H, W), contiguous.
    """
    cdef bint turned = mirrored
    cdef const uint8_t* first
    check_image(image, out.shape[0], out.shape[1], out.shape[2])
    if mean.shape[0] != out.shape[0] or factor.shape[0] != out.shape[0]:
        raise ShapeError(f"mean and factor have one number for each of {out.shape[0]} channels")
    if out.shape[1] == 0 or out.shape[2] == 0:
        return
    first = leftmost_byte(image, &turned)
    with nogil:
        write_normalized(cpu_level(), first, image.strides[0], out.shape[1],
                         out.shape[2], <int>out.shape[0], turned, &mean[0], &factor[0],
                         &out[0, 0, 0])


def clip_pixels(const uint8_t[:, :, :] image, bint mirrored, uint8_t maximum,
                uint8_t[:, :, ::1] out):
    """Compute ``out = minimum(image, maximum)`` without the GIL; parameters of `normalize_into`."""
    cdef bint turned = mirrored
    cdef const uint8_t* first
    check_image(image, out.shape[0], out.shape[1], out.shape[2])
    if out.shape[1] == 0 or out.shape[2] == 0:
        return
    first = leftmost_byte(image, &turned)
    with nogil:
        clip_image(cpu_level(), first, image.strides[0], out.shape[1],
                   out.shape[2], <int>out.shape[0], turned, maximum, &out[0, 0, 0])
