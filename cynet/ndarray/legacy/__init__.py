"""Behaviour of Python's operators and indexing that only mx.nd has, not mx.np."""
