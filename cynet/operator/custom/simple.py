"""SimpleOp: unary and binary operators made of a function and a gradient, registered in one chain.

The functions are Python functions, or C functions that Cython code wraps (_simple.pxd).

>>> import numpy as np
>>> from cynet.operator import simple as simple_op
>>> def square(src, env, ret, req, ctx):
...     simple_op.assign(ret, req, np.asarray(src) ** 2)
>>> def square_grad(out_grad, in_data0, env, in_grad, req, ctx):
...     simple_op.assign(in_grad, req, 2 * np.asarray(in_data0) * np.asarray(out_grad))
>>> _ = (simple_op.register("doctest_square")
...      .set_function("cpu", square, simple_op.kNoInplace)
...      .set_gradient("cpu", square_grad, simple_op.kInplaceOutIn)
...      .describe("The square of every element."))
"""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from .._base import OPERATORS, Operator, register_operator
from .._simple import CFunction, CSimpleOperator, Env
from ..checks.shapes import has_empty, plain
from ..parameters import REQUIRED, Bool, Double
from ..property import OperatorProperty, OpReq, ResourceRequest, is_known, merge_shapes
from .callback_checks import TRIED_SHAPES, Callback, Checker
from .definition_checks import dtype_names, refuse_builtin

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...typing import DTypeLike

kNoInplace = 0  # inputs and output never share memory
kInplaceInOut = 1  # unary: the output may take the input's memory
kInplaceOutIn = 2  # unary: in_grad may take out_grad's memory
kInplaceLhsOut = 3  # binary: the output may take the left operand's memory
kInplaceOutLhs = 4  # binary: lhs_grad may take out_grad's memory

_FORWARD_PAIRS = {kInplaceInOut: 1, kInplaceLhsOut: 2}  # option -> number of operands it is for
_BACKWARD_PAIRS = {kInplaceOutIn: 1, kInplaceOutLhs: 2}

# What a function is called with, by the names of its parameters: how many operands there are.
_FUNCTIONS = {
    ("src", "env", "ret", "req", "ctx"): 1,
    ("lhs", "rhs", "env", "ret", "req", "ctx"): 2,
}
_SHAPES = {("src", "env"): 1, ("lhs", "rhs", "env"): 2}
_GRADIENTS = {  # the same, and what it reads beside out_grad: nothing, the output, the inputs
    ("out_grad", "env", "in_grad", "req", "ctx"): (1, "T0"),
    ("out_grad", "out_value", "env", "in_grad", "req", "ctx"): (1, "T1"),
    ("out_grad", "in_data0", "env", "in_grad", "req", "ctx"): (1, "T2"),
    ("out_grad", "env", "lhs_grad", "rhs_grad", "req_lhs_grad", "req_rhs_grad", "ctx"): (2, "T0"),
    (
        "out_grad",
        "lhs",
        "rhs",
        "env",
        "lhs_grad",
        "rhs_grad",
        "req_lhs_grad",
        "req_rhs_grad",
        "ctx",
    ): (2, "T2"),
}


def assign(out: Any, req: int, value: Any) -> None:
    """Write `value` to the blob `out` as `req` (an OpReq) says: not at all, over it, or
    added.

    Raises
    ------
    ShapeError
        When `value` does not broadcast to the shape of `out`.
    """
    if req == OpReq.null or out is None:
        return
    target = np.asarray(out)
    value = np.asarray(value)
    try:
        if req == OpReq.add:
            target += value.astype(target.dtype, copy=False)
        else:
            target[...] = value
    except ValueError:
        raise ShapeError(
            f"assign: a value of shape {value.shape} does not fit {target.shape}"
        ) from None


class EnvArguments:
    """What a function gets beside its arrays.

    Attributes
    ----------
    scalar : float
        The ``scalar=`` of the call, if enabled.
    kwargs : dict of str to str
        The other keywords of the call, if enabled.
    resource : list
        The resources requested, in order: ``get_space(shape, dtype)`` or ``get_random()``.
    """

    __slots__ = ("kwargs", "resource", "scalar")

    def __init__(self, scalar, kwargs, resource=()):
        self.scalar = scalar
        self.kwargs = kwargs
        self.resource = resource


