"""NDArray core: what Python code takes from it."""

class NDArrayBase: ...

MAX_ELEMENTS: int

def waitall() -> None:
    """Wait until everything pushed to the engine is done; raise what failed before."""
