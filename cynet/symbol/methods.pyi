# Written by scripts/make_stubs.py; do not edit.

from collections.abc import Sequence
from typing import Any, Literal

from ..typing import DTypeLike, ShapeLike
from .symbol import Symbol

class OperatorMethods:
    """The methods of Symbol that are operators with the symbol as first input."""

    def as_nd_ndarray(self) -> Symbol:
        """This symbol: it is of the classic face already."""
    def as_np_ndarray(self) -> Symbol:
        """The same outputs as a symbol of ``mx.sym.np``: its operators and members are NumPy's."""
    def astype(self, dtype: DTypeLike) -> Symbol:
        """This symbol's values in another type: operator Cast."""
    def expand_dims(
        self,
        axis: int,
        inplace: bool = False,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
    ) -> Symbol:
        """See ``mx.sym.expand_dims``; `inplace` says nothing of a graph."""
    def squeeze(
        self,
        axis: ShapeLike | None = None,
        inplace: bool = False,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
    ) -> Symbol:
        """See ``mx.sym.squeeze``; `inplace` says nothing of a graph."""
    def flatten(
        self,
        inplace: bool = False,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
    ) -> Symbol:
        """See ``mx.sym.flatten``; `inplace` says nothing of a graph."""
    def split_v2(
        self, indices_or_sections: ShapeLike, axis: int = 0, squeeze_axis: bool = False
    ) -> Symbol:
        """See ``mx.sym.split_v2``."""
    def abs(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Absolute value of each element: ``output = |data|``."""
    def arccos(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Inverse cosine of each element, within [0, pi]."""
    def arccosh(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Inverse hyperbolic cosine of each element."""
    def arcsin(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Inverse sine of each element, within [-pi/2, pi/2]."""
    def arcsinh(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Inverse hyperbolic sine of each element."""
    def arctan(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Inverse tangent of each element, within (-pi/2, pi/2)."""
    def arctanh(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Inverse hyperbolic tangent of each element."""
    def argmax(self, axis: int | None = None, keepdims: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Index of the largest element along an axis."""
    def argmax_channel(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Index of the largest element of each row of a matrix."""
    def argmin(self, axis: int | None = None, keepdims: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Index of the smallest element along an axis."""
    def argsort(self, axis: int | None = -1, is_ascend: bool = True, dtype: DTypeLike = 'float32', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The positions that sort the elements along an axis."""
    def broadcast_axes(self, axis: ShapeLike = (), size: ShapeLike = (), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The input with some axes of length 1 repeated."""
    def broadcast_like(self, rhs: Symbol | None = None, lhs_axes: ShapeLike | None = None, rhs_axes: ShapeLike | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The left input with axes of length 1 repeated up to the right input's lengths."""
    def broadcast_to(self, shape: ShapeLike = (), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The input with axes of length 1 repeated up to `shape`."""
    def cbrt(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Cube root of each element."""
    def ceil(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Least integer that is not below each element."""
    def clip(self, a_min: float, a_max: float, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Each element limited to [a_min, a_max]."""
    def cos(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Cosine of each element, in radians."""
    def cosh(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Hyperbolic cosine of each element."""
    def degrees(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Radians to degrees, element by element."""
    def depth_to_space(self, block_size: int, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Channels rearranged into blocks: (n, c, h, w) becomes (n, c / b ** 2, h * b, w * b)."""
    def diag(self, k: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """A diagonal of an array of two or more axes, as its last axis; or a matrix with the input on one."""
    def exp(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Exponential of each element: ``output = e ** data``."""
    def expm1(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """``e ** data - 1``, precise near 0."""
    def fix(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Nearest integer towards zero of each element."""
    def flip(self, axis: ShapeLike, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The input with the order along some axes reversed."""
    def floor(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Greatest integer that is not above each element."""
    def log(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Natural logarithm of each element."""
    def log10(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Logarithm to base 10 of each element."""
    def log1p(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """``log(1 + data)``, precise near 0."""
    def log2(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Logarithm to base 2 of each element."""
    def log_softmax(self, axis: int = -1, temperature: float | None = None, dtype: Literal['float16', 'float32', 'float64'] | None = None, use_length: bool = False, name: str | None = None, attr: dict[str, str] | None = None, *, length: Symbol | None = None) -> Symbol:
        """Logarithm of the softmax along `axis`, computed without losing small numbers."""
    def max(self, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Largest element over axes; NaN if one is."""
    def mean(self, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Arithmetic mean over axes."""
    def min(self, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Smallest element over axes; NaN if one is."""
    def nanprod(self, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Product over axes; NaN counts as 1."""
    def nansum(self, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Sum over axes; NaN counts as 0."""
    def norm(self, ord: int = 2, axis: ShapeLike | None = None, out_dtype: DTypeLike | None = None, keepdims: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Norm over axes: ord 1 sums absolute values, ord 2 is the root of the sum of squares."""
    def one_hot(self, depth: int, on_value: float = 1.0, off_value: float = 0.0, dtype: DTypeLike = 'float32', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """A row of `depth` values for each index: `on_value` at the index, `off_value` elsewhere."""
    def ones_like(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Ones of the input's shape and dtype."""
    def pad(self, mode: Literal['constant', 'edge', 'reflect'], pad_width: ShapeLike, constant_value: float = 0.0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The input with borders around all axes but the first two."""
    def pick(self, index: Symbol | None = None, axis: int = -1, keepdims: bool = False, mode: Literal['clip', 'wrap', 'raise'] = 'clip', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """One element of each row along an axis, by index."""
    def prod(self, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Product over axes."""
    def radians(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Degrees to radians, element by element."""
    def rcbrt(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Reciprocal cube root of each element: ``1 / cbrt(data)``."""
    def reciprocal(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Reciprocal of each element: ``1 / data``."""
    def relu(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Rectified linear: ``output = max(data, 0)``."""
    def repeat(self, repeats: int, axis: int | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Each element repeated along an axis, or of the flattened input."""
    def reshape(self, shape: ShapeLike = (), reverse: bool = False, target_shape: ShapeLike = (), keep_highest: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The input under another shape."""
    def reshape_like(self, rhs: Symbol | None = None, lhs_begin: int | None = None, lhs_end: int | None = None, rhs_begin: int | None = None, rhs_end: int | None = None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The left input with the shape of the right one, or with a range of its axes replaced."""
    def rint(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Nearest integer of each element, ties to the lower one."""
    def round(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Nearest integer of each element, ties away from zero."""
    def rsqrt(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Reciprocal square root of each element: ``1 / sqrt(data)``."""
    def shape_array(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The shape of the input, as an array of int64."""
    def sigmoid(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Logistic function: ``output = 1 / (1 + exp(-data))``."""
    def sign(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Sign of each element: -1, 0 or 1; of NaN it is 0."""
    def sin(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Sine of each element, in radians."""
    def sinh(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Hyperbolic sine of each element."""
    def size_array(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The number of elements of the input, as an array of one int64."""
    def slice(self, begin: ShapeLike, end: ShapeLike, step: ShapeLike = (), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """A part of the input, as ``data[begin[0]:end[0]:step[0], ...]`` of Python gives it."""
    def slice_axis(self, axis: int, begin: int, end: int | None, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The part from `begin` up to `end` of one axis."""
    def slice_like(self, shape_like: Symbol | None = None, axes: ShapeLike = (), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The leading part of the input that has the other input's lengths along some axes."""
    def softmax(self, length: Symbol | None = None, axis: int = -1, temperature: float | None = None, dtype: Literal['float16', 'float32', 'float64'] | None = None, use_length: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Softmax along `axis`: ``out = exp(data / temperature) / sum(exp(data / temperature))``."""
    def softmin(self, axis: int = -1, temperature: float | None = None, dtype: Literal['float16', 'float32', 'float64'] | None = None, use_length: bool = False, name: str | None = None, attr: dict[str, str] | None = None, *, length: Symbol | None = None) -> Symbol:
        """Softmax of ``-data`` along `axis`: the smallest entry gets the most."""
    def sort(self, axis: int | None = -1, is_ascend: bool = True, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The elements sorted along an axis."""
    def space_to_depth(self, block_size: int, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Blocks rearranged into channels: (n, c, h, w) becomes (n, c * b ** 2, h / b, w / b)."""
    def split(self, num_outputs: int, axis: int = 1, squeeze_axis: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The input parted into equal pieces along an axis, one output each."""
    def sqrt(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Square root of each element."""
    def square(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Square of each element: ``output = data ** 2``."""
    def sum(self, axis: ShapeLike | None = None, keepdims: bool = False, exclude: bool = False, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Sum of elements over axes."""
    def swapaxes(self, dim1: int = 0, dim2: int = 0, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The input with two axes exchanged."""
    def take(self, indices: Symbol | None = None, axis: int = 0, mode: Literal['clip', 'wrap', 'raise'] = 'clip', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Slices of an array along an axis, by index."""
    def tan(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Tangent of each element, in radians."""
    def tanh(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Hyperbolic tangent of each element."""
    def tile(self, reps: ShapeLike, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The whole input repeated `reps` times along each axis."""
    def topk(self, axis: int | None = -1, k: int = 1, ret_typ: Literal['value', 'indices', 'mask', 'both'] = 'indices', is_ascend: bool = False, dtype: DTypeLike = 'float32', name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The k largest (or smallest) elements along an axis: their positions, their values, or a mask."""
    def transpose(self, axes: ShapeLike = (), name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """The input with its axes reordered: reversed, or as `axes` says."""
    def trunc(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Each element without its fraction."""
    def zeros_like(self, name: str | None = None, attr: dict[str, str] | None = None) -> Symbol:
        """Zeros of the input's shape and dtype."""
