"""Symbols of mx.sym.np: NumPy's operators and members, as nodes of graphs."""

import numpy as onp

from ...base.errors import ArgumentTypeError, NotFoundError, shown
from ...numpy._call import refuse_order, refuse_unknown_cast
from ...numpy.multiarray import ArrayMembers, define_operators
from ...operator._base import get_operator
from ...operator.functions.numpy_rows import NPX_UNARIES, operators_of
from ..register import add_symbol_class, function_of
from ..symbol import Symbol

NUMBERS = (bool, int, float, onp.generic)  # types of scalars


class NumpySymbol(Symbol):
    """A symbol that represents an array of mx.np.

    Examples
    --------
    >>> x = mx.sym.var("x").as_np_ndarray()
    >>> ((x + 1.5) * x.mean(axis=1, keepdims=True)).infer_shape(x=(2, 3))[1]
    [(2, 3)]
    """

    __slots__ = ()
    __hash__ = None

    def as_np_ndarray(self):
        """The symbol itself."""
        return self

    def as_nd_ndarray(self):
        """The same outputs, as a symbol of mx.sym."""
        return Symbol(self.entries)

    def placeholder(self, name, row):  # a variable like this symbol or a row of it
        return NumpySymbol(Symbol.placeholder(self, name, row).entries)

    def __repr__(self):
        return Symbol.__repr__(self).replace("<Symbol", "<_Symbol", 1)

    def __iter__(self):
        return (NumpySymbol([each]) for each in self.entries)

    def __copy__(self):
        return NumpySymbol(Symbol.__copy__(self).entries)

    def __deepcopy__(self, memo):
        return self.__copy__()

    @property
    def T(self):
        """The array with its axes reversed."""
        return _numpy_function("np.transpose")(self)

    def reshape(self, *shape, order="C", newshape=None):
        """See ``mx.np.ndarray.reshape``."""
        refuse_order(order, "mx.sym.np reshape")
        shape = shape if newshape is None else (newshape,)
        shape = shape[0] if len(shape) == 1 else shape
        return _numpy_function("np.reshape")(self, shape)

    def transpose(self, *axes):
        """See ``mx.np.ndarray.transpose``."""
        axes = axes[0] if len(axes) == 1 and not hasattr(axes[0], "__index__") else axes
        return _numpy_function("np.transpose")(self, tuple(axes) if axes else None)

    def flatten(self, order="C"):
        """The elements in one axis."""
        refuse_order(order, "mx.sym.np flatten")
        return _numpy_function("np.reshape")(self, (-1,))

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """See ``mx.np.ndarray.astype``."""
        refuse_order(order, "mx.sym.np astype")
        refuse_unknown_cast(casting, "mx.sym.np astype")
        return _apply_legacy_operator("cast", self, dtype=dtype)

    def clip(self, min=None, max=None, out=None):
        """See ``mx.np.ndarray.clip``."""
        return _numpy_function("np.clip")(self, min, max)

    def norm(self, ord=2, axis=None, keepdims=False):
        """See ``mx.np.ndarray.norm``."""
        if axis is None and ord == 1:
            return abs(self).sum(keepdims=keepdims)
        ord = None if axis is None else ord
        return _numpy_function("np.linalg.norm")(self, ord, axis, keepdims)

    def __getitem__(self, key):
        """A part of the array by ints, slices and None; for several outputs one of them."""
        if len(self.entries) != 1 or isinstance(key, str):
            return NumpySymbol(Symbol.__getitem__(self, key).entries)
        keys = key if isinstance(key, tuple) else (key,)
        if keys and keys[-1] is Ellipsis:
            keys = keys[:-1]
        begins, ends, steps, codes, new, source_axis = [], [], [], [], [], 0
        for each in keys:
            if each is None:
                new.append(source_axis)
                source_axis += 1
                continue
            if isinstance(each, slice):
                begins.append(each.start)
                ends.append(each.stop)
                steps.append(each.step)
                codes.append(-2)
                source_axis += 1
            elif hasattr(each, "__index__") and not isinstance(each, (bool, onp.bool_)):
                place = each.__index__()
                begins.append(place)
                ends.append(None if place == -1 else place + 1)
                steps.append(1)
                codes.append(-3)
            else:
                raise ArgumentTypeError(
                    f"{self!r} is indexed by ints, slices, None and a last ..., got {shown(each)}"
                )
        out = self
        if any(
            (b, e) != (None, None) or s not in (None, 1) for b, e, s in zip(begins, ends, steps)
        ):
            out = _apply_legacy_operator(
                "slice", self, begin=tuple(begins), end=tuple(ends), step=tuple(steps)
            )
        if -3 in codes:
            out = _numpy_function("npx.reshape")(out, (*codes, -4))
        for axis in new:
            out = _numpy_function("np.expand_dims")(out, axis)
        return out

    def __matmul__(self, other):
        return _numpy_function("np.matmul")(self, other)

    def __rmatmul__(self, other):
        return _numpy_function("np.matmul")(other, self)

    def __neg__(self):
        return _numpy_function("np.negative")(self)

    def __abs__(self):
        return _numpy_function("np.absolute")(self)

    def __invert__(self):
        return _numpy_function("np.bitwise_not")(self)

    def __divmod__(self, other):
        return self // other, self % other


