"""Types of dispatch.pyx."""

from ...base.errors import ArgumentError

class MissingLoop(ArgumentError):
    """Raised if a table has no loop for a dtype."""

    dtype: str
    def __init__(self, loop: str, dtype: str) -> None: ...

def cpu_capabilities() -> tuple[str, ...]:
    """The levels that this build and this machine have, lowest first."""

def cpu_capability() -> str:
    """The level in use."""

def level_number(name: str) -> int:
    """The number of a level of this architecture, by its name."""

def parse_level(name: str, highest: int) -> int:
    """The level of a value of ``CYNET_CPU_CAPABILITY``."""
