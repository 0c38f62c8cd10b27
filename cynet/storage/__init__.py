"""Pooled memory of each device: figures, emptying the cache, backends of further devices."""

from .._storage import Backend, empty_cache, has_backend, memory_info, register_backend, stats

__all__ = ["Backend", "empty_cache", "has_backend", "memory_info", "register_backend", "stats"]
