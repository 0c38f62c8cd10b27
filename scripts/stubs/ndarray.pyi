from collections.abc import Callable, Iterator, Sequence
from types import EllipsisType
from typing import Any, Literal, SupportsIndex, TypeAlias, overload

import numpy as np

from ..autograd.hooks import HookHandle
from ..context import Context
from ..typing import ContextLike, DTypeLike, NumpyArray, Operand, Shape, ShapeLike
from .sparse.arrays import CSRNDArray, RowSparseNDArray

_Index: TypeAlias = SupportsIndex | slice | EllipsisType | NDArray | NumpyArray | Sequence[int]
_Key: TypeAlias = _Index | tuple[_Index | None, ...] | None

class _Gradient(NDArray):
    """Of rows or dense: which, a type checker cannot follow, so it has the names of both."""

    @property
    def data(self) -> NDArray: ...
    @property
    def indices(self) -> NDArray: ...

class NDArray:
    """An array on a device; its operations are run by the engine, asynchronously."""

    @property
    def shape(self) -> Shape:
        """Tuple of int."""
    @property
    def size(self) -> int:
        """Number of elements."""
    @property
    def ndim(self) -> int:
        """Number of axes."""
    @property
    def dtype(self) -> type[np.generic]:
        """The NumPy scalar type, e.g. ``numpy.float32``."""
    @property
    def dtype_flag(self) -> int:
        """The type flag of ``.params`` files, an int."""
    @property
    def context(self) -> Context:
        """The device the array is on."""
    @property
    def ctx(self) -> Context:
        """The device the array is on."""
    @property
    def stype(self) -> str:
        """Storage type: always ``'default'`` (dense)."""
    @property
    def T(self) -> NDArray:
        """The array with its axes reversed (a copy, as in MXNet)."""
    @property
    def data_ptr(self) -> int:
        """Address of the first element, an int."""

    # --- values -----------------------------------------------------------------------------------
    def wait_to_read(self) -> None:
        """Wait until everything that writes this array is done; raise what failed on the way."""
    def wait_to_write(self) -> None:
        """Wait until everything that reads or writes this array is done."""
    def asnumpy(self) -> NumpyArray:
        """A copy as a NumPy array, of bfloat16 one of float32; waits for pending writes."""
    def host_copy(self) -> NumpyArray:
        """`asnumpy`, but for bfloat16: an array of its dtype, which holds the bits."""
    def asscalar(self) -> Any:
        """The one element, as a NumPy scalar of the array's dtype."""
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NumpyArray: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def to_dlpack_for_read(self) -> Any:
        """A DLPack capsule over the array's memory, after waiting for it."""
    def to_dlpack_for_write(self) -> Any:
        """A DLPack capsule over the array's memory, after waiting for it."""
    def __format__(self, spec: str, /) -> str: ...
    def __bool__(self) -> bool: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __hash__(self) -> int: ...

    # --- copies -----------------------------------------------------------------------------------
    def copy(self) -> NDArray:
        """A copy on the same device."""
    def copyto(self, other: NDArray | Context) -> NDArray:
        """Copy the values into an array of the same shape, or to a new array on a device."""
    def as_in_context(self, context: ContextLike) -> NDArray:
        """The array itself when it is on `context`, else a copy there."""
    def as_in_ctx(self, context: ContextLike) -> NDArray:
        """The array itself when it is on `context`, else a copy there."""
    def astype(self, dtype: DTypeLike, copy: bool = True) -> NDArray:
        """A copy with another element type; without `copy` the array itself if it has that type."""
    @overload
    def tostype(self, stype: Literal["csr"]) -> CSRNDArray: ...
    @overload
    def tostype(self, stype: Literal["row_sparse"]) -> RowSparseNDArray: ...
    @overload
    def tostype(self, stype: str) -> NDArray:
        """The array in another storage type; itself when it has that."""
    def as_np_ndarray(self) -> Any:
        """The same memory, and gradient, as an array of ``mx.np``."""
    def as_nd_ndarray(self) -> NDArray:
        """The array itself."""
    def attach_grad(self, grad_req: str = ..., stype: str | None = ...) -> None: ...
    def register_hook(self, hook: Callable[[NDArray], NDArray | None]) -> HookHandle: ...
    @property
    def grad(self) -> _Gradient | Any: ...  # None without attach_grad
    def backward(
        self, out_grad: NDArray | None = ..., retain_graph: bool = ..., train_mode: bool = ...
    ) -> None: ...
    def detach(self) -> NDArray:
        """The same memory as another array, which no gradient goes through."""

    # --- shapes -----------------------------------------------------------------------------------
    def reshape(self, *shape: ShapeLike, reverse: bool = False, **kwargs: ShapeLike) -> NDArray:
        """A view of the same memory under another shape; 0, -1, -2, -3 and -4 are MXNet's codes."""
    def shares_memory(self, other: NDArray) -> bool:
        """True when both are views of one piece of memory and have a byte in common."""
    def transpose(self, *order: ShapeLike | None, axes: ShapeLike | None = None) -> NDArray:
        """A copy with the axes in the given order, or reversed without one."""
    def expand_dims(self, axis: int, inplace: bool = False) -> NDArray:
        """A copy with an axis of length 1 at place `axis`; with `inplace` a view."""
    def slice_assign(
        self,
        rhs: Any,
        begin: Sequence[int | None],
        end: Sequence[int | None],
        step: Sequence[int | None] | None,
    ) -> NDArray:
        """Put `rhs` into the part of this array that ``mx.nd.slice`` takes; this array."""
    def slice_assign_scalar(
        self,
        value: float,
        begin: Sequence[int | None],
        end: Sequence[int | None],
        step: Sequence[int | None] | None,
    ) -> NDArray:
        """Put a number into the part of this array that ``mx.nd.slice`` takes; this array."""
    def squeeze(self, axis: ShapeLike | None = None, inplace: bool = False) -> NDArray:
        """A copy without its axes of length 1, or without those of `axis`; or a view."""
    def flatten(self, inplace: bool = False) -> NDArray:
        """A copy with two axes, the first one and all others joined; with `inplace` a view."""
    # --- as in NumPy ------------------------------------------------------------------------------
    def item(self, *index: int) -> float: ...
    def tolist(self) -> list[Any]: ...
    def var(
        self, axis: int | Sequence[int] | None = ..., keepdims: bool = ..., ddof: float = ...
    ) -> NDArray: ...
    def std(
        self, axis: int | Sequence[int] | None = ..., keepdims: bool = ..., ddof: float = ...
    ) -> NDArray: ...
    def any(self, axis: int | Sequence[int] | None = ..., keepdims: bool = ...) -> NDArray: ...
    def all(self, axis: int | Sequence[int] | None = ..., keepdims: bool = ...) -> NDArray: ...
    def cumsum(self, axis: int | None = ..., dtype: DTypeLike | None = ...) -> NDArray: ...
    def __matmul__(self, other: NDArray) -> NDArray: ...
    def __rmatmul__(self, other: object) -> NDArray: ...
    def tril(self, k: int = ...) -> NDArray: ...
    def triu(self, k: int = ...) -> NDArray: ...
    def nonzero(self) -> tuple[NDArray, ...]: ...
    def unique(
        self, return_index: bool = ..., return_inverse: bool = ..., return_counts: bool = ...
    ) -> Any: ...
    def einsum(self, subscripts: str, *others: NDArray) -> NDArray: ...
    def split_v2(
        self, indices_or_sections: ShapeLike, axis: int = 0, squeeze_axis: bool = False
    ) -> list[NDArray]:
        """See ``mx.nd.split_v2``."""
    def broadcast_to(self, shape: ShapeLike) -> NDArray:
        """A copy whose axes of size 1 are repeated up to `shape`; leading axes are added."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[NDArray]: ...
    def __getitem__(self, key: _Key) -> NDArray: ...
    def __setitem__(self, key: _Key, value: Operand | NumpyArray | Sequence[Any]) -> None: ...

    # --- arithmetic -------------------------------------------------------------------------------
    def __add__(self, other: Operand) -> NDArray: ...
    def __radd__(self, other: Operand) -> NDArray: ...
    def __iadd__(self, other: Operand) -> NDArray: ...
    def __sub__(self, other: Operand) -> NDArray: ...
    def __rsub__(self, other: Operand) -> NDArray: ...
    def __isub__(self, other: Operand) -> NDArray: ...
    def __mul__(self, other: Operand) -> NDArray: ...
    def __rmul__(self, other: Operand) -> NDArray: ...
    def __imul__(self, other: Operand) -> NDArray: ...
    def __truediv__(self, other: Operand) -> NDArray: ...
    def __rtruediv__(self, other: Operand) -> NDArray: ...
    def __itruediv__(self, other: Operand) -> NDArray: ...
    def __mod__(self, other: Operand) -> NDArray: ...
    def __rmod__(self, other: Operand) -> NDArray: ...
    def __imod__(self, other: Operand) -> NDArray: ...
    def __pow__(self, other: Operand) -> NDArray: ...
    def __rpow__(self, other: Operand) -> NDArray: ...
    def __neg__(self) -> NDArray: ...
    def __abs__(self) -> NDArray: ...
    def __eq__(self, other: object) -> NDArray: ...  # type: ignore[override]
    def __ne__(self, other: object) -> NDArray: ...  # type: ignore[override]
    def __gt__(self, other: Operand) -> NDArray: ...
    def __ge__(self, other: Operand) -> NDArray: ...
    def __lt__(self, other: Operand) -> NDArray: ...
    def __le__(self, other: Operand) -> NDArray: ...

    # --- operators --------------------------------------------------------------------------------
