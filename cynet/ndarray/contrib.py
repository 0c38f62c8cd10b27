"""mx.nd.contrib: the operators whose names start with _contrib_, and functions in Python."""

from .composed import boolean_mask, isfinite, isinf, isnan, rand_zipfian
from .control_flow import cond, foreach, while_loop
from .functions import make_getattr
from .sparse.functions import SparseEmbedding, edge_id, getnnz
from .updates import (
    adamw_update,
    mp_adamw_update,
    multi_adamw_update,
    multi_lamb_update,
    multi_mp_adamw_update,
    multi_mp_lamb_update,
)

__all__ = [
    "SparseEmbedding",
    "adamw_update",
    "boolean_mask",
    "cond",
    "edge_id",
    "foreach",
    "getnnz",
    "isfinite",
    "isinf",
    "isnan",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
    "rand_zipfian",
    "while_loop",
]
__getattr__, __dir__ = make_getattr(__name__, "_contrib_")
