"""`init`: turn on automatic mixed precision for the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import symbol as sym
from ...gluon.block.graph import set_graph_converter
from .convert import convert_bucketing_module as convert_bucketing_module  # as in MXNet
from .convert import convert_graph

if TYPE_CHECKING:
    from collections.abc import Sequence

_amp_initialized = False


def init(
    target_dtype: str = "float16",
    target_precision_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Sequence[tuple[str, str, Sequence[str]]] | None = None,
    fp32_ops: Sequence[str] | None = None,
) -> None:
    """Make hybridized Blocks compute in mixed precision from now on, like `convert_symbol`.

    Graphs made before stay as they are, and so do calls that run operator by operator, symbols
    (`convert_symbol`) and Modules. On the CPU float16 is computed in float32 between two
    conversions: it shows what float16 does to a network, and is slower than float32. So is
    bfloat16, unless the processor has instructions for it (AVX-512 BF16, AMX).

    Parameters
    ----------
    target_dtype : str
        The narrow type, ``'float16'``, or ``'bfloat16'``, with which losses need no scale.
    target_precision_ops : list of str, optional
        Operators to compute in the narrow type, instead of `list_lp16_ops`.
    conditional_fp32_ops : list of (str, str, list of str), optional
        Operators, parameters and values for which to compute in float32, instead of
        `list_conditional_fp32_ops`.
    fp32_ops : list of str, optional
        Operators to compute in float32, instead of `list_fp32_ops`.

    Raises
    ------
    ArgumentError
        `target_dtype` is another one, or one of the lists names what is not an operator.

    Examples
    --------
    >>> mx.contrib.amp.init("bfloat16")
    >>> net = mx.gluon.nn.Dense(1, in_units=1, use_bias=False)
    >>> net.initialize(mx.init.One())
    >>> net.hybridize()

    bfloat16 has 8 bits of precision, so that 1.001 is 1:

    >>> net(mx.nd.array([[1.001]])).asscalar().item()
    1.0
    """
    global _amp_initialized

    def convert(symbol, inputs):  # inserts casts
        return convert_graph(
            symbol, inputs, target_dtype, target_precision_ops, fp32_ops, conditional_fp32_ops
        )

    convert(sym.identity(sym.var("checked")), ())  # invalid options raise an error now
    set_graph_converter(convert)
    _amp_initialized = True
