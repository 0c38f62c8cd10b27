"""Operators that have no form for GPUs, and why. The list only gets shorter."""

_USERS = "its code is the user's, for every device"

WITHOUT = {
    "Custom": _USERS,
    "_NDArray": _USERS,
    "_Native": _USERS,
}
