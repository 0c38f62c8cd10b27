"""Which operators automatic mixed precision computes in float16 or bfloat16, in float32, or in the
wider dtype."""

from ....base.dtype import name_of
from ....base.errors import ArgumentError, ArgumentTypeError, shown
from ....operator import OPERATORS
from ....operator.precision import EITHER, FLOAT32, LOW, WIDEST, Precision

NARROW = "float16", "bfloat16"
# Operators whose classes do not say it yet.
_FULL = """
    CTCLoss Custom GroupNorm IdentityAttachKLSparseReg InstanceNorm LRN LayerNorm
    LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput MakeLoss SVMOutput
    SoftmaxActivation SoftmaxOutput _NDArray _Native _contrib_DeformableConvolution
    _contrib_DeformablePSROIPooling _contrib_MultiBoxDetection _contrib_MultiBoxPrior
    _contrib_MultiBoxTarget _contrib_SyncBatchNorm _contrib_count_sketch _contrib_fft
    _contrib_hawkesll _hypot _hypot_scalar _linalg_det _linalg_extractdiag _linalg_extracttrian
    _linalg_gelqf _linalg_gemm _linalg_gemm2 _linalg_inverse _linalg_makediag _linalg_maketrian
    _linalg_potrf _linalg_potri _linalg_slogdet _linalg_sumlogdiag _linalg_syevd _linalg_syrk
    _linalg_trmm _linalg_trsm _power _power_scalar _rdiv_scalar _rpower_scalar arccos arcsin arctanh
    argsort broadcast_hypot broadcast_power cosh erfinv exp expm1 gamma gammaln khatri_rao log log10
    log1p log2 log_softmax make_loss mean moments nanprod nansum norm prod rcbrt reciprocal rsqrt
    sinh smooth_l1 softmax softmax_cross_entropy softmin square sum tan topk
"""
_WIDEST = """
    Concat Correlation _contrib_MultiProposal _contrib_PSROIPooling _contrib_Proposal
    _contrib_ROIAlign _contrib_box_iou _contrib_box_nms _contrib_interleaved_matmul_encdec_qk
    _contrib_interleaved_matmul_encdec_valatt _contrib_interleaved_matmul_selfatt_qk
    _contrib_interleaved_matmul_selfatt_valatt _equal _greater _greater_equal _lesser _lesser_equal
    _logical_and _logical_or _logical_xor _maximum _minimum _mod _not_equal _random_pdf_dirichlet
    _random_pdf_exponential _random_pdf_gamma _random_pdf_generalized_negative_binomial
    _random_pdf_negative_binomial _random_pdf_normal _random_pdf_poisson _random_pdf_uniform add_n
    batch_dot broadcast_add broadcast_div broadcast_equal broadcast_greater broadcast_greater_equal
    broadcast_lesser broadcast_lesser_equal broadcast_logical_and broadcast_logical_or
    broadcast_logical_xor broadcast_maximum broadcast_minimum broadcast_mod broadcast_mul
    broadcast_not_equal broadcast_sub dot elemwise_add elemwise_div elemwise_mul elemwise_sub stack
    where
"""
_FULL_EITHER = ("LRN", "square")  # with float16, with bfloat16
_FULL_WIDEST = ("_contrib_MultiBoxDetection", "_contrib_MultiBoxPrior", "_contrib_MultiBoxTarget")
_WIDEST_FULL = (
    "_contrib_interleaved_matmul_encdec_qk", "_contrib_interleaved_matmul_encdec_valatt",
    "_contrib_interleaved_matmul_selfatt_qk", "_contrib_interleaved_matmul_selfatt_valatt",
    "broadcast_mul",
)  # fmt: skip
_EITHER_EITHER = ("Pooling", "_shuffle", "abs", "clip", "relu", "sqrt", "tanh")
_FLOAT32_INPUTS = "", "gamma", "beta", "moving_mean", "moving_var"
_LOSSES = ("SoftmaxOutput", "LinearRegressionOutput", "LogisticRegressionOutput",
           "MAERegressionOutput")  # fmt: skip
TABLE = {
    **{name: Precision(FLOAT32) for name in _FULL.split()},
    **{name: Precision(WIDEST, WIDEST) for name in _WIDEST.split()},
    **{name: Precision(FLOAT32, EITHER) for name in _FULL_EITHER},
    **{name: Precision(FLOAT32, WIDEST) for name in _FULL_WIDEST},
    **{name: Precision(WIDEST) for name in _WIDEST_FULL},
    **{name: Precision(EITHER, EITHER) for name in _EITHER_EITHER},
    **{name: Precision(FLOAT32, loss=True) for name in _LOSSES},
    "BatchNorm": Precision(EITHER, EITHER, float32_inputs=_FLOAT32_INPUTS),
    "_contrib_BatchNormWithReLU": Precision(EITHER, EITHER, float32_inputs=_FLOAT32_INPUTS),
    "Concat": Precision(WIDEST, EITHER),
    "Convolution": Precision(LOW, LOW),
    "Deconvolution": Precision(LOW),
    "FullyConnected": Precision(LOW, LOW),
    "RNN": Precision(LOW),
    "Activation": Precision(float32_where={"act_type": ("softrelu",)}),
    "LeakyReLU": Precision(float32_where={"act_type": ("elu", "selu")}),
    "amp_cast": Precision(EITHER, None),
    "amp_multicast": Precision(EITHER, None),
}


