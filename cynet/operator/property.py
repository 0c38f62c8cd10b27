"""OperatorProperty: what an operator means, apart from how it is computed.

Every built-in of more than one expression and every raw operator a user writes subclasses this; the
faces (mx.nd, mx.sym), inference, gradient and memory passes and the executor know operators only
through it.
"""

from __future__ import annotations

import copy
import enum
from typing import TYPE_CHECKING, Any

from ..base.errors import (
    ArgumentError,
    ArgumentTypeError,
    CynetError,
    GradientError,
    ShapeError,
    shown,
    warn_user,
)
from ..kernels.isa.dispatch import MissingLoop
from .checks.shapes import known, plain
from .graph_hooks import GraphHooks
from .parameters import REQUIRED, Field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Context, Operator, Shape

_warned = set()  # (operator, keyword) of which a warning was given


# What is remembered with a property of how it was used; not true of a changed copy.
MADE_OF = ("_in_order", "_desc")


class OpReq(enum.IntEnum):
    """What is to be done with an output: the numbers in the `req` that operators get.

    >>> OpReq.add == 3, OpReq(1).name
    (True, 'write')
    """

    null = 0  # nothing
    write = 1  # overwrite what is there
    write_inplace = 2  # overwrite memory that is an input's too
    add = 3  # add to what is there


class ResourceRequest:
    """What an operator may ask for: ``ResourceRequest.temp_space`` and
    ``ResourceRequest.random``."""

    random = 0  # the numbers of _resource.pxd's ResourceType
    temp_space = 1


