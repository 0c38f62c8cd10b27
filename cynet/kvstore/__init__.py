"""mx.kv: parameters shared by devices: their gradients summed, weights updated and handed back."""

from .base import KVStoreBase
from .kvstore import KVStore, create

__all__ = ["KVStore", "KVStoreBase", "create"]
