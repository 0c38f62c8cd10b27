"""Pooled memory of each device."""

from collections.abc import Callable

from .context import Context

class Backend:
    """What a kind of device supplies so that its memory can be pooled: four methods to define."""

    def raw_alloc(self, nbytes: int, dev_id: int) -> int:
        """Address of fresh memory, 64-byte aligned."""
    def raw_free(self, address: int, nbytes: int, dev_id: int) -> None:
        """Free memory that raw_alloc returned."""
    def memory_info(self, dev_id: int) -> tuple[int, int]:
        """(free, total) bytes of the device."""
    def synchronize(self, dev_id: int) -> None:
        """Return when the device has done all it was given."""

def stats(ctx: Context) -> dict[str, int]:
    """Figures of a device's pool: used, cached and peak bytes, hits and misses."""

def memory_info(ctx: Context) -> tuple[int, int]:
    """(free, total) bytes of the device's memory."""

def empty_cache(ctx: Context) -> None:
    """Give everything a device's pool keeps for reuse back to the device."""

def call_on_empty_cache(release: Callable[[], object]) -> None:
    """Have `release()` called whenever empty_cache is, on the calling thread."""

def register_backend(device_type: str, backend: Backend) -> None:
    """Let `backend` supply the memory of all devices of a type."""

def backend_of(device_type: str) -> Backend | None:
    """The Backend that supplies the memory of a device type; None where none is registered."""

def has_backend(device_type: str) -> bool:
    """True when memory of that device type can be had."""
