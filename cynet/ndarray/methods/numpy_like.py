"""Methods that NumPy's arrays have and MXNet's have not: ``@``, item, std, any, einsum, ...

They are made of operators, so gradients go through those that have one; what asks for the values
themselves (item, tolist, nonzero, unique) waits for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import ArgumentError, ArgumentTypeError, BoundsError, ShapeError, shown
from ...base.guard import guarded
from ...operator.paragraphs import with_paragraphs
from ...operator.tensor.axes import axes_of
from ..functions import call_operator_first, function_of

if TYPE_CHECKING:
    from ..ndarray import NDArray


_with_shared_docs = with_paragraphs(
    axes="""axis : int or tuple of int, optional
    Axes to reduce; all by default.
keepdims : bool
    Keep the axes, with length 1.""",
    result="""dtype : str or numpy.dtype, optional
    Type to compute in, and of the result.
out : NDArray, optional
    Array that the result is written to.""",
)


def _call_op(name, *arrays, **params):
    return function_of(name)(*arrays, **params)  # function_of's function takes traced arrays, too


def _reduction_axes(x, axis):
    """The axes of a reduction, all of them for None."""
    if isinstance(axis, (tuple, list)) and not axis:
        raise ArgumentError("axis () names no axis to reduce")
    return axes_of(axis if axis is None or isinstance(axis, (tuple, list)) else (axis,), x.ndim)


def _store_in_out(found, out):
    """Write a result to the array `out` that the caller gave."""
    return found if out is None else found.copyto(out)


def _call_reduction(name, x, axis, keepdims, exclude, dtype, out):
    """The reduction by operator `name`, computed in another dtype if one is given."""
    x = x if dtype is None else x.astype(dtype)
    axis = () if axis is None else axis
    given = {} if out is None else {"out": out}
    return function_of(name)(x, axis=axis, keepdims=keepdims, exclude=exclude, **given)


class NumpyMethods:
    """Base of NDArray: methods with NumPy's names and meaning."""

    __slots__ = ()

    @guarded
    def item(self, *index):
        """The only element, or the element at an index, as a Python number.

        Parameters
        ----------
        *index : int
            None for an array of one element, one flat index, or an index for each axis.

        Raises
        ------
        ArgumentError
            The array has more than one element and no index is given.
        BoundsError
            There is no such element.

        Examples
        --------
        >>> mx.nd.array([[1, 2], [3, 4]]).item(1, 0)
        3.0
        """
        if not index and self.size != 1:
            raise ArgumentError(
                f"item: expected an array of one element, or an index, got shape {self.shape}"
            )
        try:
            return self.asnumpy().item(*index)
        except (IndexError, ValueError) as error:
            raise BoundsError(
                f"item: index {shown(index)} of shape {self.shape}: {error}"
            ) from None

    def tolist(self):
        """The values as lists of lists of Python's numbers.

        Examples
        --------
        >>> mx.nd.array([[1, 2], [3, 4]], dtype="int32").tolist()
        [[1, 2], [3, 4]]
        """
        return self.asnumpy().tolist()

    # --- reductions -------------------------------------------------------------------------------
    @call_operator_first("sum")
    @guarded
    @_with_shared_docs
    def sum(self, axis=None, keepdims=False, exclude=False, dtype=None, out=None):
        """Sum of the elements along axes: ``mx.nd.sum`` of this array, or NumPy's.

        Parameters
        ----------
        {axes}
        {result}

        Examples
        --------
        >>> mx.nd.array([[1, 3], [2, 6]]).sum(axis=1, dtype="int32").asnumpy().tolist()
        [4, 8]
        """
        return _call_reduction("sum", self, axis, keepdims, exclude, dtype, out)

    @call_operator_first("prod")
    @guarded
    @_with_shared_docs
    def prod(self, axis=None, keepdims=False, exclude=False, dtype=None, out=None):
        """Product of the elements along axes: ``mx.nd.prod`` of this array, or NumPy's.

        Parameters
        ----------
        {axes}
        {result}

        Examples
        --------
        >>> mx.nd.array([[1, 3], [2, 6]]).prod(axis=1, dtype="int32").asnumpy().tolist()
        [3, 12]
        """
        return _call_reduction("prod", self, axis, keepdims, exclude, dtype, out)

    @call_operator_first("mean")
    @guarded
    @_with_shared_docs
    def mean(self, axis=None, keepdims=False, exclude=False, dtype=None, out=None):
        """Mean of the elements along axes: ``mx.nd.mean`` of this array, or NumPy's.

        Parameters
        ----------
        {axes}
        {result}

        Examples
        --------
        >>> mx.nd.array([[1, 3], [2, 6]]).mean(axis=1).asnumpy().tolist()
        [2.0, 4.0]
        """
        return _call_reduction("mean", self, axis, keepdims, exclude, dtype, out)

    @guarded
    @_with_shared_docs
    def var(self, axis=None, keepdims=False, ddof=0, dtype=None, out=None):
        """Mean squared distance from the mean.

        Parameters
        ----------
        {axes}
        ddof : float
            Subtracted from the number of elements that the sum of squares is divided by.
        {result}

        Returns
        -------
        NDArray
            Of the array's dtype, float64 for integers; shape (1,) without axes.

        Examples
        --------
        >>> mx.nd.array([1, 2, 3, 4]).var().item()
        1.25
        """
        x = self if dtype is None else self.astype(dtype)
        x = x if np.dtype(x.dtype).kind in "fV" else x.astype("float64")
        axes = _reduction_axes(x, axis)
        away = _call_op("broadcast_sub", x, _call_op("mean", x, axis=axes, keepdims=True))
        count = int(np.prod([x.shape[a] for a in axes], dtype=np.int64))
        found = _call_op("mean", _call_op("square", away), axis=axes, keepdims=bool(keepdims))
        if ddof:
            found = found * (count / (count - ddof) if count > ddof else float("nan"))
        return _store_in_out(found, out)

    @guarded
    @_with_shared_docs
    def std(self, axis=None, keepdims=False, ddof=0, dtype=None, out=None):
        """The standard deviation: the square root of `var`.

        Parameters
        ----------
        {axes}
        ddof : int
            Subtracted from the number of elements that the sum of squares is divided by.
        {result}

        Examples
        --------
        >>> mx.nd.array([[1, 3], [2, 6]]).std(axis=1).asnumpy().tolist()
        [1.0, 2.0]
        """
        return _store_in_out(_call_op("sqrt", self.var(axis, keepdims, ddof, dtype)), out)

    @guarded
    @_with_shared_docs
    def any(self, axis=None, keepdims=False, out=None):
        """1 where an element along the axes is not zero, else 0, in the array's dtype.

        Parameters
        ----------
        {axes}

        Examples
        --------
        >>> bool((mx.nd.array([1, -2]) < 0).any())
        True
        """
        return _store_in_out(self._reduce_to_bools("max", axis, keepdims), out)

    @guarded
    @_with_shared_docs
    def all(self, axis=None, keepdims=False, out=None):
        """1 where no element along the axes is zero, else 0, in the array's dtype.

        Parameters
        ----------
        {axes}

        Examples
        --------
        >>> mx.nd.array([[1, 0], [2, 3]]).all(axis=1).asnumpy().tolist()
        [0.0, 1.0]
        """
        return _store_in_out(self._reduce_to_bools("min", axis, keepdims), out)

    def _reduce_to_bools(self, reduction, axis, keepdims):
        axes = _reduction_axes(self, axis)
        return _call_op(reduction, self != 0, axis=axes, keepdims=bool(keepdims))

    @guarded
    def cumsum(self, axis=None, dtype=None):
        """Running sums along an axis; without an axis, of all elements in order.

        Parameters
        ----------
        axis : int, optional
            The axis; by default the array is flattened.
        dtype : str or numpy.dtype, optional
            Type of the result; by default that of the array.

        Examples
        --------
        >>> mx.nd.array([[1, 2], [3, 4]]).cumsum(axis=1).asnumpy().tolist()
        [[1.0, 3.0], [3.0, 7.0]]
        """
        return _call_op("cumsum", self, axis=axis, dtype=dtype)

    # --- products ---------------------------------------------------------------------------------
    def __matmul__(self, other):
        if not isinstance(other, NumpyMethods):  # NumPy's @ would iterate over self
            return self.__rmatmul__(other)
        return matmul(self, other)

    def __rmatmul__(self, other):
        raise ArgumentTypeError(
            f"@: expected two NDArrays, got {type(other).__name__}; mx.nd.array makes one"
        )

    # --- masks ------------------------------------------------------------------------------------
    def __invert__(self):
        from ..legacy.slots import invert  # imported late: it uses NDArray

        return invert(self)

    # --- parts ------------------------------------------------------------------------------------
    @guarded
    def tril(self, k=0):
        """A copy with zeros above the k-th diagonal of the last two axes.

        Parameters
        ----------
        k : int
            Number of the diagonal above which the zeros begin.

        Examples
        --------
        >>> mx.nd.ones((2, 2)).tril().asnumpy().tolist()
        [[1.0, 0.0], [1.0, 1.0]]
        """
        return self._mask_triangle("tril", k)

    @guarded
    def triu(self, k=0):
        """A copy with zeros below the k-th diagonal of the last two axes.

        Parameters
        ----------
        k : int
            Number of the diagonal below which the zeros begin.

        Examples
        --------
        >>> mx.nd.ones((3, 3)).triu(1)
        [[0. 1. 1.]
         [0. 0. 1.]
         [0. 0. 0.]]
        <NDArray 3x3 @cpu(0)>
        """
        return self._mask_triangle("triu", k)

    def _mask_triangle(self, what, k):
        if self.ndim < 2:
            raise ShapeError(f"{what}: expected an array of two axes or more, got {self.shape}")
        if not hasattr(k, "__index__"):
            raise ArgumentTypeError(f"{what}: k must be an int, got {shown(k)}")
        mask = getattr(np, what)(np.ones(self.shape[-2:], "float32"), int(k))
        inside = self._with_values(mask).broadcast_to(self.shape)
        return _call_op("where", inside, self, _call_op("zeros_like", self))

    @guarded
    def nonzero(self):
        """The indices of elements that are not zero: an int64 array for each axis, row by row.

        Examples
        --------
        >>> [i.asnumpy().tolist() for i in mx.nd.array([[0, 1], [2, 0]]).nonzero()]
        [[0, 1], [1, 0]]
        """
        return tuple(self._with_values(each) for each in self.asnumpy().nonzero())

    @guarded
    def unique(self, return_index=False, return_inverse=False, return_counts=False):
        """The different values, sorted, as ``numpy.unique`` gives them.

        Parameters
        ----------
        return_index, return_inverse, return_counts : bool
            Also return, as int64 arrays, the first index of each value, the number of the value of
            each element, and how often each value occurs.

        Returns
        -------
        NDArray, or tuple of NDArray

        Examples
        --------
        >>> values, counts = mx.nd.array([3, 1, 3]).unique(return_counts=True)
        >>> values.asnumpy().tolist(), counts.asnumpy().tolist()
        ([1.0, 3.0], [1, 2])
        """
        found = np.unique(
            self.asnumpy().ravel(), bool(return_index), bool(return_inverse), bool(return_counts)
        )
        if isinstance(found, tuple):
            return tuple(map(self._with_values, found))
        return self._with_values(found)

    def _with_values(self, values):
        """NumPy values as an array on this array's device."""
        from ..creation import array

        return array(values, ctx=self.context, dtype=values.dtype)

    @guarded
    def einsum(self, subscripts, *others):
        """``mx.nd.einsum(subscripts, self, *others)``."""
        return einsum(subscripts, self, *others)


