"""Reductions along axes, softmax."""
