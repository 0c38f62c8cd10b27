"""mx.sym.contrib: the operators whose names start with ``_contrib_``, and functions in Python."""

from .composed import SparseEmbedding, boolean_mask, rand_zipfian
from .control_flow import cond, foreach, while_loop
from .register import module_hooks
from .updates import adamw_update, mp_adamw_update

__all__ = [
    "SparseEmbedding",
    "adamw_update",
    "boolean_mask",
    "cond",
    "foreach",
    "mp_adamw_update",
    "rand_zipfian",
    "while_loop",
]
__getattr__, __dir__ = module_hooks(__name__, "_contrib_")
