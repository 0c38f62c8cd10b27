"""Examples of the operators, as their docstrings show them."""

from .files import example_of
