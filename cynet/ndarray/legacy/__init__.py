"""What mx.nd has of its own behind Python's operators and indexing."""
