"""The threads of CPU kernels."""

def get_num_threads() -> int:
    """How many threads one CPU kernel may use, an int."""

def set_num_threads(n: int, *, beyond_cores: bool = False) -> None:
    """Let one CPU kernel use at most `n` threads from now on."""
