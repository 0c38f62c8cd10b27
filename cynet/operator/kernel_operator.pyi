"""Types of kernel_operator.pyx."""

from collections.abc import Mapping
from typing import Any

from ._base import Operator
from .kernel_property import KernelProperty

class KernelOperator(Operator):
    """Runs the kernels that a declaration names."""

    def __init__(
        self, prop: KernelProperty, dtype: str, params: Mapping[str, Any], work: int | None = None
    ) -> None: ...
