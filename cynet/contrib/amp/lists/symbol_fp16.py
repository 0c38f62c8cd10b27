"""The lists of mixed precision with float16 under MXNet's names: copies, to pass to the functions
of :mod:`cynet.contrib.amp`."""

from .listing import (
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_widest_type_cast,
)

FP16_FUNCS = list_lp16_ops()
FP16_FP32_FUNCS = list_lp16_fp32_ops()
FP32_FUNCS = list_fp32_ops()
CONDITIONAL_FP32_FUNCS = list_conditional_fp32_ops()
WIDEST_TYPE_CASTS = list_widest_type_cast()
LOSS_OUTPUT_FUNCTIONS = list_loss_output_functions()
