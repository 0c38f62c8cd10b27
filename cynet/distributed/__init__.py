"""mx.distributed: the processes that train together."""

from .groups import Group, group
from .world import World, is_first, is_joined, world

__all__ = ["Group", "World", "group", "is_first", "is_joined", "world"]
