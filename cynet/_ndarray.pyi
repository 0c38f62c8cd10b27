"""NDArray core: what Python code takes from it."""

class NDArrayBase: ...

def waitall() -> None:
    """Wait until everything pushed to the engine is done; raise what failed before."""
