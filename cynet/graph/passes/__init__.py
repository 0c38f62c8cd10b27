"""The optional passes over a graph, one per file."""
