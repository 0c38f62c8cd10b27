"""mx.kv: parameters shared by devices: gradients are summed, weights updated and copied back."""

from .base import KVStoreBase
from .kvstore import KVStore, create
from .dist import DistKVStore
from .kvstore_server import KVStoreServer
from . import common_parameters  # last: it puts text into docstrings

__all__ = ["DistKVStore", "KVStore", "KVStoreBase", "KVStoreServer", "create"]
