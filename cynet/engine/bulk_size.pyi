"""How many elementwise calls run together."""

from contextlib import AbstractContextManager

def set_bulk_size(size: int) -> int:
    """Note up to `size` elementwise calls of this thread, then run them; returns the size before."""

class Bulk(AbstractContextManager[None]):
    """What `bulk` gives."""

    def __exit__(self, kind: object, error: object, trace: object) -> None: ...

def bulk(size: int) -> Bulk:
    """Run up to `size` elementwise calls of this thread together, within a ``with`` statement."""
