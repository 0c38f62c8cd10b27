"""ndarray."""
