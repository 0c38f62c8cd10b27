"""mx.distributed: the processes that train together."""

from .world import World, is_first, is_joined, world

__all__ = ["World", "is_first", "is_joined", "world"]
