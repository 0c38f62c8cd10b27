"""Operator lists of mixed precision with float16, under MXNet's names, for the functions of
:mod:`cynet.contrib.amp`."""

from . import listing

FP16_FUNCS = listing.list_lp16_ops()
FP16_FP32_FUNCS = listing.list_lp16_fp32_ops()
FP32_FUNCS = listing.list_fp32_ops()
CONDITIONAL_FP32_FUNCS = listing.list_conditional_fp32_ops()
WIDEST_TYPE_CASTS = listing.list_widest_type_cast()
LOSS_OUTPUT_FUNCTIONS = listing.list_loss_output_functions()
