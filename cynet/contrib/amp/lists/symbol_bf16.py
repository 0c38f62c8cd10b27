"""Operator lists of mixed precision with bfloat16, under MXNet's names, for the functions of
:mod:`cynet.contrib.amp`."""

from . import listing

BF16_FUNCS = listing.list_lp16_ops("bfloat16")
BF16_FP32_FUNCS = listing.list_lp16_fp32_ops("bfloat16")
BF16_USE_FP32_PARAMS = listing.list_lp16_use_fp32_params("bfloat16")
FP32_FUNCS = listing.list_fp32_ops("bfloat16")
CONDITIONAL_FP32_FUNCS = listing.list_conditional_fp32_ops("bfloat16")
WIDEST_TYPE_CASTS = listing.list_widest_type_cast("bfloat16")
LOSS_OUTPUT_FUNCTIONS = listing.list_loss_output_functions("bfloat16")
