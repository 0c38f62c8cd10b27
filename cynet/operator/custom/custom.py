"""CustomOp: operators written in Python with NDArrays, used as ``Custom(..., op_type='name')``.

>>> from cynet import operator
>>> class Double(operator.CustomOp):
...     def forward(self, is_train, req, in_data, out_data, aux):
...         self.assign(out_data[0], req[0], in_data[0] * 2)
...     def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
...         self.assign(in_grad[0], req[0], out_grad[0] * 2)
>>> @operator.register("doctest_double")
... class DoubleProp(operator.CustomOpProp):
...     def create_operator(self, ctx, shapes, dtypes):
...         return Double()
"""

from __future__ import annotations

import atexit
import inspect
from typing import TYPE_CHECKING, Any

from ...base.errors import ArgumentError, ArgumentTypeError, CynetError, OperatorError, shown
from ...registry import Registry
from .._base import OPERATORS
from ..property import OperatorProperty
from .callback_checks import Callback, CallbackChecker, callback_of
from .definition_checks import register_property

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...typing import Class, NDArray, NumpyArray, Operand

CUSTOM_OPERATORS = Registry("custom operator")  # by op_type
REQUEST_NAMES = ("null", "write", "inplace", "add")  # by value of OpReq


class CustomOp:
    """Base of operators written in Python with NDArrays; `CustomOpProp` says how one is used.

    Examples
    --------
    A loss that can be scaled; its gradient asks for none from above:

    >>> class Squared(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], (in_data[0] - in_data[1]) ** 2)
    ...     def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
    ...         self.assign(in_grad[0], req[0], 2 * (in_data[0] - in_data[1]))
    ...         self.assign(in_grad[1], req[1], 0)
    >>> @mx.operator.register("doctest_squared")
    ... class SquaredProp(mx.operator.CustomOpProp):
    ...     def __init__(self):
    ...         super().__init__(need_top_grad=False)
    ...     def list_arguments(self):
    ...         return ["data", "label"]
    ...     def infer_shape(self, in_shape):
    ...         return [in_shape[0], in_shape[0]], [in_shape[0]], []
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Squared()
    >>> x, y = mx.nd.array([1, 2]), mx.nd.array([0, 4])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     loss = mx.nd.Custom(x, y, op_type="doctest_squared")
    >>> loss.backward()
    >>> loss.asnumpy(), x.grad.asnumpy()
    (array([1., 4.], dtype=float32), array([ 2., -4.], dtype=float32))
    """

    def forward(
        self,
        is_train: bool,
        req: list[str],
        in_data: list[NDArray],
        out_data: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        """Compute the outputs.

        Parameters
        ----------
        is_train : bool
            Whether this is training: the executor's ``is_train``, autograd's ``is_training()``.
        req : list of str
            ``'null'``, ``'write'``, ``'inplace'`` or ``'add'`` for each output; `assign` obeys it.
        in_data, out_data, aux : list of NDArray
            Inputs, outputs and auxiliary states; ready to be read. After the call an array has the
            values of its end.

        Raises
        ------
        CynetError
            If the class defines no ``forward``.

        Examples
        --------
        >>> class Ramp(mx.operator.CustomOp):
        ...     def forward(self, is_train, req, in_data, out_data, aux):
        ...         self.assign(out_data[0], req[0], in_data[0] + mx.nd.arange(3))
        >>> out = mx.nd.zeros((3,))
        >>> Ramp().forward(False, ["write"], [mx.nd.ones((3,))], [out], [])
        >>> out.asnumpy()
        array([1., 2., 3.], dtype=float32)
        """
        raise CynetError(f"{type(self).__name__} defines no forward")

    def backward(
        self,
        req: list[str],
        out_grad: list[NDArray],
        in_data: list[NDArray],
        out_data: list[NDArray],
        in_grad: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        """Compute the gradients of the inputs from the outputs' gradients; by default 0.

        Parameters
        ----------
        req : list of str
            ``'write'`` for each input: several gradients of one value are added up outside.
        out_grad : list of NDArray
            Gradients of the outputs; ones if they are not requested, as by a loss.
        in_data, out_data : list of NDArray
            The inputs and outputs of forward.
        in_grad : list of NDArray
            An array for each input, whether its gradient is wanted or not.
        aux : list of NDArray
            The auxiliary states.
        """
        for each in in_grad:
            each[:] = 0

    def assign(self, dst: NDArray, req: str, src: Operand | NumpyArray) -> None:
        """Write `src` to `dst` according to `req`: not at all, overwriting, or adding.

        Parameters
        ----------
        dst : NDArray
            The array to write, one of those that forward or backward got.
        req : str
            ``'null'``, ``'write'``, ``'inplace'`` or ``'add'``.
        src : NDArray, numpy.ndarray or number
            What is written; it is broadcast to the shape of `dst`.

        Raises
        ------
        ArgumentError
            If `req` is another word.

        Examples
        --------
        >>> op, total = mx.operator.CustomOp(), mx.nd.ones((3,))
        >>> op.assign(total, "add", mx.nd.array([1, 2, 3]))
        >>> op.assign(total, "null", 100)
        >>> total.asnumpy()
        array([2., 3., 4.], dtype=float32)
        """
        if req == "null":
            return
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] += src
        else:
            raise ArgumentError(
                f"assign: req is {shown(req)}; expected one of {', '.join(REQUEST_NAMES)}"
            )


class OneInputOneOutput:  # default names: data, output
    """Default names of inputs and outputs; a subclass may define others."""

    def list_arguments(self) -> list[str]:
        """List the inputs, in the order in which the operator takes them; ``['data']`` by default.

        Examples
        --------
        >>> mx.operator.CustomOpProp().list_arguments()
        ['data']
        """
        return ["data"]

    def list_outputs(self) -> list[str]:
        """List the outputs; ``['output']`` by default.

        Examples
        --------
        >>> mx.operator.CustomOpProp().list_outputs()
        ['output']
        """
        return ["output"]


class CustomOpProp(OneInputOneOutput):
    """The declaration of a CustomOp: names, shapes, types. Register a subclass with `register`.

    Parameters
    ----------
    need_top_grad : bool
        Whether backward needs the gradients of the outputs (False for a loss).

    Notes
    -----
    Keyword parameters given to ``Custom(...)`` arrive in ``__init__`` as strings.

    Examples
    --------
    An operator with two outputs and a parameter:

    >>> class Split(mx.operator.CustomOp):
    ...     def __init__(self, at):
    ...         self.at = at
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], in_data[0][:, :self.at])
    ...         self.assign(out_data[1], req[1], in_data[0][:, self.at:])
    >>> @mx.operator.register("doctest_split")
    ... class SplitProp(mx.operator.CustomOpProp):
    ...     def __init__(self, at):
    ...         super().__init__()
    ...         self.at = int(at)
    ...     def list_outputs(self):
    ...         return ["left", "right"]
    ...     def infer_shape(self, in_shape):
    ...         n, width = in_shape[0]
    ...         return in_shape, [[n, self.at], [n, width - self.at]], []
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Split(self.at)
    >>> left, right = mx.nd.Custom(mx.nd.array([[1, 2, 3]]), op_type="doctest_split", at=1)
    >>> left.asnumpy(), right.asnumpy()
    (array([[1.]], dtype=float32), array([[2., 3.]], dtype=float32))
    >>> mx.sym.Custom(mx.sym.var("x"), op_type="doctest_split", at=1, name="s").list_outputs()
    ['s_left', 's_right']
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def infer_shape(self, in_shape: list[list[int]], /) -> tuple[Sequence[Any], ...]:
        """Infer all shapes from the inputs' shapes; by default all are equal to the first shape.

        Parameters
        ----------
        in_shape : list of list of int
            The shape of each input; an unknown one is empty.

        Returns
        -------
        (in_shapes, out_shapes) or (in_shapes, out_shapes, aux_shapes)
            Lists of shapes, one for each name that the three ``list_...`` methods give.

        Examples
        --------
        >>> mx.operator.CustomOpProp().infer_shape([[2, 3]])
        ([[2, 3]], [[2, 3]], [])
        """
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list[type], /) -> tuple[Sequence[Any], ...]:
        """Infer all types from the inputs' types; by default all are equal to the first type.

        Parameters
        ----------
        in_type : list of type
            The NumPy type of each input.

        Returns
        -------
        (in_types, out_types, aux_types) : lists of type

        Examples
        --------
        >>> mx.operator.CustomOpProp().infer_type([np.float16])
        ([<class 'numpy.float16'>], [<class 'numpy.float16'>], [])
        """
        return (
            [in_type[0]] * len(self.list_arguments()),
            [in_type[0]] * len(self.list_outputs()),
            [in_type[0]] * len(self.list_auxiliary_states()),
        )

    def infer_storage_type(self, in_stype: list[str], /) -> tuple[Sequence[Any], ...]:
        """Return the storage types in forward; cynet passes dense arrays to every CustomOp.

        Parameters
        ----------
        in_stype : list of str
            The storage type of each input.

        Returns
        -------
        (in_stypes, out_stypes, aux_stypes) : lists of str

        Examples
        --------
        >>> mx.operator.CustomOpProp().infer_storage_type(["default"])
        (['default'], ['default'], [])
        """
        return (
            in_stype,
            ["default"] * len(self.list_outputs()),
            ["default"] * len(self.list_auxiliary_states()),
        )

    def infer_storage_type_backward(
        self,
        ograd_stype: list[str],
        in_stype: list[str],
        out_stype: list[str],
        igrad_stype: list[str],
        aux_stype: list[str],
    ) -> tuple[Sequence[Any], ...]:
        """Return the storage types in backward; cynet passes dense arrays to every CustomOp.

        Parameters
        ----------
        ograd_stype, in_stype, out_stype, igrad_stype, aux_stype : list of str
            Storage types of gradients of the outputs, inputs, outputs, gradients of the inputs, and
            auxiliary states.

        Returns
        -------
        tuple of list of str
            Five lists, in the order of the parameters.

        Examples
        --------
        >>> kinds = ["default"], ["default", "default"], ["default"], ["default", "default"], []
        >>> mx.operator.CustomOpProp().infer_storage_type_backward(*kinds) == kinds
        True
        """
        given = ograd_stype, in_stype, out_stype, igrad_stype, aux_stype
        return tuple(["default"] * len(each) for each in given)

    def list_auxiliary_states(self) -> list[str]:
        """List the auxiliary states: arrays that live from call to call and get no gradient.

        Returns
        -------
        list of str
            Empty unless a subclass says otherwise.

        Examples
        --------
        >>> mx.operator.CustomOpProp().list_auxiliary_states()
        []
        """
        return []

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int], /
    ) -> Sequence[int]:
        """Return the arrays that backward reads: by default all, without gradients of outputs for a
        loss.

        Parameters
        ----------
        out_grad, in_data, out_data : list of int
            An id for each gradient of an output, each input and each output.

        Returns
        -------
        list of int
            Those of the ids that backward needs. The other arrays may be given away after forward.

        Examples
        --------
        >>> loss = mx.operator.CustomOpProp(need_top_grad=False)
        >>> loss.declare_backward_dependency([0], [1, 2], [3])
        [1, 2, 3]
        """
        top = list(out_grad) if self.need_top_grad_ else []
        return [*top, *in_data, *out_data]

    def create_operator(
        self, ctx: Any, in_shapes: list[list[int]], in_dtypes: list[type], /
    ) -> CustomOp:
        """Make the CustomOp for these shapes and types: every subclass defines it.

        Parameters
        ----------
        ctx : Context
            Device of the arrays.
        in_shapes : list of list of int
            Shapes of the inputs.
        in_dtypes : list of type
            NumPy types of the inputs.

        Returns
        -------
        CustomOp
            A new one for each executor, so it may keep what backward needs of forward.

        Raises
        ------
        CynetError
            If the class defines no ``create_operator``.

        Examples
        --------
        >>> class Plain(mx.operator.CustomOpProp):
        ...     pass
        >>> Plain().create_operator(mx.cpu(), [[2, 3]], [np.float32])
        Traceback (most recent call last):
            ...
        cynet.errors.CynetError: Plain defines no create_operator
        """
        raise CynetError(f"{type(self).__name__} defines no create_operator")


def register(reg_name: str) -> Callable[[Class], Class]:
    """Register a CustomOpProp subclass as an operator: a decorator.

    A `CustomOpProp` becomes usable as ``mx.sym.Custom(..., op_type=reg_name)`` and
    ``mx.nd.Custom``; an `OperatorProperty` becomes the operator ``mx.sym.<reg_name>`` and
    ``mx.nd.<reg_name>``.

    Parameters
    ----------
    reg_name : str
        Name of the operator. One that a user registered before is replaced, as in MXNet: nodes
        made from then on are of the new class, those that exist and their executors keep the old
        one.

    Raises
    ------
    ArgumentTypeError
        If `reg_name` is not a str or is empty, or the class is of neither kind.
    ArgumentError
        If a built-in operator has that name, or what can be asked of the definition without
        parameters contradicts itself.

    Examples
    --------
    >>> class Negate(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], -in_data[0])
    >>> @mx.operator.register("doctest_negate")
    ... class NegateProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Negate()
    >>> mx.nd.Custom(mx.nd.array([1, 2]), op_type="doctest_negate").asnumpy()
    array([-1., -2.], dtype=float32)
    """
    if not isinstance(reg_name, str) or not reg_name:
        raise ArgumentTypeError(f"register takes the operator's name, a str; got {shown(reg_name)}")

    def decorate(cls):
        if inspect.isclass(cls) and issubclass(cls, CustomOpProp):
            return _register_custom(reg_name, cls)
        if inspect.isclass(cls) and issubclass(cls, OperatorProperty):
            register_property(reg_name, cls)
            return cls
        raise ArgumentTypeError(
            f"register('{reg_name}'): {shown(cls)} is neither a CustomOpProp nor an "
            "OperatorProperty"
        )

    return decorate


def _register_custom(name, cls):
    """Register a CustomOpProp under `name`, overwrite an earlier class."""
    _check_definition(name, cls)
    if name in CUSTOM_OPERATORS:
        OPERATORS.get("Custom").cache.clear()  # delete calls that were prepared for the old class
    return CUSTOM_OPERATORS.register(name, cls, override=True)


@atexit.register
def _release_classes():
    """Delete the registered classes at exit, for the reason in `definition_checks`."""
    for name in [*CUSTOM_OPERATORS]:
        CUSTOM_OPERATORS.remove(name)


def _check_definition(name, cls):
    """Refuse wrong names and dependencies, as far as they can be checked without parameters."""
    check = CallbackChecker(f"custom operator '{name}'")
    try:
        probe = check.call(Callback(cls, cls.__name__))
        arguments = check.parse_names(callback_of(probe, "list_arguments"))
        outputs = check.parse_names(callback_of(probe, "list_outputs"), least=1)
        states = check.parse_names(callback_of(probe, "list_auxiliary_states"))
        ids = list(range(2 * len(outputs) + len(arguments)))
        groups = ids[: len(outputs)], ids[len(outputs) : -len(outputs)], ids[-len(outputs) :]
        check.parse_array_ids(callback_of(probe, "declare_backward_dependency"), *groups)
    except OperatorError:  # raised by the user's code: it may need its parameters
        return
    twice = set(arguments) & set(states)
    if twice:
        raise ArgumentError(f"{check.where}: {sorted(twice)} are inputs and auxiliary states")


def get_all_registered_operators() -> list[str]:
    """List the names of all operators, built-in and registered, aliases too, sorted.

    Examples
    --------
    >>> names = mx.operator.get_all_registered_operators()
    >>> len(names) > 300, "Convolution" in names
    (True, True)
    """
    return sorted({*OPERATORS, *CUSTOM_OPERATORS})
