"""Convolution and Deconvolution: one file for each way to compute them."""

from . import convolution, deconvolution
