"""Anomaly mode: the first NaN or infinity is an error where it comes from."""

from __future__ import annotations

import sys
import threading

import numpy as np

from ..autograd import watching
from ..base.errors import CynetError, user_frame
from ..ndarray import _dispatch
from ..ndarray._tape import entry_of
from .block import Block
from .tracing import set_watch

_lock = threading.Lock()
_active = []  # the scopes that are open
_paths = {}  # node of the tape -> layer; as long as a scope is open
_MANY = 10_000  # of them: those whose graph is gone go


class AnomalyError(CynetError, FloatingPointError):
    """A computation gave NaN or an infinity."""


class detect_anomaly:
    """A scope in which the first NaN or infinity is an error that names layer, operator and line.

    Every result is waited for and looked at: this is for looking, not for training. Hybridized
    Blocks run operator by operator meanwhile. Outside of such scopes it costs nothing.

    Parameters
    ----------
    infinite : bool
        False lets infinities pass, which masks are made of.

    Raises
    ------
    AnomalyError
        A FloatingPointError, in forward or in backward.

    Examples
    --------
    >>> import cynet as mx
    >>> with mx.gluon.detect_anomaly():
    ...     try:
    ...         y = mx.nd.log(mx.nd.array([-1.0]))
    ...     except FloatingPointError as error:
    ...         print(str(error).split(",")[0])
    operator log gave NaN in 1 of 1 elements
    """

    def __init__(self, infinite: bool = True) -> None:
        self.infinite = infinite

    def __enter__(self) -> detect_anomaly:
        with _lock:
            _active.append(self)
            _install()
        return self

    def __exit__(self, *args: object) -> None:
        with _lock:
            _active.remove(self)
            _install()


def _install():
    on = bool(_active)
    _dispatch.set_watch(_after_call if on else None)
    watching.set_watch(_after_step if on else None)
    set_watch(_after_node if on else None)
    if not on:
        _paths.clear()


# --- looking --------------------------------------------------------------------------------------
def _trouble(array):
    """``'NaN in 1 of 4 elements'``, or None."""
    if np.dtype(array.dtype).kind != "f":
        return None
    values = array.asnumpy()
    infinite = all(each.infinite for each in _active)
    for name, found in (("NaN", np.isnan), ("an infinity", np.isinf)):
        count = np.count_nonzero(found(values))
        if count and (infinite or found is np.isnan):
            return f"{name} in {count} of {values.size} elements"
    return None


def _state(name, array):
    kind = _trouble(array)
    return f"{name} {array.shape} {'is finite' if kind is None else f'has {kind}'}"


def _after_call(operator, inputs, outputs):
    path = None
    for each in outputs:
        kind = _trouble(each)
        if kind is None:
            continue
        given = ", ".join(_state(f"input {i}", array) for i, array in enumerate(inputs))
        raise AnomalyError(
            f"operator {operator} gave {kind}{_layer(_running())}, called at"
            f" {':'.join(map(str, user_frame()))}; {given or 'it has no inputs'}"
        )
    if len(_paths) > _MANY:
        for node in [each for each in _paths if each.sources is None]:
            del _paths[node]
    for each in outputs:
        entry = entry_of(each)
        if entry is not None:
            path = _running() if path is None else path
            _paths[entry[0]] = path


def _after_step(node, i, grad):
    kind = None if grad is None else _trouble(grad)
    if kind is not None:
        raise AnomalyError(
            f"{node.name} gave a gradient of its input {i} with {kind}{_layer(_paths.get(node))},"
            f" recorded at {node.where()}"
        )


def _after_node(name, operator, array):
    kind = _trouble(array)
    if kind is not None:
        raise AnomalyError(
            f"operator {operator}, node '{name}' of a graph, gave {kind}{_layer(_running())},"
            f" called at {':'.join(map(str, user_frame()))}"
        )


# --- where ----------------------------------------------------------------------------------------
def _layer(path):
    return f" in layer {path}" if path else ""


def _running():
    """The way through the Blocks that this thread runs: ``features.0 (Dense)``."""
    blocks, frame = [], sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_name in ("forward", "hybrid_forward") and code.co_argcount:
            owner = frame.f_locals.get(code.co_varnames[0])
            if isinstance(owner, Block) and (not blocks or blocks[-1] is not owner):
                blocks.append(owner)
        frame = frame.f_back
    if not blocks:
        return ""
    names = []
    for outer, inner in zip(blocks[::-1], blocks[-2::-1]):
        names.extend(_way(outer, inner) or [inner.name])
    kind = type(blocks[0]).__name__
    return f"{'.'.join(names)} ({kind})" if names else kind


def _way(outer, inner):
    """Structural names that lead from a Block to one inside, or None."""
    for name, each in outer._named_children():
        if each is inner:
            return [name]
        below = _way(each, inner)
        if below is not None:
            return [name, *below]
    return None
