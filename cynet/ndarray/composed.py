"""Functions of mx.nd and mx.nd.contrib that are made of several operators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ..base.guard import guarded
from ..base.kinds import is_single_int
from ..operator import get_operator
from ..operator.tensor.axes import axis_of
from ._call import invoke, is_array
from ._tape import is_tracked
from .creation import array
from .functions import call_operator_first, function_of
from .ndarray import NDArray
from .random import uniform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import ContextLike, Number, ShapeLike

_NUMBER_TYPES = (int, float, np.generic)  # types of scalars


@guarded
def histogram(
    a: NDArray, bins: int | NDArray = 10, range: tuple[float, float] | None = None
) -> list[NDArray]:
    """Return how many numbers lie in each of some intervals.

    Parameters
    ----------
    a : NDArray
        Numbers, of any shape.
    bins : int or NDArray
        Number of intervals of equal width, or their edges, in rising order.
    range : tuple of float, optional
        Lower end of the first interval and upper end of the last one; by default the smallest and
        the largest number. Not allowed with edges.

    Returns
    -------
    list of NDArray
        Counts, int64, and edges, of a's dtype; even ones of integers are float64. Each interval
        holds its lower edge, the last one its upper edge, too.

    Raises
    ------
    ArgumentError
        When `bins` is less than 1, or `range` is given with edges or falls.

    Examples
    --------
    >>> counts, edges = mx.nd.histogram(mx.nd.array([1, 2, 2, 5, 7]), bins=3)
    >>> counts.asnumpy().tolist(), edges.asnumpy().tolist()
    ([3, 0, 2], [1.0, 3.0, 5.0, 7.0])
    """
    count = function_of("_histogram")
    if isinstance(bins, NDArray):
        if range is not None:
            raise ArgumentError("histogram: range has no meaning beside edges in bins")
        return count(a, bins)
    if not hasattr(bins, "__index__"):
        raise ArgumentTypeError(f"histogram: bins must be an int or an NDArray, got {shown(bins)}")
    if bins < 1:
        raise ArgumentError(f"histogram: bins must be at least 1, got {bins}")
    if range is None:
        if not a.size:
            raise ShapeError("histogram: an array without elements has no range; give one")
        range = (a.min().asscalar().item(), a.max().asscalar().item())
    return count(a, bin_cnt=bins, range=range)


def boolean_mask(
    data: NDArray,
    index: NDArray,
    axis: int = 0,
    out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:
    """The parts of `data` along an axis where `index` is not 0.

    The output's shape depends on the values of `index`, which are waited for; so there is no such
    operator in a graph. Gradients flow to `data`.

    Parameters
    ----------
    data : NDArray
        The array to pick from.
    index : NDArray
        One number for each entry along `axis`; 0 leaves it out.
    axis : int
        The axis that `index` belongs to.
    out : NDArray, optional
        Array that the result is written to, of exactly its shape.
    name : str, optional
        Not used; only symbols have names.

    Returns
    -------
    NDArray
        Without elements where all of `index` is 0.

    Raises
    ------
    ShapeError
        When `index` has not one axis of data's length.

    Examples
    --------
    >>> data = mx.nd.array([[1, 2], [3, 4], [5, 6]])
    >>> mx.nd.contrib.boolean_mask(data, mx.nd.array([1, 0, 1])).asnumpy().tolist()
    [[1.0, 2.0], [5.0, 6.0]]
    """
    for name, value in (("data", data), ("index", index)):
        if not isinstance(value, NDArray):
            raise ArgumentTypeError(
                f"boolean_mask: {name} must be an NDArray, got {type(value).__name__}; the shape "
                "of its output depends on values, so a graph cannot hold it"
            )
    axis = axis_of(axis, data.ndim, "boolean_mask: axis")
    if index.shape != (data.shape[axis],):
        raise ShapeError(
            f"boolean_mask: index has shape {index.shape}, expected ({data.shape[axis]},), the "
            f"length of axis {axis} of data {data.shape}"
        )
    plain = data.stype == index.stype == "default"
    if plain and axis == 0 and out is None and not is_tracked(data):
        return data[index.astype("bool", copy=False)]
    rows = np.flatnonzero(index.asnumpy())
    return function_of("take")(data, array(rows, ctx=data.ctx, dtype="int64"), axis=axis, out=out)


def isfinite(data: NDArray) -> NDArray:
    """1 for each element that is neither infinite nor NaN, else 0, in the dtype of `data`.

    Parameters
    ----------
    data : NDArray
        The array.

    Examples
    --------
    >>> mx.nd.contrib.isfinite(mx.nd.array([1, float("nan"), float("inf")])).asnumpy().tolist()
    [1.0, 0.0, 0.0]
    """
    return 1 - isnan(data) - isinf(data)


def isinf(data: NDArray) -> NDArray:
    """1 for each element that is infinite, else 0, in the dtype of `data`.

    Parameters
    ----------
    data : NDArray
        The array.

    Examples
    --------
    >>> mx.nd.contrib.isinf(mx.nd.array([1, float("nan"), -float("inf")])).asnumpy().tolist()
    [0.0, 0.0, 1.0]
    """
    return function_of("abs")(data) == np.inf


def isnan(data: NDArray) -> NDArray:
    """1 for each element that is NaN, else 0, in the dtype of `data`.

    Parameters
    ----------
    data : NDArray
        The array.

    Examples
    --------
    >>> mx.nd.contrib.isnan(mx.nd.array([1, float("nan"), float("inf")])).asnumpy().tolist()
    [0.0, 1.0, 0.0]
    """
    return data != data


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: ContextLike | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Candidates drawn from a Zipfian distribution, and how often classes are expected in them.

    Of classes sorted by falling frequency, class c has probability
    ``log((c + 2) / (c + 1)) / log(range_max + 1)``.

    Parameters
    ----------
    true_classes : NDArray
        Classes, any shape.
    num_sampled : int
        Number of candidates to draw, with repetition.
    range_max : int
        Number of classes.
    ctx : Context, optional
        Device of the result; by default that of `true_classes`.

    Returns
    -------
    tuple of NDArray
        Candidates (num_sampled), int64; expected counts of the true classes and of the candidates,
        float64.

    Raises
    ------
    ArgumentError
        If one of the numbers is less than 1.

    Examples
    --------
    >>> drawn, of_true, of_drawn = mx.nd.contrib.rand_zipfian(mx.nd.array([3]), 4, 5)
    >>> drawn.shape, of_true.shape, of_drawn.shape
    ((4,), (1,), (4,))
    """
    for name, value in (("num_sampled", num_sampled), ("range_max", range_max)):
        if not hasattr(value, "__index__") or value < 1:
            raise ArgumentError(f"rand_zipfian: {name} must be an int >= 1, got {shown(value)}")
    width = math.log(range_max + 1)
    if isinstance(true_classes, NDArray):
        ctx = true_classes.ctx if ctx is None else ctx
    drawn = uniform(0, width, shape=(num_sampled,), dtype="float64", ctx=ctx)
    drawn = (function_of("exp")(drawn) - 1).astype("int64") % range_max

    def expected_counts(classes):
        c = classes.astype("float64")
        return function_of("log")((c + 2) / (c + 1)) * (num_sampled / width)

    return drawn, expected_counts(true_classes), expected_counts(drawn)


