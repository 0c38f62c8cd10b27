"""foreach, while_loop and cond of mx.sym.npx: those of mx.sym.contrib, of mx.np's symbols."""

from ..control_flow import cond as choose
from ..control_flow import foreach, while_loop


def _cond_with_inputs(pred, then_func, else_func, inputs=None, name="cond"):
    """`cond` that passes `inputs` to each function, as in MXNet 2.0."""
    if inputs is None:
        return choose(pred, then_func, else_func, name)
    given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    chosen = pred(*given) if callable(pred) else pred
    return choose(chosen, lambda: then_func(*given), lambda: else_func(*given), name)


LOOPS = {"npx.foreach": foreach, "npx.while_loop": while_loop, "npx.cond": _cond_with_inputs}
