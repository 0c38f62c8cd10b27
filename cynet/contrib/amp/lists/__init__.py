"""mx.contrib.amp.lists: which operators are computed in which dtype; MXNet's names for the lists
are in `symbol_fp16` and `symbol_bf16`."""

from . import symbol_bf16, symbol_fp16
from .listing import (
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_lp16_use_fp32_params,
    list_widest_type_cast,
)

__all__ = [
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "symbol_bf16",
    "symbol_fp16",
]
