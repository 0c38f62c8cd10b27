"""Symbols that behave as the arrays they represent, while a Block is traced with them.

Shapes are those of the call that is traced: ``.shape``, indexing and arithmetic mean what they mean
of arrays. What needs values (``asnumpy``, the truth of a comparison) cannot be traced.
"""

from __future__ import annotations

import numpy as np

from ... import symbol as sym
from ...base.dtype import name_of, scalar_type
from ...base.errors import BoundsError, NotImplementedForSymbol, shown
from ...base.tracing import active_trace
from ...graph.infer import infer_shapes, infer_types
from ...ndarray import NDArray
from ...ndarray.methods import NumpyMethods
from ...operator._base import get_operator
from ...operator.array_methods import BINARY
from ...operator.checks.shapes import known_shape
from ...operator.control_flow.subgraphs import row_shape
from ...operator.property import is_known, plain_shape
from ...symbol import Symbol
from ...symbol.register import add_symbol_class, function_of


class UntraceableError(NotImplementedForSymbol):
    """A Block cannot be traced."""


class Trace:  # the parameters, constants and shapes met while a Block is traced
    """The state of one trace: its parameters and constants, and shapes and dtypes of its variables.

    shapes (dict of str to tuple): Of variables.
    types: dict of str to dtype
    params: sequence of Parameter
    context (Context, optional): Of the call that is traced.
    kind (type, optional): Class of the symbols, `Traced` or a subclass.
    """

    def __init__(self, shapes, types, params=(), context=None, kind=None):
        self.context = context
        self.kind = kind or Traced  # class of the trace's symbols
        self.reads_shapes = False  # whether the Block has looked at a shape
        self.constants = {}  # name -> NDArray
        self.shapes = {name: known_shape(shape) for name, shape in shapes.items()}
        self.types = {name: name_of(each) for name, each in types.items()}
        self._params = {}  # id of a parameter's array -> Parameter
        for each in params:
            if each.shape is not None:
                self.shapes[each.name] = each.shape
            self.types[each.name] = name_of(each.dtype)
            for array in each._data or ():
                self._params[id(array)] = each
        self._by_array = {}  # id of an array -> (its symbol, the array)
        self._shapes, self._types = {}, {}  # shapes and dtypes of the nodes' outputs
        self.used = {}  # name -> Parameter, of those used in the trace

    def symbol_of_parameter(self, param):
        """Return the symbol of a parameter."""
        if self.used.setdefault(param.name, param) is not param:
            raise UntraceableError(f"two parameters of a graph are named '{param.name}'")
        if param.name not in self.types:  # parameter of an unregistered child
            self.shapes[param.name] = param.shape
            self.types[param.name] = name_of(param.dtype)
        return self.kind(param.var().entries)

    def symbol_of_parameter_data(self, param):
        """Return the symbol of a parameter's array, for a `forward` that calls ``data()``."""
        if not param._is_builtin():  # a user's `data` may return another array
            raise UntraceableError(f"parameter '{param.name}' has a method `data` of its own")
        return self.symbol_of_parameter(param)

    def constant(self, array):
        """Return the symbol of an array that is no input: a parameter's, or a constant."""
        found = self._by_array.get(id(array))
        if found is None:
            param = self._params.get(id(array))
            if param is not None:
                symbol = self.symbol_of_parameter_data(param)
            else:
                name = f"constant{len(self.constants)}"
                self.constants[name] = array
                self.shapes[name], self.types[name] = known_shape(array.shape), name_of(array.dtype)
                symbol = sym.var(name, shape=array.shape, dtype=array.dtype)
            found = self._by_array[id(array)] = self.kind(symbol.entries), array
        return found[0]

    def shape(self, symbol):
        """Return the shape of a symbol that has one output."""
        entry = symbol.entries[0]
        self._infer_up_to_entry(entry, self._shapes, self.shapes, "infer_shape")
        found = self._shapes.get(entry)
        if not is_known(found):
            found = infer_shapes([entry], self.shapes)[entry]
            self._shapes[entry] = found
        if not is_known(found):
            raise UntraceableError(f"the shape of {symbol!r} is not known while it is traced")
        return tuple(plain_shape(found))

    def dtype(self, symbol):
        """Return the NumPy dtype of a symbol that has one output."""
        entry = symbol.entries[0]
        self._infer_up_to_entry(entry, self._types, self.types, "infer_type")
        found = self._types.get(entry)
        if found is None:
            found = infer_types([entry], self.types, "float32")[entry]
        return scalar_type(found)

    def _infer_up_to_entry(self, entry, known, given, what):
        """Run inference for the operators between known entries and `entry`."""
        stack = [entry[0]]
        while stack:
            node = stack[-1]
            if (node, 0) in known:
                stack.pop()
                continue
            if node.op is None:
                known[node, 0] = given.get(node.name)
                stack.pop()
                continue
            waiting = [source for source, _ in node.inputs if (source, 0) not in known]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            ins = [known[each] for each in node.inputs[: node.num_args]]
            outs = [None] * node.num_outputs
            ins, outs, _ = getattr(node.prop, what)(ins, outs)
            for i, value in enumerate(outs):
                known[node, i] = value
            for source, value in zip(node.inputs, ins):
                if source[0].op is None and value is not None:
                    known[source] = value


