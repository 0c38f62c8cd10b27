"""Pooling of row-major images."""
