"""Variable and Group: symbols that are made without an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..attribute import AttrScope, stored_key
from ..base.dtype import dtype_flag
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.guard import guarded
from ..operator.checks.values import read_shape
from ..operator.signature import describe_value
from .compose import attribute_text
from .node import Node
from .symbol import STORAGE_CODES, Symbol, storage_code

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..typing import DTypeLike, InitializerLike, ShapeLike


@guarded
def Variable(
    name: str,
    attr: dict[str, str] | None = None,
    shape: ShapeLike | None = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: DTypeLike | None = None,
    init: InitializerLike | None = None,
    stype: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """A named input of a graph.

    Parameters
    ----------
    name : str
        Name of the variable.
    attr : dict of str to str, optional
        Attributes, which take precedence over those of the current AttrScope.
    shape : tuple of int, optional
        Shape that is used if binding does not give one; 0 is an unknown dimension.
    lr_mult, wd_mult : float, optional
        Factors of the learning rate and of the weight decay.
    dtype : str or numpy.dtype, optional
        Type that is used if binding does not give one.
    init : Initializer or str, optional
        Initializer that Module uses.
    stype : str, optional
        Storage type: ``'default'``, ``'row_sparse'`` or ``'csr'``. Graphs with sparse arrays run
        node by node.
    **kwargs
        More attributes; their names start and end with two underscores.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        An attribute of another name; a name that is not a str.

    Examples
    --------
    >>> Variable("w", shape=(2, 3), lr_mult=0.5).list_attr()["__shape__"]
    '(2, 3)'
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(f"Variable: name must be a str, got {shown(name)}")
    where = f"Variable {name}"
    attrs = {}
    for key, value in AttrScope.current.get(attr).items():
        attrs[stored_key(key)] = attribute_text(where, key, value)
    if shape is not None:
        attrs["__shape__"] = _shape_text(where, shape)
    if lr_mult is not None:
        attrs["__lr_mult__"] = str(lr_mult)
    if wd_mult is not None:
        attrs["__wd_mult__"] = str(wd_mult)
    if dtype is not None:
        attrs["__dtype__"] = str(dtype_flag(dtype))
    if init is not None:
        attrs["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype is not None:
        attrs["__storage_type__"] = storage_code(where, stype)
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            raise ArgumentError(
                f"{where}: attribute '{key}' must start and end with two underscores"
            )
        attrs[key] = str(value)
    return Symbol([(Node(None, name, attrs), 0)])


var = Variable
STORAGE_TYPES = {code: stype for stype, code in STORAGE_CODES.items()}  # code -> storage type


def _shape_text(where, shape):
    """A shape in a node's text form; raises for anything else."""
    sizes = read_shape(shape)
    if sizes is None or not all(-1 <= n < 1 << 63 for n in sizes):
        raise ArgumentTypeError(
            f"{where}: shape must be a tuple of int, 0 for an unknown one, got {shown(shape)}"
        )
    plain = isinstance(shape, (int, str)) or all(type(n) is int for n in shape)
    return str(shape) if plain and not isinstance(shape, bool) else str(sizes)


@guarded
def Group(symbols: Iterable[Symbol], create_fn: type[Symbol] = Symbol) -> Symbol:
    """One symbol with the outputs of several.

    Parameters
    ----------
    symbols : sequence of Symbol
        The symbols whose outputs are grouped.
    create_fn : subclass of Symbol
        Class of the result.

    Raises
    ------
    ArgumentTypeError
        `symbols` is empty or has an entry that is not a Symbol, or `create_fn` is not a kind of
        Symbol.

    Examples
    --------
    >>> Group([Variable("a"), Variable("b")]).list_outputs()
    ['a', 'b']
    """
    if isinstance(symbols, Symbol):
        symbols = [symbols]
    symbols = list(symbols)
    for i, symbol in enumerate(symbols):
        if not isinstance(symbol, Symbol):
            raise ArgumentTypeError(
                f"Group: item {i} must be a Symbol, got {describe_value(symbol)}"
            )
    if not symbols:
        raise ArgumentTypeError("Group: expected at least one Symbol, got none")
    if not (isinstance(create_fn, type) and issubclass(create_fn, Symbol)):
        raise ArgumentTypeError(
            f"Group: create_fn must be Symbol or a subclass of it, got {describe_value(create_fn)}"
        )
    return create_fn([entry for symbol in symbols for entry in symbol.entries])
