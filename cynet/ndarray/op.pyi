# Written by scripts/make_stubs.py; do not edit.

from collections.abc import Callable
from .ndarray import NDArray

from . import *

def __getattr__(name: str) -> Callable[..., NDArray]: ...
