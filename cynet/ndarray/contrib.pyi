# Written by scripts/make_stubs.py; do not edit.

from collections.abc import Sequence
from ..base.typing import ContextLike
from .ndarray import NDArray

def arange_like(data: NDArray, start: float = 0.0, step: float = 1.0, repeat: int = 1, ctx: ContextLike = '', axis: int | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
    """Values from `start` by `step`, as many as the input or one of its axes has elements."""
