"""Linear algebra on stacks of matrices: factorizations, solving, determinants, triangles."""
