"""BaseRNNCell: one step of a recurrent network as symbols, and unrolling over sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import ndarray as nd
from .. import symbol
from ..base.errors import ArgumentError, ArgumentTypeError, CynetError, UndefinedError, shown
from ..base.guard import Guarded, guarded
from ..symbol import Symbol

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import NamedArrays

__all__ = ["BaseRNNCell", "RNNParams"]


def normalize_inputs(length, inputs, layout, merge, in_layout=None):
    """Return (sequence, time axis): one symbol or a list of symbols, according to `merge`.

    length: int
    inputs: Symbol or list of Symbol
    layout (str): ``'NTC'`` or ``'TNC'``, of what is returned.
    merge (bool or None): True: one symbol, False: a list of one for each step, None: as `inputs`
        is.
    in_layout (str, optional): Of `inputs`; `layout` by default.
    """
    if not isinstance(inputs, (Symbol, list, tuple)):
        raise ArgumentTypeError(f"unroll: inputs must be symbols, got {shown(inputs)}")
    axis = layout.find("T")
    in_axis = in_layout.find("T") if in_layout is not None else axis
    if isinstance(inputs, Symbol):
        if merge is False:
            if len(inputs.list_outputs()) != 1:
                raise ArgumentError(
                    "unroll: inputs must be one symbol of all steps or a list of one for each, got"
                    f" a symbol of {len(inputs.list_outputs())} outputs; list(inputs) makes a list"
                )
            parts = symbol.split(inputs, axis=in_axis, num_outputs=length, squeeze_axis=1)
            inputs = list(parts)
    else:
        if length is not None and len(inputs) != length:
            raise ArgumentError(f"unroll: {len(inputs)} inputs for length {length}")
        if merge is True:
            steps = [symbol.expand_dims(each, axis=axis) for each in inputs]
            inputs = symbol.concat(*steps, dim=axis)
            in_axis = axis
    if isinstance(inputs, Symbol) and axis != in_axis:
        inputs = symbol.swapaxes(inputs, dim1=axis, dim2=in_axis)
    return inputs, axis


@guarded
class RNNParams:
    """Weight variables by name, created at first use; cells with the same RNNParams share weights.

    Parameters
    ----------
    prefix : str
        Prefix of the variables' names.

    Examples
    --------
    >>> shared = mx.rnn.RNNParams("lstm_")
    >>> shared.get("i2h_weight") is shared.get("i2h_weight")
    True

    Two cells with the same weights:

    >>> first = mx.rnn.LSTMCell(4, prefix="lstm_", params=shared)
    >>> second = mx.rnn.LSTMCell(4, prefix="lstm_", params=first.params)
    >>> states = first(mx.sym.Variable("x"), first.begin_state())[1]
    >>> output, states = second(mx.sym.Variable("y"), states)
    >>> [name for name in output.list_arguments() if name.startswith("lstm_i2h")]
    ['lstm_i2h_weight', 'lstm_i2h_bias']
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """Return the variable ``prefix + name``; the first call creates it.

        Parameters
        ----------
        name : str
            Name without the prefix.
        **kwargs
            Arguments of ``mx.sym.Variable``, when the variable is made: ``init``, ``shape``, ...
        """
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = symbol.Variable(name, **kwargs)
        return self._params[name]


