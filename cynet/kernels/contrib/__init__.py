"""Loops of single operators: Fourier transforms, count sketches, Khatri-Rao products."""
