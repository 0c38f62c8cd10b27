"""What the operators of indexing.pyx share with their definitions."""

MODES = ("clip", "wrap", "raise")  # the numbers of kernels/movement/index.pxd
