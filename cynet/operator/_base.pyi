"""Operators and their registry: what Python code takes from them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..engine.python_tasks import PyRunContext
from ..context import Context
from ..registry import Registry
from ..typing import DTypeLike, NumpyArray, Shape, ShapeLike
from .property import OperatorProperty
from .registered import Registered

OPERATORS: Registry

class Operator:
    """The computation of one operator for fixed shapes and types.

    A subclass defines ``forward(self, ctx, in_data, req, out_data, aux_states)`` and, for a
    gradient, ``backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states)``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class Blob:
    """A tensor the engine hands to an operator: ``np.asarray(blob)`` is a writable view of it."""

    @property
    def shape(self) -> Shape:
        """Tuple of int."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
    @property
    def ctx(self) -> Context:
        """The device the memory is on."""
    @property
    def data(self) -> memoryview:
        """A memoryview of the memory."""
    @property
    def data_ptr(self) -> int:
        """Address of the first element, an int."""
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class PyResource:
    """A resource an operator requested: get_space or get_random."""

    def get_space(self, shape: ShapeLike, dtype: DTypeLike = "float32") -> NumpyArray:
        """Uninitialised temporary memory as a NumPy array."""
    def get_random(self) -> np.random.Generator:
        """A generator over this run's stream of random numbers."""

class PyOpContext:
    """The `ctx` a Python operator gets."""

    is_train: bool
    run_ctx: PyRunContext
    requested: list[PyResource]

class OpEntry:
    """One registered operator: its canonical name, aliases and OperatorProperty subclass."""

    name: str
    prop: type[OperatorProperty]
    aliases: tuple[str, ...]
    doc: str
    def __init__(
        self, name: str, prop: type[Registered], aliases: tuple[str, ...] = (), doc: str = ""
    ) -> None: ...

def register_operator(name: str, prop: type[Registered], aliases: Sequence[str] = ()) -> OpEntry:
    """Make an OperatorProperty subclass an operator."""

def get_operator(name: str) -> OpEntry:
    """The operator registered as `name`."""
