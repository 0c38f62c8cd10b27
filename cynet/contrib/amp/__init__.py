"""mx.contrib.amp: automatic mixed precision, float16 or bfloat16 where networks bear it,
else float32."""

from . import amp
from .amp import init
from .convert import convert_bucketing_module, convert_hybrid_block, convert_model, convert_symbol
from .lists import (
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_lp16_use_fp32_params,
    list_widest_type_cast,
)
from .loss_scaler import LossScaler, init_trainer, scale_loss, unscale

__all__ = [
    "LossScaler",
    "amp",
    "convert_bucketing_module",
    "convert_hybrid_block",
    "convert_model",
    "convert_symbol",
    "init",
    "init_trainer",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "scale_loss",
    "unscale",
]
