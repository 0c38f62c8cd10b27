"""Reports indices outside of an axis, which are clipped: by one warning, or an error."""

from __future__ import annotations

from typing import Any

from ...base import config
from ...base.errors import BoundsError, warn_user

_MAX_WARNED = 100  # maximum of cached keys: the length may differ at each call
_warned_keys: set[tuple[Any, ...]] = set()  # keys of warnings that were shown


def report_out_of_range(
    prop: Any, name: str, index: float, n: float, beside: str = "", refuse: bool = False
) -> None:
    """Warn of an index that is clipped, once for each node and length, 100 at most; or refuse it.

    Parameters
    ----------
    prop : OperatorProperty
        Of the operator that has clipped it.
    name : str
        Of the array of indices.
    index, n : float
        The index, and how many places there are.
    beside : str
        How the warning is avoided.
    refuse : bool
        Whatever the setting ``CYNET_INDEX_OUTSIDE`` says.

    Raises
    ------
    BoundsError
        Where the setting, or `refuse`, says so.
    """
    how = "error" if refuse else config.get("CYNET_INDEX_OUTSIDE")
    if how == "clip":
        return
    node = getattr(prop, "node_name", None)
    key = prop.op_name, node, n
    if how != "error" and (key in _warned_keys or len(_warned_keys) >= _MAX_WARNED):
        return  # quick return before the text is made
    where = f"operator {prop.op_name}" + (f" (node '{node}')" if node else "")
    index = int(index) if index == index and abs(index) < 2**63 else index
    text = f"{where}: index {index} in '{name}' names none of {int(n)} places, 0 to {int(n) - 1}"
    if how == "error":
        raise BoundsError(text)
    _warned_keys.add(key)
    nearest = "first" if index < 0 or index != index else "last"
    beside = f"; {beside}" if beside else ""
    warn_user(f"{text}, and counts as the {nearest} (CYNET_INDEX_OUTSIDE=error refuses it{beside})")