@guarded
def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """The arrays joined along an axis.

    Parameters
    ----------
    arrays : list of NDArray
        Arrays of one dtype, and of one shape except along `axis`.
    axis : int
        The axis to join along.
    always_copy : bool
        Whether to copy a single array; if False, it is returned as it is.

    Raises
    ------
    ArgumentError, ShapeError
        There is no array, or lengths of other axes differ.

    Examples
    --------
    >>> x = mx.nd.array([[1, 2]])
    >>> mx.nd.concatenate([x, 10 * x])
    [[ 1.  2.]
     [10. 20.]]
    <NDArray 2x2 @cpu(0)>
    """
    arrays = list(arrays)
    if not arrays:
        raise ArgumentError("concatenate: no arrays are given")
    if len(arrays) == 1 and is_array(arrays[0]):
        return arrays[0].copy() if always_copy else arrays[0]
    return function_of("Concat")(*arrays, dim=axis)


@guarded
def moveaxis(tensor: NDArray, source: ShapeLike, destination: ShapeLike) -> NDArray:
    """A copy with axis `source` (an int or several) moved to position `destination`.

    Parameters
    ----------
    tensor : NDArray
        The array.
    source, destination : int or tuple of int
        Axes to move, and their new positions.

    Raises
    ------
    ArgumentError
        An axis is not there or is named twice.

    Examples
    --------
    >>> mx.nd.moveaxis(mx.nd.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    source, destination = np.atleast_1d(source), np.atleast_1d(destination)
    ndim = tensor.ndim
    if len(source) != len(destination):
        raise ArgumentError("moveaxis: source and destination must have the same number of axes")
    if any(not -ndim <= a < ndim for a in (*source, *destination)):
        raise ArgumentError(
            f"moveaxis: axes must be in [-{ndim}, {ndim}), got {source} and {destination}"
        )
    source, destination = [int(a) % ndim for a in source], [int(a) % ndim for a in destination]
    if len(set(source)) < len(source) or len(set(destination)) < len(destination):
        raise ArgumentError("moveaxis: an axis is named twice")
    order = [a for a in range(ndim) if a not in source]
    for to, axis in sorted(zip(destination, source)):
        order.insert(to, axis)
    return tensor.transpose(order)


@guarded
def split_v2(
    ary: NDArray, indices_or_sections: ShapeLike, axis: int = 0, squeeze_axis: bool = False
) -> list[NDArray]:
    """Split into equal parts, or at indices.

    Parameters
    ----------
    ary : NDArray
        The array to split.
    indices_or_sections : int or tuple of int
        Number of equal parts, or indices at which the parts after the first begin.
    axis : int
        The axis to split along.
    squeeze_axis : bool
        Remove `axis` from the parts, which must have length 1 along it.

    Examples
    --------
    >>> [part.shape for part in mx.nd.split_v2(mx.nd.ones((5, 2)), (2, 3))]
    [(2, 2), (1, 2), (2, 2)]
    """
    if is_single_int(indices_or_sections):
        indices, sections = (), indices_or_sections
    else:
        indices, sections = (0, *indices_or_sections), 0
    params = {"axis": axis, "squeeze_axis": squeeze_axis}
    return function_of("_split_v2")(ary, indices=indices, sections=sections, **params)


@guarded
def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write one row for each index into `out`, of shape (len(indices), classes): 1 there, else 0.

    Parameters
    ----------
    indices : NDArray
        Indices of the ones, of shape (n,).
    out : NDArray
        Array of shape (n, classes) that is written.

    Returns
    -------
    NDArray
        `out`.

    Examples
    --------
    >>> mx.nd.onehot_encode(mx.nd.array([1, 0]), mx.nd.zeros((2, 3)))
    [[0. 1. 0.]
     [1. 0. 0.]]
    <NDArray 2x3 @cpu(0)>
    """
    return invoke(
        get_operator("one_hot"), (indices,), {"depth": out.shape[1], "dtype": out.dtype, "out": out}
    )


