"""Features that mx.nd alone has behind Python's operators and indexing."""