# --- Einstein's notation: one batched product for each pair of operands --------------------------
_SUBSCRIPT_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # letters of axes


def _parse_subscripts(subscripts, operands):
    """(letters of each operand, letters of the result), with letters for every ``...``."""
    if not isinstance(subscripts, str):
        raise ArgumentTypeError(f"einsum: subscripts must be a str, got {shown(subscripts)}")
    text = subscripts.replace(" ", "")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands):
        raise ArgumentError(
            f"einsum: {shown(subscripts)} has {len(terms)} terms for {len(operands)} operands"
        )
    free = [c for c in _SUBSCRIPT_LETTERS if c not in text]
    maximum, lengths = 0, []
    for term, x in zip(terms, operands):
        named = len(term.replace("...", ""))
        more = x.ndim - named if "..." in term else 0
        if term.count(".") not in (0, 3) or more < 0 or (more == 0 and named != x.ndim):
            raise ArgumentError(
                f"einsum: term {shown(term)} does not fit an operand of shape {x.shape}"
            )
        lengths.append(more)
        maximum = max(maximum, more)
    dots = "".join(free[:maximum])
    terms = [t.replace("...", dots[maximum - n :]) for t, n in zip(terms, lengths)]
    if not arrow:
        letters = "".join(terms)
        once = sorted(c for c in {*letters} if letters.count(c) == 1 and c not in dots)
        output = dots + "".join(once)
    else:
        output = output.replace("...", dots)
    wrong = [c for c in "".join(terms) + output if c not in _SUBSCRIPT_LETTERS]
    unknown = [c for c in output if c not in "".join(terms)]
    if wrong or unknown or len({*output}) < len(output):
        raise ArgumentError(f"einsum: {shown(subscripts)} is not of the form 'ij,jk->ik'")
    return terms, output


