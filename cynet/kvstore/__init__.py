"""mx.kv: parameters shared by devices: their gradients summed, weights updated and handed back."""

from .base import KVStoreBase
from .kvstore import KVStore, create
from .dist import DistKVStore
from .kvstore_server import KVStoreServer

__all__ = ["DistKVStore", "KVStore", "KVStoreBase", "KVStoreServer", "create"]
