"""The passes over a graph that may be left out, one a file."""
