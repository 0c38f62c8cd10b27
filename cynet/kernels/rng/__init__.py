"""Counter-based random numbers and distributions."""