class SimpleOp:
    """One operator under construction; every method returns the builder itself."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.operands = None
        self.functions = {}
        self.gradients = {}
        self.shape_function = None
        self.scalar = False
        self.scalar_default = REQUIRED
        self.kwargs = False
        self.dtypes = None
        self.requests = []
        self.forward_option = kNoInplace
        self.backward_option = kNoInplace
        self.prop = None

    def set_shape_function(self, function: Callable[..., Any]) -> SimpleOp:
        """`function(src, env)` or `(lhs, rhs, env)` gives the output's shape from the inputs'.

        Without one, the inputs and the output have one shape.
        """
        names = _parameter_names(function, "shape function")
        if names not in _SHAPES:
            raise _unknown_signature(self.name, "shape function", names, _SHAPES)
        self._set_operands(_SHAPES[names], "shape function")
        self.shape_function = function
        self._check_sizes()
        return self

    def set_function(
        self, device: str, function: Callable[..., Any], inplace: int = kNoInplace
    ) -> SimpleOp:
        """The computation on `device` (``'cpu'`` or ``'gpu'``).

        `function` is ``(src, env, ret, req, ctx)`` or ``(lhs, rhs, env, ret, req, ctx)``.
        """
        names = _parameter_names(function, "function")
        if names not in _FUNCTIONS:
            raise _unknown_signature(self.name, "function", names, _FUNCTIONS)
        self._set_operands(_FUNCTIONS[names], "function")
        self._check_option("set_function", inplace, _FORWARD_PAIRS)
        gradient = self.gradients.get(_device(self.name, device), (function,))[0]
        self._set_language(function, gradient)
        self._check_sizes(inplace)
        self.functions[device] = function
        self.forward_option = inplace
        return self._publish()

    def set_gradient(
        self, device: str, gradient: Callable[..., Any], inplace: int = kNoInplace
    ) -> SimpleOp:
        """The gradient on `device`; the names of its parameters say what it reads.

        Unary: ``(out_grad, env, in_grad, req, ctx)``, with ``out_value`` or ``in_data0`` after
        ``out_grad`` when it reads the output or the input. Binary: ``(out_grad, env, lhs_grad,
        rhs_grad, req_lhs_grad, req_rhs_grad, ctx)``, with ``lhs, rhs`` after ``out_grad`` when it
        reads the operands.
        """
        names = _parameter_names(gradient, "gradient")
        if names not in _GRADIENTS:
            raise _unknown_signature(self.name, "gradient", names, _GRADIENTS)
        operands, kind = _GRADIENTS[names]
        self._set_operands(operands, "gradient")
        self._check_option("set_gradient", inplace, _BACKWARD_PAIRS)
        known = {k for _, k in self.gradients.values()}
        if known - {kind}:
            raise ArgumentError(
                f"simple_op '{self.name}': gradients of all devices must read the same "
                f"arrays; one is {known.pop()}, this one {kind}"
            )
        self._set_language(self.functions.get(_device(self.name, device), gradient), gradient)
        self._check_sizes(inplace)
        self.gradients[device] = (gradient, kind)
        self.backward_option = inplace
        return self._publish()

    def set_enable_scalar(self, enable: bool = True, default: Any = REQUIRED) -> SimpleOp:
        """The operator takes ``scalar=``; functions find it in ``env.scalar``.

        Without a `default` every call must give it. As all operators of an array and a number in
        MXNet 1.9 it takes ``is_int=``, too, which has no effect.
        """
        if enable and self.kwargs:
            raise ArgumentError(
                f"simple_op '{self.name}': scalar and kwargs cannot both be enabled"
            )
        self.scalar = bool(enable)
        self.scalar_default = default
        return self._publish()

    def set_enable_kwargs(self, enable: bool = True) -> SimpleOp:
        """The operator takes any keywords; functions find them, as strings, in ``env.kwargs``."""
        if enable and self.scalar:
            raise ArgumentError(
                f"simple_op '{self.name}': scalar and kwargs cannot both be enabled"
            )
        self.kwargs = bool(enable)
        return self._publish()

    def set_dtypes(self, *dtypes: DTypeLike) -> SimpleOp:
        """What arrays may hold (``'float32', 'float64'``, ...); others are refused by name.

        Without it C functions take float32 alone, Python functions whatever they are given.
        """
        self.dtypes = dtype_names(f"simple_op '{self.name}'", dtypes)
        return self._publish()

    def set_resource_request(self, request: Any) -> SimpleOp:
        """Ask for ``ResourceRequest.temp_space``, ``.random`` or a list of them."""
        requests = list(request) if isinstance(request, (list, tuple)) else [request]
        for each in requests:
            if each not in (ResourceRequest.random, ResourceRequest.temp_space):
                raise ArgumentError(f"simple_op '{self.name}': {shown(each)} is no ResourceRequest")
        self.requests = requests
        return self

    def set_pure(self, pure: bool = True) -> SimpleOp:
        """The C functions change nothing but the output, and depend on nothing but the inputs, the
        scalar, the keywords and the resources: graph passes may merge, fold and repeat them."""
        if pure and not any(isinstance(f, CFunction) for f in self.functions.values()):
            raise ArgumentError(f"simple_op '{self.name}': only C functions can be pure")
        self.prop.pure = bool(pure)
        return self

    def describe(self, text: str) -> SimpleOp:
        """The operator's docstring."""
        if not isinstance(text, str):
            raise ArgumentTypeError(
                f"simple_op '{self.name}': describe takes a str, got {shown(text)}"
            )
        self.description = text
        if self.prop is not None:
            self.prop.__doc__ = text
        return self

    description = "An operator registered with mx.simple_op."

    def _set_operands(self, operands, what):
        if self.operands not in (None, operands):
            words = {1: "unary", 2: "binary"}
            raise ArgumentError(
                f"simple_op '{self.name}' is {words[self.operands]}, but this {what} is "
                f"{words[operands]}"
            )
        self.operands = operands

    def _set_language(self, function, gradient):
        if isinstance(function, CFunction) != isinstance(gradient, CFunction):
            raise ArgumentError(
                f"simple_op '{self.name}': on one device function and gradient must both be C "
                "functions or both be Python functions"
            )

    def _check_option(self, method, option, pairs):
        if option != kNoInplace and pairs.get(option) != self.operands:
            raise ArgumentError(
                f"simple_op '{self.name}': {method} cannot take in-place option {option} "
                f"with {self.operands} operand(s)"
            )

    def _check_sizes(self, option=kNoInplace):
        """Refuse to share memory where the shape function gives another size for all inputs that
        are tried."""
        option = option or self.forward_option or self.backward_option
        if self.shape_function is None or option == kNoInplace:
            return
        found = list(self._example_shapes())
        if found and all(math.prod(a) != math.prod(b) for a, b in found):
            raise ArgumentError(
                f"simple_op '{self.name}': in-place option {option} lets input and output share "
                f"memory, but they have different sizes: {found[0][0]} and {found[0][1]}"
            )

    def _example_shapes(self):
        """(shape of the inputs, shape of the output) for some inputs."""
        for shape in TRIED_SHAPES:
            shapes = (shape,) * self.operands
            try:
                if isinstance(self.shape_function, CFunction):
                    found = self.shape_function.shape(shapes, Env(1.0, {}))
                else:
                    found = self.shape_function(*shapes, EnvArguments(1.0, {}))
                found = tuple(int(n) for n in found)
            except Exception:  # not for inputs of this shape, or not without keywords
                continue
            yield shape, found

    def _publish(self):
        """Register the operator when it has its first function; keep its property in step
        afterwards."""
        if self.prop is None and self.functions:
            self.prop = _make_property(self)
            OPERATORS.remove(self.name)  # one that a user registered before
            register_operator(self.name, self.prop)
        if self.prop is not None:
            self.prop.differentiable = bool(self.gradients)
            functions = self.functions.values()
            self.prop.dtypes = self.dtypes
            self.prop.honours_req = all(isinstance(f, CFunction) for f in functions)
            self.prop.fields = {}
            if self.scalar:
                self.prop.scalar = Double(self.scalar_default, doc="The scalar operand.")
                self.prop.scalar.__set_name__(self.prop, "scalar")
                self.prop.fields = {"scalar": self.prop.scalar, "is_int": _SimpleProperty.is_int}
        return self


