"""What the binary families (elementwise, scalar, broadcast) share: each functor's gradients."""

from typing import NamedTuple


class Gradient(NamedTuple):
    """Gradient functors of one binary functor.

    lhs, rhs : str
        Names in functors.h, functions of both inputs; None where that input is always a number.
    reads : bool
        Whether they depend on the inputs at all.
    exists : bool
        False: the function is flat, its gradients are zero everywhere.
    """

    lhs: str
    rhs: str
    reads: bool = True
    exists: bool = True


_FLAT = Gradient("grad_one", "grad_one", False, False)

GRADIENTS = {
    "plus": Gradient("grad_one", "grad_one", False),
    "minus": Gradient("grad_one", "grad_minus_one", False),
    "mul": Gradient("grad_right", "grad_left"),
    "div": Gradient("div_lgrad", "div_rgrad"),
    "mod": Gradient("grad_one", "mod_rgrad"),
    "power": Gradient("power_lgrad", "power_rgrad"),
    "maximum": Gradient("greater_equal", "lesser"),
    "minimum": Gradient("lesser_equal", "greater"),
    "hypot": Gradient("hypot_lgrad", "hypot_rgrad"),
    "smooth_l1": Gradient("smooth_l1_grad", None),
    "equal": _FLAT,
    "not_equal": _FLAT,
    "greater": _FLAT,
    "greater_equal": _FLAT,
    "lesser": _FLAT,
    "lesser_equal": _FLAT,
    "logical_and": _FLAT,
    "logical_or": _FLAT,
    "logical_xor": _FLAT,
}

TAKES_BOOL = frozenset(name for name, gradient in GRADIENTS.items() if not gradient.exists)
