"""Gradients written as operators, for gradients of gradients."""

from .ways import BY_FORMULA, BY_REWRITING, FLATLY, LINEARLY, is_affine, way_of

__all__ = ["BY_FORMULA", "BY_REWRITING", "FLATLY", "LINEARLY", "is_affine", "way_of"]
