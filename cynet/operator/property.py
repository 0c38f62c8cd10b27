"""OperatorProperty: the definition of an operator, apart from its computation.

Every built-in of more than one expression and every raw operator a user writes subclasses this; the
faces (mx.nd, mx.sym), inference, gradient and memory passes and the executor know operators only
through it.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, GradientError, ShapeError
from .checks.shapes import known_shape, plain_shape
from .graph_hooks import GraphHooks
from .registered import Registered
from .storage_types import output_stype

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..typing import Context, Operator, Shape


class OpReq(enum.IntEnum):  # how an operator stores an output
    """How an operator stores an output: write, add or do nothing; the `req` that operators get.

    0 `null` writes nothing, 1 `write` overwrites what is there, 2 `write_inplace` overwrites memory
    that is an input's too, 3 `add` adds to what is there.

    Examples
    --------
    >>> mx.operator.OpReq.add == 3, mx.operator.OpReq(1).name
    (True, 'write')
    """

    null = 0  # nothing
    write = 1  # overwrite the old value
    write_inplace = 2  # overwrite memory that is an input's too
    add = 3  # add to the old value


class ResourceRequest:  # temporary memory or random numbers
    """The resources of an operator: ``ResourceRequest.temp_space``, ``ResourceRequest.random``.

    `forward_resource` and `backward_resource` return a list of these; the operator finds the
    resources in ``ctx.requested``, in that order. ``temp_space`` has ``get_space(shape, dtype)``,
    ``random`` has ``get_random()``, a ``numpy.random.Generator`` that follows ``mx.random.seed``.

    Examples
    --------
    >>> class Noise(mx.operator.Operator):
    ...     def forward(self, ctx, in_data, req, out_data, aux_states):
    ...         drawn = ctx.requested[0].get_random().random(in_data[0].shape)
    ...         mx.operator.simple.assign(out_data[0], req[0], in_data[0] + 0.01 * drawn)
    >>> @mx.operator.register("doctest_noise")
    ... class NoiseProperty(mx.operator.OperatorProperty):
    ...     def forward_resource(self, in_shapes):
    ...         return [mx.operator.ResourceRequest.random]
    ...     def create_operator(self, ctx, in_shapes, in_types):
    ...         return Noise()
    >>> noisy = mx.nd.doctest_noise(mx.nd.ones((2, 3)))
    >>> noisy.shape, bool((noisy >= 1).asnumpy().all() and (noisy < 1.01).asnumpy().all())
    ((2, 3), True)
    """

    random = 0  # the values of _resource.pxd's ResourceType
    temp_space = 1


class ShapesFromInput:  # mixin: one input determines all shapes
    """Mixin of definitions with one input, whose shape determines the outputs' shapes.

    ``shapes_from(shape)`` gives the shape, with what it adds to it, then those of the outputs.
    """

    if TYPE_CHECKING:

        def shapes_from(self, shape: Any) -> Sequence[Any]: ...

    def infer_shape(self, in_shapes: list[Any], out_shapes: list[Any]) -> tuple[Sequence[Any], ...]:
        if in_shapes[0] is None:
            return [None], list(out_shapes), []
        shape, *outs = self.shapes_from(in_shapes[0])
        return [shape], [merge_shapes(*pair) for pair in zip(outs, out_shapes)], []


class OperatorProperty(Registered):
    """Base of all operator definitions: the interface for authors of operators.

    Parameters are class attributes of a `Field` type. Shapes are tuples; in inference ``None`` is
    an unknown shape, 0 an unknown dimension and `EMPTY` a length that is known to be 0. Types are
    dtype names (``'float32'``) or ``None``.

    Parameters
    ----------
    **kwargs
        Parameters of the operator, by name.

    Attributes
    ----------
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
        otherwise: backward gets an array for every input and must write each.
    output_names : tuple of str
        Names of the outputs, hidden ones last.
    backward_reads : tuple of str
        The arrays that backward reads: some of ``out_grad``, ``in_data`` and ``out_data``. The
        memory of the others is free for others after forward.
    computes_in_place : bool
        True: the output may lie in the memory of the first input, and its gradient in that of the
        output's.
    graph : GraphHooks
        What graph passes may know (``graph_hooks.py``); right as it is for any operator.

    Examples
    --------
    An operator with a parameter, a gradient and a docstring for ``help``:

    >>> class Capped(mx.operator.Operator):
    ...     def __init__(self, high):
    ...         self.high = high
    ...     def forward(self, ctx, in_data, req, out_data, aux_states):
    ...         mx.operator.simple.assign(out_data[0], req[0], np.minimum(in_data[0], self.high))
    ...     def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux_states):
    ...         below = np.asarray(in_data[0]) < self.high
    ...         mx.operator.simple.assign(in_grad[0], req[0], out_grad[0] * below)
    >>> @mx.operator.register("doctest_cap")
    ... class Cap(mx.operator.OperatorProperty):
    ...     '''Values of `data`, at most `high`.'''
    ...     high = mx.operator.Float(1.0, doc="The largest value.")
    ...     def create_operator(self, ctx, in_shapes, in_types):
    ...         return Capped(self.high)
    >>> x = mx.nd.array([1, 2, 3])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.doctest_cap(x, high=2.5)
    >>> y.backward()
    >>> y.asnumpy(), x.grad.asnumpy()
    (array([1. , 2. , 2.5], dtype=float32), array([1., 1., 0.], dtype=float32))
    """

    key_var_num_args: str | None = None
    variable_attrs: Mapping[str, Mapping[str, str]] = {}
    differentiable = True
    pure = True
    honours_req = True
    output_names: tuple[str, ...] = ("output",)
    backward_reads: tuple[str, ...] = ("out_grad", "in_data", "out_data")
    computes_in_place = False
    graph: GraphHooks = GraphHooks()

    # --- names ------------------------------------------------------------------------------------
    def list_arguments(self) -> list[str]:
        """List the inputs: those that `inputs_doc` has, without states; ``data`` if there are none.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> fc = get_operator("FullyConnected").prop
        >>> fc(num_hidden=8).list_arguments(), fc(num_hidden=8, no_bias=True).list_arguments()
        (['data', 'weight', 'bias'], ['data', 'weight'])
        """
        states = self.list_auxiliary_states()
        return [name for name in self.inputs_doc if name not in states] or ["data"]

    def list_outputs(self) -> list[str]:
        """List all outputs, hidden ones last; `output_names` by default.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> get_operator("BatchNorm").prop().list_outputs()
        ['output', 'mean', 'var']
        """
        return [*self.output_names]

    def list_auxiliary_states(self) -> list[str]:
        """List the states: arrays that forward reads and writes, and that get no gradient.

        Returns
        -------
        list of str
            Empty unless a subclass says otherwise.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> get_operator("BatchNorm").prop().list_auxiliary_states()
        ['moving_mean', 'moving_var']
        """
        return []

    def num_visible_outputs(self) -> int:
        """Count the outputs that a user sees, all by default; the others serve backward.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> dropout = get_operator("Dropout").prop(p=0.5)
        >>> dropout.num_visible_outputs(), dropout.list_outputs()
        (1, ['output', 'mask'])
        """
        return len(self.list_outputs())

    # --- inference --------------------------------------------------------------------------------
    def infer_shape(self, in_shapes: list[Any], out_shapes: list[Any]) -> tuple[Sequence[Any], ...]:
        """Complete the known shapes, in both directions; by default all arrays have one shape.

        Parameters
        ----------
        in_shapes, out_shapes : list of tuple or None
            Shapes as far as they are known; 0 is an unknown dimension, `EMPTY` the length of an
            axis that has no elements. It is true and equals no 0, so ``a or b``, ``a and b and a !=
            b`` and ``all(shape)`` are right for both.

        Returns
        -------
        (in_shapes, out_shapes, aux_shapes) : lists of tuple or None

        Raises
        ------
        ShapeError
            If what is known does not fit; the caller adds the node's name.

        Examples
        --------
        The weight follows from the data:

        >>> from cynet.operator import get_operator
        >>> fc = get_operator("FullyConnected").prop(num_hidden=10, no_bias=True)
        >>> fc.infer_shape([(32, 20), None], [None])
        ([(32, 20), (10, 20)], [(32, 10)], [])
        """
        shape = merge_shapes(*in_shapes, *out_shapes)
        return [shape] * len(in_shapes), [shape] * len(out_shapes), []

    def output_shapes(self, in_shapes: Sequence[Shape]) -> list[Shape]:
        """Give the shapes of all outputs for inputs of known shapes.

        Parameters
        ----------
        in_shapes : list of tuple of int
            Shapes of the arguments; a length of 0 is no elements here.

        Raises
        ------
        ShapeError
            If the shapes do not fit each other.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> get_operator("Pooling").prop(kernel=(2, 2), stride=(2, 2)).output_shapes([(1, 3, 8, 6)])
        [(1, 3, 4, 3)]
        """
        unknown = [None] * len(self.list_outputs())
        _, out_shapes, _ = self.infer_shape([known_shape(shape) for shape in in_shapes], unknown)
        return [plain_shape(shape) for shape in out_shapes]

    def infer_type(self, in_types: list[Any], out_types: list[Any]) -> tuple[Sequence[Any], ...]:
        """Complete the known dtypes, in both directions; by default all must be equal.

        Hidden outputs beside bfloat16 are float32.

        Parameters
        ----------
        in_types, out_types : list of str or None
            The dtype of each array, None if it is unknown.

        Returns
        -------
        (in_types, out_types, aux_types) : lists of str or None

        Raises
        ------
        ArgumentError
            If two of the dtypes differ; the caller adds the node's name.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> fc = get_operator("FullyConnected").prop(num_hidden=4)
        >>> fc.infer_type(["float16", None, None], [None])
        (['float16', 'float16', 'float16'], ['float16'], [])
        """
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

    def infer_storage_type(self, in_stypes: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the storage types of arrays: dense, csr, row_sparse.

        Parameters
        ----------
        in_stypes : sequence of str
            ``'default'``, ``'csr'`` or ``'row_sparse'``, one per input.

        Returns
        -------
        (in_stypes, out_stypes) : lists of str
            What the outputs are. Where an operator has no form for such inputs, it computes with
            dense copies, and the outputs are ``'default'``.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> get_operator("dot").prop().infer_storage_type(["csr", "default"])
        (['csr', 'default'], ['default'])
        >>> get_operator("square").prop().infer_storage_type(["row_sparse"])
        (['row_sparse'], ['row_sparse'])
        """
        return [*in_stypes], [output_stype(self, in_stypes)] * len(self.list_outputs())

    # --- what execution needs ---------------------------------------------------------------------
    def forward_resource(self, in_shapes: list[Shape]) -> Sequence[int]:
        """List the resources of forward; none by default.

        Parameters
        ----------
        in_shapes : list of tuple of int
            Shapes of the inputs.

        Returns
        -------
        list of int
            `ResourceRequest` members, in the order of ``ctx.requested``.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> requests = get_operator("Dropout").prop(p=0.5).forward_resource([(2, 3)])
        >>> requests == [mx.operator.ResourceRequest.random]
        True
        """
        return []

    def backward_resource(self, in_shapes: list[Shape]) -> Sequence[int]:
        """List the resources of backward; none by default.

        Parameters
        ----------
        in_shapes : list of tuple of int
            Shapes of the inputs.

        Returns
        -------
        list of int
            `ResourceRequest` members, in the order of ``ctx.requested``.

        Examples
        --------
        >>> mx.operator.OperatorProperty().backward_resource([(2, 3)])
        []
        """
        return []

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> Sequence[int]:
        """List the arrays that backward reads; by default the arrays in `backward_reads`.

        What is not named backward gets as None, and its memory is free for others after forward.

        Parameters
        ----------
        out_grad, in_data, out_data : list of int
            An id for each gradient of an output, each input and each output.

        Returns
        -------
        list of int
            Those of the ids that backward needs.

        Examples
        --------
        The gradient of a sigmoid is a function of its output alone:

        >>> from cynet.operator import get_operator
        >>> sigmoid = get_operator("Activation").prop(act_type="sigmoid")
        >>> sigmoid.declare_backward_dependency(out_grad=[0], in_data=[1], out_data=[2])
        [0, 2]
        """
        given = {"out_grad": out_grad, "in_data": in_data, "out_data": out_data}
        return [each for name in self.backward_reads for each in given[name]]

    def forward_inplace_option(
        self, in_data: list[int], out_data: list[int]
    ) -> Sequence[tuple[int, int]]:
        """List the inputs whose memory an output may take; by default the first, or none.

        Parameters
        ----------
        in_data, out_data : list of int
            An id for each argument and each output.

        Returns
        -------
        list of (int, int)
            Pairs of the id of an input and that of an output.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> get_operator("Activation").prop(act_type="relu").forward_inplace_option([1], [2])
        [(1, 2)]
        """
        return [(in_data[0], out_data[0])] if self.computes_in_place else []

    def backward_inplace_option(
        self, out_grad: list[int], in_data: list[int], out_data: list[int], in_grad: list[int]
    ) -> Sequence[tuple[int, int]]:
        """Return which of the arrays that backward reads may lend a gradient their memory.

        Parameters
        ----------
        out_grad, in_data, out_data, in_grad : list of int
            An id for each array that backward gets.

        Returns
        -------
        list of (int, int)
            Pairs of the id of what backward reads and that of a gradient; by default none.

        Examples
        --------
        >>> from cynet.operator import get_operator
        >>> relu = get_operator("Activation").prop(act_type="relu")
        >>> relu.backward_inplace_option(out_grad=[0], in_data=[1], out_data=[2], in_grad=[3])
        [(0, 3)]
        """
        return [(out_grad[0], in_grad[0])] if self.computes_in_place else []

    def differentiate(
        self,
        F: Any,
        out_grad: list[Any],
        in_data: list[Any],
        out_data: list[Any],
        in_shapes: list[Shape],
    ) -> list[Any]:
        """Return the gradient as operators, which autograd records for ``create_graph=True``.

        Parameters
        ----------
        F : module
            ``mx.nd``.
        out_grad : list of NDArray
            Gradients of the visible outputs.
        in_data, out_data : list of NDArray or None
            Inputs and visible outputs; None for those that `declare_backward_dependency` does not
            name.
        in_shapes : list of tuple
            Shapes of the inputs.

        Returns
        -------
        list
            For each input its gradient, a function without arguments that computes it (called
            where it is wanted), or None for zeros.

        Raises
        ------
        GradientError
            When there is none.

        Examples
        --------
        Operators have one if their gradients can be differentiated again:

        >>> x = mx.nd.array([3])
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     first = mx.autograd.grad(x ** 3, x, create_graph=True)[0]
        >>> first.backward()
        >>> first.asscalar(), x.grad.asscalar()  # 3 x², 6 x
        (np.float32(27.0), np.float32(18.0))
        """
        raise GradientError(
            f"{self._operator_label()} has no gradient written as operators, which "
            "create_graph=True needs: its property defines no `differentiate`"
        )

    def create_operator(
        self, ctx: Context, in_shapes: list[Shape], in_types: list[str]
    ) -> Operator:
        """Make the Operator that computes this on the CPU: each definition has its own.

        Parameters
        ----------
        ctx : Context
            Device of the arrays; a GPU only if `any_device` is true.
        in_shapes : list of tuple of int
            Shapes of the inputs; all known.
        in_types : list of str
            Types of the inputs.

        Returns
        -------
        Operator
            Of these shapes and dtypes; an executor calls it many times.

        Raises
        ------
        ArgumentError
            If the definition has none for this device or these arrays.

        Examples
        --------
        >>> class Nothing(mx.operator.OperatorProperty):
        ...     pass
        >>> Nothing().create_operator(mx.cpu(), [(2,)], ["float32"])
        Traceback (most recent call last):
            ...
        cynet.errors.ArgumentError: operator Nothing has no implementation on cpu(0)
        """
        raise ArgumentError(f"{self._operator_label()} has no implementation on {ctx}")


def infer_type_from_first(
    self: OperatorProperty, in_types: list[Any], out_types: list[Any]
) -> tuple[Sequence[Any], ...]:
    """Infer dtypes: outputs get that of the first input; the other inputs keep theirs."""
    kind = in_types[0] or out_types[0]
    return [kind, *(t or kind for t in in_types[1:])], [kind], []


def merge_shapes(*shapes: Any) -> Any:
    """Return the shape that fits all `shapes` (None and 0 unknown), or raise ShapeError.

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


def is_known(shape: Any) -> bool:
    """True when `shape` has no unknown part."""
    return shape is not None and all(shape)
