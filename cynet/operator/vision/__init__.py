"""Operators of computer vision: sampling at points, regions of interest, deformable windows."""

from . import (
    adaptive_avg_pooling,
    bilinear_resize,
    bilinear_sampler,
    correlation,
    deformable_convolution,
    deformable_psroi_pooling,
    grid_generator,
    psroi_pooling,
    roi_align,
    roi_pooling,
    rotated_roi_align,
    spatial_transformer,
)