def symbol_class_for(arrays):
    """Return the symbol class for arrays: TracedNumpy for arrays of mx.np, else Traced."""
    for each in arrays:
        chosen = getattr(type(each), "symbol_class", None)
        if chosen is not None:
            return chosen()
    return Traced


def _to_traced_symbol(value):
    """Convert an array or Symbol to a Traced; return numbers unchanged."""
    return active_trace().constant(value) if isinstance(value, NDArray) else value


class Traced(NumpyMethods, Symbol):  # symbol in place of an array
    """A symbol with the methods of an mx.nd array."""

    __slots__ = ()

    @property
    def shape(self):
        """The shape that the array has in the call that is traced."""
        active_trace().reads_shapes = True
        return self._shape()

    def _shape(self):
        if len(self.entries) != 1:
            raise UntraceableError(f"{self!r} has {len(self.entries)} outputs, each of a shape")
        return active_trace().shape(self)

    @property
    def ndim(self):
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self):
        """Number of elements."""
        out = 1
        for n in self.shape:
            out *= n
        return out

    @property
    def dtype(self):
        """The element type, as a NumPy type."""
        return active_trace().dtype(self)

    @property
    def context(self):
        """The device of the call that is traced."""
        return active_trace().context

    ctx = context

    @property
    def stype(self):
        """``'default'``."""
        return "default"

    @property
    def T(self):
        """The array with its axes reversed."""
        return sym.transpose(self)

    def __len__(self):
        return len(self.entries) if len(self.entries) != 1 else self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def placeholder(self, name, row):
        """Create a variable with known shape and dtype; see ``Symbol.placeholder``."""
        trace = active_trace()
        made = trace.kind(Symbol.placeholder(self, name, row).entries)
        try:
            shape = trace.shape(self)
        except UntraceableError:
            return made
        trace.shapes[name] = known_shape(row_shape(shape) if row else shape)
        trace.types[name] = name_of(trace.dtype(self))
        return made

    def _refuse_value_read(self, what):
        raise UntraceableError(
            f"{what} needs the values of an array, and a graph that is being traced has none"
        )

    def asnumpy(self):
        """Refused."""
        self._refuse_value_read("asnumpy")

    def asscalar(self):
        """Refused."""
        self._refuse_value_read("asscalar")

    def wait_to_read(self):
        """Refused."""
        self._refuse_value_read("wait_to_read")

    def backward(self, *args, **kwargs):
        """Refused."""
        self._refuse_value_read("backward")

    def attach_grad(self, *args, **kwargs):
        """Refused."""
        self._refuse_value_read("attach_grad")

    def register_hook(self, *args, **kwargs):
        """Refused."""
        self._refuse_value_read("register_hook")

    def __bool__(self):
        self._refuse_value_read("__bool__")

    def __float__(self):
        self._refuse_value_read("__float__")

    def __int__(self):
        self._refuse_value_read("__int__")

    def __index__(self):
        self._refuse_value_read("__index__")

    def __array__(self, *args, **kwargs):
        self._refuse_value_read("__array__")

    def __setitem__(self, key, value):
        self._refuse_value_read("__setitem__")

    def reshape(self, *shape, **kwargs):
        """See ``NDArray.reshape``."""
        if "shape" in kwargs:
            shape = (kwargs.pop("shape"),)
        if len(shape) == 1 and not hasattr(shape[0], "__index__"):
            shape = tuple(shape[0])
        return sym.reshape(self, shape=shape, **kwargs)

    def transpose(self, *order, axes=None):
        """See ``NDArray.transpose``."""
        if len(order) == 1 and not hasattr(order[0], "__index__"):
            order = order[0]
        given = order if axes is None else axes
        return sym.transpose(self, axes=tuple(given)) if given else sym.transpose(self)

    def broadcast_to(self, shape):
        """See ``NDArray.broadcast_to``."""
        out, shape = self, tuple(shape) if hasattr(shape, "__iter__") else (shape,)
        if len(shape) > self.ndim:
            out = sym.reshape(self, shape=(1,) * (len(shape) - self.ndim) + self.shape)
        return sym.broadcast_to(out, shape=shape)

    def astype(self, dtype, copy=True):
        """See ``NDArray.astype``."""
        return sym.cast(self, dtype=dtype)

    def copy(self):
        """A copy."""
        return sym.identity(self)

    def detach(self):
        """Return a symbol of the same values that blocks gradients."""
        return sym.BlockGrad(self)

    def as_in_context(self, context):
        """Return the array itself, because a graph runs on one device."""
        return self

    as_in_ctx = as_in_context

    def __getitem__(self, key):
        """Return a part of the array, or one of several outputs."""
        if len(self.entries) != 1:
            return Traced(Symbol.__getitem__(self, key).entries)
        if isinstance(key, (NDArray, Symbol)):
            return sym.take(self, _to_traced_symbol(key), axis=0)
        out, axis, dropped, new = self, 0, [], []
        keys = list(key) if isinstance(key, tuple) else [key]
        if Ellipsis in [each for each in keys if each is Ellipsis]:
            at = next(i for i, each in enumerate(keys) if each is Ellipsis)
            count = sum(each is not None and each is not Ellipsis for each in keys)
            keys[at : at + 1] = [slice(None)] * (self.ndim - count)
        for each in keys:
            if each is None:
                new.append(axis - len(dropped))
                continue
            if isinstance(each, slice):
                if each != slice(None):
                    out = _slice_symbol(out, axis, each)
            elif hasattr(each, "__index__") and not isinstance(each, (bool, Symbol)):
                index = each.__index__()
                length = self._shape()[axis] if axis < len(self._shape()) else 0
                if not -length <= index < length:
                    raise BoundsError(f"index {index} is out of bounds for axis {axis} of {length}")
                end = index + 1 if index != -1 else None
                out = sym.slice_axis(out, axis=axis, begin=index, end=end)
                dropped.append(axis)
            else:
                raise UntraceableError(f"an index of a traced array cannot be {shown(each)}")
            axis += 1
        if dropped:
            if len(dropped) == len(self._shape()):
                out = sym.reshape(out, shape=(1,))
                dropped = []
            else:
                out = sym.squeeze(out, axis=tuple(dropped))
        for at in new:
            out = sym.expand_dims(out, axis=at)
        return out

    def take(self, indices, axis=0, mode="clip"):
        """See ``NDArray.take``."""
        return sym.take(self, _to_traced_symbol(indices), axis=axis, mode=mode)


