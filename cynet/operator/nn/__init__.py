"""Layers of neural networks."""

from . import (
    activation,
    batch_norm,
    batch_norm_variants,
    convolution,
    crop,
    dropout,
    embedding,
    flatten,
    fully_connected,
    group_norm,
    im2col,
    instance_norm,
    interleaved_attention,
    l2_normalization,
    layer_norm,
    leaky_relu,
    lrn,
    pooling,
    softmax,
    upsampling,
)
