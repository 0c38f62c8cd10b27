"""Operators whose meaning is one of storage types, and which names MXNet has in `sparse`."""

from . import cast_storage, retain
