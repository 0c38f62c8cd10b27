"""Operators that have no form for GPUs, and why. The list only gets shorter."""

_USERS = "its code is the user's, for every device"

WITHOUT = {
    "RNN": "computed on the CPU alone so far; cuDNN has what a form needs",
    "Custom": _USERS,
    "_NDArray": _USERS,
    "_Native": _USERS,
}
