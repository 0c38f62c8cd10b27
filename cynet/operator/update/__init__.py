"""update."""
