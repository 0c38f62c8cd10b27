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

from ...base.dtype import scalar_type
from ...base.errors import ArgumentError, ArgumentTypeError, CynetError, OperatorError, shown
from ...registry import Registry
from .._base import OPERATORS, Operator, register_operator
from ..checks.shapes import plain
from ..graph_hooks import GraphHooks
from ..parameters import Str
from ..property import OperatorProperty, is_known
from ._borrow import lend, ones, take_back
from .callback_checks import Callback, Checker, callback
from .definition_checks import register_property

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...typing import Class, NDArray, NumpyArray, Operand

CUSTOM = Registry("custom operator")
REQUESTS = ("null", "write", "inplace", "add")


class CustomOp:
    """Base of operators written in Python; see `CustomOpProp` for how one is made and used."""

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
        req : list of str
            ``'null'``, ``'write'``, ``'inplace'`` or ``'add'`` for each output; `assign` obeys it.
        in_data, out_data, aux : list of NDArray
            Ready to be read. An array that is kept has its values of the end of the call.
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
        """Compute the gradients of the inputs from those of the outputs; by default they are 0.

        `in_grad` has an array for each input, whether its gradient is wanted or not, and `req` the
        word ``'write'`` for each: several gradients of one value are added up outside. Where the
        gradients of the outputs are not asked for, as by a loss, those of `out_grad` are ones.
        """
        for each in in_grad:
            each[:] = 0

    def assign(self, dst: NDArray, req: str, src: Operand | NumpyArray) -> None:
        """Write `src` to the NDArray `dst` as the word `req` says."""
        if req == "null":
            return
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] += src
        else:
            raise ArgumentError(
                f"assign: req is {shown(req)}; expected one of {', '.join(REQUESTS)}"
            )


class CustomOpProp:
    """What a CustomOp means: names, shapes, types. Register a subclass with `register`.

    Parameters
    ----------
    need_top_grad : bool
        Whether backward needs the outputs' gradients (False for a loss).

    Notes
    -----
    Keyword parameters given to ``Custom(...)`` arrive in ``__init__`` as strings.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def infer_shape(self, in_shape: list[list[int]], /) -> tuple[Sequence[Any], ...]:
        """Shapes from those of the inputs (lists of int; an unknown one is empty).

        Returns
        -------
        (in_shapes, out_shapes) or (in_shapes, out_shapes, aux_shapes)
        """
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list[type], /) -> tuple[Sequence[Any], ...]:
        """NumPy types of inputs, outputs and auxiliary states from the inputs'."""
        return (
            [in_type[0]] * len(self.list_arguments()),
            [in_type[0]] * len(self.list_outputs()),
            [in_type[0]] * len(self.list_auxiliary_states()),
        )

    def infer_storage_type(self, in_stype: list[str], /) -> tuple[Sequence[Any], ...]:
        """Storage types; cynet's arrays are all ``'default'``."""
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
        """Storage types of what backward reads and writes; cynet's arrays are all ``'default'``."""
        given = ograd_stype, in_stype, out_stype, igrad_stype, aux_stype
        return tuple(["default"] * len(each) for each in given)

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the auxiliary states."""
        return []

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int], /
    ) -> Sequence[int]:
        """Which arrays backward reads: ids drawn from the lists given."""
        top = list(out_grad) if self.need_top_grad_ else []
        return [*top, *in_data, *out_data]

    def create_operator(
        self, ctx: Any, in_shapes: list[list[int]], in_dtypes: list[type], /
    ) -> CustomOp:
        """A CustomOp for these shapes and types on the Context `ctx`."""
        raise CynetError(f"{type(self).__name__} defines no create_operator")


def register(reg_name: str) -> Callable[[Class], Class]:
    """A class decorator: makes an operator of the class.

    A `CustomOpProp` becomes usable as ``mx.sym.Custom(..., op_type=reg_name)`` and
    ``mx.nd.Custom``; an `OperatorProperty` becomes the operator ``mx.sym.<reg_name>`` and
    ``mx.nd.<reg_name>``.

    Raises
    ------
    ArgumentError
        When the class is neither, a built-in operator has that name, or what can be asked of the
        definition without parameters contradicts itself. A name that a user registered before is
        replaced, as in MXNet: nodes made from then on are of the new class, those that exist and
        their executors keep the old one.
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
    """Put a CustomOpProp under `name`, in place of one that was there."""
    _check_definition(name, cls)
    if name in CUSTOM:
        OPERATORS.get("Custom").cache.clear()  # what imperative calls have prepared of it
    return CUSTOM.register(name, cls, override=True)


@atexit.register
def _let_users_go():
    """What users registered ends with their modules: kept here, it and all that their modules
    hold (a sub-interpreter, a file) would outlive Python."""
    for name in [*CUSTOM]:
        CUSTOM.remove(name)
    OPERATORS.get("Custom").cache.clear()
    for name, entry in [*OPERATORS.items()]:
        if entry.prop.users:
            OPERATORS.remove(name)


def _check_definition(name, cls):
    """Refuse what is wrong with names and dependencies, as far as the class can be asked without
    parameters."""
    check = Checker(f"custom operator '{name}'")
    try:
        probe = check.ask(Callback(cls, cls.__name__))
        arguments = check.names(callback(probe, "list_arguments"))
        outputs = check.names(callback(probe, "list_outputs"), least=1)
        states = check.names(callback(probe, "list_auxiliary_states"))
        ids = list(range(2 * len(outputs) + len(arguments)))
        groups = ids[: len(outputs)], ids[len(outputs) : -len(outputs)], ids[-len(outputs) :]
        check.ids(callback(probe, "declare_backward_dependency"), *groups)
    except OperatorError:  # raised by the user's code: it may need its parameters
        return
    twice = set(arguments) & set(states)
    if twice:
        raise ArgumentError(f"{check.where}: {sorted(twice)} are inputs and auxiliary states")


