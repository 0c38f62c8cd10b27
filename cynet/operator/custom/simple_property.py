"""The property and the computation of an operator of `simple`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import ArgumentError, ShapeError
from .._base import Operator
from .._simple import CFunction, CSimpleOperator, Env
from ..checks.shapes import has_empty_axis, plain_shape
from ..parameters import Bool
from ..property import OperatorProperty, OpReq, is_known, merge_shapes
from .callback_checks import Callback, CallbackChecker

kNoInplace = 0  # inputs and output never share memory


def assign(out: Any, req: int, value: Any) -> None:
    """Write `value` to the blob `out` according to `req`: not at all, overwriting, or adding.

    Parameters
    ----------
    out : Blob, numpy.ndarray or None
        What an operator was given to write; nothing is done for None.
    req : int
        What to do with `out`, an `OpReq`.
    value : array_like
        The value; it is broadcast and converted to the shape and dtype of `out`.

    Raises
    ------
    ShapeError
        If `value` does not broadcast to the shape of `out`.

    Examples
    --------
    >>> out = np.ones(3, "float32")
    >>> assign(out, mx.operator.OpReq.add, [1, 2, 3])
    >>> assign(out, mx.operator.OpReq.null, 100)
    >>> out
    array([2., 3., 4.], dtype=float32)
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


class EnvArguments:  # argument `env` of a user's function
    """The argument `env` of a user's function: scalar, keywords and resources.

    Parameters
    ----------
    scalar : float
        The ``scalar=`` of the call if it is enabled, otherwise 0.
    kwargs : dict of str to str
        The other keywords of the call if they are enabled.
    resource : sequence
        The resources that were requested, in order: ``get_space(shape, dtype)`` or
        ``get_random()``.

    Examples
    --------
    >>> from cynet.operator import simple
    >>> def blend(lhs, rhs, env, ret, req, ctx):
    ...     lhs, rhs = np.asarray(lhs), np.asarray(rhs)
    ...     simple.assign(ret, req, env.scalar * lhs + (1 - env.scalar) * rhs)
    >>> _ = simple.register("doctest_blend").set_function("cpu", blend).set_enable_scalar()
    >>> mx.nd.doctest_blend(mx.nd.array([1, 2]), mx.nd.array([3, 6]), scalar=0.25).asnumpy()
    array([2.5, 5. ], dtype=float32)
    """

    __slots__ = ("kwargs", "resource", "scalar")

    def __init__(self, scalar, kwargs, resource=()):
        self.scalar = scalar
        self.kwargs = kwargs
        self.resource = resource


class SimpleProperty(OperatorProperty):  # base of all simple operators
    """The base of all simple operators; `spec` is the SimpleOp, `check` calls its functions."""

    spec = check = None
    unlisted = ("is_int",)
    is_int = Bool(True, doc="Whether the scalar was written as an int; without effect.")
    pure = False
    any_device = True
    users = True

    @classmethod
    def accepted_params(cls, params):
        return params if cls.spec.kwargs else super().accepted_params(params)

    def __init__(self, /, **kwargs):
        self.env_kwargs = {}
        if self.spec.kwargs:
            self.env_kwargs = {k: str(v) for k, v in kwargs.items()}
            kwargs = {}
        super().__init__(**kwargs)

    def params(self):
        return dict(self.env_kwargs) if self.spec.kwargs else super().params()

    def make_env(self, resource=()):
        """Return the EnvArguments of one call."""
        return EnvArguments(self.scalar if self.spec.scalar else 0.0, self.env_kwargs, resource)

    def make_c_env(self):
        """The environment for C functions, without the resources."""
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
            callback = Callback(function.infer_shape, "shape function")
            found = self.check.call(callback, tuple(map(plain_shape, in_shapes)), self.make_c_env())
        else:
            callback = Callback(function, "shape function")
            found = self.check.call(callback, *map(plain_shape, in_shapes), self.make_env())
        shape = self.check.parse_shape(callback, found, True, has_empty_axis(in_shapes))
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
            return CSimpleOperator(self.make_c_env(), spec.operands, function, gradient, reads)
        return PythonSimpleOperator(self, function, gradient, kind)


class PythonSimpleOperator(Operator):  # calls a user's two functions
    """Calls the two Python functions of a simple operator."""

    def __init__(self, prop, function, gradient, kind):
        self.prop = prop
        self.check = prop.check
        self.function = Callback(function, "function")
        self.gradient = Callback(gradient, "gradient")
        self.kind = kind

    def forward(self, ctx, in_data, req, out_data, aux_states):
        env = self.prop.make_env(ctx.requested)
        self.check.call(self.function, *in_data, env, out_data[0], req[0], ctx.run_ctx)

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        read = {"T0": [], "T1": out_data, "T2": in_data}[self.kind]
        env = self.prop.make_env(ctx.requested)
        self.check.call(self.gradient, out_grad[0], *read, env, *in_grad, *req, ctx.run_ctx)


def make_property_class(spec):
    body = {
        "spec": spec,
        "check": CallbackChecker(f"simple_op '{spec.name}'"),
        "__doc__": spec.description,
        "inputs_doc": {
            1: {"data": "The input, any shape."},
            2: {"lhs": "The left operand.", "rhs": "The right operand."},
        }[spec.operands],
    }
    return type(f"{spec.name}Property", (SimpleProperty,), body)