def _take_diagonals(x, letters):
    """`x` with one axis for each letter: letters that stand twice take the diagonal."""
    for c in dict.fromkeys(letters):
        while letters.count(c) > 1:
            i = letters.index(c)
            j = letters.index(c, i + 1)
            x = _call_op("diag", x, axis1=i, axis2=j)  # the diagonal is the last axis
            letters = letters[:i] + letters[i + 1 : j] + letters[j + 1 :] + c
    return x, letters


def _sum_unused_letters(x, letters, needed):
    """`x` summed over the letters that are not in `needed`."""
    gone = tuple(i for i, c in enumerate(letters) if c not in needed)
    if not gone:
        return x, letters
    if len(gone) == len(letters):
        return _call_op("sum", x), ""
    return _call_op("sum", x, axis=gone), "".join(c for c in letters if c in needed)


def _transpose_to_letters(x, letters, wanted, shape=None):
    """`x` with its axes in the order of `wanted`, then reshaped."""
    order = tuple(letters.index(c) for c in wanted)
    if order != tuple(range(len(order))):
        x = x.transpose(order)
    return x if shape is None else x.reshape(shape)


def _contract_einsum_pair(a, of_a, b, of_b, needed):
    """The product of two operands, summed over the letters that nothing else has."""
    sizes = {}
    for x, letters in ((a, of_a), (b, of_b)):
        for c, n in zip(letters, x.shape):
            sizes[c] = max(sizes.get(c, 1), n)
    a, of_a = _sum_unused_letters(a, of_a, needed | {*of_b})
    b, of_b = _sum_unused_letters(b, of_b, needed | {*of_a})
    batch = [c for c in of_a if c in of_b and c in needed]
    inner = [c for c in of_a if c in of_b and c not in needed]
    rows = [c for c in of_a if c not in of_b]
    columns = [c for c in of_b if c not in of_a]

    def size(letters):
        return int(np.prod([sizes[c] for c in letters], dtype=np.int64))

    def widen(x, letters):
        wanted = tuple(sizes[c] for c in letters)
        return x.broadcast_to(wanted) if letters and x.shape != wanted else x

    a = _transpose_to_letters(
        widen(a, of_a), of_a, [*batch, *rows, *inner], (size(batch), size(rows), size(inner))
    )
    b = _transpose_to_letters(
        widen(b, of_b), of_b, [*batch, *inner, *columns], (size(batch), size(inner), size(columns))
    )
    letters = [*batch, *rows, *columns]
    out = _call_op("batch_dot", a, b)
    return out.reshape(tuple(sizes[c] for c in letters) or (1,)), "".join(letters)


