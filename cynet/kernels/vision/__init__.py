"""Loops of operators of computer vision: sampling, regions of interest, deformable windows."""
