"""Operators that convert storage types or select rows, and the names in MXNet's `sparse`."""

from . import cast_storage, retain