def get_all_registered_operators() -> list[str]:
    """Names of all operators, custom ones included."""
    return sorted({*OPERATORS, *CUSTOM})


# --- the operator `Custom` -----------------------------------------------------------------------


class CustomProperty(OperatorProperty):
    """Apply an operator registered with ``mx.operator.register``.

    Inputs, outputs and parameters are those of the CustomOpProp registered as `op_type`.
    """

    any_parameters = True
    pure = False
    honours_req = False
    any_device = True
    graph = GraphHooks(bfloat16_loops=True)  # in arrays, whose operators take it
    op_type = Str(doc="Name the CustomOpProp was registered under.")

    def __init__(self, op_type=None, **kwargs):
        super().__init__(**({} if op_type is None else {"op_type": op_type}))
        self.kwargs = {k: str(v) for k, v in kwargs.items()}
        self.check = check = Checker(f"custom operator '{op_type}'")
        cls = CUSTOM.get(op_type)
        self.custom = check.ask(Callback(cls, f"{cls.__name__}(**{self.kwargs})"), **self.kwargs)
        self.arguments = check.names(callback(self.custom, "list_arguments"))
        self.outputs = check.names(callback(self.custom, "list_outputs"), least=1)
        self.states = check.names(callback(self.custom, "list_auxiliary_states"))
        self.lengths = len(self.arguments), len(self.outputs), len(self.states)

    def params(self):
        return {"op_type": self.op_type, **self.kwargs}

    def list_arguments(self):
        return list(self.arguments)

    def list_outputs(self):
        return list(self.outputs)

    def list_auxiliary_states(self):
        return list(self.states)

    def infer_shape(self, in_shapes, out_shapes):
        if in_shapes and not is_known(in_shapes[0]):
            return in_shapes, out_shapes, [None] * self.lengths[2]
        method = callback(self.custom, "infer_shape")
        found = self.check.ask(method, [[] if s is None else list(plain(s)) for s in in_shapes])
        return self.check.shapes(method, found, self.lengths, in_shapes)

    def infer_type(self, in_types, out_types):
        if in_types and in_types[0] is None:
            return in_types, out_types, [None] * self.lengths[2]
        method = callback(self.custom, "infer_type")
        found = self.check.ask(method, [None if t is None else scalar_type(t) for t in in_types])
        return self.check.types(method, found, self.lengths, None not in in_types)

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        method = callback(self.custom, "declare_backward_dependency")
        return self.check.ids(method, out_grad, in_data, out_data)

    def create_operator(self, ctx, in_shapes, in_types):
        method = callback(self.custom, "create_operator")
        types = [scalar_type(t) for t in in_types]
        op = self.check.ask(method, ctx, [list(s) for s in in_shapes], types)
        if not isinstance(op, CustomOp):
            self.check.refuse(method, op, "a CustomOp")
        return CustomOperator(self, op, ctx, in_shapes, in_types)


class OutputsOf:
    """The outputs of an operator: what stands for their gradients where it asks for none."""

    def __init__(self, prop, ctx, in_shapes, in_types):
        self.prop, self.ctx, self.inputs = prop, ctx, (list(in_shapes), list(in_types))
        self.kinds = None

    def gradients(self, arrays, make=ones):
        """`arrays` with an array of ones for every None."""
        if all(each is not None for each in arrays):
            return arrays
        if self.kinds is None:
            unknown = [None] * len(arrays)
            shapes = self.prop.infer_shape(self.inputs[0], unknown)[1]
            self.kinds = list(zip(shapes, self.prop.infer_type(self.inputs[1], unknown)[1]))
        return [
            make(*kind, self.ctx) if array is None else array
            for array, kind in zip(arrays, self.kinds)
        ]


class CustomOperator(Operator):
    """Runs a CustomOp: lends it the tensors as NDArrays."""

    def __init__(self, prop, op, ctx, in_shapes, in_types):
        self.check = prop.check
        self.op = op
        self.outputs = OutputsOf(prop, ctx, in_shapes, in_types)

    def forward(self, ctx, in_data, req, out_data, aux_states):
        owner = self.memory_owner
        lists = lend(in_data, owner), lend(out_data, owner, True), lend(aux_states, owner, True)
        data, out, aux = map(list, lists)  # copies: the user's code may do with them what it likes
        done = False
        try:
            method = callback(self.op, "forward")
            self.check.ask(
                method,
                is_train=ctx.is_train,
                req=[REQUESTS[r] for r in req],
                in_data=data,
                out_data=out,
                aux=aux,
            )
            self.check.written(method, out, lists[1])
            done = True
        finally:
            del data, out, aux
            take_back(lists, quiet=not done)

    def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
        owner = self.memory_owner
        lists = (
            self.outputs.gradients(lend(out_grad, owner)),
            lend(in_data, owner),
            lend(out_data, owner),
            lend(in_grad, owner, True),
            lend(aux_states, owner, True),
        )
        top, data, out, grad, aux = map(list, lists)
        done = False
        try:
            method = callback(self.op, "backward")
            self.check.ask(
                method,
                req=[REQUESTS[r] for r in req],
                out_grad=top,
                in_data=data,
                out_data=out,
                in_grad=grad,
                aux=aux,
            )
            self.check.written(method, grad, lists[3])
            done = True
        finally:
            del top, data, out, grad, aux
            take_back(lists, quiet=not done)


register_operator("Custom", CustomProperty)