class Registered:
    """What the framework keeps of an operator definition: its name, who registered it, and its
    parameters, which are class attributes of a `Field` type; ``__init__`` parses keyword arguments
    into them.

    Class attributes
    ----------------
    op_name : str
        Set at registration.
    fields : dict
        Parameter name to Field, in the order of declaration (made by ``__init_subclass__``).
    any_parameters : bool
        True: keywords that are no field are parameters, too, and the inputs' names depend on them.
    inputs_doc : dict
        Name of each input or state to a sentence about it, in order; an input that some parameters
        add is there, too.
    parameter_order : tuple of str
        Parameters that come first where callers give them by position; the others follow in the
        order of declaration, those of bases first.
    unlisted : tuple of str
        Inputs, states and parameters that MXNet does not list: they have no position. Callers give
        them by name, or inputs as arrays right behind the others.
    many_inputs : bool
        True: the number of inputs is variable, and follows from parameters that callers give.
    reads_out : bool
        True: forward reads what is in the output, so callers have to give one.
    dtypes : tuple of str or None
        What inputs, outputs and states may hold; others are refused by name. None: built-in
        operators and those in Python look at their arrays themselves, and what a user has compiled
        takes float32 alone, as its pointers say.
    users : bool
        True for an operator that a user registered: its name may be registered again, and keywords
        that it has no parameters for are refused.
    gpu : object or None
        Its form for GPUs, where the declaration has it (`KernelProperty`).
    rewritten : method or None
        ``rewritten(self, F, inputs, aux, training)``: the visible outputs in terms of other
        operators of ``F``, ``mx.nd``; what ``create_graph=True`` differentiates.
    amp : str or None
        ``'float32'``: automatic mixed precision leaves it in float32.
    any_device : bool
        True: `create_operator` answers for GPUs, too, as it does where the code is the user's;
        built-in operators have their GPU forms in ``operator/cuda``.
    """

    op_name = None
    fields = {}
    any_parameters = False
    inputs_doc = {}
    parameter_order = ()
    unlisted = ()
    many_inputs = False
    reads_out = False
    dtypes = None
    users = False
    gpu = None
    rewritten = None
    amp = None
    any_device = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        fields = {}
        for base in reversed(cls.__mro__):
            for name, value in vars(base).items():
                if isinstance(value, Field):
                    fields[name] = value
                else:  # a plain attribute fixes what a base takes as a parameter
                    fields.pop(name, None)
        first = [name for name in cls.parameter_order if name in fields]
        fields = {name: fields[name] for name in (*first, *fields)}
        if fields != cls.fields or list(fields) != list(cls.fields):
            cls.fields = fields

    def __init__(self, **kwargs: Any) -> None:
        where = self._where()
        for name, value in kwargs.items():
            if name not in self.fields:
                self._refuse_keyword(name)
            self.__dict__[name] = self.fields[name].parse(value, where)
        for name, field in self.fields.items():
            if field.default is REQUIRED and name not in kwargs:
                raise ArgumentError(
                    f"{where}: required parameter '{name}' ({field.expected()}) is missing"
                )

    @classmethod
    def _where(cls):
        return f"operator {cls.op_name or cls.__name__}"

    @classmethod
    def _refuse_keyword(cls, name):
        known = ", ".join(cls.fields) or "none"
        raise ArgumentTypeError(
            f"{cls._where()} has no parameter {shown(name)}; its parameters: {known}"
        )

    @classmethod
    def taken(cls, params):
        """Those of the keywords in the dict `params` that an instance is made with.

        Raises
        ------
        ArgumentTypeError
            A keyword that is no parameter. Where there are no parameters at all, as for most
            operators of one expression, it is ignored with one warning (not for `users`).
        """
        if cls.any_parameters:
            if "self" in params:
                cls._refuse_keyword("self")
            return params
        unknown = [name for name in params if name not in cls.fields]
        if not unknown:
            return params
        if cls.fields or cls.users:
            cls._refuse_keyword(unknown[0])
        for name in unknown:
            if (cls.op_name, name) not in _warned:
                _warned.add((cls.op_name, name))
                warn_user(f"{cls._where()} has no parameters; {shown(name)} is ignored")
        return {}

    @classmethod
    def with_defaults(cls):
        """An instance with every parameter at its default, of which names can be asked.

        Where a parameter is required, or the defaults do not fit each other, ``__init__`` does not
        run.
        """
        try:
            return cls()
        except (CynetError, TypeError):  # TypeError: a user's own __init__ wants an argument
            return cls.__new__(cls)

    def list_inputs(self):
        """Names of arguments and auxiliary states in the order in which callers give them."""
        return [*self.list_arguments(), *self.list_auxiliary_states()]

    def params(self) -> dict[str, Any]:
        """Parameters that differ from nothing given: name to value, for JSON and caches."""
        return {name: self.__dict__[name] for name in self.fields if name in self.__dict__}

    def changed(self, **attributes):
        """A copy with these attributes set: what a pass makes of a property that others share."""
        copied = copy.copy(self)
        for name in MADE_OF:
            copied.__dict__.pop(name, None)
        copied.__dict__.update(attributes)
        return copied

    def operator_on(self, ctx, in_shapes, in_types):
        """The Operator that computes this on `ctx`: on a GPU its form in ``operator/cuda``, else
        what `create_operator` makes.

        Raises
        ------
        ArgumentError
            When the operator has no form for GPUs, or no loop for a dtype; the message names it.
        ShapeError
            When an input has no elements and the operator makes nothing of nothing.
        """
        if any(0 in shape for shape in in_shapes):
            from .empty import on_empty

            operator = on_empty(self, ctx, in_shapes, in_types)
            if operator is not None:
                return operator
        if ctx.device_type == "gpu":
            from .cuda import gpu_operator, has_form

            if has_form(self.op_name) or not self.any_device:
                return gpu_operator(self, ctx, in_shapes, in_types)
        try:
            if ctx.device_type != "gpu" and self._is_converted(in_shapes, in_types):
                from .half import in_float32

                return in_float32(self, ctx, in_shapes, in_types)
            return self.created(ctx, in_shapes, in_types)
        except MissingLoop as error:
            raise ArgumentError(
                f"operator {self.op_name} does not take arrays of {error.dtype}"
            ) from error

    def created(self, ctx, in_shapes, in_types):
        """What `create_operator` makes, or ArgumentTypeError where an array is of another dtype
        than `dtypes` says."""
        operator = self.create_operator(ctx, in_shapes, in_types)
        if self.dtypes or self.users or not type(self).__module__.startswith("cynet."):
            self._check_dtypes(operator, in_types)
        return operator

    def _check_dtypes(self, operator, in_types):
        allowed = self.dtypes
        if allowed is None:
            if getattr(operator, "runs_python", True):
                return
            allowed = ("float32",)
        names = self.list_arguments(), self.list_outputs(), self.list_auxiliary_states()
        _, outs, states = self.infer_type(list(in_types), [None] * len(names[1]))
        for what, of, types in zip(("input", "output", "state"), names, (in_types, outs, states)):
            for name, dtype in zip(of, types):
                if dtype not in allowed:
                    more = "" if self.dtypes else (
                        " (it declares no others: `dtypes` of a property, `set_dtypes` of a "
                        "simple_op)"
                    )  # fmt: skip
                    raise ArgumentTypeError(
                        f"{self._where()} takes {', '.join(allowed)}{more}; {what} '{name}' is "
                        f"{dtype}"
                    )

    def _meets_bfloat16(self, in_types):
        """Whether an array of it is read or made."""
        return "bfloat16" in in_types or getattr(self, "dtype", None) == "bfloat16"

    def _is_converted(self, in_shapes, in_types):
        """Whether it is computed in float32 between conversions from and to narrow floats."""
        if self._meets_bfloat16(in_types):
            return not self.graph.takes_bfloat16(self, in_shapes, in_types)
        return "float16" in in_types and self.graph.traits.float32_beside_half is not None


