"""Operators that users define, in Python, Cython and C."""
