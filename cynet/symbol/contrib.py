"""mx.sym.contrib: the operators whose names start with ``_contrib_``, and functions in Python."""

from .composed import boolean_mask, rand_zipfian
from .register import namespace
from .updates import adamw_update, mp_adamw_update

__all__ = ["adamw_update", "boolean_mask", "mp_adamw_update", "rand_zipfian"]
__getattr__, __dir__ = namespace(__name__, "_contrib_")
