"""Which operators automatic mixed precision computes in float16, in float32, in the wider dtype."""

from ...base.errors import ArgumentError, shown
from ...operator import OPERATORS

LOW = ("Convolution", "Deconvolution", "FullyConnected", "RNN")
_FULL = """
    CTCLoss GroupNorm InstanceNorm L2Normalization LRN LayerNorm LinearRegressionOutput
    LogisticRegressionOutput MAERegressionOutput MakeLoss SVMOutput SoftmaxActivation SoftmaxOutput
    _contrib_MultiBoxDetection _contrib_MultiBoxPrior _contrib_MultiBoxTarget
    _contrib_SyncBatchNorm _contrib_hawkesll _hypot _hypot_scalar _linalg_det _linalg_extractdiag
    _linalg_extracttrian _linalg_gelqf _linalg_gemm _linalg_gemm2 _linalg_inverse _linalg_makediag
    _linalg_maketrian _linalg_potrf _linalg_potri _linalg_slogdet _linalg_sumlogdiag _linalg_syevd
    _linalg_syrk _linalg_trmm _linalg_trsm _power _power_scalar _rdiv_scalar _rpower_scalar arccos
    arcsin arctanh argsort broadcast_hypot broadcast_power cosh erfinv exp expm1 gamma gammaln log
    log10 log1p log2 log_softmax make_loss mean nanprod nansum norm prod rcbrt reciprocal rsqrt sinh
    smooth_l1 softmax softmax_cross_entropy softmin square sum tan topk
"""
FULL = tuple(_FULL.split())
_WIDEST = """
    Concat _contrib_MultiProposal _contrib_Proposal _contrib_box_iou _contrib_box_nms
    _contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt
    _contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt _equal
    _greater _greater_equal _lesser _lesser_equal _logical_and _logical_or _logical_xor _maximum
    _minimum _mod _not_equal add_n batch_dot broadcast_add broadcast_div broadcast_equal
    broadcast_greater broadcast_greater_equal broadcast_lesser broadcast_lesser_equal
    broadcast_logical_and broadcast_logical_or broadcast_logical_xor broadcast_maximum
    broadcast_minimum broadcast_mod broadcast_mul broadcast_not_equal broadcast_sub dot elemwise_add
    elemwise_div elemwise_mul elemwise_sub stack where
"""
WIDEST = tuple(_WIDEST.split())
# operator, parameter, its values under which it is computed in float32
CONDITIONAL = (
    ("Activation", "act_type", ["softrelu"]),
    ("LeakyReLU", "act_type", ["elu", "selu"]),
)
LOSSES = ("SoftmaxOutput", "LinearRegressionOutput", "LogisticRegressionOutput",
          "MAERegressionOutput")  # fmt: skip


def check_dtype(target_dtype):
    """Refuse a dtype that nothing is converted to."""
    name = getattr(target_dtype, "__name__", None) or getattr(target_dtype, "name", target_dtype)
    if not isinstance(name, str) or name != "float16":
        raise ArgumentError(f"amp: target_dtype must be 'float16', got {shown(target_dtype)}")


def list_lp16_ops(target_dtype: str = "float16") -> list[str]:
    """Operators computed in float16."""
    check_dtype(target_dtype)
    return list(LOW)


def list_fp32_ops(target_dtype: str = "float16") -> list[str]:
    """Operators computed in float32."""
    check_dtype(target_dtype)
    return [name for name in FULL if name in OPERATORS]


def list_conditional_fp32_ops(target_dtype: str = "float16") -> list[tuple[str, str, list[str]]]:
    """Operators computed in float32 for some values of a parameter: (operator, parameter, values).

    Examples
    --------
    >>> list_conditional_fp32_ops()[0]
    ('Activation', 'act_type', ['softrelu'])
    """
    check_dtype(target_dtype)
    return list(CONDITIONAL)


def list_widest_type_cast(target_dtype: str = "float16") -> list[str]:
    """Operators whose inputs are brought to the wider of their dtypes."""
    check_dtype(target_dtype)
    return [name for name in WIDEST if name in OPERATORS]


def list_lp16_fp32_ops(target_dtype: str = "float16") -> list[str]:
    """Operators computed in whatever dtype comes in: all that are in no other list."""
    check_dtype(target_dtype)
    listed = {*LOW, *FULL, *WIDEST, *(name for name, _, _ in CONDITIONAL)}
    return sorted({entry.name for _, entry in OPERATORS.items()} - listed)


def list_loss_output_functions(target_dtype: str = "float16") -> list[str]:
    """Operators that are losses and outputs in one."""
    check_dtype(target_dtype)
    return list(LOSSES)


def list_lp16_use_fp32_params(target_dtype: str = "float16") -> None:
    """None: no operator takes float16 data beside float32 parameters here, as with MXNet's
    float16."""
    check_dtype(target_dtype)
