"""Random streams and temporary space: what Python code takes from them."""

from .base.typing import ContextLike

def seed_device(seed: int, ctx: ContextLike = "all") -> None:
    """Seed the random numbers of a device, or of all."""
