"""NDArray core: what Python code takes from it."""

class NDArrayBase:
    @property
    def shape(self) -> tuple[int, ...]:
        """Tuple of int."""

MAX_ELEMENTS: int

def waitall() -> None:
    """Wait until everything pushed to the engine is done; raise what failed before."""
