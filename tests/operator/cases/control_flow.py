"""Operators that hold graphs have no case of plain arrays."""

_WHY = "it holds graphs; see tests/operator/control_flow"
EXCEPTIONS = {"_foreach": _WHY, "_while_loop": _WHY, "_cond": _WHY}
