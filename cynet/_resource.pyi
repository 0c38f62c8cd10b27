"""Random streams and temporary space: what Python code takes from them."""

from .typing import ContextLike

def seed_device(seed: int, ctx: ContextLike = "all") -> None:
    """Seed the random numbers of a device, or of all."""

def random_state() -> tuple[int, list[tuple[int, int, int, int]]]:
    """Where the generators of all devices are."""

def set_random_state(state: object) -> None:
    """Put them there again."""
