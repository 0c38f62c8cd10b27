"""Linear algebra: operators on the matrices in the last two axes."""

from . import decompositions, factorizations, gemm, triangular
