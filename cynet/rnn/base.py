"""BaseRNNCell: one step of a recurrent network as symbols, and its unrolling over sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import ndarray as nd
from .. import symbol
from ..base.errors import ArgumentError, ArgumentTypeError, CynetError, UndefinedError, shown
from ..base.guard import guarded
from ..symbol import Symbol

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import NamedArrays


def normalized(length, inputs, layout, merge, in_layout=None):
    """(sequence, its time axis): one symbol or a list of symbols, as `merge` says.

    Parameters
    ----------
    length : int
    inputs : Symbol or list of Symbol
    layout : str
        ``'NTC'`` or ``'TNC'``, of what is returned.
    merge : bool or None
        True: one symbol, False: a list of one for each step, None: as `inputs` is.
    in_layout : str, optional
        Of `inputs`; `layout` by default.
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
    """Variables of weights by name, made when first asked for; cells that have one share weights.

    Parameters
    ----------
    prefix : str
        Before each name.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """The variable ``prefix + name``; `kwargs` are for ``mx.sym.Variable``.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        Symbol
        """
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = symbol.Variable(name, **kwargs)
        return self._params[name]


@guarded(but=("__call__",))
class BaseRNNCell:
    """Base of cells: ``output, states = cell(inputs, states)`` is one step.

    A subclass defines ``__call__`` and ``state_info``.

    Parameters
    ----------
    prefix : str
        Before the names of its symbols.
    params : RNNParams, optional
        Weights to share; new ones by default.
    """

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Begin to count steps and states from 0, as before an unrolling."""
        self._init_counter = -1
        self._counter = -1
        for cell in getattr(self, "_cells", ()):
            cell.reset()

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        raise UndefinedError(f"{type(self).__name__} defines no __call__")

    @property
    def params(self) -> RNNParams:
        """The weights; who asks may share them."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and ``__layout__`` of each state; 0 stands for the batch size."""
        raise UndefinedError(f"{type(self).__name__} defines no state_info")

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """Shapes of the states."""
        return [info["shape"] for info in self.state_info]

    @property
    def _gate_names(self):
        """Endings of the gates' names, in the order of the rows of the weights."""
        return ()

    def begin_state(
        self, func: Callable[..., Symbol] = symbol.zeros, **kwargs: Any
    ) -> list[Symbol]:
        """States to begin with.

        Parameters
        ----------
        func : callable
            ``func(name=..., shape=..., ...)`` makes one: ``mx.sym.zeros``, ``mx.sym.Variable``.
        **kwargs
            For `func`.

        Returns
        -------
        list of Symbol

        Raises
        ------
        CynetError
            It cannot be done; the message says why.
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
            if func is symbol.Variable:  # what is unknown of a variable is not said
                settings.pop("__layout__", None)
            states.append(func(name=name, **settings))
        return states

    # --- weights of each gate ---

    def unpack_weights(self, args: NamedArrays) -> NamedArrays:
        """A copy of a dict of weights with an array for each gate in place of joined ones."""
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
        """The reverse of `unpack_weights`."""
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
        inputs : Symbol, or list of Symbol
            All steps in one, of `layout`, or one (batch, size) for each step.
        begin_state : list of Symbol, optional
            ``begin_state()`` by default.
        layout : str
            ``'NTC'`` or ``'TNC'``, of `inputs` and of merged outputs.
        merge_outputs : bool, optional
            True: outputs are one symbol, False: a list, None: what is simpler.

        Returns
        -------
        (outputs, states)
        """
        self.reset()
        inputs, _ = normalized(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for step in inputs:
            output, states = self(step, states)
            outputs.append(output)
        outputs, _ = normalized(length, outputs, layout, merge_outputs)
        return outputs, states

    def _get_activation(self, inputs, activation, **kwargs):
        """An activation by name, or a function of symbols, of `inputs`."""
        if isinstance(activation, str):
            return symbol.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)
