"""Bulks: elementwise calls that are collected and run together (mx.engine.bulk)."""
