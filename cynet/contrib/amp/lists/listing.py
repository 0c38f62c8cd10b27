"""Lists of the operators that automatic mixed precision computes in float16 or bfloat16, in
float32, or in the wider dtype."""

from ....base.dtype import name_of
from ....base.errors import ArgumentError, ArgumentTypeError, shown
from ....operator import OPERATORS
from ....operator.paragraphs import with_paragraphs
from ....operator.precision import EITHER, FLOAT32, LOW, WIDEST, Precision

__all__ = ["list_conditional_fp32_ops", "list_fp32_ops", "list_loss_output_functions"]
__all__ += ["list_lp16_fp32_ops", "list_lp16_ops", "list_lp16_use_fp32_params"]
__all__ += ["list_widest_type_cast"]

HALF_DTYPES = "float16", "bfloat16"
_add_list_docs = with_paragraphs(
    head="""Parameters
----------
target_dtype : str
    The narrow type, ``'float16'`` or ``'bfloat16'``.

Returns
-------""",
    raises="""Raises
------
ArgumentError
    `target_dtype` is another one.

Examples
--------""",
)


def _declared_precisions():
    """Return a dict of operator name to Precision, sorted by name."""
    entries = {entry.name: entry.prop.amp for _, entry in OPERATORS.items()}
    usual = Precision()  # a custom operator may have a parameter `amp`
    return {name: v if isinstance(v, Precision) else usual for name, v in sorted(entries.items())}


def _operators_of_precision(kind, target_dtype):
    dtype = check_dtype(target_dtype)
    return [name for name, amp in _declared_precisions().items() if amp.kind(dtype) == kind]


def list_same_dtype_operators(dtype):
    """Return the names of operators whose inputs must have one dtype: the wider one. Operators that
    bfloat16 lists under both dtypes accept either."""
    return {
        name
        for name, amp in _declared_precisions().items()
        if amp.kind(dtype) == WIDEST or (amp.kind(dtype) == EITHER and amp.float16 == WIDEST)
    }


def check_dtype(target_dtype):
    """Return the name of a 16-bit float dtype; refuse other dtypes."""
    try:
        name = name_of(target_dtype)
    except ArgumentTypeError:
        name = ""
    if target_dtype is None or name not in HALF_DTYPES:
        raise ArgumentError(
            f"amp: target_dtype must be 'float16' or 'bfloat16', got {shown(target_dtype)}"
        )
    return name


@_add_list_docs
def list_lp16_ops(target_dtype: str = "float16") -> list[str]:
    """List the operators that mixed precision computes in float16 or bfloat16.

    {head}
    list of str
        Names of operators.

    {raises}
    >>> mx.contrib.amp.list_lp16_ops("bfloat16")
    ['Convolution', 'FullyConnected']
    """
    return _operators_of_precision(LOW, target_dtype)


@_add_list_docs
def list_fp32_ops(target_dtype: str = "float16") -> list[str]:
    """List the operators that mixed precision computes in float32.

    {head}
    list of str
        Names of operators; with bfloat16 all that are in no other list.

    {raises}
    >>> "softmax" in mx.contrib.amp.list_fp32_ops()
    True
    """
    return _operators_of_precision(FLOAT32, target_dtype)


@_add_list_docs
def list_conditional_fp32_ops(target_dtype: str = "float16") -> list[tuple[str, str, list[str]]]:
    """List the operators that mixed precision computes in float32 for some parameter values.

    {head}
    list of (str, str, list of str)
        Operator, parameter, values under which it is computed in float32.

    {raises}
    >>> mx.contrib.amp.list_conditional_fp32_ops()[0]
    ('Activation', 'act_type', ['softrelu'])
    """
    check_dtype(target_dtype)
    return [
        (name, parameter, list(values))
        for name, amp in _declared_precisions().items()
        for parameter, values in amp.float32_where.items()
    ]


@_add_list_docs
def list_widest_type_cast(target_dtype: str = "float16") -> list[str]:
    """List the operators whose inputs are converted to the widest of their dtypes.

    {head}
    list of str
        Names of operators.

    {raises}
    >>> "broadcast_add" in mx.contrib.amp.list_widest_type_cast()
    True
    """
    return _operators_of_precision(WIDEST, target_dtype)


@_add_list_docs
def list_lp16_fp32_ops(target_dtype: str = "float16") -> list[str]:
    """List the operators that compute in the dtype of their inputs, 16 or 32 bits.

    {head}
    list of str
        Names of operators; with float16 all that are in no other list.

    {raises}
    >>> "relu" in mx.contrib.amp.list_lp16_fp32_ops()
    True
    """
    return _operators_of_precision(EITHER, target_dtype)


@_add_list_docs
def list_loss_output_functions(target_dtype: str = "float16") -> list[str]:
    """List the output operators that also compute a loss.

    {head}
    list of str
        Names of operators.

    {raises}
    >>> mx.contrib.amp.list_loss_output_functions()[0]
    'LinearRegressionOutput'
    """
    check_dtype(target_dtype)
    return [name for name, amp in _declared_precisions().items() if amp.loss]


@_add_list_docs
def list_lp16_use_fp32_params(target_dtype: str = "float16") -> dict[str, list[str]] | None:
    """List the operators that take bfloat16 data and float32 parameters.

    {head}
    dict of str to list of str, or None
        For an operator the inputs that stay float32, where ``''`` is the data; with float16 None,
        as with MXNet.

    {raises}
    >>> mx.contrib.amp.list_lp16_use_fp32_params("bfloat16")["BatchNorm"]
    ['', 'gamma', 'beta', 'moving_mean', 'moving_var']
    """
    if check_dtype(target_dtype) == "float16":
        return None
    return {
        name: list(amp.float32_inputs)
        for name, amp in _declared_precisions().items()
        if amp.float32_inputs
    }