def _declared():
    """{operator: its Precision}, by name."""
    entries = {entry.name: entry.prop.amp for _, entry in OPERATORS.items()}
    found = {}
    for name, amp in sorted(entries.items()):  # a user's parameter may have that name
        found[name] = TABLE.get(name, amp if isinstance(amp, Precision) else Precision())
    return found


def _listed(kind, target_dtype):
    dtype = check_dtype(target_dtype)
    return [name for name, amp in _declared().items() if amp.of(dtype) == kind]


def check_dtype(target_dtype):
    """The name of a dtype that things are converted to; others are refused."""
    try:
        name = name_of(target_dtype)
    except ArgumentTypeError:
        name = ""
    if target_dtype is None or name not in NARROW:
        raise ArgumentError(
            f"amp: target_dtype must be 'float16' or 'bfloat16', got {shown(target_dtype)}"
        )
    return name


def list_lp16_ops(target_dtype: str = "float16") -> list[str]:
    """Operators that mixed precision computes in float16 or bfloat16.

    Parameters
    ----------
    target_dtype : str
        The narrow type, ``'float16'`` or ``'bfloat16'``.

    Returns
    -------
    list of str
        Names of operators.

    Raises
    ------
    ArgumentError
        `target_dtype` is another one.

    Examples
    --------
    >>> import cynet as mx
    >>> mx.contrib.amp.list_lp16_ops("bfloat16")
    ['Convolution', 'FullyConnected']
    """
    return _listed(LOW, target_dtype)


def list_fp32_ops(target_dtype: str = "float16") -> list[str]:
    """Operators that mixed precision computes in float32.

    Parameters
    ----------
    target_dtype : str
        The narrow type, ``'float16'`` or ``'bfloat16'``.

    Returns
    -------
    list of str
        Names of operators; with bfloat16 all that are in no other list.

    Raises
    ------
    ArgumentError
        `target_dtype` is another one.

    Examples
    --------
    >>> import cynet as mx
    >>> "softmax" in mx.contrib.amp.list_fp32_ops()
    True
    """
    return _listed(FLOAT32, target_dtype)


def list_conditional_fp32_ops(target_dtype: str = "float16") -> list[tuple[str, str, list[str]]]:
    """Operators that mixed precision computes in float32 for some values of a parameter.

    Parameters
    ----------
    target_dtype : str
        The narrow type, ``'float16'`` or ``'bfloat16'``.

    Returns
    -------
    list of (str, str, list of str)
        Operator, parameter, values under which it is computed in float32.

    Raises
    ------
    ArgumentError
        `target_dtype` is another one.

    Examples
    --------
    >>> import cynet as mx
    >>> mx.contrib.amp.list_conditional_fp32_ops()[0]
    ('Activation', 'act_type', ['softrelu'])
    """
    check_dtype(target_dtype)
    return [
        (name, parameter, list(values))
        for name, amp in _declared().items()
        for parameter, values in amp.float32_where.items()
    ]


def list_widest_type_cast(target_dtype: str = "float16") -> list[str]:
    """Operators whose inputs are brought to the wider of their dtypes.

    Parameters
    ----------
    target_dtype : str
        The narrow type, ``'float16'`` or ``'bfloat16'``.

    Returns
    -------
    list of str
        Names of operators.

    Raises
    ------
    ArgumentError
        `target_dtype` is another one.

    Examples
    --------
    >>> import cynet as mx
    >>> "broadcast_add" in mx.contrib.amp.list_widest_type_cast()
    True
    """
    return _listed(WIDEST, target_dtype)


def list_lp16_fp32_ops(target_dtype: str = "float16") -> list[str]:
    """Operators computed in whatever dtype comes in.

    Parameters
    ----------
    target_dtype : str
        The narrow type, ``'float16'`` or ``'bfloat16'``.

    Returns
    -------
    list of str
        Names of operators; with float16 all that are in no other list.

    Raises
    ------
    ArgumentError
        `target_dtype` is another one.

    Examples
    --------
    >>> import cynet as mx
    >>> "relu" in mx.contrib.amp.list_lp16_fp32_ops()
    True
    """
    return _listed(EITHER, target_dtype)


def list_loss_output_functions(target_dtype: str = "float16") -> list[str]:
    """Operators that are losses and outputs in one.

    Parameters
    ----------
    target_dtype : str
        The narrow type, ``'float16'`` or ``'bfloat16'``.

    Returns
    -------
    list of str
        Names of operators.

    Raises
    ------
    ArgumentError
        `target_dtype` is another one.

    Examples
    --------
    >>> import cynet as mx
    >>> mx.contrib.amp.list_loss_output_functions()[0]
    'LinearRegressionOutput'
    """
    check_dtype(target_dtype)
    return [name for name, amp in _declared().items() if amp.loss]


def list_lp16_use_fp32_params(target_dtype: str = "float16") -> dict[str, list[str]] | None:
    """Operators that take bfloat16 beside parameters of float32.

    Parameters
    ----------
    target_dtype : str
        The narrow type, ``'float16'`` or ``'bfloat16'``.

    Returns
    -------
    dict of str to list of str, or None
        For an operator the inputs that stay float32, where ``''`` is the data; with float16 None,
        as with MXNet.

    Raises
    ------
    ArgumentError
        `target_dtype` is another one.

    Examples
    --------
    >>> import cynet as mx
    >>> mx.contrib.amp.list_lp16_use_fp32_params("bfloat16")["BatchNorm"]
    ['', 'gamma', 'beta', 'moving_mean', 'moving_var']
    """
    if check_dtype(target_dtype) == "float16":
        return None
    return {
        name: list(amp.float32_inputs) for name, amp in _declared().items() if amp.float32_inputs
    }
