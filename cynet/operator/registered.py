"""Registered: the record of an operator definition, independent of the operator's meaning."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ..base.errors import ArgumentError, ArgumentTypeError, CynetError, shown, warn_user
from ..base.other_names import keyword_hint
from ..kernels.isa.dispatch import MissingLoop
from .checks.index_dtype import check_index_dtype
from .parameters import REQUIRED, Field
from .precision import Precision

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..context import Context
    from ..typing import Operator, Shape
    from .graph_hooks import GraphHooks
    from .quantization.int8_form import Int8Form
    from .second_order import Flat, Formula, Linear, Refused, Rewrite
    from .storage_types import SparseRule

    _Self = TypeVar("_Self", bound="Registered")
    SecondOrder = Linear | Flat | Formula | Rewrite | Refused  # rules of second gradients

# (operator, keyword) pairs with a warning already shown
_warned_keywords: set[tuple[str | None, str]] = set()  # (operator, keyword) pairs

# Attributes that cache the use of a property; a changed copy must not inherit them.
CACHE_ATTRIBUTES = ("_in_order", "_desc")  # attributes that copies do not inherit


class Registered:  # base: an operator's name and parameters
    """The record of an operator definition: its name, who registered it, and its parameters, which
    are class attributes of a `Field` type; ``__init__`` parses keyword arguments into them.

    op_name (str): Set at registration.
    fields (dict): Parameter name to Field, in the order of declaration (made by
        ``__init_subclass__``).
    any_parameters (bool): True: keywords that are no field are parameters, too, and the inputs'
        names depend on them.
    inputs_doc (dict): Name of each input or state to a sentence about it, in order; an input that
        some parameters add is there, too.
    parameter_order (tuple of str): Parameters that come first where callers give them by position;
        the others follow in the order of declaration, those of bases first.
    unlisted (tuple of str): Inputs, states and parameters that MXNet does not list: they have no
        position. Callers give them by name, or inputs as arrays right behind the others.
    many_inputs (bool): True: the number of inputs is variable, and follows from parameters that
        callers give.
    reads_out (bool): True: forward reads what is in the output, so callers have to give one.
    dtypes (tuple of str or None): What inputs, outputs and states may hold; others are refused by
        name. None: built-in operators and those in Python look at their arrays themselves, and what
        a user has compiled takes float32 alone, as its pointers say.
    users (bool): True for an operator that a user registered: its name may be registered again, and
        keywords that it has no parameters for are refused.
    gpu (object or None): Its form for GPUs, where the declaration has it (`KernelProperty`).
    second_order (Linear, Flat, Formula, Rewrite, Refused or None): How ``create_graph=True``
        differentiates its gradient (``operator/second_order.py``); a Python property where that
        depends on parameters.
    amp (Precision): In which dtype automatic mixed precision computes it.
    sparse (SparseRule or None): What it does with sparse arrays; of which storage type the outputs
        are.
    int8_form (Int8Form or None): Which operator of floats it stands for in 8 bits
        (``operator/quantization/int8_form.py``).
    example (str): Lines of an example, which stand in its docstring.
    in_sparse (tuple of str): Names under which ``mx.nd.sparse`` and ``mx.sym.sparse`` show it. Not
        inherited.
    drawn_as (str): Kind of its nodes in pictures of networks (``visualization/plot.py``), whose
        colour they have.
    label_names_classes (bool): True for a loss whose input 1 holds numbers of classes.
    without_label (method or None): ``without_label(self, F, data, name)``: the Symbol of what a
        loss gives, from ``mx.sym``, where nothing is known of its label.
    methods (tuple of str): Names under which arrays and symbols have it as a method, the operator's
        or aliases; they are its first input. Not inherited.
    no_axes (tuple): Shape of an output that has no axes left: ``(1,)``, or ``()`` under a face that
        has it.
    written_out (bool): True: nodes of it are written out in other operators before a graph runs
        (``graph/decompose.py``), as those of functions of ``mx.np``.
    any_device (bool): True: `create_operator` answers for GPUs, too, as it does where the code is
        the user's; built-in operators have their GPU forms in ``operator/cuda``.
    """

    op_name: str | None = None
    fields: Mapping[str, Field] = {}
    any_parameters = False
    inputs_doc: Mapping[str, str] = {}
    parameter_order: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    many_inputs = False
    reads_out = False
    dtypes: tuple[str, ...] | None = None
    users = False
    gpu: object | None = None
    second_order: SecondOrder | None = None
    amp = Precision()
    sparse: SparseRule | None = None
    int8_form: Int8Form | None = None
    example = ""
    in_sparse: tuple[str, ...] = ()
    drawn_as = "other"
    label_names_classes = False
    without_label: Any = None  # a method
    methods: tuple[str, ...] = ()
    no_axes: tuple[int, ...] = (1,)
    decomposed = False
    any_device = False
    _declared: Mapping[str, Field]

    if TYPE_CHECKING:  # declared by OperatorProperty, the one abstract subclass
        graph: GraphHooks
        pure: bool

        def list_arguments(self) -> list[str]: ...
        def list_outputs(self) -> list[str]: ...
        def list_auxiliary_states(self) -> list[str]: ...
        def num_visible_outputs(self) -> int: ...
        def output_shapes(self, in_shapes: Sequence[Shape]) -> list[Shape]: ...
        def infer_type(
            self, in_types: list[Any], out_types: list[Any]
        ) -> tuple[Sequence[Any], ...]: ...
        def create_operator(
            self, ctx: Context, in_shapes: list[Shape], in_types: list[str]
        ) -> Operator: ...

    def __init_subclass__(
        cls, operator: str | None = None, aliases: Sequence[str] = (), **kwargs: Any
    ) -> None:
        super().__init_subclass__(**kwargs)
        cls._declared = {k: each for k, each in vars(cls).items() if isinstance(each, Field)}
        fields: dict[str, Field] = {}
        for base in reversed(cls.__mro__):
            own = vars(base)
            declared = own.get("_declared")
            if declared is None:
                declared = {k: each for k, each in own.items() if isinstance(each, Field)}
            for name in fields.keys() & own.keys() - declared.keys():
                del fields[name]  # a plain attribute replaces a parameter of a base
            fields |= declared
        first = [name for name in cls.parameter_order if name in fields]
        fields = {name: fields[name] for name in (*first, *fields)}
        if fields != cls.fields or list(fields) != list(cls.fields):
            cls.fields = fields
        if operator is not None:
            from ._base import register_operator  # imported late: it imports this module

            register_operator(operator, cls, aliases)

    def __init__(self, **kwargs: Any) -> None:
        where = self._operator_label()
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
    def _operator_label(cls) -> str:
        return f"operator {cls.op_name or cls.__name__}"

    @classmethod
    def _refuse_keyword(cls, name: str) -> NoReturn:
        known = ", ".join(cls.fields) or "none"
        hint = keyword_hint(name, (*cls.fields, *cls.inputs_doc))
        raise ArgumentTypeError(
            f"{cls._operator_label()} has no parameter {shown(name)}; its parameters: {known}{hint}"
        )

    @classmethod
    def accepted_params(cls, params: dict[str, Any]) -> dict[str, Any]:
        """Select the keywords of a call that the definition takes.

        Parameters
        ----------
        params : dict
            Keywords and values, as the caller gave them.

        Returns
        -------
        dict
            `params`, or an empty dict.

        Raises
        ------
        ArgumentTypeError
            A keyword that is not a parameter. If there are no parameters at all, as for most
            operators of one expression, it is ignored with one warning (not for `users`).

        Examples
        --------
        >>> mx.nd.Convolution(mx.nd.ones((1, 1, 4, 4)), widht=3)
        Traceback (most recent call last):
            ...
        cynet.errors.ArgumentTypeError: operator Convolution has no parameter 'widht'; its
            parameters: kernel, stride, dilate, pad, num_filter, num_group, workspace, no_bias,
            cudnn_tune, cudnn_off, layout; did you mean 'weight'?
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
            if (cls.op_name, name) not in _warned_keywords:
                _warned_keywords.add((cls.op_name, name))
                warn_user(f"{cls._operator_label()} has no parameters; {shown(name)} is ignored")
        return {}

    @classmethod
    def with_defaults(cls: type[_Self]) -> _Self:
        """Make an instance with every parameter at its default, for its lists of names.

        If a parameter is required, or the defaults do not fit each other, ``__init__`` does not
        run.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> get_operator("Convolution").prop.with_defaults().list_arguments()
        ['data', 'weight', 'bias']
        """
        try:
            return cls()
        except (CynetError, TypeError):  # TypeError: a user's own __init__ requires an argument
            return cls.__new__(cls)

    def list_inputs(self) -> list[str]:
        """List arguments and auxiliary states in the order in which callers give them.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> get_operator("BatchNorm").prop().list_inputs()
        ['data', 'gamma', 'beta', 'moving_mean', 'moving_var']
        """
        return [*self.list_arguments(), *self.list_auxiliary_states()]

    def params(self) -> dict[str, Any]:
        """Give the parameters that the caller set, for JSON and caches.

        Returns
        -------
        dict of str to object
            Those that were not given are absent, even though they have defaults.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> get_operator("Pooling").prop(kernel="(2, 2)", stride=(2, 2)).params()
        {'kernel': (2, 2), 'stride': (2, 2)}
        """
        return {name: self.__dict__[name] for name in self.fields if name in self.__dict__}

    def changed(self: _Self, **attributes: Any) -> _Self:
        """Return a copy with some attributes changed, for graph passes: nodes share properties.

        Parameters
        ----------
        **attributes
            New values of attributes, parameters included. They are not parsed.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> pooling = get_operator("Pooling").prop(kernel=(2, 2))
        >>> pooling.changed(kernel=(3, 3)).kernel, pooling.kernel
        ((3, 3), (2, 2))
        """
        copied = copy.copy(self)
        for name in CACHE_ATTRIBUTES:
            copied.__dict__.pop(name, None)
        copied.__dict__.update(attributes)
        return copied

    def arrays_read_by_index(self, in_shapes: list[Shape], in_types: list[str]) -> Sequence[Any]:
        """Return the indices that arrays must represent; a dtype that cannot is refused.

        Parameters
        ----------
        in_shapes : list of tuple of int
            Shapes of the inputs.
        in_types : list of str
            Types of the inputs.

        Returns
        -------
        sequence of Read or Written
            Of ``operator/checks/index_dtype.py``: name of an array, its dtype, number of places.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> take = get_operator("take").prop()
        >>> take.arrays_read_by_index([(5000, 2), (3,)], ["float32", "float16"])
        [('indices', 'float16', 5000)]
        """
        return ()

    def operator_on(self, ctx: Context, in_shapes: list[Shape], in_types: list[str]) -> Operator:
        """Make the Operator that computes this on a device; called by executors.

        On a GPU that is the form in ``operator/cuda``, else what `create_operator` makes. Narrow
        floats without a loop of their own are computed in float32 between conversions.

        Parameters
        ----------
        ctx : Context
            Device of the arrays.
        in_shapes : list of tuple of int
            Shapes of the inputs; all known.
        in_types : list of str
            Types of the inputs.

        Raises
        ------
        ArgumentError
            The operator has no form for GPUs, or no loop for a dtype.
        ShapeError
            If an input has no elements and the operator makes nothing of nothing.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> relu = get_operator("Activation").prop(act_type="relu")
        >>> isinstance(relu.operator_on(mx.cpu(), [(2, 3)], ["float32"]), mx.operator.Operator)
        True
        """
        read_by_index = self.arrays_read_by_index(in_shapes, in_types)
        if read_by_index:
            check_index_dtype(self, read_by_index)
        if any(0 in shape for shape in in_shapes):
            from .empty import empty_operator

            operator = empty_operator(self, ctx, in_shapes, in_types)
            if operator is not None:
                return operator
        if ctx.device_type == "gpu":
            from .cuda import create_gpu_operator, has_form

            if has_form(self) or not self.any_device:
                return create_gpu_operator(self, ctx, in_shapes, in_types)
        try:
            if ctx.device_type != "gpu" and self._is_converted(in_shapes, in_types):
                from .half import float32_operator

                return float32_operator(self, ctx, in_shapes, in_types)
            return self.create_checked(ctx, in_shapes, in_types)
        except MissingLoop as error:
            raise ArgumentError(
                f"operator {self.op_name} does not take arrays of {error.dtype}"
            ) from error

    def create_checked(self, ctx: Context, in_shapes: list[Shape], in_types: list[str]) -> Operator:
        """Call `create_operator` after checking that the dtypes are among `dtypes`.

        Parameters
        ----------
        ctx : Context
            Device of the arrays.
        in_shapes : list of tuple of int
            Shapes of the inputs.
        in_types : list of str
            Types of the inputs.

        Raises
        ------
        ArgumentTypeError
            If an input, output or state is of another dtype than the operator declares.

        Examples
        --------
        >>> class Halve(mx.operator.OperatorProperty):
        ...     dtypes = ("float32", "float64")
        ...     def create_operator(self, ctx, in_shapes, in_types):
        ...         return mx.operator.Operator()
        >>> Halve().create_checked(mx.cpu(), [(2,)], ["int32"])
        Traceback (most recent call last):
            ...
        cynet.errors.ArgumentTypeError: operator Halve takes float32, float64; input 'data' is int32
        """
        operator = self.create_operator(ctx, in_shapes, in_types)
        if self.dtypes or self.users or not type(self).__module__.startswith("cynet."):
            self._check_dtypes(operator, in_types)
        return operator

    def _check_dtypes(self, operator: Operator, in_types: Sequence[str]) -> None:
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
                    more = (
                        ""
                        if self.dtypes
                        else (
                            " (it declares no others: `dtypes` of a property, `set_dtypes` of a "
                            "simple_op)"
                        )
                    )
                    raise ArgumentTypeError(
                        f"{self._operator_label()} takes {', '.join(allowed)}{more};"
                        f" {what} '{name}' is {dtype}"
                    )

    def _has_bfloat16(self, in_types: Sequence[str]) -> bool:
        """Return whether an input or output is bfloat16."""
        return "bfloat16" in in_types or getattr(self, "dtype", None) == "bfloat16"

    def _is_converted(self, in_shapes: Sequence[Shape], in_types: Sequence[str]) -> bool:
        """Return whether an operator is computed in float32 between conversions of floats."""
        if self._has_bfloat16(in_types):
            return not self.graph.takes_bfloat16(self, in_shapes, in_types)
        return "float16" in in_types and self.graph.traits.float32_beside_half is not None
