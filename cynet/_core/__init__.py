"""Helpers of operators: they copy arrays and find the nonzero rows of a gradient."""
