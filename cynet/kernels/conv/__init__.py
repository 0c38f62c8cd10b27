"""Convolutions: im2col, implicit gemm, Winograd, scattered products, oneDNN."""