class BaseRNNCell(Guarded):
    """Base of cells: ``output, states = cell(inputs, states)`` is one step.

    A subclass defines ``__call__`` and ``state_info``.

    Examples
    --------
    A cell that adds what it has seen:

    >>> class Sum(mx.rnn.BaseRNNCell):
    ...     @property
    ...     def state_info(self):
    ...         return [{"shape": (0, 2), "__layout__": "NC"}]
    ...     def __call__(self, inputs, states):
    ...         total = inputs + states[0]
    ...         return total, [total]
    >>> cell = Sum()
    >>> outputs, states = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.eval(data=mx.nd.array([[[1, 10], [2, 20], [3, 30]]]))[0].asnumpy()
    array([[[ 1., 10.],
            [ 3., 30.],
            [ 6., 60.]]], dtype=float32)

    What it is asked for:

    >>> cell.reset()  # reset the cell before another unrolling
    >>> cell.state_shape, len(cell.begin_state())
    ([(0, 2)], 1)
    >>> mx.rnn.GRUCell(4, prefix="gru_").params.get("i2h_weight")
    <Symbol gru_i2h_weight>
    """

    _unguarded = ("__call__",)

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Reset the counters of steps and states, for a new unrolling."""
        self._init_counter = -1
        self._counter = -1
        for cell in getattr(self, "_cells", ()):
            cell.reset()

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        raise UndefinedError(f"{type(self).__name__} defines no __call__")

    @property
    def params(self) -> RNNParams:
        """The RNNParams of the cell; another cell may share it."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and ``__layout__`` of each state; 0 means the batch size."""
        raise UndefinedError(f"{type(self).__name__} defines no state_info")

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """Shapes of the states."""
        return [info["shape"] for info in self.state_info]

    @property
    def _gate_names(self):
        """Suffixes of the gates' names, in the order of the weights' rows."""
        return ()

    def begin_state(
        self, func: Callable[..., Symbol] = symbol.zeros, **kwargs: Any
    ) -> list[Symbol]:
        """Make the initial states.

        Parameters
        ----------
        func : callable
            ``func(name=..., shape=..., ...)`` makes a state: ``mx.sym.zeros``, ``mx.sym.Variable``.
        **kwargs
            Further arguments of `func`.

        Raises
        ------
        CynetError
            The cell is inside of a modifier, such as ZoneoutCell, whose ``begin_state`` is to be
            called.

        Examples
        --------
        >>> cell = mx.rnn.LSTMCell(4, prefix="lstm_")
        >>> cell.begin_state(mx.sym.Variable)
        [<Symbol lstm_begin_state_0>, <Symbol lstm_begin_state_1>]
        """
        if self._modified:
            raise CynetError(
                "a cell inside a modifier, as ZoneoutCell, has no states of its own: call"
                " begin_state of the modifier"
            )
        states = []
        for info in self.state_info:
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            settings = {**(info or {}), **kwargs}
            if func is symbol.Variable:  # unknown settings of a variable are omitted
                settings.pop("__layout__", None)
            states.append(func(name=name, **settings))
        return states

    # --- weights of each gate ---

    def unpack_weights(self, args: NamedArrays) -> NamedArrays:
        """Return a copy of a dict of weights in which joined weights are split by gate.

        Parameters
        ----------
        args : dict of str to NDArray
            Weights (gates * num_hidden, size) and biases (gates * num_hidden,) by name, others too.

        Returns
        -------
        dict of str to NDArray
            Weights (num_hidden, size) and biases (num_hidden,) of each gate; others as they were.

        Examples
        --------
        >>> cell = mx.rnn.GRUCell(4, prefix="gru_")
        >>> names = "gru_i2h_weight", "gru_h2h_weight", "gru_i2h_bias", "gru_h2h_bias"
        >>> shapes = (12, 3), (12, 4), (12,), (12,)
        >>> weights = {name: mx.nd.ones(shape) for name, shape in zip(names, shapes)}
        >>> gates = cell.unpack_weights(weights)
        >>> [(name, gates[name].shape) for name in sorted(gates)][:3]
        [('gru_h2h_o_bias', (4,)), ('gru_h2h_o_weight', (4, 4)), ('gru_h2h_r_bias', (4,))]
        >>> cell.pack_weights(gates)["gru_i2h_weight"].shape
        (12, 3)
        """
        args = dict(args)
        if not self._gate_names:
            return args
        hidden = self._num_hidden
        for group in ("i2h", "h2h"):
            for kind in ("weight", "bias"):
                joined = args.pop(f"{self._prefix}{group}_{kind}")
                for j, gate in enumerate(self._gate_names):
                    name = f"{self._prefix}{group}{gate}_{kind}"
                    args[name] = joined[j * hidden : (j + 1) * hidden].copy()
        return args

    def pack_weights(self, args: NamedArrays) -> NamedArrays:
        """Join weights of gates again: the reverse of `unpack_weights`.

        Parameters
        ----------
        args : dict of str to NDArray
            Weights and biases of each gate by name, others too.

        Returns
        -------
        dict of str to NDArray
            Those of all gates joined along the first axis; others as they were.

        Raises
        ------
        ArgumentTypeError
            A weight is missing.

        Examples
        --------
        >>> cell = mx.rnn.RNNCell(2, prefix="rnn_")  # a cell with one gate
        >>> names = "rnn_i2h_weight", "rnn_h2h_weight", "rnn_i2h_bias", "rnn_h2h_bias"
        >>> weights = {name: mx.nd.ones(2) for name in names}
        >>> sorted(cell.pack_weights(weights)) == sorted(names)
        True
        """
        args = dict(args)
        if not self._gate_names:
            return args
        for group in ("i2h", "h2h"):
            for kind in ("weight", "bias"):
                names = [f"{self._prefix}{group}{gate}_{kind}" for gate in self._gate_names]
                parts = [args.pop(name) for name in names]
                args[f"{self._prefix}{group}_{kind}"] = nd.concatenate(parts)
        return args

    # --- sequences ---

    def unroll(
        self,
        length: int,
        inputs: Symbol | list[Symbol],
        begin_state: list[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Any]]:
        """Apply the cell to all steps of a sequence.

        Parameters
        ----------
        length : int
            Number of steps.
        inputs : Symbol, or list of Symbol
            One symbol of all steps, in `layout`, or a list of one (batch, size) for each step.
        begin_state : list of Symbol, optional
            States to begin with; ``begin_state()`` by default.
        layout : str
            Order of the axes of `inputs` and of merged outputs, ``'NTC'`` or ``'TNC'``.
        merge_outputs : bool, optional
            True gives one symbol, False a list of one for each step, None whichever is simpler.

        Returns
        -------
        outputs : Symbol or list of Symbol
            One of `layout`, or one (batch, num_hidden) for each step.
        states : list of Symbol
            Those after the last step.

        Raises
        ------
        ArgumentError
            `inputs` is a list of another length, or a symbol of several outputs.
        ArgumentTypeError
            `inputs` are not symbols.

        Examples
        --------
        >>> cell = mx.rnn.LSTMCell(4, prefix="lstm_")
        >>> outputs, states = cell.unroll(5, mx.sym.Variable("data"), merge_outputs=True)
        >>> outputs.infer_shape(data=(2, 5, 3))[1], len(states)
        ([(2, 5, 4)], 2)
        """
        self.reset()
        inputs, _ = normalize_inputs(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for step in inputs:
            output, states = self(step, states)
            outputs.append(output)
        outputs, _ = normalize_inputs(length, outputs, layout, merge_outputs)
        return outputs, states

    def _get_activation(self, inputs, activation, **kwargs):
        """Apply an activation, a name or a function of symbols, to `inputs`."""
        if isinstance(activation, str):
            return symbol.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)