def _numpy_function(path):
    from .functions import symbol_function

    return symbol_function(path)


def _apply_legacy_operator(name, *args, **kwargs):
    made = function_of(name, get_operator(name))(*args, **kwargs)
    return NumpySymbol(made.entries)


def apply_binary(operators, lhs, rhs):
    """Apply a binary operator to two operands, at least one of them a symbol."""
    _, arrays, scalar, reflected = operators
    for value, other, operator in ((rhs, lhs, scalar), (lhs, rhs, reflected)):
        if isinstance(value, NUMBERS) and isinstance(other, Symbol):
            whole = not isinstance(value, (float, onp.floating))
            return _apply_legacy_operator(operator, other, scalar=float(value), is_int=whole)
    if not (isinstance(lhs, Symbol) and isinstance(rhs, Symbol)):
        raise ArgumentTypeError(
            f"operator {arrays} takes symbols and numbers, got {shown(lhs)} and {shown(rhs)}"
        )
    return _apply_legacy_operator(arrays, lhs, rhs)


def _binary_method(name, is_reflected):
    operators = operators_of(name)

    def method(self, other):
        return apply_binary(operators, *((other, self) if is_reflected else (self, other)))

    method.__doc__ = f"``mx.sym.np.{name}``."
    return method


define_operators(NumpySymbol, _binary_method)


def _operator_method(name):
    def method(self, *args, **kwargs):
        for family in ("np", "npx"):
            try:
                return _numpy_function(f"{family}.{name}")(self, *args, **kwargs)
            except (AttributeError, NotFoundError):
                continue
        if name in NPX_UNARIES:
            return _apply_legacy_operator(NPX_UNARIES[name][0], self, *args, **kwargs)
        return getattr(Symbol, name)(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, f"``mx.sym.np.{name}`` of this symbol."
    return method


_written_members = vars(NumpySymbol)  # its methods that are not generated
_ARRAY_METHODS = [n for n, value in vars(ArrayMembers).items() if callable(value) and n[0] != "_"]
_OPERATOR_METHODS = (  # operators that also become methods
    "exp log log10 log1p log2 expm1 sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh "
    "arccosh arctanh sqrt square cbrt sign floor ceil trunc fix rint degrees radians "
    "reciprocal relu sigmoid rsqrt rcbrt softmax log_softmax one_hot pick topk flip sort diag "
    "nansum nanprod ones_like zeros_like reshape_like broadcast_like shape_array slice pad copy"
)
for _name in (*_ARRAY_METHODS, *_OPERATOR_METHODS.split()):
    if _name not in _written_members:
        setattr(NumpySymbol, _name, _operator_method(_name))
add_symbol_class(NumpySymbol)
