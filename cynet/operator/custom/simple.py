"""SimpleOp: unary and binary operators made of a function and a gradient, registered in one chain.

The functions are Python functions, or C functions that Cython code wraps (_simple.pxd).

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

import math
from typing import TYPE_CHECKING, Any

from ...base.errors import ArgumentError, ArgumentTypeError, shown
from .._base import OPERATORS, register_operator
from .._simple import CFunction, Env
from ..parameters import REQUIRED, Double
from ..property import ResourceRequest
from .callback_checks import TRIAL_SHAPES
from .definition_checks import parse_dtype_names, refuse_builtin
from .simple_property import EnvArguments, SimpleProperty, assign, kNoInplace, make_property_class
from .simple_signatures import (
    GRADIENT_SIGNATURES,
    SHAPE_SIGNATURES,
    SIGNATURES,
    check_device,
    parameter_names,
    signature_error,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...typing import DTypeLike

__all__ = [
    "EnvArguments",
    "SimpleOp",
    "assign",
    "kInplaceInOut",
    "kInplaceLhsOut",
    "kInplaceOutIn",
    "kInplaceOutLhs",
    "kNoInplace",
    "register",
]

kInplaceInOut = 1  # unary: the output may take the input's memory
kInplaceOutIn = 2  # unary: in_grad may take out_grad's memory
kInplaceLhsOut = 3  # binary: the output may take the left operand's memory
kInplaceOutLhs = 4  # binary: lhs_grad may take out_grad's memory

_FORWARD_PAIRS = {kInplaceInOut: 1, kInplaceLhsOut: 2}  # option -> number of operands it is for
_BACKWARD_PAIRS = {kInplaceOutIn: 1, kInplaceOutLhs: 2}  # option -> number of operands it is for


class SimpleOp:
    """One operator under construction; every method returns the builder itself.

    Parameters
    ----------
    name : str
        Name of the operator, see `register`.

    Examples
    --------
    >>> def hypot(lhs, rhs, env, ret, req, ctx):
    ...     assign(ret, req, np.hypot(lhs, rhs))
    >>> def hypot_grad(out_grad, lhs, rhs, env, lhs_grad, rhs_grad,
    ...                req_lhs_grad, req_rhs_grad, ctx):
    ...     length = np.hypot(lhs, rhs)
    ...     assign(lhs_grad, req_lhs_grad, np.asarray(out_grad) * lhs / length)
    ...     assign(rhs_grad, req_rhs_grad, np.asarray(out_grad) * rhs / length)
    >>> _ = (register("doctest_hypot")
    ...      .set_function("cpu", hypot)
    ...      .set_gradient("cpu", hypot_grad)
    ...      .describe("The length of (lhs, rhs)."))
    >>> a, b = mx.nd.array([3, 5]), mx.nd.array([4, 12])
    >>> a.attach_grad()
    >>> with mx.autograd.record():
    ...     length = mx.nd.doctest_hypot(a, b)
    >>> length.backward()
    >>> length.asnumpy(), a.grad.asnumpy()
    (array([ 5., 13.], dtype=float32), array([0.6      , 0.3846154], dtype=float32))
    """

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
        """Set the function for the output's shape; without it, inputs and output have one shape.

        Parameters
        ----------
        function : callable
            ``function(src, env)`` or ``function(lhs, rhs, env)``, which gets the shapes of the
            inputs, tuples of int, and returns that of the output; or a C function that Cython code
            wraps.

        Raises
        ------
        ArgumentError
            If its parameters have other names, if the operator has another number of operands, or
            if arrays are to share memory whose sizes differ.
        ArgumentTypeError
            If it is not callable.

        Examples
        --------
        >>> def halve(src, env, ret, req, ctx):
        ...     assign(ret, req, np.asarray(src)[::2])
        >>> _ = (register("doctest_halve")
        ...      .set_shape_function(lambda src, env: ((src[0] + 1) // 2, *src[1:]))
        ...      .set_function("cpu", halve))
        >>> mx.nd.doctest_halve(mx.nd.arange(5)).asnumpy()
        array([0., 2., 4.], dtype=float32)
        """
        names = parameter_names(function, "shape function")
        if names not in SHAPE_SIGNATURES:
            raise signature_error(self.name, "shape function", names, SHAPE_SIGNATURES)
        self._set_operand_count(SHAPE_SIGNATURES[names], "shape function")
        self.shape_function = function
        self._check_shared_sizes()
        return self

    def set_function(
        self, device: str, function: Callable[..., Any], inplace: int = kNoInplace
    ) -> SimpleOp:
        """Set the computation on a device; the operator exists from then on.

        Parameters
        ----------
        device : {'cpu', 'gpu'}
            Kind of device that the function is for.
        function : callable
            ``function(src, env, ret, req, ctx)`` or ``function(lhs, rhs, env, ret, req, ctx)``:
            blobs, an `EnvArguments`, the blob to write and its `OpReq`. Or a C function that Cython
            code wraps.
        inplace : int
            Whether the output may take an input's memory: `kNoInplace`, `kInplaceInOut` (unary) or
            `kInplaceLhsOut` (binary).

        Raises
        ------
        ArgumentError
            If its parameters have other names, if `device` is another word, or if it does not fit
            what was set before (number of operands, C or Python, sizes of arrays that share
            memory).
        ArgumentTypeError
            If it is not callable.

        Examples
        --------
        >>> def halves(src, env, ret, req, ctx):
        ...     assign(ret, req, np.asarray(src) / 2)
        >>> _ = register("doctest_halves").set_function("cpu", halves, kInplaceInOut)
        >>> mx.nd.doctest_halves(mx.nd.array([1, 2])).asnumpy()
        array([0.5, 1. ], dtype=float32)
        """
        names = parameter_names(function, "function")
        if names not in SIGNATURES:
            raise signature_error(self.name, "function", names, SIGNATURES)
        self._set_operand_count(SIGNATURES[names], "function")
        self._check_inplace_option("set_function", inplace, _FORWARD_PAIRS)
        gradient = self.gradients.get(check_device(self.name, device), (function,))[0]
        self._require_one_language(function, gradient)
        self._check_shared_sizes(inplace)
        self.functions[device] = function
        self.forward_option = inplace
        return self._publish_operator()

    def set_gradient(
        self, device: str, gradient: Callable[..., Any], inplace: int = kNoInplace
    ) -> SimpleOp:
        """Set the gradient on a device; the names of its parameters select its arguments.

        Parameters
        ----------
        device : {'cpu', 'gpu'}
            Kind of device that the function is for.
        gradient : callable
            Unary: ``(out_grad, env, in_grad, req, ctx)``, with ``out_value`` or ``in_data0`` after
            ``out_grad`` when it reads the output or the input. Binary: ``(out_grad, env, lhs_grad,
            rhs_grad, req_lhs_grad, req_rhs_grad, ctx)``, with ``lhs, rhs`` after ``out_grad`` when
            it reads the operands.
        inplace : int
            Whether a gradient may take the memory of `out_grad`: `kNoInplace`, `kInplaceOutIn`
            (unary) or `kInplaceOutLhs` (binary).

        Raises
        ------
        ArgumentError
            If its parameters have other names, if `device` is another word, or if it does not fit
            what was set before (see `set_function`; the gradients of all devices read the same
            arrays).
        ArgumentTypeError
            If it is not callable.

        Examples
        --------
        >>> def root(src, env, ret, req, ctx):
        ...     assign(ret, req, np.sqrt(src))
        >>> def root_grad(out_grad, out_value, env, in_grad, req, ctx):
        ...     assign(in_grad, req, np.asarray(out_grad) / (2 * np.asarray(out_value)))
        >>> builder = register("doctest_root").set_function("cpu", root)
        >>> _ = builder.set_gradient("cpu", root_grad, kInplaceOutIn)
        >>> x = mx.nd.array([4, 16])
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = mx.nd.doctest_root(x)
        >>> y.backward()
        >>> x.grad.asnumpy()
        array([0.25 , 0.125], dtype=float32)
        """
        names = parameter_names(gradient, "gradient")
        if names not in GRADIENT_SIGNATURES:
            raise signature_error(self.name, "gradient", names, GRADIENT_SIGNATURES)
        operands, kind = GRADIENT_SIGNATURES[names]
        self._set_operand_count(operands, "gradient")
        self._check_inplace_option("set_gradient", inplace, _BACKWARD_PAIRS)
        known = {k for _, k in self.gradients.values()}
        if known - {kind}:
            raise ArgumentError(
                f"simple_op '{self.name}': gradients of all devices must read the same "
                f"arrays; one is {known.pop()}, this one {kind}"
            )
        self._require_one_language(
            self.functions.get(check_device(self.name, device), gradient), gradient
        )
        self._check_shared_sizes(inplace)
        self.gradients[device] = (gradient, kind)
        self.backward_option = inplace
        return self._publish_operator()

    def set_enable_scalar(self, enable: bool = True, default: Any = REQUIRED) -> SimpleOp:
        """Let the operator take ``scalar=``, which functions find in ``env.scalar``.

        As all operators of an array and a number in MXNet 1.9 it takes ``is_int=``, too, which has
        no effect.

        Parameters
        ----------
        enable : bool
            Whether to allow ``scalar=``.
        default : float, optional
            Value of the scalar if the call does not give one; by default every call must.

        Raises
        ------
        ArgumentError
            If keywords are enabled.

        Examples
        --------
        >>> def add(src, env, ret, req, ctx):
        ...     assign(ret, req, np.asarray(src) + env.scalar)
        >>> _ = register("doctest_plus").set_function("cpu", add).set_enable_scalar(default=1)
        >>> x = mx.nd.array([1, 2])
        >>> mx.nd.doctest_plus(x).asnumpy(), mx.nd.doctest_plus(x, scalar=0.5).asnumpy()
        (array([2., 3.], dtype=float32), array([1.5, 2.5], dtype=float32))
        """
        if enable and self.kwargs:
            raise ArgumentError(
                f"simple_op '{self.name}': scalar and kwargs cannot both be enabled"
            )
        self.scalar = bool(enable)
        self.scalar_default = default
        return self._publish_operator()

    def set_enable_kwargs(self, enable: bool = True) -> SimpleOp:
        """Let the operator take any keywords; functions find them, as strings, in ``env.kwargs``.

        Parameters
        ----------
        enable : bool
            Whether to allow keywords.

        Raises
        ------
        ArgumentError
            If the scalar is enabled.

        Examples
        --------
        >>> def clip(src, env, ret, req, ctx):
        ...     assign(ret, req, np.clip(src, float(env.kwargs["low"]), float(env.kwargs["high"])))
        >>> _ = register("doctest_clip").set_function("cpu", clip).set_enable_kwargs()
        >>> mx.nd.doctest_clip(mx.nd.array([-2, 0, 2]), low=-1, high=1).asnumpy()
        array([-1.,  0.,  1.], dtype=float32)
        """
        if enable and self.scalar:
            raise ArgumentError(
                f"simple_op '{self.name}': scalar and kwargs cannot both be enabled"
            )
        self.kwargs = bool(enable)
        return self._publish_operator()

    def set_dtypes(self, *dtypes: DTypeLike) -> SimpleOp:
        """Set the allowed dtypes of arrays; others are refused by name.

        Without it C functions take float32 alone, Python functions whatever they are given.

        Parameters
        ----------
        *dtypes : str or numpy.dtype
            The types that are allowed: ``'float32', 'float64'``, ...

        Raises
        ------
        ArgumentError, ArgumentTypeError
            If one of them is not a dtype of cynet's.

        Examples
        --------
        >>> def odd(src, env, ret, req, ctx):
        ...     assign(ret, req, np.asarray(src) & 1)
        >>> _ = register("doctest_odd").set_function("cpu", odd).set_dtypes("int32", "int64")
        >>> mx.nd.doctest_odd(mx.nd.array([3, 4], dtype="int32")).asnumpy()
        array([1, 0], dtype=int32)
        >>> mx.nd.doctest_odd(mx.nd.array([3, 4]))
        Traceback (most recent call last):
            ...
        cynet.errors.ArgumentTypeError: operator doctest_odd takes int32, int64; input 'data' is
            float32
        """
        self.dtypes = parse_dtype_names(f"simple_op '{self.name}'", dtypes)
        return self._publish_operator()

    def set_resource_request(self, request: Any) -> SimpleOp:
        """Ask for temporary space or random numbers, which functions find in ``env.resource``.

        Parameters
        ----------
        request : int or list of int
            ``ResourceRequest.temp_space``, ``ResourceRequest.random``, or several.

        Raises
        ------
        ArgumentError
            If it is something else.

        Examples
        --------
        >>> def jitter(src, env, ret, req, ctx):
        ...     drawn = env.resource[0].get_random().random(src.shape)
        ...     assign(ret, req, np.asarray(src) + drawn)
        >>> _ = (register("doctest_jitter").set_function("cpu", jitter)
        ...      .set_resource_request(mx.operator.ResourceRequest.random))
        >>> shifted = mx.nd.doctest_jitter(mx.nd.zeros((1000,))).asnumpy()
        >>> bool(shifted.min() >= 0), bool(shifted.max() <= 1), len(set(shifted)) > 900
        (True, True, True)
        """
        requests = list(request) if isinstance(request, (list, tuple)) else [request]
        for each in requests:
            if each not in (ResourceRequest.random, ResourceRequest.temp_space):
                raise ArgumentError(
                    f"simple_op '{self.name}': expected a ResourceRequest, got {shown(each)}"
                )
        self.requests = requests
        return self

    def set_pure(self, pure: bool = True) -> SimpleOp:
        """Promise that the C functions change nothing but the output and depend on nothing else.

        That is: on nothing but the inputs, the scalar, the keywords and the resources. Graph passes
        may then merge, fold and repeat calls.

        Parameters
        ----------
        pure : bool
            Whether the functions are pure.

        Raises
        ------
        ArgumentError
            If the operator has no C function: Python functions are called as often as the network
            says.

        Examples
        --------
        >>> def same(src, env, ret, req, ctx):
        ...     assign(ret, req, src)
        >>> register("doctest_same").set_function("cpu", same).set_pure()
        Traceback (most recent call last):
            ...
        cynet.errors.ArgumentError: simple_op 'doctest_same': only C functions can be pure
        """
        if pure and not any(isinstance(f, CFunction) for f in self.functions.values()):
            raise ArgumentError(f"simple_op '{self.name}': only C functions can be pure")
        self.prop.pure = bool(pure)
        return self

    def describe(self, text: str) -> SimpleOp:
        """Set the docstring of the operator.

        Parameters
        ----------
        text : str
            The docstring.

        Raises
        ------
        ArgumentTypeError
            If it is not a str.

        Examples
        --------
        >>> def invert(src, env, ret, req, ctx):
        ...     assign(ret, req, 1 / np.asarray(src))
        >>> builder = register("doctest_invert").set_function("cpu", invert)
        >>> _ = builder.describe("One over each element.")
        >>> mx.operator.get_operator("doctest_invert").prop.__doc__
        'One over each element.'
        """
        if not isinstance(text, str):
            raise ArgumentTypeError(
                f"simple_op '{self.name}': describe takes a str, got {shown(text)}"
            )
        self.description = text
        if self.prop is not None:
            self.prop.__doc__ = text
        return self

    description = "An operator registered with mx.simple_op."

    def _set_operand_count(self, operands, what):
        if self.operands not in (None, operands):
            words = {1: "unary", 2: "binary"}
            raise ArgumentError(
                f"simple_op '{self.name}' is {words[self.operands]}, but this {what} is "
                f"{words[operands]}"
            )
        self.operands = operands

    def _require_one_language(self, function, gradient):
        if isinstance(function, CFunction) != isinstance(gradient, CFunction):
            raise ArgumentError(
                f"simple_op '{self.name}': on one device function and gradient must both be C "
                "functions or both be Python functions"
            )

    def _check_inplace_option(self, method, option, pairs):
        if option != kNoInplace and pairs.get(option) != self.operands:
            raise ArgumentError(
                f"simple_op '{self.name}': {method} cannot take in-place option {option} "
                f"with {self.operands} operand(s)"
            )

    def _check_shared_sizes(self, option=kNoInplace):
        """Refuse to share memory if the shape function gives another size for all tried inputs."""
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
        """Return (shape of the inputs, shape of the output) for trial inputs."""
        for shape in TRIAL_SHAPES:
            shapes = (shape,) * self.operands
            try:
                if isinstance(self.shape_function, CFunction):
                    found = self.shape_function.infer_shape(shapes, Env(1.0, {}))
                else:
                    found = self.shape_function(*shapes, EnvArguments(1.0, {}))
                found = tuple(int(n) for n in found)
            except Exception:  # the user's function refuses this shape, or needs keywords
                continue
            yield shape, found

    def _publish_operator(self):
        """Register the operator when it has its first function; later, renew its property."""
        if self.prop is None and self.functions:
            self.prop = make_property_class(self)
            OPERATORS.remove(self.name)  # replaces an operator that a user registered earlier
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
                self.prop.fields = {"scalar": self.prop.scalar, "is_int": SimpleProperty.is_int}
        return self


def register(name: str) -> SimpleOp:
    """Begin a unary or binary operator; it exists as soon as it has a function.

    Parameters
    ----------
    name : str
        Name of the operator, an identifier: it becomes ``mx.nd.<name>`` and ``mx.sym.<name>``. An
        operator that a user registered under this name is replaced.

    Returns
    -------
    SimpleOp
        A builder; each of its methods returns it again.

    Raises
    ------
    ArgumentError
        If it is not an identifier, or a built-in operator has that name.

    Examples
    --------
    >>> def third(src, env, ret, req, ctx):
    ...     assign(ret, req, np.asarray(src) / 3)
    >>> _ = register("doctest_third").set_function("cpu", third)
    >>> mx.nd.doctest_third(mx.nd.array([3, 6])).asnumpy()
    array([1., 2.], dtype=float32)
    >>> register("Convolution")
    Traceback (most recent call last):
        ...
    cynet.errors.ArgumentError: operator name 'Convolution' is already taken by <operator
        Convolution>, which is built in; choose another name
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ArgumentError(f"simple_op: expected an identifier as the name, got {shown(name)}")
    refuse_builtin(name)
    return SimpleOp(name)