def register(name: str) -> SimpleOp:
    """Begin a unary or binary operator called `name`; it exists as soon as it has a function.

    Returns
    -------
    SimpleOp

    Raises
    ------
    ArgumentError
        When a built-in operator has that name.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ArgumentError(f"simple_op: {shown(name)} is no name for an operator")
    refuse_builtin(name)
    return SimpleOp(name)


def _parameter_names(function, what):
    if isinstance(function, CFunction):
        return function.parameters
    if not callable(function):
        raise ArgumentTypeError(f"simple_op: the {what} {shown(function)} is not callable")
    return tuple(inspect.signature(function).parameters)


def _unknown_signature(name, what, names, wanted):
    choices = " or ".join(f"({', '.join(w)})" for w in wanted)
    return ArgumentError(
        f"simple_op '{name}': a {what} has parameters {choices}; this one has ({', '.join(names)})"
    )


def _device(name, device):
    if device not in ("cpu", "gpu"):
        raise ArgumentError(
            f"simple_op '{name}': device {shown(device)} is neither 'cpu' nor 'gpu'"
        )
    return device


class _SimpleProperty(OperatorProperty):
    """What all simple operators share; `spec` is the SimpleOp, `check` asks its functions."""

    spec = check = None
    unlisted = ("is_int",)
    is_int = Bool(True, doc="Whether the scalar was written as an int; without effect.")
    pure = False
    any_device = True
    users = True

    @classmethod
    def taken(cls, params):
        return params if cls.spec.kwargs else super().taken(params)

    def __init__(self, **kwargs):
        self.env_kwargs = {}
        if self.spec.kwargs:
            self.env_kwargs = {k: str(v) for k, v in kwargs.items()}
            kwargs = {}
        super().__init__(**kwargs)

    def params(self):
        return dict(self.env_kwargs) if self.spec.kwargs else super().params()

    def env(self, resource=()):
        """The EnvArguments of one call."""
        return EnvArguments(self.scalar if self.spec.scalar else 0.0, self.env_kwargs, resource)

    def c_env(self):
        """The same for C functions, without the resources."""
        return Env(self.scalar if self.spec.scalar else 0.0, self.env_kwargs)

    def list_arguments(self):
        return ["data"] if self.spec.operands == 1 else ["lhs", "rhs"]

    def infer_shape(self, in_shapes, out_shapes):
        function = self.spec.shape_function
        if function is None:
            return super().infer_shape(in_shapes, out_shapes)
        if not all(map(is_known, in_shapes)):
            return in_shapes, out_shapes, []
        if isinstance(function, CFunction):
            asked = Callback(function.shape, "shape function")
            found = self.check.ask(asked, tuple(map(plain, in_shapes)), self.c_env())
        else:
            asked = Callback(function, "shape function")
            found = self.check.ask(asked, *map(plain, in_shapes), self.env())
        shape = self.check.shape(asked, found, True, has_empty(in_shapes))
        return in_shapes, [merge_shapes(shape, *out_shapes)], []

    def forward_resource(self, in_shapes):
        return list(self.spec.requests)

    def backward_resource(self, in_shapes):
        return list(self.spec.requests)

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        kind = next(iter(self.spec.gradients.values()))[1] if self.spec.gradients else "T0"
        return {"T0": [*out_grad], "T1": [*out_grad, *out_data], "T2": [*out_grad, *in_data]}[kind]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])] if self.spec.forward_option != kNoInplace else []

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])] if self.spec.backward_option != kNoInplace else []

    def create_operator(self, ctx, in_shapes, in_types):
        spec, device = self.spec, ctx.device_type.removesuffix("_pinned").removesuffix("_shared")
        if device not in spec.functions:
            raise ArgumentError(
                f"operator {spec.name} has no function for {ctx}; it has one for "
                f"{', '.join(spec.functions)}"
            )
        function = spec.functions[device]
        gradient, kind = spec.gradients.get(device, (None, "T0"))
        if isinstance(function, CFunction):
            reads = ("T0", "T1", "T2").index(kind)
            return CSimpleOperator(self.c_env(), spec.operands, function, gradient, reads)
        return _SimpleOperator(self, function, gradient, kind)


class _SimpleOperator(Operator):
    """Calls the two Python functions of a simple operator."""

    def __init__(self, prop, function, gradient, kind):
        self.prop = prop
        self.check = prop.check
        self.function = Callback(function, "function")
        self.gradient = Callback(gradient, "gradient")
        self.kind = kind

    def forward(self, ctx, in_data, req, out_data, aux_states):
        env = self.prop.env(ctx.requested)
        self.check.ask(self.function, *in_data, env, out_data[0], req[0], ctx.run_ctx)

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        read = {"T0": [], "T1": out_data, "T2": in_data}[self.kind]
        env = self.prop.env(ctx.requested)
        self.check.ask(self.gradient, out_grad[0], *read, env, *in_grad, *req, ctx.run_ctx)


def _make_property(spec):
    body = {
        "spec": spec,
        "check": Checker(f"simple_op '{spec.name}'"),
        "__doc__": spec.description,
        "inputs_doc": {
            1: {"data": "The input, any shape."},
            2: {"lhs": "The left operand.", "rhs": "The right operand."},
        }[spec.operands],
    }
    return type(f"{spec.name}Property", (_SimpleProperty,), body)
