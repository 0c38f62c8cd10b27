"""Pooled memory of each device: statistics, empty_cache, and backends of other device types."""

from .._storage import Backend, empty_cache, has_backend, memory_info, register_backend, stats

__all__ = ["Backend", "empty_cache", "has_backend", "memory_info", "register_backend", "stats"]
