"""Types of arena_packing.pyx."""

def pack_values(sizes: list[int], firsts: list[int], lasts: list[int]) -> tuple[int, list[int]]:
    """Bytes and offsets of values that are placed in the order given."""
