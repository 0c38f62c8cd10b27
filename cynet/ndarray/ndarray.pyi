# Written by scripts/make_stubs.py; do not edit.

from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import Any, Literal, SupportsIndex, TypeAlias, overload

import numpy as np

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
    def abs(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Absolute value of each element: ``output = |data|``."""
    def arccos(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Inverse cosine of each element, within [0, pi]."""
    def arccosh(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Inverse hyperbolic cosine of each element."""
    def arcsin(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Inverse sine of each element, within [-pi/2, pi/2]."""
    def arcsinh(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Inverse hyperbolic sine of each element."""
    def arctan(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Inverse tangent of each element, within (-pi/2, pi/2)."""
    def arctanh(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Inverse hyperbolic tangent of each element."""
    def argmax(self, axis: int | None = None, keepdims: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Index of the largest element along an axis."""
    def argmax_channel(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Index of the largest element of each row of a matrix."""
    def argmin(self, axis: int | None = None, keepdims: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Index of the smallest element along an axis."""
    def argsort(self, axis: int | None = -1, is_ascend: bool = True, dtype: DTypeLike = 'float32', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """The positions that sort the elements along an axis."""
    def broadcast_axes(self, axis: ShapeLike = (), size: ShapeLike = (), out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """The input with some axes of length 1 repeated."""
    def broadcast_like(self, rhs: NDArray, lhs_axes: ShapeLike | None = None, rhs_axes: ShapeLike | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """The left input with axes of length 1 repeated up to the right input's lengths."""
    def cbrt(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Cube root of each element."""
    def ceil(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Least integer that is not below each element."""
    def clip(self, a_min: float, a_max: float, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Each element limited to [a_min, a_max]."""
    def cos(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Cosine of each element, in radians."""
    def cosh(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Hyperbolic cosine of each element."""
    def degrees(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Radians to degrees, element by element."""
    def depth_to_space(self, block_size: int, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Channels rearranged into blocks: (n, c, h, w) becomes (n, c / b ** 2, h * b, w * b)."""
    def diag(self, k: int = 0, axis1: int = 0, axis2: int = 1, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """A diagonal of an array of two or more axes, as its last axis; or a matrix with the input on one."""
    def exp(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Exponential of each element: ``output = e ** data``."""
    def expm1(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """``e ** data - 1``, precise near 0."""
    def fix(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Nearest integer towards zero of each element."""
    def flip(self, axis: ShapeLike, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """The input with the order along some axes reversed."""
    def floor(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Greatest integer that is not above each element."""
    def log(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Natural logarithm of each element."""
    def log10(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Logarithm to base 10 of each element."""
    def log1p(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """``log(1 + data)``, precise near 0."""
    def log2(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Logarithm to base 2 of each element."""
    def log_softmax(self, axis: int = -1, temperature: float | None = None, dtype: Literal['float16', 'float32', 'float64'] | None = None, use_length: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None, *, length: NDArray | None = None) -> NDArray:
        """Logarithm of the softmax along `axis`, computed without losing small numbers."""
    def max(self, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Largest element over axes; NaN if one is."""
    def mean(self, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Arithmetic mean over axes."""
    def min(self, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Smallest element over axes; NaN if one is."""
    def nanprod(self, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Product over axes; NaN counts as 1."""
    def nansum(self, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Sum over axes; NaN counts as 0."""
    def norm(self, ord: int = 2, axis: ShapeLike | None = None, out_dtype: DTypeLike | None = None, keepdims: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Norm over axes: ord 1 sums absolute values, ord 2 is the root of the sum of squares."""
    def one_hot(self, depth: int, on_value: float = 1.0, off_value: float = 0.0, dtype: DTypeLike = 'float32', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """A row of `depth` values for each index: `on_value` at the index, `off_value` elsewhere."""
    def ones_like(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Ones of the input's shape and dtype."""
    def pad(self, mode: Literal['constant', 'edge', 'reflect'], pad_width: ShapeLike, constant_value: float = 0.0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """The input with borders around all axes but the first two."""
    def pick(self, index: NDArray, axis: int = -1, keepdims: bool = False, mode: Literal['clip', 'wrap', 'raise'] = 'clip', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """One element of each row along an axis, by index."""
    def prod(self, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Product over axes."""
    def radians(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Degrees to radians, element by element."""
    def rcbrt(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Reciprocal cube root of each element: ``1 / cbrt(data)``."""
    def reciprocal(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Reciprocal of each element: ``1 / data``."""
    def relu(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Rectified linear: ``output = max(data, 0)``."""
    def repeat(self, repeats: int, axis: int | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Each element repeated along an axis, or of the flattened input."""
    def reshape_like(self, rhs: NDArray, lhs_begin: int | None = None, lhs_end: int | None = None, rhs_begin: int | None = None, rhs_end: int | None = None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """The left input with the shape of the right one, or with a range of its axes replaced."""
    def rint(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Nearest integer of each element, ties to the lower one."""
    def round(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Nearest integer of each element, ties away from zero."""
    def rsqrt(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Reciprocal square root of each element: ``1 / sqrt(data)``."""
    def shape_array(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """The shape of the input, as an array of int64."""
    def sigmoid(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Logistic function: ``output = 1 / (1 + exp(-data))``."""
    def sign(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Sign of each element: -1, 0 or 1; of NaN it is 0."""
    def sin(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Sine of each element, in radians."""
    def sinh(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Hyperbolic sine of each element."""
    def size_array(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """The number of elements of the input, as an array of one int64."""
    def slice(self, begin: ShapeLike, end: ShapeLike, step: ShapeLike = (), out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """A part of the input, as ``data[begin[0]:end[0]:step[0], ...]`` of Python gives it."""
    def slice_axis(self, axis: int, begin: int, end: int | None, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """The part from `begin` up to `end` of one axis."""
    def slice_like(self, shape_like: NDArray, axes: ShapeLike = (), out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """The leading part of the input that has the other input's lengths along some axes."""
    def softmax(self, length: NDArray | None = None, axis: int = -1, temperature: float | None = None, dtype: Literal['float16', 'float32', 'float64'] | None = None, use_length: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Softmax along `axis`: ``out = exp(data / temperature) / sum(exp(data / temperature))``."""
    def softmin(self, axis: int = -1, temperature: float | None = None, dtype: Literal['float16', 'float32', 'float64'] | None = None, use_length: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None, *, length: NDArray | None = None) -> NDArray:
        """Softmax of ``-data`` along `axis`: the smallest entry gets the most."""
    def sort(self, axis: int | None = -1, is_ascend: bool = True, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """The elements sorted along an axis."""
    def space_to_depth(self, block_size: int, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Blocks rearranged into channels: (n, c, h, w) becomes (n, c * b ** 2, h / b, w / b)."""
    def split(self, num_outputs: int, axis: int = 1, squeeze_axis: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> list[NDArray]:
        """The input parted into equal pieces along an axis, one output each."""
    def sqrt(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Square root of each element."""
    def square(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Square of each element: ``output = data ** 2``."""
    def sum(self, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Sum of elements over axes."""
    def swapaxes(self, dim1: int = 0, dim2: int = 0, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """The input with two axes exchanged."""
    def take(self, indices: NDArray, axis: int = 0, mode: Literal['clip', 'wrap', 'raise'] = 'clip', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Slices of an array along an axis, by index."""
    def tan(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Tangent of each element, in radians."""
    def tanh(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Hyperbolic tangent of each element."""
    def tile(self, reps: ShapeLike, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """The whole input repeated `reps` times along each axis."""
    def topk(self, axis: int | None = -1, k: int = 1, ret_typ: Literal['value', 'indices', 'mask', 'both'] = 'indices', is_ascend: bool = False, dtype: DTypeLike = 'float32', out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """The k largest (or smallest) elements along an axis: their positions, their values, or a mask."""
    def trunc(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Each element without its fraction."""
    def zeros_like(self, out: NDArray | Sequence[NDArray] | None = None, name: str | None = None) -> NDArray:
        """Zeros of the input's shape and dtype."""
