"""debug_nans: an error at the origin of the first NaN or infinity, forward and backward."""

from __future__ import annotations

import threading

import numpy as np

from ..base.dtype import is_floating
from ..base.errors import CynetError, user_frame
from ..base.kinds import check_flag
from ..base.observers import backward_observers, executor_observers, set_observer
from ..ndarray import _dispatch
from ..ndarray._tape import computed_by

_lock = threading.RLock()  # guards scopes and reporters
_anomaly_scopes = []  # open scopes of gluon.detect_anomaly
_nan_scope = [None]  # the active debug_nans scope, or None
_layer_of_node = {}  # node of the tape -> path of its layer; empty while the check is off
_MAX_NODES = 10_000  # limit beyond which nodes of freed graphs are dropped
_reporters = []  # callbacks that are called with True or False
_layer_getter = [lambda: ""]  # function that returns the path of the running layer


class AnomalyError(CynetError, FloatingPointError):
    """Raised when a computation gives NaN or an infinity."""


class debug_nans:
    """Make the first NaN or infinity raise an error that names operator, layer and line.

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
            self._before = _nan_scope[0]
            _nan_scope[0] = self if on else None
            _notify_reporters()

    def __enter__(self) -> debug_nans:
        return self

    def __exit__(self, *args: object) -> None:
        with _lock:
            _nan_scope[0] = self._before
            _notify_reporters()


def open_anomaly_scope(scope):
    """Check for NaN while `scope` is open; also for infinity if ``scope.infinite``."""
    with _lock:
        _anomaly_scopes.append(scope)
        _notify_reporters()


def close_anomaly_scope(scope):
    """End a scope of `open_anomaly_scope`."""
    with _lock:
        _anomaly_scopes.remove(scope)
        _notify_reporters()


def add_listener(on_change, layer):
    """Call ``on_change(on)`` at each change; ``layer()`` is the path of the running layer."""
    with _lock:
        _reporters.append(on_change)
        _layer_getter[0] = layer
        on_change(_is_nan_check_on())


def _is_nan_check_on():
    return bool(_anomaly_scopes) or _nan_scope[0] is not None


def _notify_reporters():
    on = _is_nan_check_on()
    _dispatch.set_call_observer(_check_call_outputs if on else None)
    set_observer(backward_observers, _check_gradient if on else None)
    set_observer(executor_observers, _check_step_outputs if on else None)
    for switch in _reporters:
        switch(on)
    if not on:
        _layer_of_node.clear()


def describe_nans(array):
    """Return a text such as ``'NaN in 1 of 4 elements'``, or None if all elements are finite."""
    if not is_floating(array.dtype):
        return None
    values = array.asnumpy()
    infinite = all(each.infinite for each in (*_anomaly_scopes, _nan_scope[0]) if each is not None)
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


def _check_call_outputs(operator, inputs, outputs):
    path = None
    for each in outputs:
        kind = describe_nans(each)
        if kind is not None:
            given = _finiteness_text((f"input {i}", array) for i, array in enumerate(inputs))
            raise AnomalyError(
                f"operator {operator} gave {kind}{layer_text(_layer_getter[0]())}, called at"
                f" {calling_line()}; {given}"
            )
    if len(_layer_of_node) > _MAX_NODES:
        for node in [each for each in _layer_of_node if each.sources is None]:
            del _layer_of_node[node]
    for each in outputs:
        entry = computed_by(each)
        if entry is not None:
            path = _layer_getter[0]() if path is None else path
            _layer_of_node[entry[0]] = path


def _check_gradient(node, i, grad):
    kind = None if grad is None else describe_nans(grad)
    if kind is not None:
        raise AnomalyError(
            f"{node.name} gave a gradient of its input {i} with {kind}"
            f"{layer_text(_layer_of_node.get(node))}, recorded at {node.location()}"
        )


def _check_step_outputs(step, inputs, values, is_gradient):
    """Check the outputs of a step of an executor."""
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


def layer_text(path):
    """Return the part of an error message that names a layer, or ""."""
    return f" in layer {path}" if path else ""


def calling_line():
    """Return the user's file and line."""
    return ":".join(map(str, user_frame()))
