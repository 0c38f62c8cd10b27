"""Gradients written as operators, for gradients of gradients."""

from .ways import BY_FORMULA, DECOMPOSED, PIECEWISE_LINEAR, LINEAR, is_affine, second_order_rule

__all__ = [
    "BY_FORMULA",
    "DECOMPOSED",
    "LINEAR",
    "PIECEWISE_LINEAR",
    "is_affine",
    "second_order_rule",
]
