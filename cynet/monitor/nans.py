"""debug_nans: raises an error at the origin of the first NaN or infinity, in both passes."""

from __future__ import annotations

import threading

import numpy as np

from ..base.dtype import is_floating
from ..base.errors import CynetError, user_frame
from ..base.kinds import check_flag
from ..base.observers import backward_steps, executor_steps, set_observer
from ..ndarray import _dispatch
from ..ndarray._tape import entry_of

_lock = threading.RLock()
_scopes = []  # gluon.detect_anomaly scopes that are open
_switch = [None]  # the debug_nans scope that is on
_paths = {}  # node of the tape -> layer; while the check is on
_MAX_PATHS = 10_000  # limit of remembered paths; paths of freed graphs are dropped
_others = []  # other reporters of values, called with whether the check is on
_layers = [lambda: ""]  # a function that returns the layer that runs now


class AnomalyError(CynetError, FloatingPointError):
    """A computation gave NaN or an infinity."""


class debug_nans:
    """Have the first NaN or infinity raise an error that names operator, node or layer, and line.

    Forward and backward, of executors and so of Modules, of imperative calls and of Gluon. Every
    result is waited for and looked at, graphs run without passes, operator by operator: this is
    for looking, not for training. Where it is off it costs nothing.

    Parameters
    ----------
    on : bool
        Whether to check, from now on; in a ``with`` statement until its end.
    infinite : bool
        Whether infinities are errors, too; False lets them pass, as for masks.

    Raises
    ------
    AnomalyError
        A FloatingPointError, by the call that computed the value.

    Examples
    --------
    >>> executor = mx.sym.log(mx.sym.var("x"), name="l").simple_bind(mx.cpu(), x=(2,))
    >>> with mx.debug_nans():
    ...     try:
    ...         y = executor.forward(x=mx.nd.array([1.0, -1.0]))
    ...     except FloatingPointError as error:
    ...         print(str(error).split(",")[0])
    operator log of node 'l' gave NaN in 1 of 2 elements
    """

    def __init__(self, on: bool = True, infinite: bool = True) -> None:
        check_flag("debug_nans", "on", on)
        check_flag("debug_nans", "infinite", infinite)
        self.infinite = bool(infinite)
        with _lock:
            self._before = _switch[0]
            _switch[0] = self if on else None
            _tell_all()

    def __enter__(self) -> debug_nans:
        return self

    def __exit__(self, *args: object) -> None:
        with _lock:
            _switch[0] = self._before
            _tell_all()


def open_scope(scope):
    """Look for NaN as long as `scope` is open; its ``infinite`` says whether for infinity too."""
    with _lock:
        _scopes.append(scope)
        _tell_all()


def close_scope(scope):
    """End the scope that `open_scope` began."""
    with _lock:
        _scopes.remove(scope)
        _tell_all()


def add_reporter(switch, layer):
    """Call ``switch(on)`` when it goes on and off; ``layer()`` is the layer that a thread runs."""
    with _lock:
        _others.append(switch)
        _layers[0] = layer
        switch(_is_on())


def _is_on():
    return bool(_scopes) or _switch[0] is not None


def _tell_all():
    on = _is_on()
    _dispatch.set_watch(_after_call if on else None)
    set_observer(backward_steps, _after_step_back if on else None)
    set_observer(executor_steps, _after_step if on else None)
    for switch in _others:
        switch(on)
    if not on:
        _paths.clear()


def describe_nans(array):
    """``'NaN in 1 of 4 elements'``, or None if all are finite."""
    if not is_floating(array.dtype):
        return None
    values = array.asnumpy()
    infinite = all(each.infinite for each in (*_scopes, _switch[0]) if each is not None)
    for name, found in (("NaN", np.isnan), ("an infinity", np.isinf)):
        count = np.count_nonzero(found(values))
        if count and (infinite or found is np.isnan):
            return f"{name} in {count} of {values.size} elements"
    return None


def _finiteness_text(pairs):
    """``'input 0 (2, 3) is finite, ...'``"""
    rows = []
    for name, array in pairs:
        kind = describe_nans(array)
        rows.append(f"{name} {array.shape} {'is finite' if kind is None else f'has {kind}'}")
    return ", ".join(rows) or "it has no inputs"


def _after_call(operator, inputs, outputs):
    path = None
    for each in outputs:
        kind = describe_nans(each)
        if kind is not None:
            given = _finiteness_text((f"input {i}", array) for i, array in enumerate(inputs))
            raise AnomalyError(
                f"operator {operator} gave {kind}{in_layer(_layers[0]())}, called at"
                f" {calling_line()}; {given}"
            )
    if len(_paths) > _MAX_PATHS:
        for node in [each for each in _paths if each.sources is None]:
            del _paths[node]
    for each in outputs:
        entry = entry_of(each)
        if entry is not None:
            path = _layers[0]() if path is None else path
            _paths[entry[0]] = path


def _after_step_back(node, i, grad):
    kind = None if grad is None else describe_nans(grad)
    if kind is not None:
        raise AnomalyError(
            f"{node.name} gave a gradient of its input {i} with {kind}"
            f"{in_layer(_paths.get(node))}, recorded at {node.where()}"
        )


def _after_step(step, inputs, values, is_gradient):
    """Check the outputs after a step of an executor."""
    names = step.prop.list_arguments()
    for i, array in enumerate(values):
        kind = None if array is None else describe_nans(array)
        if kind is None:
            continue
        what = f"operator {step.prop.op_name} of node '{step.name}' gave "
        if is_gradient:
            what += f"a gradient of its input {names[i]} with "
            inputs = [(f"gradient of {name}", each) for name, each in inputs]
        raise AnomalyError(f"{what}{kind}, called at {calling_line()}; {_finiteness_text(inputs)}")


def in_layer(path):
    """The part of a message that names a layer, if there is one."""
    return f" in layer {path}" if path else ""


def calling_line():
    """The user's file and line."""
    return ":".join(map(str, user_frame()))
