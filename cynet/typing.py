"""Types for annotations, of this package and of code that uses it.

No module imports this one when it runs: ``if TYPE_CHECKING:`` stands before every import of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, overload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from .callback import BatchEndParam, FitCallback
    from .context import Context
    from .executor import Executor
    from .initializer import InitDesc, Initializer, Load, Mixed
    from .io import DataBatch, DataDesc, DataIter
    from .io.checkpoint import Checkpoint
    from .kvstore import KVStore, KVStoreBase
    from .lr_scheduler import LRScheduler
    from .metric import EvalMetric
    from .module import BaseModule, Module
    from .module.history import History
    from .monitor import Monitor
    from .ndarray import NDArray
    from .operator import CustomOp, Operator
    from .optimizer import Optimizer
    from .symbol import Symbol

__all__ = [
    "ArrayLike",
    "BaseModule",
    "BatchEndCallback",
    "BatchEndParam",
    "BinaryFunction",
    "Checkpoint",
    "Class",
    "Context",
    "ContextLike",
    "CustomOp",
    "DTypeLike",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "DataShapes",
    "EpochEndCallback",
    "EvalMetric",
    "Executor",
    "FileName",
    "FitCallback",
    "GradReq",
    "History",
    "InitDesc",
    "Initializer",
    "InitializerLike",
    "Inputs",
    "IterData",
    "KVStore",
    "KVStoreLike",
    "Keys",
    "LRScheduler",
    "Logger",
    "MetricLike",
    "Module",
    "Monitor",
    "NDArray",
    "NamedArrays",
    "Names",
    "Number",
    "NumpyArray",
    "Operand",
    "Operator",
    "Optimizer",
    "OptimizerParams",
    "SciPyMatrix",
    "Shape",
    "ShapeLike",
    "State",
    "Symbol",
    "Values",
]

Shape: TypeAlias = "tuple[int, ...]"
ShapeLike: TypeAlias = "int | Sequence[int]"
DTypeLike: TypeAlias = "str | type | np.dtype[Any]"
ContextLike: TypeAlias = "Context | str"
Number: TypeAlias = "float | np.number[Any] | np.bool_"
NumpyArray: TypeAlias = "npt.NDArray[Any]"
Operand: TypeAlias = "NDArray | Number"  # an operand of arithmetic
ArrayLike: TypeAlias = "NDArray | npt.ArrayLike"
NamedArrays: TypeAlias = "dict[str, NDArray]"
Names: TypeAlias = "str | Sequence[str]"  # one name or several
FileName: TypeAlias = "str | PathLike[str]"
Logger: TypeAlias = Any  # a logging.Logger, the module logging, or an object with info and warning

GradReq: TypeAlias = "str | Sequence[str] | Mapping[str, str]"  # grad_req
DataShapes: TypeAlias = "Sequence[DataDesc | tuple[str, Sequence[int]]]"
MetricLike: TypeAlias = "EvalMetric | str | Callable[..., Any] | list[Any] | dict[str, Any]"
InitializerLike: TypeAlias = "Initializer | Mixed | Load | str"
KVStoreLike: TypeAlias = "KVStoreBase | str"
OptimizerParams: TypeAlias = "Mapping[str, Any] | Iterable[tuple[str, Any]]"
_IterArray: TypeAlias = "ArrayLike | SciPyMatrix"  # data of an iterator
IterData: TypeAlias = "_IterArray | Sequence[_IterArray] | Mapping[str, _IterArray]"
State: TypeAlias = Any  # state of an optimizer: None, an NDArray, or a tuple of states
BatchEndCallback: TypeAlias = (
    "Callable[[BatchEndParam], Any] | Sequence[Callable[[BatchEndParam], Any]]"
)
_EpochEnd: TypeAlias = "Callable[[int, Symbol, NamedArrays, NamedArrays], Any]"  # one callback
EpochEndCallback: TypeAlias = "_EpochEnd | Sequence[_EpochEnd]"

Keys: TypeAlias = "str | int | Sequence[str] | Sequence[int]"  # keys of a KVStore
Values: TypeAlias = "NDArray | Sequence[NDArray] | Sequence[Sequence[NDArray]]"  # arrays for Keys
Inputs: TypeAlias = "Sequence[ArrayLike] | Mapping[str, ArrayLike]"  # inputs of a symbol under test
Class = TypeVar("Class", bound=type)  # class that a decorator returns


class SciPyMatrix(Protocol):
    """A sparse matrix of ``scipy.sparse``, in any format."""

    def tocsr(self) -> Any: ...


class BinaryFunction(Protocol):
    """A function of two operands, such as ``mx.nd.add``."""

    @overload
    def __call__(self, lhs: NDArray, rhs: Operand) -> NDArray: ...
    @overload
    def __call__(self, lhs: Number, rhs: NDArray) -> NDArray: ...
    @overload
    def __call__(self, lhs: float, rhs: float) -> float: ...