@guarded
def einsum(subscripts: str, *operands: NDArray) -> NDArray:
    """Products and sums by Einstein's notation, as ``numpy.einsum`` has it.

    Parameters
    ----------
    subscripts : str
        ``"ij,jk->ik"``: letters for the axes of each operand, and of the result; without an arrow
        the result has the letters that occur once, sorted. ``...`` stands for axes that broadcast.
    *operands : NDArray
        Arrays of one float dtype.

    Returns
    -------
    NDArray
        Shape (1,) when no letter is left.

    Raises
    ------
    ArgumentError
        The subscripts do not fit the operands.

    Notes
    -----
    Operands are joined two at a time, in the order that ``numpy.einsum_path`` finds, each time by
    one batched matrix product; gradients go through.

    Examples
    --------
    >>> x = mx.nd.array([[1, 2], [3, 4]])
    >>> mx.nd.einsum("ij,kj->ik", x, x).asnumpy().tolist()
    [[5.0, 11.0], [11.0, 25.0]]
    """
    terms, output = _parse_subscripts(subscripts, operands)
    sizes = {}
    for term, x in zip(terms, operands):
        for c, n in zip(term, x.shape):
            if n != 1 and sizes.setdefault(c, n) != n:
                raise ShapeError(
                    f"einsum: {shown(subscripts)}: axis {c} has lengths {sizes[c]} and {n}"
                )
    parts = [_take_diagonals(x, term) for x, term in zip(operands, terms)]
    if len(parts) > 2:
        dummies = [np.broadcast_to(np.float32(0), x.shape) for x, _ in parts]
        lines = ",".join(letters for _, letters in parts) + "->" + output
        path = np.einsum_path(lines, *dummies, optimize="greedy")[0][1:]
    else:
        path = [tuple(range(len(parts)))]
    for step in path:
        taken = [parts.pop(i) for i in sorted(step, reverse=True)][::-1]
        while len(taken) > 1:
            needed = {*output}.union(*(letters for _, letters in (*parts, *taken[2:])))
            taken[:2] = [_contract_einsum_pair(*taken[0], *taken[1], needed)]
        parts.append(taken[0])
    x, letters = _sum_unused_letters(*parts[0], {*output})
    out = _transpose_to_letters(x, letters, output)
    return _call_op("_copy", out) if any(out is each for each in operands) else out


