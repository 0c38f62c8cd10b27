"""Batch, layer, instance and local response normalization."""
