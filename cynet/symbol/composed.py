"""Functions of mx.sym and mx.sym.contrib that combine several operators."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.guard import guarded
from ..ndarray.composed import where_operands
from ..ndarray.sparse.functions import check_sparse_grad
from .creation import _apply
from .random import uniform
from .symbol import Symbol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Number


@guarded
def histogram(
    a: Symbol, bins: int | Symbol = 10, range: Sequence[float] | None = None, **kwargs: Any
) -> Symbol:
    """Return how many numbers lie in each of some intervals, see ``mx.nd.histogram``.

    A number of intervals needs a `range`: a graph does not know the values.

    Parameters
    ----------
    a : Symbol
        Numbers, of any shape.
    bins : int or Symbol
        Number of intervals, or their edges.
    range : tuple of float, optional
        Lower end of the first interval and upper end of the last one.
    **kwargs
        Name and attributes of the node: ``name``, ``attr``.

    Raises
    ------
    ArgumentError
        `range` is given beside edges, or is missing beside a number of bins.
    ArgumentTypeError
        `bins` is neither an int nor a Symbol.

    Examples
    --------
    >>> counts = mx.sym.histogram(mx.sym.var("x"), bins=2, range=(0, 2))[0]
    >>> counts.eval(x=mx.nd.array([0.1, 0.4, 1.9]))[0]
    [2 1]
    <NDArray 2 @cpu(0)>
    """
    if isinstance(bins, Symbol):
        if range is not None:
            raise ArgumentError("histogram: range has no meaning beside edges in bins")
        return _apply("_histogram", a, bins, **kwargs)
    if not hasattr(bins, "__index__"):
        raise ArgumentTypeError(f"histogram: bins must be an int or a Symbol, got {shown(bins)}")
    if range is None:
        raise ArgumentError("histogram: in a graph, whose values are not known, give a range")
    return _apply("_histogram", a, bin_cnt=bins, range=range, **kwargs)


def boolean_mask(data: Symbol, index: Symbol, axis: int = 0) -> Symbol:
    """Refuse: the output's shape would depend on values, which a graph does not know.

    ``mx.nd.contrib.boolean_mask`` computes it of arrays.

    Parameters
    ----------
    data, index : Symbol
        The arguments of ``mx.nd.contrib.boolean_mask``.
    axis : int
        The axis that `index` belongs to.

    Raises
    ------
    ArgumentError
        In any case.

    Examples
    --------
    >>> mx.sym.contrib.boolean_mask(mx.sym.var("x"), mx.sym.var("chosen"))
    Traceback (most recent call last):
        ...
    cynet.errors.ArgumentError: boolean_mask: its output's shape depends on values, which a graph
        cannot hold; use mx.nd.contrib.boolean_mask outside of the graph, or where() with zeros
    """
    raise ArgumentError(
        "boolean_mask: its output's shape depends on values, which a graph cannot hold; use "
        "mx.nd.contrib.boolean_mask outside of the graph, or where() with zeros"
    )


def rand_zipfian(
    true_classes: Symbol, num_sampled: int, range_max: int
) -> tuple[Symbol, Symbol, Symbol]:
    """Draw candidates from a Zipfian distribution; also returns how often classes are expected in
    them.

    Of classes sorted by falling frequency, class c has probability
    ``log((c + 2) / (c + 1)) / log(range_max + 1)``.

    Parameters
    ----------
    true_classes : Symbol
        Classes, any shape.
    num_sampled : int
        How many candidates are drawn, with repetition.
    range_max : int
        Classes are below it.

    Returns
    -------
    tuple of Symbol
        Candidates (num_sampled), int64; expected counts of the true classes and of the candidates,
        float64.

    Raises
    ------
    ArgumentError
        If one of the numbers is less than 1.

    Examples
    --------
    >>> found = mx.sym.contrib.rand_zipfian(mx.sym.var("true"), num_sampled=4, range_max=5)
    >>> drawn, of_true, of_drawn = mx.sym.Group(list(found)).eval(true=mx.nd.array([3]))
    >>> drawn.shape, of_true.asnumpy().round(3), of_drawn.shape
    ((4,), array([0.498]), (4,))
    """
    for name, value in (("num_sampled", num_sampled), ("range_max", range_max)):
        if not hasattr(value, "__index__") or value < 1:
            raise ArgumentError(f"rand_zipfian: {name} must be an int >= 1, got {shown(value)}")
    width = math.log(range_max + 1)
    drawn = uniform(0, width, shape=(num_sampled,), dtype="float64")
    drawn = _apply("Cast", _apply("exp", drawn) - 1, dtype="int64") % range_max

    def expected_counts(classes):
        c = _apply("Cast", classes, dtype="float64")
        return _apply("log", (c + 2) / (c + 1)) * (num_sampled / width)

    return drawn, expected_counts(true_classes), expected_counts(drawn)


@guarded
def SparseEmbedding(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    input_dim: int | None = None,
    output_dim: int | None = None,
    dtype: Any = "float32",
    sparse_grad: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    *,
    deterministic: bool = False,
    **kwargs: Any,
) -> Symbol:
    """``Embedding(sparse_grad=True)`` under MXNet's older name.

    Parameters
    ----------
    data : Symbol
        Indices of rows.
    weight : Symbol, optional
        The matrix, (input_dim, output_dim); a new variable by default.
    input_dim, output_dim : int
        Number and size of the rows.
    dtype : str or numpy.dtype
        Type of the matrix.
    sparse_grad : bool
        Only True; `Embedding` has dense gradients, too.
    name : str, optional
        Name of the node.
    attr : dict, optional
        Attributes of the node.
    deterministic : bool
        Part of MXNet's signature; sums are always in one order.
    **kwargs
        Further parameters of the operator.

    Raises
    ------
    ArgumentError
        `sparse_grad` is False.

    Examples
    --------
    >>> found = mx.sym.contrib.SparseEmbedding(mx.sym.var("x"), input_dim=9, output_dim=4, name="e")
    >>> found.list_arguments(), found.infer_shape(x=(2, 3))[1]
    (['x', 'e_weight'], [(2, 3, 4)])
    """
    check_sparse_grad(sparse_grad)
    sizes = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype}
    given = {"data": data, "weight": weight}
    inputs = {name: each for name, each in given.items() if each is not None}
    return _apply("Embedding", sparse_grad=True, **inputs, **sizes, name=name, attr=attr, **kwargs)


@guarded
def where(
    condition: Symbol | None = None,
    x: Symbol | Number | None = None,
    y: Symbol | Number | None = None,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Elements of `x` where `condition` is not zero, else of `y`; see ``mx.nd.where``.

    Parameters
    ----------
    condition : Symbol
        Of the shape of `x` and `y`, or of their first axis: it chooses rows then.
    x, y : Symbol or number
        What is chosen from.
    name : str, optional
        Name of the node; an automatic one by default.
    attr : dict of str, optional
        Attributes of the node.
    **kwargs
        Attributes of the node whose names have two underscores at both ends.

    Examples
    --------
    >>> x = mx.sym.Variable("x")
    >>> positive = mx.sym.where(x > 0, x, 0)
    >>> positive.eval(x=mx.nd.array([1, -2, 3]))[0].asnumpy()
    array([1., 0., 3.], dtype=float32)
    """
    x, y = where_operands(lambda operator: partial(_apply, operator), condition, x, y)
    inputs = {"condition": condition, "x": x, "y": y}
    found = {key: each for key, each in inputs.items() if each is not None}
    return _apply("where", **found, name=name, attr=attr, **kwargs)
