"""Types of table.pyx."""

def kernels() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """The names in the table: each kernel's parameters, and the dtypes that it has a form for."""

def uses_workspace(name: str) -> bool:
    """Whether a kernel asks for temporary space."""
