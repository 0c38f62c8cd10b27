"""Loops over the pixels of images."""
