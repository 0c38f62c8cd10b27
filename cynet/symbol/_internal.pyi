# Written by scripts/make_stubs.py; do not edit.

from collections.abc import Callable
from .symbol import Symbol

def __getattr__(name: str) -> Callable[..., Symbol]: ...