@call_operator_first("where")
@guarded
def where(
    condition: NDArray | None = None,
    x: NDArray | Number | None = None,
    y: NDArray | Number | None = None,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> NDArray:
    """Elements of `x` where `condition` is not zero, else of `y`.

    Parameters
    ----------
    condition : NDArray
        Of the shape of `x` and `y`, or of their first axis: it chooses rows then.
    x, y : NDArray or number
        What is chosen from. A number stands for an array like the other one, two numbers for
        float32 arrays of the condition's shape.
    out : NDArray, optional
        Array that the result is written to.
    name : str, optional
        Not used; only symbols have names.
    **kwargs
        Not supported: each is refused by its name.

    Raises
    ------
    ArgumentError, ShapeError
        An input is missing, or shapes differ.

    Examples
    --------
    >>> x = mx.nd.array([1, -2, 3])
    >>> mx.nd.where(x > 0, x, 0)
    [1. 0. 3.]
    <NDArray 3 @cpu(0)>
    >>> mx.nd.where(x > 0, mx.nd.array([10, 20, 30]), -1).asnumpy().tolist()
    [10.0, -1.0, 30.0]
    """
    x, y = where_operands(function_of, condition, x, y)
    given = {} if out is None else {"out": out}
    inputs = {"condition": condition, "x": x, "y": y}
    found = {key: each for key, each in inputs.items() if each is not None}
    return function_of("where")(**found, **given, **kwargs)


def where_operands(function_of, condition, x, y):
    """The operands `x` and `y` of `where`; a number becomes an array or symbol by `function_of`."""
    if not isinstance(x, _NUMBER_TYPES) and not isinstance(y, _NUMBER_TYPES):
        return x, y
    like = next((each for each in (x, y) if not isinstance(each, _NUMBER_TYPES)), None)
    if like is None:
        like = function_of("Cast")(condition, dtype="float32")
    ones = function_of("ones_like")(like)
    return tuple(ones * each if isinstance(each, _NUMBER_TYPES) else each for each in (x, y))