def _slice_symbol(array, axis, part):
    step = 1 if part.step is None else part.step
    if step == 1:
        begin = 0 if part.start is None else part.start
        return sym.slice_axis(array, axis=axis, begin=begin, end=part.stop)
    bounds = [(None,) * axis + (each,) for each in (part.start, part.stop, step)]
    return sym.slice(array, begin=bounds[0], end=bounds[1], step=bounds[2])


_NUMBER_TYPES = (int, float, np.generic)  # Python's and NumPy's numbers


def _call_operator(operator, *args, **kwargs):
    made = function_of(operator, get_operator(operator))(*args, **kwargs)
    return active_trace().kind(made.entries)


def call_binary_operator(row, lhs, rhs):
    """Call a binary function with at least one symbol; None if there is no such function.

    row: faces.BinaryOperators
    lhs, rhs: Traced, NDArray or number
    """
    if not isinstance(lhs, Symbol) and not isinstance(rhs, Symbol):
        return None
    if isinstance(rhs, _NUMBER_TYPES):
        return _call_operator(row.scalar, lhs, scalar=rhs)
    if isinstance(lhs, _NUMBER_TYPES):
        return _call_operator(row.reflected, rhs, scalar=lhs)
    if not (isinstance(lhs, (NDArray, Symbol)) and isinstance(rhs, (NDArray, Symbol))):
        return None
    pair = _to_traced_symbol(lhs), _to_traced_symbol(rhs)
    return _call_operator(row.same if _have_same_shape(*pair) else row.broadcast, *pair)


