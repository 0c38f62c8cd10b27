"""Levels of CPU capability: chosen at import, one namespace of loops each, SIMD types."""
