"""Operators that have no form for GPUs, and why. The list only gets shorter."""

_USERS = "its code is the user's, for every device"
_OPEN = "no kernels yet"

WITHOUT = {
    "BatchNorm": _OPEN,
    "Custom": _USERS,
    "Pooling": _OPEN,
    "_NDArray": _USERS,
    "_Native": _USERS,
}
