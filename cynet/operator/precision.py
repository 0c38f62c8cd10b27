"""Classes of automatic mixed precision; an operator names its own in `OperatorProperty.amp`."""

from collections.abc import Mapping
from typing import NamedTuple

LOW, FLOAT32, WIDEST, EITHER = "low", "float32", "widest", "either"  # see Precision


class Precision(NamedTuple):  # dtypes for mixed precision, of one operator
    """The dtype in which mixed precision computes an operator, for float16 and for bfloat16.

    float16, bfloat16: `LOW`: in this dtype. `FLOAT32`. `WIDEST`: in the wider dtype of its inputs.
        `EITHER`: in whatever dtype comes in. None: no list of MXNet's has it.
    float32_where: Parameter to its values under which the operator is computed in float32; then it
        is in no other list.
    float32_inputs: Inputs that stay in float32 beside data of bfloat16, as MXNet lists them: ``''``
        is the data.
    loss: True for a loss and an output in one.

    Examples
    --------
    >>> from cynet.operator import get_operator
    >>> get_operator("L2Normalization").prop.amp.float16
    'float32'
    """

    float16: str | None = EITHER
    bfloat16: str | None = FLOAT32
    float32_where: Mapping[str, tuple[str, ...]] = {}
    float32_inputs: tuple[str, ...] = ()
    loss: bool = False

    def kind(self, dtype: str) -> str | None:
        """Return the precision for a narrow dtype: `LOW`, `FLOAT32`, `WIDEST`, `EITHER` or None."""
        if self.float32_where:
            return None
        return self.float16 if dtype == "float16" else self.bfloat16