@guarded
def matmul(a: NDArray, b: NDArray) -> NDArray:
    """The matrix product of the last two axes, the others broadcast: ``a @ b``.

    Parameters
    ----------
    a, b : NDArray
        Of one axis or more and one float dtype. An array of one axis is a row on the left, a column
        on the right, and loses that axis in the result.

    Returns
    -------
    NDArray
        Shape (1,) for two arrays of one axis.

    Raises
    ------
    ShapeError
        The shapes do not fit.

    Examples
    --------
    >>> (mx.nd.array([[1, 2], [3, 4]]) @ mx.nd.array([[5], [6]])).asnumpy().tolist()
    [[17.0], [39.0]]
    >>> a, b = mx.nd.ones((5, 2, 3)), mx.nd.ones((3, 4))  # leading axes are broadcast
    >>> (a @ b).shape
    (5, 2, 4)
    """
    left, right = a.shape, b.shape
    if not left or not right:
        raise ShapeError(f"@: expected arrays of one axis or more, got {left} and {right}")
    columns, rows = left[-1], right[-2 if len(right) > 1 else 0]
    if columns != rows:
        raise ShapeError(f"@: shapes {left} and {right} do not fit: {columns} columns, {rows} rows")
    if len(left) <= 2 and len(right) <= 2:
        return _call_op("dot", a, b)
    if len(right) == 1:
        return matmul(a, b.reshape((-1, 1))).reshape(left[:-1])
    if len(left) == 1:
        return matmul(a.reshape((1, -1)), b).reshape((*right[:-2], right[-1]))
    if len(right) == 2:  # one matrix product with all rows of a
        return _call_op("dot", a.reshape((-1, left[-1])), b).reshape((*left[:-1], right[-1]))
    try:
        batch = np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        raise ShapeError(f"@: axes before the last two of {left} and {right} differ") from None
    flat = int(np.prod(batch, dtype=np.int64))
    a = a.broadcast_to((*batch, *left[-2:])).reshape((flat, *left[-2:]))
    b = b.broadcast_to((*batch, *right[-2:])).reshape((flat, *right[-2:]))
    return _call_op("batch_dot", a, b).reshape((*batch, left[-2], right[-1]))