def _have_same_shape(lhs, rhs):
    """Return whether both symbols have the same shape; True if a shape is unknown yet, such as that
    of zero states for any batch size."""
    try:
        return active_trace().shape(lhs) == active_trace().shape(rhs)
    except UntraceableError:
        return True


def _binary_method(name, row, swapped):
    plain = getattr(Symbol, name)

    def method(self, other):
        if isinstance(other, (NDArray, Symbol)):
            other = _to_traced_symbol(other)
            left, right = (other, self) if swapped else (self, other)
            one_shape = _have_same_shape(left, right)
            if one_shape and not swapped:
                return plain(self, other)
            return _call_operator(row.same if one_shape else row.broadcast, left, right)
        return plain(self, other)

    scalar = row.reflected if swapped else row.scalar
    method.__name__ = name
    method.__doc__ = f"Operator {row.same} or {row.broadcast}, or {scalar} with a number."
    return method


for _row in BINARY.values():
    for _name, _swapped in ((f"__{_row.method}__", False), (f"__r{_row.method}__", True)):
        if hasattr(Symbol, _name):
            setattr(Traced, _name, _binary_method(_name, _row, _swapped))
Traced.__hash__ = None
add_symbol_class(Traced)


def call_on_symbols(entry, name, args, kwargs):
    """Call ``mx.nd.X`` with symbols, or a random operator, while this thread traces."""
    values = [*args, *kwargs.values()]
    drawn = name.startswith("_random_")
    if not drawn and not any(isinstance(each, Symbol) for each in values):
        return NotImplemented
    if kwargs.get("out") is not None:
        raise UntraceableError(f"operator {name}: 'out' cannot be traced")
    kwargs = {k: _to_traced_symbol(v) for k, v in kwargs.items() if k not in ("out", "ctx")}
    args = [_to_traced_symbol(each) for each in args]
    made = function_of(name, entry)(*args, **kwargs)
    return active_trace().kind(made.entries) if type(made) is Symbol else made


def trace_control_flow(name, *args):
    """Call ``foreach``, ``while_loop`` or ``cond`` while this thread traces; array arguments become
    constants."""

    def to_traced(value):
        if isinstance(value, (list, tuple)):
            return type(value)(map(to_traced, value))
        return _to_traced_symbol(value)

    if name == "cond" and not isinstance(args[0], Symbol):
        return None  # trace only the branch that is taken
    return getattr(sym.contrib, name)(*map(to_traced, args))
