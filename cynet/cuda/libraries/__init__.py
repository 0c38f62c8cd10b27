"""NVIDIA's libraries: their paths, loading, calls."""
