"""Types of small.pyx."""

KERNELS: tuple[str, ...]

def is_narrow_chosen(level: str, m: int, n: int, k: int, b_transposed: bool) -> bool:
    """Whether a product is so narrow that reading b in place is faster than packing it."""
