"""Anomaly mode: raises an error at the origin of the first NaN or infinity, with its layer."""

from __future__ import annotations

import sys

from ..monitor.nans import (
    AnomalyError,
    add_listener,
    calling_line,
    close_anomaly_scope,
    describe_nans,
    layer_text,
    open_anomaly_scope,
)
from .block import Block
from .tracing import set_operator_hook


class detect_anomaly:
    """A scope in which the first NaN or infinity raises an error with layer, operator and line.

    ``mx.debug_nans`` under the name that it has elsewhere, for ``with`` alone. Every result is
    waited for and looked at: this is for looking, not for training. Hybridized Blocks run operator
    by operator meanwhile. Outside of such scopes it costs nothing.

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
        open_anomaly_scope(self)
        return self

    def __exit__(self, *args: object) -> None:
        close_anomaly_scope(self)


def _check_node_output(name, operator, array):
    kind = describe_nans(array)
    if kind is not None:
        raise AnomalyError(
            f"operator {operator}, node '{name}' of a graph, gave {kind}"
            f"{layer_text(_current_block_path())}, called at {calling_line()}"
        )


def _current_block_path():
    """Return the path of the Block that this thread runs: ``features.0 (Dense)``."""
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
        names.extend(_block_names_between(outer, inner) or [inner.name])
    kind = type(blocks[0]).__name__
    return f"{'.'.join(names)} ({kind})" if names else kind


def _block_names_between(outer, inner):
    """Return the structural names on the path from Block `outer` down to `inner`, or None."""
    for name, each in outer._named_children():
        if each is inner:
            return [name]
        below = _block_names_between(each, inner)
        if below is not None:
            return [name, *below]
    return None


add_listener(lambda on: set_operator_hook(_check_node_output if on else None), _current_block_path)
