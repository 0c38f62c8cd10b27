# Written by scripts/make_stubs.py; do not edit.

from ..base.typing import ContextLike
from .symbol import Symbol

def arange_like(data: Symbol | None = None, start: float = 0.0, step: float = 1.0, repeat: int = 1, ctx: ContextLike = '', axis: int | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
    """Values from `start` by `step`, as many as the input or one of its axes has elements."""
