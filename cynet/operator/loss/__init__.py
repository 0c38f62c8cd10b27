"""Losses: operators that make their own gradient."""

from . import softmax_output
