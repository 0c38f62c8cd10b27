"""Loops over integers of 8 bits: conversions, convolutions, pooling, sums."""
