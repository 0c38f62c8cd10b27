"""Bulks: elementwise calls that are noted and run together (mx.engine.bulk)."""
