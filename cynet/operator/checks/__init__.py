"""Checks of shapes and dtypes."""