class OperatorProperty(Registered):
    """Base of all operator definitions: what an author of operators has to know.

    Parameters are class attributes of a `Field` type. Shapes are tuples; in inference ``None`` is
    an unknown shape, 0 an unknown dimension and `EMPTY` a length that is known to be 0. Types are
    dtype names (``'float32'``) or ``None``.

    Class attributes
    ----------------
    key_var_num_args : str or None
        Name of the parameter that holds the number of inputs, for operators with a variable number
        of them (``num_args`` of Concat); the faces fill it in.
    variable_attrs : dict
        Input name to the attributes that the variable of that input gets unless it has them, e.g.
        ``{"moving_var": {"__init__": '["one", {}]'}}``.
    differentiable : bool
        False: no gradient flows through; whoever asks for one gets zeros.
    pure : bool
        True: forward reads and changes nothing but its inputs, parameters, auxiliary states and
        requested resources, and runs no Python; passes may then merge, fold and repeat it. False
        for operators that users register, unless they say otherwise.
    honours_req : bool
        True: backward does with each gradient what its request says: nothing (there is no array
        then), write or add. False for operators that users write in Python, unless they say
        otherwise: backward gets an array for every input and is asked to write each.
    graph : GraphHooks
        What graph passes may know (``graph_hooks.py``); right as it is for any operator.
    """

    key_var_num_args = None
    variable_attrs = {}
    differentiable = True
    pure = True
    honours_req = True
    graph = GraphHooks()

    # --- names ------------------------------------------------------------------------------------
    def list_arguments(self) -> list[str]:
        """Names of the inputs: those that `inputs_doc` has, without states; ``data`` if none."""
        states = self.list_auxiliary_states()
        return [name for name in self.inputs_doc if name not in states] or ["data"]

    def list_outputs(self) -> list[str]:
        """Names of all outputs, hidden ones last."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the states that are read and written but get no gradient."""
        return []

    def num_visible_outputs(self) -> int:
        """How many outputs a user sees; the rest serve backward."""
        return len(self.list_outputs())

    # --- inference --------------------------------------------------------------------------------
    def infer_shape(self, in_shapes: list[Any], out_shapes: list[Any]) -> tuple[Sequence[Any], ...]:
        """Complete what is known, both ways.

        Parameters
        ----------
        in_shapes, out_shapes : list of tuple or None
            What is known so far; 0 is an unknown dimension, `EMPTY` the length of an axis that has
            no elements. It is true and equals no 0, so ``a or b``, ``a and b and a != b`` and
            ``all(shape)`` are right for both.

        Returns
        -------
        (in_shapes, out_shapes, aux_shapes) : lists of tuple or None

        Raises
        ------
        ShapeError
            When what is known does not fit; the caller adds the node's name.
        """
        shape = merge_shapes(*in_shapes, *out_shapes)
        return [shape] * len(in_shapes), [shape] * len(out_shapes), []

    def output_shapes(self, in_shapes):
        """The shapes of all outputs for inputs that have these shapes."""
        unknown = [None] * len(self.list_outputs())
        _, out_shapes, _ = self.infer_shape([known(shape) for shape in in_shapes], unknown)
        return [plain(shape) for shape in out_shapes]

    def infer_type(self, in_types: list[Any], out_types: list[Any]) -> tuple[Sequence[Any], ...]:
        """Complete what is known of the dtypes, both ways; by default all must be alike, but for
        hidden outputs beside bfloat16, which are float32."""
        n = self.num_visible_outputs()
        seen, hidden = (*in_types, *out_types[:n]), out_types[n:]
        known = next((t for t in (*seen, *hidden) if t is not None), None)
        beside = "float32" if known == "bfloat16" else known
        fits = all(t in (None, known) for t in seen) and all(t in (None, beside) for t in hidden)
        if not fits:
            raise ArgumentError(f"types of inputs {in_types} and outputs {out_types} must be alike")
        outs = [*(t or known for t in out_types[:n]), *(t or beside for t in hidden)]
        n_aux = len(self.list_auxiliary_states())
        return [t or known for t in in_types], outs, [known] * n_aux

    # --- what execution needs ---------------------------------------------------------------------
    def forward_resource(self, in_shapes: list[Shape]) -> Sequence[int]:
        """Resources forward asks for: a list of ResourceRequest members."""
        return []

    def backward_resource(self, in_shapes: list[Shape]) -> Sequence[int]:
        """Resources backward asks for."""
        return []

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> Sequence[int]:
        """Which arrays backward reads: a list of ids drawn from the three lists given."""
        return [*out_grad, *in_data, *out_data]

    def forward_inplace_option(
        self, in_data: list[int], out_data: list[int]
    ) -> Sequence[tuple[int, int]]:
        """Pairs (input id, output id) that may share memory."""
        return []

    def backward_inplace_option(
        self, out_grad: list[int], in_data: list[int], out_data: list[int], in_grad: list[int]
    ) -> Sequence[tuple[int, int]]:
        """Pairs (id of anything backward reads, in_grad id) that may share memory."""
        return []

    def differentiate(self, F, out_grad, in_data, out_data, in_shapes):
        """The gradient written as operators, which autograd records for ``create_graph=True``.

        Parameters
        ----------
        F : module
            ``mx.nd``.
        out_grad : list of NDArray
            Gradients of the visible outputs.
        in_data, out_data : list of NDArray or None
            What `declare_backward_dependency` names of inputs and visible outputs.
        in_shapes : list of tuple

        Returns
        -------
        list
            For each input its gradient, a function without arguments that computes it (called
            where it is wanted), or None for zeros.

        Raises
        ------
        GradientError
            When there is none.
        """
        raise GradientError(
            f"operator {self.op_name} has no gradient written as operators, which "
            "create_graph=True needs: its property defines no `differentiate`"
        )

    def create_operator(
        self, ctx: Context, in_shapes: list[Shape], in_types: list[str]
    ) -> Operator:
        """The Operator that computes this for fixed shapes and types on the CPU (see
        `operator_on`)."""
        raise ArgumentError(f"operator {self.op_name} has no implementation on {ctx}")


def merge_shapes(*shapes):
    """The one shape that all of `shapes` (None and 0 unknown, EMPTY known) describe, or
    ShapeError.

    >>> merge_shapes((2, 0), None, (0, 3))
    (2, 3)
    """
    out = None
    for shape in shapes:
        if shape is None:
            continue
        if out is None:
            out = tuple(shape)
            continue
        if len(out) != len(shape) or any(a and b and a != b for a, b in zip(out, shape)):
            raise ShapeError(f"shapes {out} and {tuple(shape)} do not agree")
        out = tuple(a or b for a, b in zip(out, shape))
    return out


def is_known(shape):
    """True when `shape` has no unknown part."""
    return shape is not None and all(shape)
